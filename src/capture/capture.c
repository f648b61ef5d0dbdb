/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of the module: control thread only, except for the counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture_state.h"
#include "capture/script.h"

const struct sl_counter_def sl_capture_counter_defs[SL_CAPTURE_COUNTERS] = {
    [SL_CAPTURE_EXPECTED] = {"expected", "frames", "Frames that should have come, from the time grid cross-checked with the sequence."},
    [SL_CAPTURE_CAPTURED] = {"captured", "frames", "Frames that were delivered and published to the sinks."},
    [SL_CAPTURE_BAD_KEPT] = {"bad_kept", "frames", "Captured frames with the device's error flag or too few bytes (bad_frames=keep)."},
    [SL_CAPTURE_STARVED] = {"starved", "times", "How often the device was left without a single buffer."},
    [SL_CAPTURE_ANOMALIES] = {"anomalies", "times", "Deliveries in which the device contradicted itself or its clock."},
};
_Static_assert(sizeof(sl_capture_counter_defs) / sizeof(sl_capture_counter_defs[0]) == SL_CAPTURE_COUNTERS, "one row per counter");

static const char *const g_anomaly_names[] = {
    [SL_ANOMALY_SEQUENCE_FROZEN] = "sequence_frozen",
    [SL_ANOMALY_SEQUENCE_JUMP] = "sequence_jump",
    [SL_ANOMALY_SEQUENCE_RESET] = "sequence_reset",
    [SL_ANOMALY_TIME_FROZEN] = "time_frozen",
    [SL_ANOMALY_TIME_BACKWARD] = "time_backward",
    [SL_ANOMALY_TIME_FOREIGN_CLOCK] = "time_foreign_clock",
    [SL_ANOMALY_BAD_INDEX] = "bad_index",
    [SL_ANOMALY_BAD_SIZE] = "bad_size",
    [SL_ANOMALY_BAD_BUFFER] = "bad_buffer",
    [SL_ANOMALY_FALSE_READY] = "false_ready",
    [SL_ANOMALY_QUEUE_REFUSED] = "queue_refused",
};
_Static_assert(sizeof(g_anomaly_names) / sizeof(g_anomaly_names[0]) == SL_ANOMALY_COUNT, "one name per anomaly");

const char *sl_anomaly_name(enum sl_anomaly anomaly)
{
    return (unsigned)anomaly < SL_ANOMALY_COUNT ? g_anomaly_names[anomaly] : NULL;
}

static int open_source(struct sl_source **out, const struct sl_capture_cfg *cfg, const struct sl_capture_deps *deps, struct sl_error *err)
{
    switch (cfg->source) {
    case SL_SOURCE_V4L2:
        return sl_v4l2_source_open(out, cfg, err);
    case SL_SOURCE_PATTERN:
        return sl_pattern_source_open(out, cfg, err);
    case SL_SOURCE_REPLAY:
        return sl_replay_source_open(out, cfg, deps->replay_reader, err);
    }
    return sl_fail(err, -EINVAL, "unknown source %d", (int)cfg->source);
}

int sl_capture_open(struct sl_capture **out, const struct sl_capture_cfg *cfg, const struct sl_capture_deps *deps, struct sl_error *err)
{
    const struct sl_sensor_script *script = cfg->script;
    struct sl_source *source;
    int ret;

    if (script && sl_now_ns(deps->clock) < script->away_until_ns)
        return sl_fail(err, script->away_error, "sensor: %s, by [fault] sensor", strerror(-script->away_error));
    ret = open_source(&source, cfg, deps, err);
    if (ret < 0)
        return ret;
    if (cfg->script && cfg->script->faults) {
        struct sl_source *inner = source;

        ret = sl_fault_source_open(&source, inner, cfg->script, err);
        if (ret < 0) {
            inner->ops->close(inner);
            return ret;
        }
    }
    ret = sl_capture_open_source(out, source, cfg, deps, err);
    if (ret < 0)
        source->ops->close(source);
    return ret;
}

static uint64_t frames_in(double ns, struct sl_rational fps)
{
    return ns > 0 ? (uint64_t)(ns * fps.num / ((double)fps.den * SL_NS_PER_S) + 0.5) : 0;
}

/* Grid frames after which the run ends: the nearer of the two limits. Where the rate is another one than before, what is left of the
 * time is counted anew. */
static uint64_t limit_in_frames(const struct sl_capture *c, struct sl_rational fps)
{
    const struct sl_capture_place *before = &c->before;
    uint64_t frames;

    if (c->time_limit_ns <= 0)
        return c->frame_limit;
    if (c->goes_on && before->frame_limit && (uint64_t)before->fps.num * fps.den == (uint64_t)fps.num * before->fps.den)
        return before->frame_limit;
    frames = before->counter[SL_CAPTURE_EXPECTED] + frames_in((double)c->time_limit_ns - before->elapsed_ns, fps);
    if (frames == 0)
        frames = 1;
    return c->frame_limit && c->frame_limit < frames ? c->frame_limit : frames;
}

