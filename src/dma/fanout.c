/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One producer (capture), up to SL_MAX_SINKS consumers, no lock and no copy.
 *
 * Threads: publish and collect on the capture thread; take, release, leave and join on the sink's own; the rest on the control
 * thread before they start and after capture ended. A sink's thread may go on meanwhile: once the sink has left and holds nothing, no
 * thread but control touches it, and only then it is freed.
 *
 * Each sink has a way out and a way home: `queue` (or `newest`) brings it frames, `home` takes back those that it was the last to
 * release. So every ring has one producer and one consumer, whoever releases last.
 *
 * Invariants
 * - A frame in any queue or hand has references ≥ 1; it is in exactly one home ring when they reach 0.
 * - References are complete before the first push: publish counts one per sink and one for itself, pushes, and then drops its
 *   own and those of the sinks that did not take it. A fast sink can therefore never be the last while others still get it.
 * - What a sink holds is accepted − unseen − released ≤ limit, checked by the producer before the push; so a queue as long as the
 *   limit cannot be full.
 * - The sum of the limits and the device's reserve is at most the pool. Every slot that is not free is held by the device or by a
 *   sink within its limit, so whoever is below its own share finds a slot.
 *
 * Rejected: one home ring for all sinks. It needs either a lock or a multi-producer queue, whose slowest producer, preempted
 * between claim and store, would hold up the recorder's frames.
 * Rejected: to wait in close for a sink that still holds frames. The wait would be the recorder's, whose device is to be opened again.
 */
#include "dma/fanout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/spsc.h"
#include "core/wake.h"
#include "dma/state.h"

enum membership { JOINED, LEAVING, LEFT };

struct sl_sink {
    struct sl_spsc queue; /* struct sl_frame *: capture → sink */
    struct sl_spsc home;  /* struct sl_frame *: sink → capture */
    struct sl_wake wake;
    struct sl_fanout *fanout;
    const char *name;
    unsigned limit;
    enum sl_sink_policy policy;
    alignas(SL_CACHE_LINE) _Atomic(struct sl_frame *) newest;    /* instead of `queue`, by policy */
    alignas(SL_CACHE_LINE) sl_counter counter[SL_SINK_COUNTERS]; /* capture writes */
    alignas(SL_CACHE_LINE) _Atomic uint64_t released;            /* the sink writes, as all below */
    _Atomic uint32_t membership;
    uint64_t taken;
};

struct sl_fanout {
    struct sl_pool *pool;
    struct sl_wake home_wake;
    unsigned unpromised; /* slots that no sink may hold yet, without the device's */
    unsigned sinks;
    struct sl_sink *sink[SL_MAX_SINKS];
};

const struct sl_counter_def sl_sink_counter_defs[] = {
    [SL_SINK_OFFERED] = {"offered", "frames", "Frames that capture published: accepted, refused and missed ones."},
    [SL_SINK_ACCEPTED] = {"accepted", "frames", "Frames that were queued for the sink."},
    [SL_SINK_REFUSED] = {"refused", "frames", "Frames that the sink did not get because it held its limit."},
    [SL_SINK_MISSED] = {"missed", "frames", "Frames that the sink did not get because it had left."},
    [SL_SINK_UNSEEN] = {"unseen", "frames",
                        "Accepted frames that went back before the sink took them: a newer one took their place, or the sink had left."},
};
_Static_assert(sizeof(sl_sink_counter_defs) / sizeof(sl_sink_counter_defs[0]) == SL_SINK_COUNTERS, "one line per counter");

/* -- Open and close ------------------------------------------------------------------------------------------------------ */

int sl_fanout_open(struct sl_fanout **out, struct sl_pool *pool, unsigned reserve, struct sl_error *err)
{
    struct sl_fanout *fanout;
    int ret;

    if (reserve >= sl_pool_slots(pool))
        return sl_fail(err, -EINVAL, "fan-out: all %u slots are the device's", sl_pool_slots(pool));
    fanout = calloc(1, sizeof(*fanout));
    if (!fanout)
        return sl_fail(err, -ENOMEM, "fan-out: out of memory");
    fanout->pool = pool;
    fanout->unpromised = sl_pool_slots(pool) - reserve;
    ret = sl_wake_init(&fanout->home_wake);
    if (ret) {
        free(fanout);
        return sl_fail(err, ret, "fan-out: eventfd: %s", strerror(-ret));
    }
    *out = fanout;
    return 0;
}

static unsigned share_of(const struct sl_sink_cfg *cfg)
{
    return cfg->limit == SL_SINK_WHOLE_POOL ? 1 : cfg->limit;
}

