/* SPDX-License-Identifier: Apache-2.0 */
#include "support/capture_rig.h"

#include <check.h>
#include <string.h>

void rig_init(struct capture_rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    sl_manual_clock_init(&rig->clock, 1000 * SL_NS_PER_S);
    ck_assert_int_eq(sl_events_init(&rig->events, 1024), 0);
    rig->deps.clock = &rig->clock.clock;
    rig->deps.events = &rig->events;
}

int rig_try_start(struct capture_rig *rig)
{
    struct sl_sink_cfg sink = {.name = "test", .limit = SL_SINK_WHOLE_POOL};
    int ret = sl_pool_open(&rig->pool, rig->memory, &rig->err);

    ck_assert_msg(ret == 0, "%s", rig->err.text);
    ret = sl_fanout_open(&rig->fanout, rig->pool, 0, &rig->err);
    ck_assert_msg(ret == 0, "%s", rig->err.text);
    ret = sl_fanout_add(rig->fanout, &sink, &rig->sink, &rig->err);
    ck_assert_msg(ret == 0, "%s", rig->err.text);
    rig->agent = sl_capture_agent(rig->capture);
    return sl_capture_start(rig->capture, rig->pool, rig->fanout, &rig->err);
}

void rig_start_on_memory(struct capture_rig *rig)
{
    ck_assert_msg(rig_try_start(rig) == 0, "%s", rig->err.text);
}

static void start(struct capture_rig *rig, unsigned slots)
{
    int ret = sl_memory_host(&rig->memory, slots, sl_capture_info(rig->capture)->slot_bytes, SL_HUGEPAGES_NO, &rig->err);

    ck_assert_msg(ret == 0, "%s", rig->err.text);
    rig_start_on_memory(rig);
}

void rig_start(struct capture_rig *rig, const struct sl_capture_cfg *cfg, unsigned slots)
{
    int ret = sl_capture_open(&rig->capture, cfg, &rig->deps, &rig->err);

    ck_assert_msg(ret == 0, "%s", rig->err.text);
    start(rig, slots);
}

void rig_start_source(struct capture_rig *rig, struct sl_source *source, const struct sl_capture_cfg *cfg, unsigned slots)
{
    int ret = sl_capture_open_source(&rig->capture, source, cfg, &rig->deps, &rig->err);

    ck_assert_msg(ret == 0, "%s", rig->err.text);
    start(rig, slots);
}

int rig_work(struct capture_rig *rig)
{
    int total = 0;

    for (;;) {
        int ret = rig->agent->do_work(rig->agent->self);

        if (ret < 0)
            return ret;
        if (!ret)
            return total;
        total += ret;
    }
}

unsigned rig_take(struct capture_rig *rig)
{
    unsigned count = 0;
    struct sl_frame *frame;

    while ((frame = sl_sink_take(rig->sink))) {
        ck_assert_uint_lt(rig->holding, RIG_MAX_SLOTS);
        rig->held[rig->holding++] = frame;
        count++;
    }
    return count;
}

void rig_release(struct capture_rig *rig, unsigned count)
{
    if (count > rig->holding)
        count = rig->holding;
    for (unsigned i = 0; i < count; i++)
        sl_sink_release(rig->sink, rig->held[i]);
    rig->holding -= count;
    memmove(rig->held, rig->held + count, rig->holding * sizeof(rig->held[0]));
}

void rig_drain_events(struct capture_rig *rig)
{
    struct sl_event event;

    while (sl_events_take(&rig->events, &event)) {
        ck_assert_uint_lt(rig->event_count, RIG_MAX_EVENTS);
        rig->event[rig->event_count++] = event;
    }
}

uint64_t rig_event_frames(const struct capture_rig *rig, enum sl_loss cause)
{
    uint64_t frames = 0;

    for (unsigned i = 0; i < rig->event_count; i++)
        if (rig->event[i].kind == SL_EVENT_LOSS && rig->event[i].code == cause)
            frames += rig->event[i].count;
    return frames;
}

unsigned rig_event_count(const struct capture_rig *rig, enum sl_event_kind kind)
{
    unsigned count = 0;

    for (unsigned i = 0; i < rig->event_count; i++)
        count += rig->event[i].kind == kind;
    return count;
}

struct sl_books rig_books(const struct capture_rig *rig)
{
    struct sl_books books;

    sl_capture_books(rig->capture, &books);
    return books;
}

void rig_check_books(struct capture_rig *rig)
{
    struct sl_books books = rig_books(rig);

    rig_drain_events(rig);
    ck_assert_uint_eq(books.expected, books.captured + sl_books_lost(&books));
    if (sl_events_counter(&rig->events, SL_EVENTS_DROPPED))
        return;
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        ck_assert_uint_le(rig_event_frames(rig, (enum sl_loss)i), books.lost[i]); /* the last run may not be posted yet */
}

void rig_fini(struct capture_rig *rig)
{
    if (rig->sink) {
        rig_take(rig);
        rig_release(rig, rig->holding);
    }
    if (rig->capture) {
        sl_capture_finish(rig->capture, 0, SL_LOSS_SENSOR_GAP);
        rig_check_books(rig);
        struct sl_books books = rig_books(rig);
        for (unsigned i = 0; i < SL_LOSS_COUNT && !sl_events_counter(&rig->events, SL_EVENTS_DROPPED); i++)
            ck_assert_uint_eq(rig_event_frames(rig, (enum sl_loss)i), books.lost[i]);
    }
    sl_sink_leave(rig->sink);
    ck_assert_msg(sl_fanout_close(rig->fanout, &rig->err) == 0, "%s", rig->err.text);
    if (rig->pool) /* not one slot may be missing */
        ck_assert_uint_eq(sl_pool_free(rig->pool), sl_pool_slots(rig->pool));
    sl_pool_close(rig->pool);
    sl_memory_close(rig->memory);
    sl_capture_close(rig->capture);
    sl_events_fini(&rig->events);
}
