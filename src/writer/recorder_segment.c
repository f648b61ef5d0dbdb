/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Segments from the recorder's side: when the next one begins, how the present one grows, and how the old one is given back.
 *
 * Thread: recorder agent. A segment is current, then retiring until nothing of it is in flight any more, then the house-keeper's.
 *
 * Rotation never waits if that can be helped: the next segment is asked for shortly before it is needed. If it is late, a limit
 * of time is overstepped, frame by frame, and a limit of size, which the file has no room to overstep, makes the frames wait in
 * the ring.
 */
#include <errno.h>

#include "writer/recorder.h"

void sl_recorder_fail(struct sl_recorder *r, enum sl_mode mode, int error)
{
    if (r->mode == SL_MODE_FULL || r->mode == SL_MODE_FAILED)
        return;
    r->mode = mode;
    r->failure = error;
    if (mode == SL_MODE_FULL && !r->full_ns)
        r->full_ns = r->now_ns;
    if (mode == SL_MODE_FAILED)
        r->failed_ns = r->now_ns;
    sl_recorder_post(r, SL_EVENT_STATE, mode, 0, 0, error);
}

static void ask_next(struct sl_recorder *r)
{
    if (r->next_asked || r->next || r->next_denied)
        return;
    r->next_asked = sl_housekeeper_send(r->house, &(struct sl_house_command){.kind = SL_HOUSE_NEXT});
}

static bool adopt_next(struct sl_recorder *r)
{
    struct sl_segment *segment = r->next;
    int rc = r->store->ops->set_file(r->store, segment->place, segment->fd);

    r->next = NULL;
    r->by_place[segment->place] = segment;
    r->current = segment;
    segment->fits = sl_slots_in(&r->run.layout, segment->file_bytes);
    r->format.stale = false;
    if (rc < 0) {
        segment->error = rc;
        sl_recorder_retire_current(r);
        sl_recorder_fail(r, SL_MODE_FAILED, rc);
        return false;
    }
    segment->opened = true;
    atomic_store_explicit(&r->segments, segment->number, memory_order_release); /* pairs with the load in sl_recorder_segment_path */
    sl_recorder_post(r, SL_EVENT_SEGMENT_OPEN, 0, segment->number, 0, 0);
    return true;
}

void sl_recorder_retire_current(struct sl_recorder *r)
{
    for (unsigned i = 0; i < SL_STORE_FILES && r->current; i++) {
        if (r->retiring[i])
            continue;
        r->retiring[i] = r->current;
        r->current = NULL;
    }
}

static void give_back(struct sl_recorder *r, struct sl_segment *segment)
{
    if (r->by_place[segment->place])
        r->store->ops->set_file(r->store, segment->place, -1);
    r->by_place[segment->place] = NULL;
    r->finishing++;
    sl_housekeeper_send(r->house, &(struct sl_house_command){.kind = SL_HOUSE_FINISH, .segment = segment});
}

void sl_recorder_give_back_all(struct sl_recorder *r)
{
    if (r->current)
        sl_recorder_retire_current(r);
    for (unsigned i = 0; i < SL_STORE_FILES; i++) {
        if (r->retiring[i])
            give_back(r, r->retiring[i]);
        r->retiring[i] = NULL;
    }
    if (r->next)
        give_back(r, r->next);
    r->next = NULL;
}

/* -- Replies ------------------------------------------------------------------------------------------------------------ */

static void take_next(struct sl_recorder *r, const struct sl_house_reply *reply)
{
    bool others = r->current || r->finishing;

    r->next_asked = false;
    for (unsigned i = 0; i < SL_STORE_FILES; i++)
        others |= r->retiring[i] != NULL;
    bool full = reply->error == -ENOSPC || reply->error == -EDQUOT;

    if (!full)
        r->full_ns = 0;
    else if (!r->full_ns)
        r->full_ns = r->now_ns;
    if (reply->error == 0)
        r->next = reply->segment;
    else if (others)
        r->next_denied = true;
    else if (full)
        sl_recorder_fail(r, SL_MODE_FULL, -ENOSPC);
    else
        sl_recorder_fail(r, SL_MODE_FAILED, reply->error);
}

static void take_extension(struct sl_recorder *r, const struct sl_house_reply *reply)
{
    struct sl_segment *segment = reply->segment;

    segment->io--;
    segment->extending = false;
    if (reply->error < 0) {
        segment->grown = true;
        if (segment == r->current)
            sl_recorder_post(r, SL_EVENT_STEP_DOWN, SL_STEP_EXTEND_FAILED, segment->number, segment->file_bytes, reply->error);
        return;
    }
    segment->file_bytes = reply->value;
    segment->fits = sl_slots_in(&r->run.layout, segment->file_bytes);
    r->format.stale |= segment == r->current;
}

/* Of a segment that was made ready and never begun nobody heard. One that was begun and got no frame is gone again. */
static void tell_finished(struct sl_recorder *r, const struct sl_house_reply *reply)
{
    if (!reply->opened)
        return;
    sl_recorder_post(r, SL_EVENT_SEGMENT_CLOSE, 0, reply->number, reply->value, reply->error);
    if (reply->value == 0)
        sl_recorder_post(r, SL_EVENT_SEGMENT_GONE, 0, reply->number, reply->freed_bytes, 0);
}