static int check_sink(const struct sl_fanout *fanout, const struct sl_sink_cfg *cfg, struct sl_error *err)
{
    if (fanout->sinks == SL_MAX_SINKS)
        return sl_fail(err, -ENOSPC, "sink %s: there are %d already, which is the limit", cfg->name, SL_MAX_SINKS);
    if (!cfg->limit)
        return sl_fail(err, -EINVAL, "sink %s: a limit of 0 frames would never take one", cfg->name);
    if (share_of(cfg) > fanout->unpromised)
        return sl_fail(err, -ENOBUFS,
                       "sink %s: it may hold %u frames, and of the ring's %u slots %u are left beside the sensor's and the other sinks'",
                       cfg->name, share_of(cfg), sl_pool_slots(fanout->pool), fanout->unpromised);
    return 0;
}

static struct sl_sink *new_sink(struct sl_fanout *fanout, const struct sl_sink_cfg *cfg)
{
    struct sl_sink *sink = aligned_alloc(SL_CACHE_LINE, sizeof(*sink));

    if (!sink)
        return NULL;
    memset(sink, 0, sizeof(*sink));
    sink->fanout = fanout;
    sink->name = cfg->name;
    sink->limit = cfg->limit;
    sink->policy = cfg->policy;
    return sink;
}

