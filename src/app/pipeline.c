/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the stages of a run together and takes them apart.
 *
 * How many slots: the ring's depth (in frames) plus what prerecord holds is the recorder's share; the device's indices come on
 * top, and so do the limits of the other consumers: whatever those hold, a recorder that holds all it may still leaves the device enough
 * to fill. With the device's own buffers (mmap) the pool is what the driver granted, and the recorder's share is what remains above the
 * driver's minimum and the consumers' limits. The fan-out refuses a sum that does not fit.
 *
 * Memory: host memory (huge pages) that the device imports is preferred, since its number is ours to choose and io_uring can pin
 * it; the device's own buffers come next. Which one it became, and why, is kept for summary and log.
 */
#include "app/pipeline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"

enum { EVENT_RING = 1024 };

static void capture_cfg(const struct sl_pipeline_cfg *pipeline, struct sl_capture_cfg *cfg)
{
    const struct sl_config *config = pipeline->config;

    *cfg = (struct sl_capture_cfg){
        .source = (enum sl_source_kind)config->sensor.source,
        .device = config->sensor.device,
        .pixel_format = config->sensor.format,
        .width = config->sensor.width,
        .height = config->sensor.height,
        .fps = config->sensor.fps,
        .input = (int)config->sensor.input,
        .dv_timings = config->sensor.dv_timings,
        .controls = config->sensor.controls,
        .buffers = (unsigned)config->sensor.buffers,
        .drop_bad_frames = config->sensor.bad_frames,
        .stall_timeout_ns = config->sensor.stall_timeout,
        .unpaced = !config->sensor.paced,
        .frame_limit = pipeline->limit.frames,
        .time_limit_ns = pipeline->limit.time_ns,
        .replay_loop = config->sensor.loop,
        .script = pipeline->script,
        .before = pipeline->before ? &pipeline->before->capture : NULL,
        .same_as = pipeline->before ? &pipeline->before->sensor.identity : NULL,
    };
}

static int open_capture(struct sl_pipeline *p, const struct sl_pipeline_cfg *pipeline, struct sl_error *err)
{
    struct sl_capture_cfg cfg;
    struct sl_capture_deps deps = {.clock = p->clock, .events = &p->capture_events};

    p->failed = SL_PART_SENSOR;
    capture_cfg(pipeline, &cfg);
    if (cfg.source == SL_SOURCE_REPLAY) {
        int rc = sl_replay_reader_open(&p->replay, pipeline->config->sensor.file, err);

        if (rc < 0)
            return rc;
        deps.replay_reader = &p->replay;
    }
    return sl_capture_open(&p->capture, &cfg, &deps, err);
}

/* -- Memory ------------------------------------------------------------------------------------------------------------- */

/* Host memory for the whole pool, if the device takes it. */
static int open_host_memory(struct sl_pipeline *p, const struct sl_config *config, unsigned ring_frames, struct sl_error *err)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    struct sl_memory *memory;
    int rc = sl_memory_host(&memory, ring_frames + info->indices + sl_consumers_share(p->consumer, p->admitted), info->slot_bytes,
                            (enum sl_hugepages)config->ring.hugepages, err);

    if (rc < 0)
        return rc;
    rc = sl_capture_try_memory(p->capture, memory, err);
    if (rc < 0) {
        sl_memory_close(memory);
        return rc;
    }
    p->memory = memory;
    p->waits_for_slots = !config->sensor.paced && config->sensor.source != SL_SOURCE_V4L2;
    p->ring_frames = p->waits_for_slots ? memory->slots : ring_frames;
    p->reserve = p->waits_for_slots ? 0 : info->indices;
    return 0;
}

/* Into the device's own buffers. A consumer that does not fit is an error at first; when the device comes back with fewer buffers, the
 * recording goes on without it. */
static int fit_consumers(struct sl_pipeline *p, unsigned frames, struct sl_error *err)
{
    uint32_t fit = sl_consumers_fit(p->consumer, p->admitted, frames);

    for (unsigned i = 0; i < p->consumers; i++) {
        const struct sl_sink_cfg *sink = &p->consumer[i].sink;

        if (!((p->admitted & ~fit) & 1u << i))
            continue;
        sl_fail(err, -ENOBUFS,
                "%s holds up to %u frames, and of the device's %u buffers the consumers can have %u, beside the device and the recorder: "
                "make its depth smaller, or use memory = userptr",
                sink->name, sink->limit, p->memory->slots, frames);
        if (!p->before)
            return -ENOBUFS;
        sl_log(SL_LOG_WARNING, "%s; it gets no frames", err->text);
    }
    p->admitted = fit;
    return 0;
}

