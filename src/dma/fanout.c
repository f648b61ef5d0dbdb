/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One producer (capture), up to SL_MAX_SINKS consumers, no lock and no copy.
 *
 * Threads: publish and collect on the capture thread; take and release on the sink's own; the rest on the control thread
 * before they start and after they ended.
 *
 * Each sink has two rings: `queue` brings it frames, `home` takes back those that it was the last to release. So every ring
 * has one producer and one consumer, whoever releases last.
 *
 * Invariants
 * - A frame in any queue or hand has references ≥ 1; it is in exactly one home ring when they reach 0.
 * - References are complete before the first push: publish counts one per sink and one for itself, pushes, and then drops its
 *   own and those of the sinks that had no room. A fast sink can therefore never be the last while others still get it.
 * - What a sink holds is accepted − released ≤ limit, checked by the producer before the push; so a queue as long as the
 *   limit cannot be full, and a sink that never releases costs the others `limit` slots and nothing more.
 *
 * Rejected: one home ring for all sinks. It needs either a lock or a multi-producer queue, whose slowest producer, preempted
 * between claim and store, would hold up the recorder's frames.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dma/state.h"

struct sl_sink {
    struct sl_spsc queue; /* struct sl_frame *: capture → sink */
    struct sl_spsc home;  /* struct sl_frame *: sink → capture */
    struct sl_wake wake;
    struct sl_fanout *fanout;
    unsigned limit;
    alignas(SL_CACHE_LINE) sl_counter counter[SL_SINK_COUNTERS]; /* capture writes */
    alignas(SL_CACHE_LINE) _Atomic uint64_t released;            /* the sink writes */
    uint64_t taken;                                              /* the sink's own */
};

struct sl_fanout {
    struct sl_pool *pool;
    struct sl_wake home_wake;
    unsigned sinks;
    struct sl_sink *sink[SL_MAX_SINKS];
};

const struct sl_counter_def sl_sink_counter_defs[] = {
    [SL_SINK_OFFERED] = {"offered", "frames", "Frames that capture published while the sink existed."},
    [SL_SINK_ACCEPTED] = {"accepted", "frames", "Frames that were queued for the sink."},
    [SL_SINK_REFUSED] = {"refused", "frames", "Frames that the sink did not get because it held its limit."},
};
_Static_assert(sizeof(sl_sink_counter_defs) / sizeof(sl_sink_counter_defs[0]) == SL_SINK_COUNTERS, "one line per counter");

int sl_fanout_open(struct sl_fanout **out, struct sl_pool *pool, struct sl_error *err)
{
    struct sl_fanout *fanout = calloc(1, sizeof(*fanout));
    int ret;

    if (!fanout)
        return sl_fail(err, -ENOMEM, "fan-out: out of memory");
    fanout->pool = pool;
    ret = sl_wake_init(&fanout->home_wake);
    if (ret) {
        free(fanout);
        return sl_fail(err, ret, "fan-out: eventfd: %s", strerror(-ret));
    }
    *out = fanout;
    return 0;
}

static void free_sink(struct sl_sink *sink)
{
    sl_wake_fini(&sink->wake);
    sl_spsc_fini(&sink->home);
    sl_spsc_fini(&sink->queue);
    free(sink);
}

void sl_fanout_close(struct sl_fanout *fanout)
{
    struct sl_frame *frame;

    if (!fanout)
        return;
    for (unsigned i = 0; i < fanout->sinks; i++)
        while ((frame = sl_sink_take(fanout->sink[i])))
            sl_sink_release(fanout->sink[i], frame);
    sl_fanout_collect(fanout);
    for (unsigned i = 0; i < fanout->sinks; i++)
        free_sink(fanout->sink[i]);
    sl_wake_fini(&fanout->home_wake);
    free(fanout);
}

int sl_fanout_add(struct sl_fanout *fanout, const struct sl_sink_cfg *cfg, struct sl_sink **out, struct sl_error *err)
{
    unsigned slots = sl_pool_slots(fanout->pool);
    struct sl_sink *sink;
    int ret = -ENOMEM;

    if (fanout->sinks == SL_MAX_SINKS)
        return sl_fail(err, -ENOSPC, "sink %s: there are %d already, which is the limit", cfg->name, SL_MAX_SINKS);
    if (!cfg->limit)
        return sl_fail(err, -EINVAL, "sink %s: a limit of 0 frames would never take one", cfg->name);
    sink = aligned_alloc(SL_CACHE_LINE, sizeof(*sink));
    if (!sink)
        goto fail;
    memset(sink, 0, sizeof(*sink));
    sink->fanout = fanout;
    sink->limit = cfg->limit;
    ret = sl_spsc_init(&sink->queue, cfg->limit < slots ? cfg->limit : slots, sizeof(struct sl_frame *));
    if (ret)
        goto free_memory;
    ret = sl_spsc_init(&sink->home, slots, sizeof(struct sl_frame *)); /* room for every frame there is */
    if (ret)
        goto fini_queue;
    ret = sl_wake_init(&sink->wake);
    if (ret)
        goto fini_home;
    fanout->sink[fanout->sinks++] = sink;
    *out = sink;
    return 0;

fini_home:
    sl_spsc_fini(&sink->home);
fini_queue:
    sl_spsc_fini(&sink->queue);
free_memory:
    free(sink);
fail:
    return sl_fail(err, ret, "sink %s: %s", cfg->name, strerror(-ret));
}

