/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_ACCOUNT_H
#define SL_APP_ACCOUNT_H

#include "capture/place.h"
#include "core/event.h"
#include "core/loss.h"
#include "dma/fanout.h"
#include "writer/place.h"

/*
 * The totals of a run, over every opening of its device, and what the last of them was like. It outlives the pipelines: each is
 * opened on the account of those before it (sl_pipeline_open) and gives a new one (sl_pipeline_account). Plain data.
 */

struct sl_account {
    struct sl_capture_place capture;
    struct sl_recorder_place recorder;
    uint64_t sink[SL_SINK_COUNTERS];
    uint64_t capture_events[SL_EVENTS_COUNTERS], recorder_events[SL_EVENTS_COUNTERS];
    unsigned openings;             /* of the device */
    struct sl_capture_info sensor; /* of the last opening, as all below */
    struct sl_recorder_path path;
    char memory[16];         /* kind */
    char pages[24];          /* it is in */
    char memory_reason[512]; /* why a better kind was not taken; empty when the best was */
    unsigned slots;
    unsigned ring_frames; /* what the recorder may hold: the stall that costs nothing */
};

void sl_account_books(const struct sl_account *account, struct sl_books *books);

#endif