static int open_device_memory(struct sl_pipeline *p, struct sl_error *err)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    int rc = sl_capture_memory(p->capture, &p->memory, err);

    if (rc < 0)
        return rc;
    unsigned slots = p->memory->slots;
    unsigned keep = info->min_indices + 1; /* one to fill while the driver holds its minimum */

    p->device_memory = true;
    p->reserve = keep < slots ? keep : slots - 1;
    rc = fit_consumers(p, slots - p->reserve - 1, err);
    if (rc < 0)
        return rc;
    p->ring_frames = slots - p->reserve - sl_consumers_share(p->consumer, p->admitted);
    return 0;
}

static int open_memory(struct sl_pipeline *p, const struct sl_config *config, unsigned ring_frames, struct sl_error *err)
{
    struct sl_error why = {{0}};

    p->failed = SL_PART_MEMORY;
    if (config->sensor.memory == SL_MEMORY_USERPTR || config->sensor.source != SL_SOURCE_V4L2)
        return open_host_memory(p, config, ring_frames, err);
    if (config->sensor.memory == SL_MEMORY_MMAP)
        return open_device_memory(p, err);
    int rc = open_host_memory(p, config, ring_frames, &why);

    if (rc == 0)
        return 0;
    if (config->ring.hugepages == SL_HUGEPAGES_REQUIRE && rc == -ENOMEM)
        return sl_fail(err, rc, "%s", why.text);
    snprintf(p->memory_reason, sizeof p->memory_reason, "userptr: %.400s", why.text);
    return open_device_memory(p, err);
}

/* -- Consumers ---------------------------------------------------------------------------------------------------------- */

/* Those that hold frames of an earlier opening get none of this. */
static void admit_consumers(struct sl_pipeline *p)
{
    uint32_t holding = p->left ? sl_left_rings_tidy(p->left) : 0;

    for (unsigned i = 0; i < p->consumers; i++)
        if (holding & 1u << i)
            sl_log(SL_LOG_WARNING, "%s still holds frames of an earlier opening and gets none of this one", p->consumer[i].sink.name);
    p->admitted = ((1u << p->consumers) - 1) & ~holding;
}

static int add_consumers(struct sl_pipeline *p, struct sl_error *err)
{
    int rc = 0;

    for (unsigned i = 0; i < p->consumers && rc == 0; i++)
        if (p->admitted & 1u << i)
            rc = sl_fanout_add(p->fanout, &p->consumer[i].sink, &p->consumer_sink[i], err);
    return rc;
}

/* A consumer that cannot start is left out: the recorder needs none of them. */
static void start_consumers(struct sl_pipeline *p)
{
    struct sl_runner_cfg background = {.cpu = -1};
    struct sl_error err = {{0}};

    for (unsigned i = 0; i < p->consumers; i++) {
        const struct sl_consumer *consumer = &p->consumer[i];
        const struct sl_agent *agent = p->consumer_sink[i] ? consumer->open(consumer->self, p->consumer_sink[i]) : NULL;

        if (agent && sl_runner_open(&p->consumer_runner[i], agent, &background, &err) < 0)
            sl_log(SL_LOG_WARNING, "%s gets no frames: %s", consumer->sink.name, err.text);
        if (!p->consumer_runner[i])
            sl_sink_leave(p->consumer_sink[i]);
    }
}

static void stop_consumers(struct sl_pipeline *p)
{
    for (unsigned i = 0; i < p->consumers; i++) {
        sl_runner_close(p->consumer_runner[i]);
        sl_sink_leave(p->consumer_sink[i]);
    }
}

