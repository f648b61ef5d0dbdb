/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_OUTAGE_H
#define SL_APP_OUTAGE_H

#include "app/ledger.h"
#include "app/pipeline.h"

/*
 * The states of the device, and the account of one outage: from the failure to the first frame after it. What a person and the ledger
 * are told of it. Supervisor thread only. docs/supervisor.md has the diagram.
 */

enum sl_device_state {
    SL_DEVICE_OPENING,     /* the first opening; no frame yet */
    SL_DEVICE_STREAMING,   /* frames come */
    SL_DEVICE_STALLED,     /* it fell silent */
    SL_DEVICE_SIGNAL_LOST, /* no signal, or one of another mode */
    SL_DEVICE_GONE,        /* it failed or was unplugged */
    SL_DEVICE_REOPENING    /* it is looked for and opened again, until a frame comes */
};

const char *sl_device_state_name(enum sl_device_state state); /* "opening" …, as in the ledger */
enum sl_device_state sl_device_state_of(int error);           /* what a capture's result says of the device */

struct sl_outage {
    bool open;       /* no frame has come since */
    int error;       /* what began it … */
    char cause[256]; /* … in words */
    int64_t begin_ns;
    uint64_t first; /* number on the grid of the first frame that did not come */
    uint64_t gone;  /* frames lost with the device before it */
    unsigned attempts;
    char last[256];       /* why the last attempt failed, as it was told */
    int64_t streaming_ns; /* since when the device streams, before and after an outage */
};

/* `place` is where the pipeline that failed left the run, `text` what failed. */
void sl_outage_begin(struct sl_outage *outage, const struct sl_capture_place *place, int error, const char *text, int64_t now_ns);
/* Logged once for each distinct reason. */
void sl_outage_attempt_failed(struct sl_outage *outage, int error, const char *text);
/* The first frame has come through `pipeline`: the gap's line in the ledger. */
void sl_outage_end(struct sl_outage *outage, struct sl_ledger *ledger, const struct sl_pipeline *pipeline, int64_t now_ns);

/* The line for a change of state; from == to: the state the run begins with. */
void sl_outage_state(struct sl_ledger *ledger, enum sl_device_state from, enum sl_device_state to, int error);

#endif
