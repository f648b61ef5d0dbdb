/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_PIPELINE_H
#define SL_APP_PIPELINE_H

#include "app/account.h"
#include "app/config.h"
#include "app/consumer.h"
#include "app/replay_reader.h"
#include "capture/capture.h"
#include "capture/script.h"
#include "core/agent.h"
#include "dma/fanout.h"
#include "writer/recorder_fakes.h"
#include "writer/writer.h"

/*
 * What lives as long as one opening of the device: sensor → pool → fan-out → recorder and other consumers, put together from the
 * configuration, each agent with its runner. A run has one after the other. Nothing of one is used by the next but its account, so that no
 * buffer and no mapping of a device that failed can get into the stream of the device that came back. Control thread only. Everything is
 * borrowed from the pipeline until sl_pipeline_close.
 */

/* Which part made sl_pipeline_open or _start fail. */
enum sl_pipeline_part { SL_PART_NONE, SL_PART_SENSOR, SL_PART_MEMORY, SL_PART_RECORDER, SL_PART_THREADS };

struct sl_pipeline {
    const struct sl_clock *clock;
    const struct sl_account *before;
    enum sl_pipeline_part failed;
    struct sl_replay_reader replay;
    struct sl_capture *capture;
    struct sl_memory *memory;
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_sink *record_sink;
    struct sl_recorder *recorder;
    struct sl_events capture_events, recorder_events;
    struct sl_runner *capture_runner, *recorder_runner, *housekeeper_runner;
    const struct sl_consumer *consumer;
    unsigned consumers;
    struct sl_sink *consumer_sink[SL_MAX_CONSUMERS]; /* NULL: it gets no frames of this opening */
    struct sl_runner *consumer_runner[SL_MAX_CONSUMERS];
    uint32_t admitted; /* a bit for each consumer that gets frames */
    struct sl_left_rings *left;
    const struct sl_recorder_fakes *fakes;
    struct sl_capture_place place; /* once it is suspended */
    bool suspended;
    unsigned ring_frames;    /* what the recorder may hold: the stall that costs nothing */
    unsigned reserve;        /* slots that are the device's */
    bool waits_for_slots;    /* the sensor has no clock: nothing is lost where no slot is free */
    bool device_memory;      /* the frames lie in the device's own buffers */
    char memory_reason[512]; /* why a better memory kind was not taken; empty when the best was */
};

/* How long the sensor runs; it ends by itself after that much of the time grid. Both 0: until it is stopped. */
struct sl_run_limit {
    uint64_t frames;
    int64_t time_ns;
};

struct sl_pipeline_cfg {
    const struct sl_config *config;
    const struct sl_clock *clock;
    struct sl_run_limit limit;
    struct sl_sensor_script *script;    /* scripted faults of the sensor; NULL: none */
    const struct sl_account *before;    /* of the openings so far; NULL: this is the first. Both borrowed until close */
    const struct sl_consumer *consumer; /* array of `consumers`, SL_MAX_CONSUMERS at most, borrowed until close; the same in each opening */
    unsigned consumers;
    struct sl_left_rings *left;            /* of the run; needed where there are consumers */
    const struct sl_recorder_fakes *fakes; /* a disk that is none, for tests; NULL: the real one */
};

/* Opens every stage; nothing moves yet. On failure only `failed` is set. */
int sl_pipeline_open(struct sl_pipeline *pipeline, const struct sl_pipeline_cfg *cfg, struct sl_error *err);

/* Starts the agents, the sensor last. After a failure the pipeline is to be closed. */
int sl_pipeline_start(struct sl_pipeline *pipeline, const struct sl_config *config, struct sl_error *err);

/* Ends the capture agent and books what was still due; with `result` < 0 that was lost with the device, else it is a sensor gap. */
void sl_pipeline_stop_capture(struct sl_pipeline *pipeline, int result);

/* Ends the capture agent and leaves what is due to the next opening. `error` is why, where the agent itself does not say. */
void sl_pipeline_suspend(struct sl_pipeline *pipeline, int error);

void sl_pipeline_close(struct sl_pipeline *pipeline); /* zeroed memory is fine */

/* The account of the run so far, this opening included. Exact once the recorder was drained. */
void sl_pipeline_account(const struct sl_pipeline *pipeline, struct sl_account *account);

#endif
