/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_EVENT_H
#define SL_CORE_EVENT_H

#include <stdint.h>

#include "core/counter.h"
#include "core/spsc.h"

/*
 * What an agent has to tell, as a fixed-size record in a ring; the supervisor turns it into ledger and log lines.
 * Totals never depend on events: when the ring is full the record is dropped and counted, the counters stay right.
 */

enum sl_event_kind {
    SL_EVENT_LOSS,          /* code = enum sl_loss; frames [first, first + count) are lost; error = negative errno or 0 */
    SL_EVENT_ANOMALY,       /* code = a module's anomaly number; first = frame; count = how often so far */
    SL_EVENT_SEGMENT_OPEN,  /* first = segment number */
    SL_EVENT_SEGMENT_CLOSE, /* first = segment number; count = frames in it; error. One for each OPEN */
    SL_EVENT_SEGMENT_GONE,  /* first = segment number removed, for want of room or of frames; 0: of an earlier run; count = bytes freed */
    SL_EVENT_STEP_DOWN,     /* code = a module's fall-back step; error = what forced it */
    SL_EVENT_STATE,         /* code = new state of the module's state machine */
    SL_EVENT_BAD_KEPT       /* code = enum sl_frame_flags; count frames from first to last, not all of those between */
};

struct sl_event {
    int64_t time_ns; /* monotonic */
    uint32_t kind;
    uint32_t code;
    uint64_t first;
    uint64_t count;
    uint64_t last; /* BAD_KEPT only */
    int64_t error;
};

enum sl_events_counter { SL_EVENTS_DROPPED, SL_EVENTS_COUNTERS };
extern const struct sl_counter_def sl_events_counter_defs[SL_EVENTS_COUNTERS];

struct sl_events {
    struct sl_spsc ring;
    sl_counter counter[SL_EVENTS_COUNTERS]; /* the poster writes */
};

int sl_events_init(struct sl_events *events, size_t capacity);
void sl_events_fini(struct sl_events *events);

void sl_events_post(struct sl_events *events, const struct sl_event *event);              /* the owning agent only */
bool sl_events_take(struct sl_events *events, struct sl_event *event);                    /* the supervisor only */
uint64_t sl_events_counter(const struct sl_events *events, enum sl_events_counter which); /* any thread */

#endif
