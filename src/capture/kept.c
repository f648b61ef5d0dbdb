/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bad frames that are kept (bad_frames=keep): counted, and told to the supervisor.
 *
 * Thread: capture agent; control thread while no runner runs. A lone one is told with the good frame after it, and many that follow each
 * other, or come again and again, as one event a second for each kind: a cable that is bad for hours fills neither ring nor ledger.
 */
#include "capture/capture_state.h"

#define BAD_FLAGS (SL_FRAME_DEVICE_ERROR | SL_FRAME_SHORT)

static const int64_t tell_every_ns = SL_NS_PER_S;
static const uint32_t kinds[] = {SL_FRAME_DEVICE_ERROR, SL_FRAME_SHORT};
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
_Static_assert(KINDS == sizeof(((struct sl_capture *)NULL)->kept) / sizeof(struct sl_kept_run), "one run for each kind");

static void tell(struct sl_capture *c, unsigned kind)
{
    struct sl_kept_run *run = &c->kept[kind];
    struct sl_event event = {
        .time_ns = c->now_ns,
        .kind = SL_EVENT_BAD_KEPT,
        .code = kinds[kind],
        .first = run->first,
        .last = run->last,
        .count = run->count,
    };

    if (run->count && c->events)
        sl_events_post(c->events, &event);
    *run = (struct sl_kept_run){.told = true, .told_ns = c->now_ns};
}

static bool is_time(const struct sl_capture *c, const struct sl_kept_run *run, bool good)
{
    if (!run->count || (run->told && c->now_ns - run->told_ns < tell_every_ns))
        return false;
    return good || c->now_ns - run->begun_ns >= tell_every_ns;
}

void sl_capture_note_kept(struct sl_capture *c, uint64_t number, uint32_t flags)
{
    if (flags & BAD_FLAGS) {
        struct sl_kept_run *run = &c->kept[flags & SL_FRAME_DEVICE_ERROR ? 0 : 1];

        sl_count(&c->counter[SL_CAPTURE_BAD_KEPT], 1);
        if (!run->count++) {
            run->first = number;
            run->begun_ns = c->now_ns;
        }
        run->last = number;
    }
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (is_time(c, &c->kept[kind], !(flags & BAD_FLAGS)))
            tell(c, kind);
}

void sl_capture_flush_kept(struct sl_capture *c)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (c->kept[kind].count)
            tell(c, kind);
}
