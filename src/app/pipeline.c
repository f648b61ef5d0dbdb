/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the stages of a run together and takes them apart.
 *
 * How many slots: the ring's depth (in frames) plus what prerecord holds is the recorder's share; the device's indices come on
 * top, so that a recorder that holds all it may still leaves the device enough to fill. With the device's own buffers (mmap) the pool is
 * what the driver granted, and the recorder's share is what remains above the driver's minimum.
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

/* Host memory for the whole pool, if the device takes it. */
static int open_host_memory(struct sl_pipeline *p, const struct sl_config *config, unsigned ring_frames, struct sl_error *err)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    struct sl_memory *memory;
    int rc = sl_memory_host(&memory, ring_frames + info->indices, info->slot_bytes, (enum sl_hugepages)config->ring.hugepages, err);

    if (rc < 0)
        return rc;
    rc = sl_capture_try_memory(p->capture, memory, err);
    if (rc < 0) {
        sl_memory_close(memory);
        return rc;
    }
    p->memory = memory;
    /* A sensor without a clock waits for slots: nothing is refused as long as the recorder may hold them all. */
    p->ring_frames = config->sensor.paced || config->sensor.source == SL_SOURCE_V4L2 ? ring_frames : memory->slots;
    return 0;
}

static int open_device_memory(struct sl_pipeline *p, struct sl_error *err)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    int rc = sl_capture_memory(p->capture, &p->memory, err);

    if (rc < 0)
        return rc;
    unsigned keep = info->min_indices + 1; /* one to fill while the driver holds its minimum */

    p->ring_frames = p->memory->slots > keep ? p->memory->slots - keep : 1;
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

static int open_recorder(struct sl_pipeline *p, const struct sl_config *config, struct sl_error *err)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    struct sl_sink_cfg sink = {.name = "record", .limit = p->ring_frames};
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

    return sl_recorder_open(&p->recorder, &cfg, &deps, err);
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
    if ((rc = open_memory(p, config, sl_config_ring_frames(config, sl_capture_info(p->capture)->format.fps), err)) < 0)
        return sl_fail_context(err, rc, "frame memory");
    if ((rc = sl_pool_open(&p->pool, p->memory, err)) < 0 || (rc = sl_fanout_open(&p->fanout, p->pool, err)) < 0)
        return rc;
    if ((rc = open_recorder(p, config, err)) < 0)
        return sl_fail_context(err, rc, "record");
    return 0;
}

int sl_pipeline_open(struct sl_pipeline *p, const struct sl_pipeline_cfg *cfg, struct sl_error *err)
{
    *p = (struct sl_pipeline){.clock = cfg->clock, .before = cfg->before};
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
    sl_fanout_close(p->fanout);
    sl_pool_close(p->pool);
    sl_memory_close(p->memory);
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
