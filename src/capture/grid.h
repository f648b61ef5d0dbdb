/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_GRID_H
#define SL_CAPTURE_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"

/*
 * The time grid: which frame is this, counted from frame 0, and how many should have come since the last one?
 *
 * Two witnesses, neither believed alone. The driver's sequence is exact where it works, but some drivers leave it at 0, reset
 * it, or do not count what they had no buffer for. The driver's timestamp is always there, but jitters and may be frozen, run
 * backwards or come from another clock. Pure arithmetic, no clock, no thread; one grid per stream.
 */

struct sl_grid {
    double nominal_ns;  /* one interval as the format has it */
    double interval_ns; /* the same as measured; never more than 1 % away */
    int64_t phase_ns;   /* when the last frame was due, jitter taken out */
    int64_t last_ns;    /* time the last frame was given */
    int64_t stamp_ns;   /* the device's own last stamp */
    int64_t due_ns;     /* of a grid that goes on: when `next` was due, until the first frame comes */
    int64_t shift_ns;   /* of a grid that goes on: how far this phase is after that of the run */
    uint64_t next;      /* number of the next frame if none is missing */
    uint64_t suspected; /* frames that time misses and the sequence does not, not yet believed */
    uint32_t sequence;
    uint32_t repeated;    /* frames counted while the sequence stood still: its next skip may only make up for them */
    unsigned repeat_age;  /* frames since it last stood still */
    unsigned phase_steps; /* frames seen by each filter since it was (re)started */
    unsigned rate_steps;
    bool own_times; /* stamps follow the source's own time, which may run faster or slower than the clock */
    bool goes_on;   /* it began with an earlier opening of the device */
    bool started;
};

struct sl_grid_input {
    int64_t time_ns;     /* the device's stamp */
    int64_t dequeued_ns; /* our clock when the frame was taken */
    uint32_t sequence;
    bool time_unusable; /* the device says that its stamps are not CLOCK_MONOTONIC */
    bool starved;       /* the device had no buffer for a while since the last frame */
};

struct sl_grid_step {
    uint64_t number;    /* of this frame */
    uint64_t missing;   /* frames [number - missing, number) never came … */
    enum sl_loss cause; /* … for this reason */
    int64_t time_ns;    /* the stamp, or the dequeue time where that is unusable */
    bool time_guessed;
    uint32_t anomalies; /* bit (1 << enum sl_anomaly) */
};

/* fps.num and fps.den must not be 0. */
void sl_grid_init(struct sl_grid *grid, struct sl_rational fps, bool own_times);
/* After init: the run's grid goes on. Frame `next` was due at due_ns; what comes first is placed by its time, and whatever is
 * missing up to it was lost with the device. */
void sl_grid_go_on(struct sl_grid *grid, uint64_t next, int64_t due_ns);
void sl_grid_place(struct sl_grid *grid, const struct sl_grid_input *input, struct sl_grid_step *step);

/* When the frame after the last one is due on the run's grid; due_ns before the first one. */
int64_t sl_grid_next_due_ns(const struct sl_grid *grid);
/* Frames that were due after the last one placed, up to and with `until_ns`. 0 before the first frame. */
uint64_t sl_grid_due(const struct sl_grid *grid, int64_t until_ns);

#endif