/* The ring goes, or is left to the consumers that read from it. */
static void close_ring(struct sl_pipeline *p)
{
    struct sl_left_ring ring = {.fanout = p->fanout, .pool = p->pool, .memory = p->memory, .of_device = p->device_memory};
    struct sl_error err = {{0}};

    stop_consumers(p);
    sl_sink_leave(p->record_sink);
    if (sl_fanout_close(p->fanout, &err) == 0) {
        sl_pool_close(p->pool);
        sl_memory_close(p->memory);
        return;
    }
    for (unsigned i = 0; i < p->consumers; i++)
        if (p->consumer_sink[i] && sl_sink_held(p->consumer_sink[i]))
            ring.consumers |= 1u << i;
    if (!ring.consumers)
        sl_pool_close(p->pool); /* the recorder's: a bug, which this tells of, and ends the process */
    sl_log(SL_LOG_WARNING, "%s: the ring stays in memory until they are back", err.text);
    sl_left_rings_add(p->left, &ring);
}

/* -- The whole ---------------------------------------------------------------------------------------------------------- */

static int open_recorder(struct sl_pipeline *p, const struct sl_config *config, struct sl_error *err)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    struct sl_sink_cfg sink = {.name = "record", .limit = p->waits_for_slots ? SL_SINK_WHOLE_POOL : p->ring_frames};
    struct sl_recorder_cfg cfg = {
        .dir = config->record.dir,
        .name = config->sensor.name,
        .description = info->device,
        .segment_time_ns = config->record.segment_time,
        .segment_bytes = (uint64_t)config->record.segment_size,
        .queue_depth = (unsigned)config->record.queue_depth,
        .checksum = (enum sl_checksum)config->record.checksum,
        .sync = (enum sl_sync)config->record.sync,
        .sync_interval_ns = config->record.sync_interval,
        .when_full = (enum sl_when_full)config->record.when_full,
        .keep_free_bytes = (uint64_t)config->record.keep_free,
        .prerecord_ns = config->record.prerecord,
        .fault = config->fault.store,
        .faults = config->fault.stores,
        .before = p->before ? &p->before->recorder : NULL,
    };

    p->failed = SL_PART_RECORDER;
    int rc = sl_fanout_add(p->fanout, &sink, &p->record_sink, err);

    if (rc < 0)
        return rc;
    struct sl_recorder_deps deps = {
        .clock = p->clock, .format = &info->format, .memory = p->memory, .sink = p->record_sink, .events = &p->recorder_events};

    return sl_recorder_open_with(&p->recorder, &cfg, &deps, p->fakes, err);
}

static int open_parts(struct sl_pipeline *p, const struct sl_pipeline_cfg *cfg, struct sl_error *err)
{
    const struct sl_config *config = cfg->config;
    int rc;

    p->failed = SL_PART_MEMORY;
    if ((rc = sl_events_init(&p->capture_events, EVENT_RING)) < 0 || (rc = sl_events_init(&p->recorder_events, EVENT_RING)) < 0)
        return sl_fail(err, rc, "no memory for the event rings");
    if ((rc = open_capture(p, cfg, err)) < 0)
        return rc;
    admit_consumers(p);
    if ((rc = open_memory(p, config, sl_config_ring_frames(config, sl_capture_info(p->capture)->format.fps), err)) < 0)
        return sl_fail_context(err, rc, "frame memory");
    if ((rc = sl_pool_open(&p->pool, p->memory, err)) < 0 || (rc = sl_fanout_open(&p->fanout, p->pool, p->reserve, err)) < 0 ||
        (rc = add_consumers(p, err)) < 0)
        return rc;
    if ((rc = open_recorder(p, config, err)) < 0)
        return sl_fail_context(err, rc, "record");
    return 0;
}

int sl_pipeline_open(struct sl_pipeline *p, const struct sl_pipeline_cfg *cfg, struct sl_error *err)
{
    *p = (struct sl_pipeline){.clock = cfg->clock,
                              .before = cfg->before,
                              .consumer = cfg->consumer,
                              .consumers = cfg->consumers,
                              .left = cfg->left,
                              .fakes = cfg->fakes};
    int rc = open_parts(p, cfg, err);
    enum sl_pipeline_part failed = rc < 0 ? p->failed : SL_PART_NONE;

    if (rc < 0)
        sl_pipeline_close(p);
    p->failed = failed;
    return rc;
}