void sl_recorder_take_replies(struct sl_recorder *r)
{
    struct sl_house_reply reply;

    while (sl_housekeeper_receive(r->house, &reply)) {
        switch (reply.kind) {
        case SL_HOUSE_IS_NEXT:
            take_next(r, &reply);
            break;
        case SL_HOUSE_EXTENDED:
            take_extension(r, &reply);
            break;
        case SL_HOUSE_HAS_ROOM:
            r->room_asked = false;
            sl_recorder_retry_no_space(r, reply.error);
            break;
        case SL_HOUSE_FINISHED:
            r->finishing--;
            r->next_denied = false;
            tell_finished(r, &reply);
            break;
        case SL_HOUSE_REMOVED:
            sl_recorder_post(r, SL_EVENT_SEGMENT_GONE, 0, reply.number, reply.value, 0);
            break;
        case SL_HOUSE_ENDED:
            r->ended = true;
            break;
        }
    }
}

/* -- Places for frames -------------------------------------------------------------------------------------------------- */

/* Half a frame of tolerance, so that a stamp that comes a little early or late does not move a frame to the other segment. */
static bool time_is_up(const struct sl_recorder *r, const struct sl_segment *segment, int64_t time_ns, int64_t early_ns)
{
    return r->run.cfg.segment_time_ns > 0 && segment->slots > 0 &&
           time_ns - segment->begin_ns + r->run.half_frame_ns + early_ns >= r->run.cfg.segment_time_ns;
}

static bool is_used_up(const struct sl_recorder *r, const struct sl_segment *segment)
{
    if (segment->broken || segment->slots >= r->run.limit_slots)
        return true;
    return segment->slots >= segment->fits && segment->grown && !segment->extending;
}

static bool have_times(struct sl_recorder *r, struct sl_segment *segment)
{
    struct sl_time_block *block;

    if (segment->slots % SL_TIMES_PER_BLOCK != 0 || (segment->last_times && segment->times_ready == segment->slots))
        return true;
    block = sl_housekeeper_take_block(r->house);
    if (!block)
        return false;
    if (segment->last_times)
        segment->last_times->next = block;
    else
        segment->first_times = block;
    segment->last_times = block;
    segment->times_ready = segment->slots;
    return true;
}

bool sl_recorder_have_place(struct sl_recorder *r, const struct sl_frame *frame)
{
    if (r->current && is_used_up(r, r->current))
        sl_recorder_retire_current(r);
    if (r->current && r->next && time_is_up(r, r->current, frame->time_ns, 0))
        sl_recorder_retire_current(r);
    if (!r->current && !(r->next && adopt_next(r))) {
        ask_next(r);
        return false;
    }
    if (time_is_up(r, r->current, frame->time_ns, 0))
        ask_next(r);
    return r->current->slots < r->current->formatted && have_times(r, r->current);
}

static void ask_ahead(struct sl_recorder *r)
{
    const struct sl_segment *segment = r->current;
    bool soon;

    if (r->mode != SL_MODE_RECORDING || atomic_load_explicit(&r->drain, memory_order_relaxed) > 0)
        return;
    soon = !segment || segment->broken || (r->run.limit_slots != UINT64_MAX && segment->slots + SL_NEXT_SLOTS >= r->run.limit_slots) ||
           time_is_up(r, segment, segment->begin_ns + segment->last_ns, SL_NEXT_NS);
    if (soon)
        ask_next(r);
}

static void extend_current(struct sl_recorder *r)
{
    struct sl_segment *segment = r->current;
    uint64_t bytes = r->run.chunk_bytes;
    uint64_t left;

    if (!segment || segment->extending || segment->grown || segment->broken)
        return;
    left = segment->fits > segment->formatted ? segment->fits - segment->formatted : 0; /* not bytes: the Cues' share grows */
    if (sl_layout_header_at(&r->run.layout, left) >= r->run.chunk_bytes / 2)
        return;
    if (bytes > r->run.limit_bytes - segment->file_bytes)
        bytes = r->run.limit_bytes - segment->file_bytes;
    segment->grown = bytes == 0;
    if (bytes == 0)
        return;
    segment->extending =
        sl_housekeeper_send(r->house, &(struct sl_house_command){.kind = SL_HOUSE_EXTEND, .segment = segment, .bytes = bytes});
    segment->io += segment->extending;
}

void sl_recorder_tend_segments(struct sl_recorder *r)
{
    ask_ahead(r);
    extend_current(r);
    if (r->wait_for_room > 0 && !r->room_asked)
        r->room_asked = sl_housekeeper_send(r->house, &(struct sl_house_command){.kind = SL_HOUSE_ROOM});
    for (unsigned i = 0; i < SL_STORE_FILES; i++) {
        struct sl_segment *segment = r->retiring[i];

        if (!segment || segment->io > 0)
            continue;
        give_back(r, segment);
        r->retiring[i] = NULL;
    }
}

/* -- Durability --------------------------------------------------------------------------------------------------------- */

void sl_recorder_sync(struct sl_recorder *r)
{
    struct sl_segment *segment = r->current;

    if (r->run.cfg.sync != SL_SYNC_INTERVAL || !segment || !segment->dirty || r->sync_in_flight ||
        r->now_ns - r->synced_ns < r->run.cfg.sync_interval_ns)
        return;
    if (r->store->ops->sync(r->store, segment->place, sl_tag(SL_TAG_SYNC, segment->place, 0)) < 0)
        return;
    r->queued = true;
    r->sync_in_flight = true;
    r->synced_ns = r->now_ns;
    segment->dirty = false;
    segment->io++;
    sl_count(&r->counter[SL_RECORDER_SYNCS], 1);
}

void sl_recorder_synced(struct sl_recorder *r, struct sl_segment *segment, int64_t result)
{
    r->sync_in_flight = false;
    segment->io--;
    if (result >= 0)
        return;
    /* What was written since the last sync may be lost, and a second sync would not say so again: go on in a new file. */
    segment->broken = true;
    if (segment->error == 0)
        segment->error = (int)result;
    sl_recorder_post(r, SL_EVENT_STEP_DOWN, SL_STEP_SYNC_FAILED, segment->number, segment->frames, (int)result);
}
