/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder agent: take → write → reap → release.
 *
 * Thread: recorder agent, but for the few functions that control thread calls after it ended.
 *
 * One turn reaps what completed, takes what the house-keeper answered, starts as many frames as there is room for and returns; the
 * sleep that follows submits it all in the same system call that waits. Nothing is allocated, nothing blocks but that sleep.
 *
 * How it ends: a drain, or a disk that is full or fails, stops new writes; what is in flight lands; every segment goes back to the
 * house-keeper and is finished; END comes back as ENDED; do_work returns -ESHUTDOWN, -ENOSPC or the disk's error. Frames that
 * reach the sink after that are settled by sl_recorder_drain, in the control thread.
 */
#include <errno.h>

#include "writer/recorder.h"

enum { REAP_AT_ONCE = 64 };

uint64_t sl_tag(enum sl_tag_kind kind, unsigned index, unsigned part)
{
    return (uint64_t)kind << 32 | (uint64_t)index << 8 | part;
}

static void dispatch(struct sl_recorder *r, const struct sl_store_completion *completion)
{
    unsigned index = (unsigned)(completion->tag >> 8) & 0xffff;

    switch ((enum sl_tag_kind)(completion->tag >> 32)) {
    case SL_TAG_FRAME:
        sl_recorder_landed(r, index, (unsigned)completion->tag & 0xff, completion->result);
        break;
    case SL_TAG_REVOID:
        sl_recorder_revoided(r, index);
        break;
    case SL_TAG_FORMAT:
        sl_recorder_formatted(r, index, completion->result);
        break;
    case SL_TAG_SYNC:
        sl_recorder_synced(r, r->by_place[index], completion->result);
        break;
    }
}

static void reap(struct sl_recorder *r)
{
    struct sl_store_completion done[REAP_AT_ONCE];
    unsigned count;

    do {
        count = r->store->ops->reap(r->store, done, REAP_AT_ONCE);
        for (unsigned i = 0; i < count; i++)
            dispatch(r, &done[i]);
    } while (count == REAP_AT_ONCE);
}

/* -- Frames in hand ----------------------------------------------------------------------------------------------------- */

static struct sl_frame *hold_next(struct sl_recorder *r)
{
    struct sl_frame *frame = r->held_count < r->held_places ? sl_sink_take(r->sink) : NULL;

    if (!frame)
        return NULL;
    sl_count(&r->counter[SL_RECORDER_TAKEN], 1);
    r->held[(r->held_first + r->held_count++) % r->held_places] = frame;
    return frame;
}

static struct sl_frame *oldest_held(struct sl_recorder *r)
{
    if (r->held_count == 0 && !hold_next(r))
        return NULL;
    return r->held[r->held_first];
}

static struct sl_frame *drop_oldest(struct sl_recorder *r)
{
    struct sl_frame *frame = r->held[r->held_first];

    r->held_first = (r->held_first + 1) % r->held_places;
    r->held_count--;
    return frame;
}

/* Holds the last prerecord_ns, lets older ones go. */
static void hold(struct sl_recorder *r)
{
    const struct sl_frame *newest;

    while ((newest = hold_next(r)))
        while (newest->time_ns - r->held[r->held_first]->time_ns > r->run.cfg.prerecord_ns)
            sl_recorder_let_go(r, drop_oldest(r));
}

static void write_frames(struct sl_recorder *r)
{
    struct sl_frame *frame;

    while (r->in_flight < r->run.cfg.queue_depth && (frame = oldest_held(r))) {
        if (!sl_recorder_have_place(r, frame)) {
            r->blocked = true;
            return;
        }
        sl_recorder_fly(r, drop_oldest(r));
        if (r->mode != SL_MODE_RECORDING)
            return;
    }
    r->blocked = r->in_flight == r->run.cfg.queue_depth;
}

