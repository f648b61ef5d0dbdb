/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_PIPELINE_H
#define SL_APP_PIPELINE_H

#include "app/config.h"
#include "app/replay_reader.h"
#include "capture/capture.h"
#include "core/agent.h"
#include "dma/dma.h"
#include "writer/writer.h"

/*
 * The stages of one run, put together from the configuration: sensor → pool → fan-out → recorder, each agent with its runner.
 * Control thread only. Everything is borrowed from the pipeline until sl_pipeline_close.
 */

struct sl_pipeline {
    const struct sl_clock *clock;
    struct sl_replay_reader replay;
    struct sl_capture *capture;
    struct sl_memory *memory;
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_sink *record_sink;
    struct sl_recorder *recorder;
    struct sl_events capture_events, recorder_events;
    struct sl_runner *capture_runner, *recorder_runner, *housekeeper_runner;
    unsigned ring_frames;    /* what the recorder may hold: the stall that costs nothing */
    char memory_reason[512]; /* why a better memory kind was not taken; empty when the best was */
};

/* How long the sensor runs; it ends by itself after that much of the time grid. Both 0: until it is stopped. */
struct sl_run_limit {
    uint64_t frames;
    int64_t time_ns;
};

/* Opens every stage; nothing moves yet. */
int sl_pipeline_open(struct sl_pipeline *pipeline, const struct sl_config *config, const struct sl_run_limit *limit,
                     const struct sl_clock *clock, struct sl_error *err);

/* Starts the agents, the sensor last. */
int sl_pipeline_start(struct sl_pipeline *pipeline, const struct sl_config *config, struct sl_error *err);

/* Ends the capture agent and books what was still due; with `result` ≥ 0 frames due are sensor gaps, else the device is gone. */
void sl_pipeline_stop_capture(struct sl_pipeline *pipeline, int result);

void sl_pipeline_close(struct sl_pipeline *pipeline); /* zeroed memory is fine */

/* Books of the recorder's sink over the whole run so far. */
void sl_pipeline_books(const struct sl_pipeline *pipeline, struct sl_books *books);

#endif