int sl_fanout_add(struct sl_fanout *fanout, const struct sl_sink_cfg *cfg, struct sl_sink **out, struct sl_error *err)
{
    unsigned slots = sl_pool_slots(fanout->pool);
    struct sl_sink *sink;
    int ret = check_sink(fanout, cfg, err);

    if (ret)
        return ret;
    ret = -ENOMEM;
    sink = new_sink(fanout, cfg);
    if (!sink)
        goto fail;
    ret = sl_spsc_init(&sink->queue, cfg->limit < slots ? cfg->limit : slots, sizeof(struct sl_frame *));
    if (ret)
        goto free_memory;
    ret = sl_spsc_init(&sink->home, slots, sizeof(struct sl_frame *)); /* room for every frame there is */
    if (ret)
        goto fini_queue;
    ret = sl_wake_init(&sink->wake);
    if (ret)
        goto fini_home;
    fanout->unpromised -= share_of(cfg);
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

/* Capture's side: gives up `count` references of its own making. */
static void drop(struct sl_fanout *fanout, struct sl_frame *frame, uint32_t count)
{
    /* pairs with itself and with the same in sl_sink_release: the last one sees all that the others did */
    if (atomic_fetch_sub_explicit(&frame->references, count, memory_order_acq_rel) == count)
        sl_pool_take_home(fanout->pool, frame);
}

static struct sl_frame *pop(struct sl_sink *sink)
{
    struct sl_frame *frame = NULL;

    if (sink->policy == SL_SINK_NEWEST)
        return atomic_exchange_explicit(&sink->newest, NULL, memory_order_acquire); /* pairs with the release in put_newest */
    return sl_spsc_pop(&sink->queue, &frame) ? frame : NULL;
}

/* What capture queued while the sink was leaving. Its end of the queue was handed over. */
static void withdraw(struct sl_sink *sink)
{
    struct sl_frame *frame;

    while ((frame = pop(sink))) {
        sl_count(&sink->counter[SL_SINK_UNSEEN], 1);
        drop(sink->fanout, frame, 1);
    }
}

static void free_sink(struct sl_sink *sink)
{
    sl_wake_fini(&sink->wake);
    sl_spsc_fini(&sink->home);
    sl_spsc_fini(&sink->queue);
    free(sink);
}

int sl_fanout_close(struct sl_fanout *fanout, struct sl_error *err)
{
    if (!fanout)
        return 0;
    for (unsigned i = 0; i < fanout->sinks; i++) {
        struct sl_sink *sink = fanout->sink[i];
        /* pairs with the last store in sl_sink_leave */
        bool left = atomic_load_explicit(&sink->membership, memory_order_acquire) == LEFT;

        if (left)
            withdraw(sink);
        if (!left || sl_sink_held(sink))
            return sl_fail(err, -EBUSY, "sink %s %s %u frames", sink->name, left ? "still holds" : "has not left, and has",
                           sl_sink_held(sink));
    }
    sl_fanout_collect(fanout);
    for (unsigned i = 0; i < fanout->sinks; i++)
        free_sink(fanout->sink[i]);
    sl_wake_fini(&fanout->home_wake);
    free(fanout);
    return 0;
}

/* -- Capture thread ------------------------------------------------------------------------------------------------------ */

/* The waiting frame, if there is one, makes room for the incoming one. False: the sink has its limit in its hands. */
static bool put_newest(struct sl_sink *sink, struct sl_frame *frame, bool full)
{
    struct sl_frame *waiting = atomic_load_explicit(&sink->newest, memory_order_relaxed);

    if (!full)
        waiting = atomic_exchange_explicit(&sink->newest, frame, memory_order_release); /* pairs with the acquire in pop */
    else if (!waiting || !atomic_compare_exchange_strong_explicit(&sink->newest, &waiting, frame, memory_order_release,
                                                                  memory_order_relaxed)) /* the same */
        return false;
    if (waiting) {
        sl_count(&sink->counter[SL_SINK_UNSEEN], 1);
        drop(sink->fanout, waiting, 1);
    }
    return true;
}

static bool put(struct sl_sink *sink, struct sl_frame *frame)
{
    bool full = sl_sink_held(sink) >= sink->limit;

    if (sink->policy == SL_SINK_NEWEST)
        return put_newest(sink, frame, full);
    if (full)
        return false;
    if (!sl_spsc_push(&sink->queue, &frame))
        sl_frame_bug(frame, "a sink's queue is full below its limit");
    return true;
}

static bool offer(struct sl_sink *sink, struct sl_frame *frame)
{
    enum sl_sink_counter which = SL_SINK_MISSED;

    if (atomic_load_explicit(&sink->membership, memory_order_relaxed) == JOINED) /* late news is told by the queue's own order */
        which = put(sink, frame) ? SL_SINK_ACCEPTED : SL_SINK_REFUSED;
    sl_count(&sink->counter[SL_SINK_OFFERED], 1);
    sl_count(&sink->counter[which], 1);
    return which == SL_SINK_ACCEPTED;
}

unsigned sl_fanout_publish(struct sl_fanout *fanout, struct sl_frame *frame)
{
    uint32_t references = fanout->sinks + 1;
    unsigned took = 0;
    bool ring[SL_MAX_SINKS];

    sl_frame_move(frame, SL_FRAME_FILLED, SL_FRAME_SHARED);
    /* relaxed: the push of the frame publishes it */
    atomic_store_explicit(&frame->references, references, memory_order_relaxed);
    for (unsigned i = 0; i < fanout->sinks; i++) {
        ring[i] = offer(fanout->sink[i], frame);
        took += ring[i];
    }
    drop(fanout, frame, references - took);
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

/* -- A sink's thread ----------------------------------------------------------------------------------------------------- */

struct sl_frame *sl_sink_take(struct sl_sink *sink)
{
    struct sl_frame *frame = pop(sink);

    sink->taken += frame != NULL;
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
    before = atomic_fetch_sub_explicit(&frame->references, 1, memory_order_acq_rel); /* pairs with itself and with drop */
    if (!before)
        sl_frame_bug(frame, "released more often than it was shared");
    if (before == 1 && !sl_spsc_push(&sink->home, &frame))
        sl_frame_bug(frame, "a home ring is full");
    if (before == 1)
        sl_wake_notify(&sink->fanout->home_wake);
    /* last: the limit never counts less than what the sink holds, and after it the sink may be freed; pairs with the load in
     * sl_sink_held */
    atomic_store_explicit(&sink->released, released + 1, memory_order_release);
}

void sl_sink_leave(struct sl_sink *sink)
{
    struct sl_frame *frame;

    if (!sink || atomic_load_explicit(&sink->membership, memory_order_relaxed) == LEFT)
        return;
    atomic_store_explicit(&sink->membership, LEAVING, memory_order_relaxed); /* capture stops soon; what it still queues is withdrawn */
    while ((frame = sl_sink_take(sink)))
        sl_sink_release(sink, frame);
    /* last: hands the queue's end over, and after it the sink may be freed; pairs with the load in sl_fanout_close */
    atomic_store_explicit(&sink->membership, LEFT, memory_order_release);
}

void sl_sink_join(struct sl_sink *sink)
{
    atomic_store_explicit(&sink->membership, JOINED, memory_order_relaxed);
}

/* -- Any thread ---------------------------------------------------------------------------------------------------------- */

unsigned sl_sink_waiting(const struct sl_sink *sink)
{
    if (sink->policy == SL_SINK_NEWEST)
        return atomic_load_explicit(&sink->newest, memory_order_relaxed) != NULL;
    return (unsigned)sl_spsc_count(&sink->queue);
}

/* What grows last is read first, so that the difference is never below what it is on the capture thread. */
unsigned sl_sink_held(const struct sl_sink *sink)
{
    uint64_t released = atomic_load_explicit(&sink->released, memory_order_acquire); /* pairs with the store in sl_sink_release */
    uint64_t unseen = sl_counter_read(&sink->counter[SL_SINK_UNSEEN]);
    uint64_t accepted = sl_counter_read(&sink->counter[SL_SINK_ACCEPTED]); /* may not yet count what was released already */

    return accepted > unseen + released ? (unsigned)(accepted - unseen - released) : 0;
}

struct sl_wake *sl_sink_wake(struct sl_sink *sink)
{
    return &sink->wake;
}

uint64_t sl_sink_counter(const struct sl_sink *sink, enum sl_sink_counter which)
{
    return (unsigned)which < SL_SINK_COUNTERS ? sl_counter_read(&sink->counter[which]) : 0;
}