static void give_up_frames(struct sl_recorder *r)
{
    enum sl_loss cause = r->mode == SL_MODE_FULL ? SL_LOSS_DISK_FULL : r->mode == SL_MODE_FAILED ? SL_LOSS_DISK_ERROR : SL_LOSS_DISK_LATE;

    while (oldest_held(r)) {
        if (r->mode == SL_MODE_ARMED)
            sl_recorder_let_go(r, drop_oldest(r));
        else
            sl_recorder_give_up(r, drop_oldest(r), cause, r->failure);
    }
}

static uint32_t drain_of(const struct sl_recorder *r)
{
    return atomic_load_explicit(&r->drain, memory_order_acquire); /* pairs with the store in sl_recorder_drain */
}

static void follow_trigger(struct sl_recorder *r)
{
    bool wanted = atomic_load_explicit(&r->wants_frames, memory_order_relaxed); /* a word alone; nothing is published with it */

    if (r->mode == SL_MODE_ARMED && wanted) {
        r->mode = SL_MODE_RECORDING;
        sl_recorder_post(r, SL_EVENT_STATE, r->mode, 0, 0, 0);
    } else if (r->mode == SL_MODE_RECORDING && !wanted) {
        r->mode = SL_MODE_ARMED;
        sl_recorder_post(r, SL_EVENT_STATE, r->mode, 0, 0, 0);
        if (r->current)
            sl_recorder_retire_current(r);
    }
}

static void tend_frames(struct sl_recorder *r)
{
    r->blocked = false;
    if (drain_of(r) == 0)
        follow_trigger(r);
    if (r->mode == SL_MODE_FULL || r->mode == SL_MODE_FAILED || drain_of(r) == 2 || (drain_of(r) == 1 && r->mode == SL_MODE_ARMED))
        give_up_frames(r);
    else if (r->mode == SL_MODE_ARMED)
        hold(r);
    else
        write_frames(r);
    if (drain_of(r) == 2)
        sl_recorder_retry_no_space(r, -ENOSPC);
    if (r->mode == SL_MODE_FULL || r->mode == SL_MODE_FAILED) /* the disk may have failed in this very turn */
        give_up_frames(r);
}

/* -- The end ------------------------------------------------------------------------------------------------------------ */

void sl_recorder_settle(struct sl_recorder *r)
{
    enum sl_loss cause;
    uint64_t refused;

    if (atomic_exchange_explicit(&r->settled, true, memory_order_acq_rel)) /* pairs with itself: agent or control, not both */
        return;
    r->now_ns = sl_now_ns(r->clock);
    give_up_frames(r);
    cause = sl_recorder_why_refused(r, r->now_ns);
    refused = r->refused_before + sl_sink_counter(r->sink, SL_SINK_REFUSED);
    sl_recorder_refused(r, cause, r->tally.next, sl_tally_close(&r->tally, refused, cause));
    sl_recorder_flush_loss(r, true);
}

static bool segments_remain(const struct sl_recorder *r)
{
    for (unsigned i = 0; i < SL_STORE_FILES; i++)
        if (r->retiring[i])
            return true;
    return r->current || r->next || r->next_asked || r->finishing > 0;
}

static bool is_ending(const struct sl_recorder *r)
{
    return drain_of(r) > 0 || r->mode == SL_MODE_FULL || r->mode == SL_MODE_FAILED;
}

static void tend_end(struct sl_recorder *r)
{
    if (!is_ending(r) || oldest_held(r) || r->in_flight > 0)
        return;
    if (r->current)
        sl_recorder_retire_current(r);
    if (r->next && !r->current) { /* never written to: goes the same way, and is removed */
        r->current = r->next;
        r->next = NULL;
        sl_recorder_retire_current(r);
    }
    if (!segments_remain(r) && !r->end_asked)
        r->end_asked = sl_housekeeper_send(r->house, &(struct sl_house_command){.kind = SL_HOUSE_END});
}

static int end_result(const struct sl_recorder *r)
{
    return r->mode == SL_MODE_FULL || r->mode == SL_MODE_FAILED ? r->failure : -ESHUTDOWN;
}

