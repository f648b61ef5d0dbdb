/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_EVENT_H
#define SL_CORE_EVENT_H

#include <stdint.h>

#include "core/spsc.h"

/*
 * What an agent has to tell, as a fixed-size record in a ring; the supervisor turns it into ledger and log lines.
 * Totals never depend on events: when the ring is full the record is dropped and counted, the counters stay right.
 */

enum sl_event_kind {
    SL_EVENT_LOSS,          /* code = enum sl_loss; frames [first, first + count) are lost; error = negative errno or 0 */
    SL_EVENT_ANOMALY,       /* code = a module's anomaly number; first = frame; count = how often so far */
    SL_EVENT_SEGMENT_OPEN,  /* first = segment number */
    SL_EVENT_SEGMENT_CLOSE, /* first = segment number; count = frames in it; error */
    SL_EVENT_SEGMENT_GONE,  /* first = segment number removed to make room; count = bytes freed */
    SL_EVENT_STEP_DOWN,     /* code = a module's fall-back step; error = what forced it */
    SL_EVENT_STATE          /* code = new state of the module's state machine */
};

struct sl_event {
    int64_t time_ns; /* monotonic */
    uint32_t kind;
    uint32_t code;
    uint64_t first;
    uint64_t count;
    int64_t error;
};

struct sl_events {
    struct sl_spsc ring;
    _Atomic uint64_t dropped;
};

int sl_events_init(struct sl_events *events, size_t capacity);
void sl_events_fini(struct sl_events *events);

void sl_events_post(struct sl_events *events, const struct sl_event *event); /* the owning agent only */
bool sl_events_take(struct sl_events *events, struct sl_event *event);       /* the supervisor only */

#endif