/* The counters are the run's: they start where the last opening left them. */
static void count_on(struct sl_capture *c, const struct sl_capture_place *place)
{
    for (unsigned i = 0; i < SL_CAPTURE_COUNTERS; i++)
        atomic_store_explicit(&c->counter[i], place->counter[i], memory_order_relaxed);
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        atomic_store_explicit(&c->lost[i], place->lost[i], memory_order_relaxed);
}

/* The stream runs: the grid begins, or goes on over an outage that is booked up to now. */
static void begin_grid(struct sl_capture *c)
{
    struct sl_capture_place *before = &c->before;

    sl_grid_init(&c->grid, c->info.format.fps, c->source->own_times);
    c->begun_ns = c->silent_from_ns = c->now_ns;
    if (c->goes_on) {
        sl_capture_place_miss(before, c->now_ns);
        count_on(c, before);
        c->run = (struct sl_loss_run){.cause = SL_LOSS_DEVICE_GONE,
                                      .first = before->counter[SL_CAPTURE_EXPECTED] - before->untold,
                                      .count = before->untold,
                                      .error = before->error};
        sl_grid_go_on(&c->grid, before->counter[SL_CAPTURE_EXPECTED], before->due_ns);
    }
    c->frame_limit = limit_in_frames(c, c->info.format.fps);
    c->started = true;
}

int sl_capture_open_source(struct sl_capture **out, struct sl_source *source, const struct sl_capture_cfg *cfg,
                           const struct sl_capture_deps *deps, struct sl_error *err)
{
    struct sl_capture *c;
    int ret;

    if (!source->info.format.fps.num || !source->info.format.fps.den)
        return sl_fail(err, -EINVAL, "%s does not say its frame rate, and the time grid needs one: set fps", source->info.device);
    c = calloc(1, sizeof(*c));
    if (!c)
        return sl_fail(err, -ENOMEM, "capture: out of memory");
    ret = sl_wake_init(&c->stop);
    if (ret < 0) {
        free(c);
        return sl_fail(err, ret, "capture: eventfd: %s", strerror(-ret));
    }
    c->source = source;
    c->clock = deps->clock;
    c->events = deps->events;
    c->drop_bad_frames = cfg->drop_bad_frames;
    c->stall_timeout_ns = cfg->stall_timeout_ns;
    c->frame_limit = cfg->frame_limit;
    c->time_limit_ns = cfg->time_limit_ns;
    c->goes_on = cfg->before != NULL;
    if (cfg->before)
        c->before = *cfg->before;
    count_on(c, &c->before);
    c->info = source->info;
    c->agent = sl_capture_agent_template;
    c->agent.self = c;
    *out = c;
    return 0;
}

const struct sl_capture_info *sl_capture_info(const struct sl_capture *capture)
{
    return &capture->info;
}

int sl_capture_memory(struct sl_capture *c, struct sl_memory **out, struct sl_error *err)
{
    int ret;

    if (!c->source->ops->memory)
        return sl_fail(err, -ENOTSUP, "%s has no memory of its own", c->info.device);
    ret = c->source->ops->memory(c->source, out, err);
    c->info = c->source->info; /* the driver may have granted fewer buffers than asked */
    return ret;
}

int sl_capture_try_memory(struct sl_capture *c, const struct sl_memory *memory, struct sl_error *err)
{
    return c->source->ops->try_memory ? c->source->ops->try_memory(c->source, memory, err) : 0;
}

/* Takes back what the source still has and forgets the pool. */
static void leave(struct sl_capture *c)
{
    c->source->ops->stop(c->source);
    for (unsigned i = 0; i < sl_pool_slots(c->pool); i++) {
        struct sl_frame *frame = sl_pool_frame(c->pool, i);

        /* relaxed: QUEUED is a state only this side sets and leaves */
        if (atomic_load_explicit(&frame->state, memory_order_relaxed) == SL_FRAME_QUEUED)
            sl_pool_give_back(c->pool, frame);
    }
    c->queued = 0;
    c->started = false;
    free(c->queued_ns);
    c->queued_ns = NULL;
}

int sl_capture_start(struct sl_capture *c, struct sl_pool *pool, struct sl_fanout *fanout, struct sl_error *err)
{
    int ret;

    if (c->started)
        return sl_fail(err, -EALREADY, "capture: already started");
    c->queued_ns = calloc(sl_pool_slots(pool), sizeof(*c->queued_ns));
    if (!c->queued_ns)
        return sl_fail(err, -ENOMEM, "capture: out of memory");
    c->pool = pool;
    c->fanout = fanout;
    c->refusal = 0;
    c->home = sl_fanout_home_wake(fanout);
    ret = c->source->ops->prepare(c->source, pool, err);
    if (ret < 0)
        goto undo;
    c->info = c->source->info;
    c->now_ns = sl_now_ns(c->clock);
    ret = sl_capture_feed(c, c->now_ns);
    if (ret < 0 || !c->queued) {
        ret = c->refusal ? c->refusal : -ENOBUFS;
        sl_capture_explain(c, ret, err);
        sl_fail_context(err, ret, "%s takes no buffer", c->info.device);
        goto undo;
    }
    ret = c->source->ops->begin(c->source, c->now_ns, err);
    if (ret < 0)
        goto undo;
    begin_grid(c);
    return 0;

undo:
    leave(c);
    return ret;
}