static bool offer(struct sl_sink *sink, struct sl_frame *frame)
{
    uint64_t accepted = sl_counter_read(&sink->counter[SL_SINK_ACCEPTED]);
    uint64_t released = atomic_load_explicit(&sink->released, memory_order_acquire); /* pairs with the store in sl_sink_release */

    sl_count(&sink->counter[SL_SINK_OFFERED], 1);
    if (accepted - released >= sink->limit) {
        sl_count(&sink->counter[SL_SINK_REFUSED], 1);
        return false;
    }
    if (!sl_spsc_push(&sink->queue, &frame))
        sl_frame_bug(frame, "a sink's queue is full below its limit");
    sl_count(&sink->counter[SL_SINK_ACCEPTED], 1);
    return true;
}

unsigned sl_fanout_publish(struct sl_fanout *fanout, struct sl_frame *frame)
{
    uint32_t references = fanout->sinks + 1;
    uint32_t excess;
    unsigned took = 0;
    bool ring[SL_MAX_SINKS];

    sl_frame_move(frame, SL_FRAME_FILLED, SL_FRAME_SHARED);
    /* relaxed: the push of the frame publishes it */
    atomic_store_explicit(&frame->references, references, memory_order_relaxed);
    for (unsigned i = 0; i < fanout->sinks; i++) {
        ring[i] = offer(fanout->sink[i], frame);
        took += ring[i];
    }
    excess = references - took;
    /* pairs with itself and with the same in sl_sink_release: the last one sees all that the others did */
    if (atomic_fetch_sub_explicit(&frame->references, excess, memory_order_acq_rel) == excess)
        sl_pool_take_home(fanout->pool, frame);
    for (unsigned i = 0; i < fanout->sinks; i++) /* after all pushes: a woken sink may take this CPU */
        if (ring[i])
            sl_wake_notify(&fanout->sink[i]->wake);
    return took;
}

unsigned sl_fanout_collect(struct sl_fanout *fanout)
{
    struct sl_frame *frame;
    unsigned collected = 0;

    for (unsigned i = 0; i < fanout->sinks; i++) {
        while (sl_spsc_pop(&fanout->sink[i]->home, &frame)) {
            sl_pool_take_home(fanout->pool, frame);
            collected++;
        }
    }
    return collected;
}

struct sl_wake *sl_fanout_home_wake(struct sl_fanout *fanout)
{
    return &fanout->home_wake;
}

struct sl_frame *sl_sink_take(struct sl_sink *sink)
{
    struct sl_frame *frame;

    if (!sl_spsc_pop(&sink->queue, &frame))
        return NULL;
    sink->taken++;
    return frame;
}

void sl_sink_release(struct sl_sink *sink, struct sl_frame *frame)
{
    uint64_t released = atomic_load_explicit(&sink->released, memory_order_relaxed);
    uint32_t before;

    if (atomic_load_explicit(&frame->state, memory_order_relaxed) != SL_FRAME_SHARED)
        sl_frame_bug(frame, "released, but it is not shared");
    if (released == sink->taken)
        sl_frame_bug(frame, "released by a sink that holds none");
    before = atomic_fetch_sub_explicit(&frame->references, 1, memory_order_acq_rel); /* pairs with itself and with sl_fanout_publish */
    if (!before)
        sl_frame_bug(frame, "released more often than it was shared");
    if (before == 1 && !sl_spsc_push(&sink->home, &frame))
        sl_frame_bug(frame, "a home ring is full");
    /* last, so that the limit never counts less than what the sink holds; pairs with the load in offer */
    atomic_store_explicit(&sink->released, released + 1, memory_order_release);
    if (before == 1)
        sl_wake_notify(&sink->fanout->home_wake);
}

unsigned sl_sink_waiting(const struct sl_sink *sink)
{
    return (unsigned)sl_spsc_count(&sink->queue);
}

struct sl_wake *sl_sink_wake(struct sl_sink *sink)
{
    return &sink->wake;
}

uint64_t sl_sink_counter(const struct sl_sink *sink, enum sl_sink_counter which)
{
    return (unsigned)which < SL_SINK_COUNTERS ? sl_counter_read(&sink->counter[which]) : 0;
}
