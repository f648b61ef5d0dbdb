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

static void capture_cfg(const struct sl_config *config, const struct sl_run_limit *limit, struct sl_capture_cfg *cfg)
{
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
        .frame_limit = limit->frames,
        .time_limit_ns = limit->time_ns,
        .replay_loop = config->sensor.loop,
        .fault = config->fault.sensor,
        .faults = config->fault.sensors,
    };
}

static int open_capture(struct sl_pipeline *p, const struct sl_config *config, const struct sl_run_limit *limit, struct sl_error *err)
{
    struct sl_capture_cfg cfg;
    struct sl_capture_deps deps = {.clock = p->clock, .events = &p->capture_events};

    capture_cfg(config, limit, &cfg);
    if (cfg.source == SL_SOURCE_REPLAY) {
        int rc = sl_replay_reader_open(&p->replay, config->sensor.file, err);

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
    };
    int rc = sl_fanout_add(p->fanout, &sink, &p->record_sink, err);

    if (rc < 0)
        return rc;
    struct sl_recorder_deps deps = {
        .clock = p->clock, .format = &info->format, .memory = p->memory, .sink = p->record_sink, .events = &p->recorder_events};

    return sl_recorder_open(&p->recorder, &cfg, &deps, err);
}

int sl_pipeline_open(struct sl_pipeline *p, const struct sl_config *config, const struct sl_run_limit *limit, const struct sl_clock *clock,
                     struct sl_error *err)
{
    int rc;

    memset(p, 0, sizeof *p);
    p->clock = clock;
    if ((rc = sl_events_init(&p->capture_events, EVENT_RING)) < 0 || (rc = sl_events_init(&p->recorder_events, EVENT_RING)) < 0) {
        sl_fail(err, rc, "no memory for the event rings");
        goto fail;
    }
    if ((rc = open_capture(p, config, limit, err)) < 0)
        goto fail;
    if ((rc = open_memory(p, config, sl_config_ring_frames(config, sl_capture_info(p->capture)->format.fps), err)) < 0) {
        sl_fail_context(err, rc, "frame memory");
        goto fail;
    }
    if ((rc = sl_pool_open(&p->pool, p->memory, err)) < 0 || (rc = sl_fanout_open(&p->fanout, p->pool, err)) < 0)
        goto fail;
    if ((rc = open_recorder(p, config, err)) < 0) {
        sl_fail_context(err, rc, "record");
        goto fail;
    }
    return 0;

fail:
    sl_pipeline_close(p);
    return rc;
}

int sl_pipeline_start(struct sl_pipeline *p, const struct sl_config *config, struct sl_error *err)
{
    struct sl_runner_cfg writer = {.cpu = (int)config->realtime.writer_cpu, .priority = (int)config->realtime.priority};
    struct sl_runner_cfg capture = {.cpu = (int)config->realtime.capture_cpu, .priority = (int)config->realtime.priority};
    struct sl_runner_cfg background = {.cpu = -1};
    int rc;

    if ((rc = sl_runner_open(&p->housekeeper_runner, sl_recorder_housekeeper(p->recorder), &background, err)) < 0 ||
        (rc = sl_runner_open(&p->recorder_runner, sl_recorder_agent(p->recorder), &writer, err)) < 0)
        return rc;
    if ((rc = sl_capture_start(p->capture, p->pool, p->fanout, err)) < 0)
        return sl_fail_context(err, rc, "sensor");
    return sl_runner_open(&p->capture_runner, sl_capture_agent(p->capture), &capture, err);
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

/* What grows after another word is read before it, so that no difference below is under 0 while the agents run. */
void sl_pipeline_books(const struct sl_pipeline *p, struct sl_books *books)
{
    uint64_t untriggered = sl_recorder_counter(p->recorder, SL_RECORDER_UNTRIGGERED);
    uint64_t refused_full = sl_recorder_counter(p->recorder, SL_RECORDER_REFUSED_FULL);
    uint64_t refused_error = sl_recorder_counter(p->recorder, SL_RECORDER_REFUSED_ERROR);
    uint64_t recorded = sl_recorder_counter(p->recorder, SL_RECORDER_RECORDED);
    uint64_t refused = sl_sink_counter(p->record_sink, SL_SINK_REFUSED);

    sl_capture_books(p->capture, books);
    books->expected -= untriggered;
    books->captured -= untriggered;
    books->recorded = recorded;
    books->lost[SL_LOSS_DISK_LATE] += refused - refused_full - refused_error + sl_recorder_counter(p->recorder, SL_RECORDER_ABANDONED);
    books->lost[SL_LOSS_DISK_ERROR] += refused_error + sl_recorder_counter(p->recorder, SL_RECORDER_DISK_ERROR);
    books->lost[SL_LOSS_DISK_FULL] += refused_full + sl_recorder_counter(p->recorder, SL_RECORDER_DISK_FULL);
}