/* Before the agent ends for good. seq_cst on both sides, so that of agent and drain at least one sees the other. */
static void leave(struct sl_recorder *r)
{
    atomic_store_explicit(&r->agent_ended, true, memory_order_seq_cst); /* pairs with the load in sl_recorder_drain */
    if (atomic_load_explicit(&r->drain, memory_order_seq_cst) > 0)      /* pairs with the store in sl_recorder_drain */
        sl_recorder_settle(r);
    atomic_store_explicit(&r->drained, true, memory_order_release); /* pairs with the load in sl_recorder_drained */
}

static int do_work(void *self)
{
    struct sl_recorder *r = self;

    if (r->ended)
        return end_result(r);
    r->now_ns = sl_now_ns(r->clock);
    if (r->queued)
        r->store->ops->submit(r->store);
    r->queued = false;
    reap(r);
    sl_recorder_take_replies(r);
    tend_frames(r);
    sl_recorder_format(r);
    sl_recorder_sync(r);
    tend_end(r);
    sl_recorder_tend_segments(r);
    sl_recorder_flush_loss(r, false);
    atomic_store_explicit(&r->counter[SL_RECORDER_SUBMITS], r->submits_before + r->store->ops->calls(r->store), memory_order_relaxed);
    if (r->ended) {
        sl_recorder_flush_loss(r, true);
        leave(r);
        return end_result(r);
    }
    return !r->blocked && sl_sink_waiting(r->sink) > 0;
}

static int64_t sleep_ns(const struct sl_recorder *r)
{
    int64_t ns = SL_NS_PER_S;

    if (r->current && r->current->dirty && r->run.cfg.sync == SL_SYNC_INTERVAL && !r->sync_in_flight) {
        ns = r->synced_ns + r->run.cfg.sync_interval_ns - r->now_ns;
        if (ns > SL_NS_PER_S)
            ns = SL_NS_PER_S;
    }
    if (r->loss.count > 0 && ns > 100 * SL_NS_PER_MS)
        ns = 100 * SL_NS_PER_MS;
    return ns > 0 ? ns : 0;
}

static void idle(void *self)
{
    struct sl_recorder *r = self;
    struct sl_wake *wake = sl_sink_wake(r->sink);

    sl_wake_arm(wake);
    if ((r->blocked || sl_sink_waiting(r->sink) == 0) && !sl_housekeeper_has_news(r->house)) {
        r->store->ops->wait(r->store, sleep_ns(r));
        r->queued = false;
    }
    sl_wake_disarm(wake);
}

static void wake(void *self)
{
    struct sl_recorder *r = self;

    sl_wake_signal(sl_sink_wake(r->sink));
}

static int on_start(void *self)
{
    struct sl_recorder *r = self;

    r->synced_ns = sl_now_ns(r->clock);
    return r->store->ops->start(r->store);
}

static bool all_landed(const struct sl_recorder *r)
{
    return r->in_flight == 0 && r->format.phase == 0 && !r->sync_in_flight;
}

void sl_recorder_abort(struct sl_recorder *r)
{
    int64_t give_up_ns = sl_now_ns(r->clock) + SL_STOP_WAIT_S * SL_NS_PER_S;

    if (r->ended)
        return;
    r->now_ns = sl_now_ns(r->clock);
    give_up_frames(r);
    while (!all_landed(r) && sl_now_ns(r->clock) < give_up_ns) {
        sl_recorder_retry_no_space(r, -ENOSPC);
        r->store->ops->wait(r->store, 100 * SL_NS_PER_MS);
        r->now_ns = sl_now_ns(r->clock);
        reap(r);
    }
    sl_recorder_force_landing(r);
    sl_recorder_take_replies(r);
    sl_recorder_give_back_all(r);
    sl_recorder_flush_loss(r, true);
    r->ended = true;
}

static void on_stop(void *self)
{
    struct sl_recorder *r = self;

    if (r->ended)
        return;
    sl_recorder_abort(r);
    leave(r);
}

void sl_recorder_init_agent(struct sl_recorder *r)
{
    r->agent = (struct sl_agent){
        .name = "recorder",
        .self = r,
        .on_start = on_start,
        .do_work = do_work,
        .idle = idle,
        .wake = wake,
        .on_stop = on_stop,
    };
}