void sl_capture_explain(const struct sl_capture *c, int result, struct sl_error *err)
{
    const struct sl_source_ops *ops = c->source->ops;

    if (result == -ETIMEDOUT)
        sl_fail(err, result, "%s: no frame for %.3g s, although it had %u buffers; is there a signal?", c->info.device,
                (double)c->stall_timeout_ns / 1e9, c->queued);
    else if (!ops->explain || !ops->explain(c->source, result, err))
        sl_fail(err, result, "%s: %s", c->info.device, strerror(-result));
}

const struct sl_agent *sl_capture_agent(struct sl_capture *capture)
{
    return &capture->agent;
}

uint64_t sl_capture_counter(const struct sl_capture *capture, enum sl_capture_counter which)
{
    return sl_counter_read(&capture->counter[which]);
}

void sl_capture_books(const struct sl_capture *capture, struct sl_books *books)
{
    *books = (struct sl_books){
        .expected = sl_capture_counter(capture, SL_CAPTURE_EXPECTED),
        .captured = sl_capture_counter(capture, SL_CAPTURE_CAPTURED),
    };
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        books->lost[i] = sl_counter_read(&capture->lost[i]);
}

/* Frames that were due from the last one (or the start of the stream) up to stop_ns. */
static uint64_t due(const struct sl_capture *c, int64_t stop_ns)
{
    if (c->grid.started)
        return sl_grid_due(&c->grid, stop_ns);
    if (c->goes_on)
        return stop_ns >= c->grid.due_ns ? (uint64_t)((double)(stop_ns - c->grid.due_ns) / c->grid.nominal_ns) + 1 : 0;
    return stop_ns > c->begun_ns ? (uint64_t)((double)(stop_ns - c->begun_ns) / c->grid.nominal_ns) : 0;
}

void sl_capture_finish(struct sl_capture *c, int64_t stop_ns, enum sl_loss cause)
{
    if (!c->started)
        return;
    if (stop_ns)
        sl_capture_lose(c, cause, due(c, stop_ns), c->finished == -ESHUTDOWN ? 0 : c->finished);
    sl_capture_flush_run(c);
    sl_capture_flush_kept(c);
    leave(c);
}

/* When the next frame of the run's grid is due. A source with a time of its own takes it up again from now. */
static int64_t next_due_ns(const struct sl_capture *c, int64_t now_ns)
{
    int64_t due_ns = c->grid.started || c->goes_on ? sl_grid_next_due_ns(&c->grid) : c->begun_ns + (int64_t)c->grid.nominal_ns;

    return c->source->own_times && due_ns < now_ns ? now_ns : due_ns;
}

void sl_capture_place_counts(const struct sl_capture *c, struct sl_capture_place *place)
{
    for (unsigned i = 0; i < SL_CAPTURE_COUNTERS; i++)
        place->counter[i] = sl_capture_counter(c, (enum sl_capture_counter)i);
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        place->lost[i] = sl_counter_read(&c->lost[i]);
}

/* The stream never started: the run's grid begins now, or where it stood. */
static void place_unstarted(const struct sl_capture *c, int64_t now_ns, struct sl_capture_place *place)
{
    struct sl_rational fps = c->info.format.fps;
    int64_t interval_ns = sl_frame_time_ns(fps, 1);

    if (c->goes_on)
        *place = c->before;
    else
        *place = (struct sl_capture_place){
            .fps = fps, .interval_ns = (double)interval_ns, .due_ns = now_ns + interval_ns, .frame_limit = limit_in_frames(c, fps)};
}

void sl_capture_suspend(struct sl_capture *c, int64_t now_ns, struct sl_capture_place *place)
{
    const struct sl_capture_place *before = &c->before;

    if (!c->started) {
        place_unstarted(c, now_ns, place);
        return;
    }
    if (c->run.cause != SL_LOSS_DEVICE_GONE)
        sl_capture_flush_run(c);
    sl_capture_flush_kept(c);
    *place = (struct sl_capture_place){
        .fps = c->info.format.fps,
        .interval_ns = c->grid.interval_ns,
        .due_ns = next_due_ns(c, now_ns),
        .frame_limit = c->frame_limit,
        .untold = c->run.count,
        .error = c->goes_on && !c->grid.started ? before->error : c->finished,
    };
    sl_capture_place_counts(c, place);
    place->elapsed_ns =
        before->elapsed_ns + (double)(place->counter[SL_CAPTURE_EXPECTED] - before->counter[SL_CAPTURE_EXPECTED]) * c->grid.nominal_ns;
    c->run.count = 0;
    leave(c);
}

void sl_capture_close(struct sl_capture *c)
{
    if (!c)
        return;
    sl_capture_finish(c, 0, SL_LOSS_SENSOR_GAP);
    c->source->ops->close(c->source);
    sl_wake_fini(&c->stop);
    free(c);
}