int sl_pipeline_start(struct sl_pipeline *p, const struct sl_config *config, struct sl_error *err)
{
    struct sl_runner_cfg writer = {.cpu = (int)config->realtime.writer_cpu, .priority = (int)config->realtime.priority};
    struct sl_runner_cfg capture = {.cpu = (int)config->realtime.capture_cpu, .priority = (int)config->realtime.priority};
    struct sl_runner_cfg background = {.cpu = -1};
    int rc;

    p->failed = SL_PART_THREADS;
    if ((rc = sl_runner_open(&p->housekeeper_runner, sl_recorder_housekeeper(p->recorder), &background, err)) < 0 ||
        (rc = sl_runner_open(&p->recorder_runner, sl_recorder_agent(p->recorder), &writer, err)) < 0)
        return rc;
    start_consumers(p);
    if ((rc = sl_capture_start(p->capture, p->pool, p->fanout, err)) < 0) {
        p->failed = SL_PART_SENSOR;
        return sl_fail_context(err, rc, "sensor");
    }
    rc = sl_runner_open(&p->capture_runner, sl_capture_agent(p->capture), &capture, err);
    if (rc == 0)
        p->failed = SL_PART_NONE;
    return rc;
}

void sl_pipeline_stop_capture(struct sl_pipeline *p, int result)
{
    int64_t stop_ns = sl_now_ns(p->clock);
    int ended;

    /* A sensor that came to its end by itself (limit, end of a replay) owes nothing more. */
    if (!sl_runner_running(p->capture_runner, &ended) && (ended == 0 || ended == -ESHUTDOWN))
        stop_ns = 0;
    sl_runner_close(p->capture_runner);
    p->capture_runner = NULL;
    sl_capture_finish(p->capture, stop_ns, result < 0 ? SL_LOSS_DEVICE_GONE : SL_LOSS_SENSOR_GAP);
}

void sl_pipeline_suspend(struct sl_pipeline *p, int error)
{
    sl_runner_close(p->capture_runner);
    p->capture_runner = NULL;
    sl_capture_suspend(p->capture, sl_now_ns(p->clock), &p->place);
    if (!p->place.error)
        p->place.error = error;
    p->suspended = true;
}

void sl_pipeline_close(struct sl_pipeline *p)
{
    sl_runner_close(p->capture_runner);
    sl_runner_close(p->recorder_runner);
    sl_runner_close(p->housekeeper_runner);
    if (p->capture) /* a sensor that was started has frames of the pool */
        sl_capture_finish(p->capture, 0, SL_LOSS_SENSOR_GAP);
    sl_recorder_close(p->recorder);
    close_ring(p);
    sl_capture_close(p->capture);
    sl_replay_reader_close(&p->replay);
    sl_events_fini(&p->capture_events);
    sl_events_fini(&p->recorder_events);
    memset(p, 0, sizeof *p);
}

static void add_counters(const struct sl_pipeline *p, struct sl_account *account)
{
    const struct sl_account *before = p->before;

    for (unsigned i = 0; i < SL_SINK_COUNTERS; i++)
        account->sink[i] = (before ? before->sink[i] : 0) + sl_sink_counter(p->record_sink, (enum sl_sink_counter)i);
    for (unsigned i = 0; i < SL_EVENTS_COUNTERS; i++) {
        enum sl_events_counter which = (enum sl_events_counter)i;

        account->capture_events[i] = (before ? before->capture_events[i] : 0) + sl_events_counter(&p->capture_events, which);
        account->recorder_events[i] = (before ? before->recorder_events[i] : 0) + sl_events_counter(&p->recorder_events, which);
    }
    account->openings = (before ? before->openings : 0) + 1;
}

/* What grows after another word is read before it, so that the books' differences are not under 0 while the agents run. */
void sl_pipeline_account(const struct sl_pipeline *p, struct sl_account *account)
{
    sl_recorder_place(p->recorder, &account->recorder);
    add_counters(p, account);
    account->capture = p->place; /* empty unless suspended */
    if (!p->suspended)
        sl_capture_place_counts(p->capture, &account->capture);
    account->sensor = *sl_capture_info(p->capture);
    account->path = *sl_recorder_path(p->recorder);
    snprintf(account->memory, sizeof account->memory, "%s", p->memory->kind);
    snprintf(account->pages, sizeof account->pages, "%s", p->memory->pages);
    snprintf(account->memory_reason, sizeof account->memory_reason, "%s", p->memory_reason);
    account->slots = p->memory->slots;
    account->ring_frames = p->ring_frames;
}
