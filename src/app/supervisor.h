/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_SUPERVISOR_H
#define SL_APP_SUPERVISOR_H

#include "app/config.h"
#include "app/ledger.h"
#include "app/pipeline.h"
#include "app/trigger.h"

/*
 * Watches a run from the main thread: signals, the trigger, events → ledger and log, the status line, and the end.
 *
 *     RUNNING ──limit reached, signal, sensor ended, disk full──► DRAINING ──all written──► DONE
 *                                                                  │ second signal: queued frames are given up
 */

enum sl_run_end {
    SL_END_LIMIT, /* --seconds, --frames, or the replay's end */
    SL_END_SIGNAL,
    SL_END_SENSOR, /* the sensor failed or fell silent */
    SL_END_DISK_FULL,
    SL_END_RECORDER /* the recorder failed */
};

/* "limit", "signal" …, as in the ledger's stop line. */
const char *sl_run_end_name(enum sl_run_end end);

struct sl_supervisor {
    struct sl_pipeline *pipeline;
    struct sl_ledger *ledger;
    struct sl_trigger *trigger;
    int signal_fd;         /* signalfd of SIGINT, SIGTERM, SIGUSR1, SIGUSR2 */
    bool status;           /* one status line a second on stderr */
    int64_t time_limit_ns; /* wall-clock guard: ends a run whose sensor is silent; 0: none */
};

/* Runs until the pipeline is drained. *error is the sensor's or recorder's negative errno, else 0. */
enum sl_run_end sl_supervise(const struct sl_supervisor *supervisor, int *error);

/* Blocks the signals above in this and all later threads and returns a signalfd for them, or a negative errno. */
int sl_supervisor_signals(void);

#endif
