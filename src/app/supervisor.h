/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_SUPERVISOR_H
#define SL_APP_SUPERVISOR_H

#include "app/ledger.h"
#include "app/pipeline.h"
#include "app/service.h"
#include "app/trigger.h"

/*
 * Watches a run from the main thread: signals, the trigger, events → ledger and log, the status line, the end; and the device, which
 * may fail and come back while the run goes on (states: docs/supervisor.md).
 */

enum sl_run_end {
    SL_END_LIMIT, /* --seconds, --frames, or the replay's end */
    SL_END_SIGNAL,
    SL_END_SENSOR, /* the sensor failed or fell silent, and it is not to be opened again */
    SL_END_DISK_FULL,
    SL_END_RECORDER, /* the recorder failed */
    SL_END_START     /* the first start failed */
};

/* "limit", "signal" …, as in the ledger's stop line. */
const char *sl_run_end_name(enum sl_run_end end);

struct sl_supervisor {
    struct sl_pipeline_cfg cfg;   /* of the first opening */
    struct sl_pipeline *pipeline; /* the first one, open and not started; closed when sl_supervise returns */
    struct sl_ledger *ledger;
    struct sl_trigger *trigger;
    struct sl_service *service;
    int signal_fd;         /* signalfd of SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 */
    bool status;           /* one status line a second on stderr */
    int64_t time_limit_ns; /* wall-clock guard: ends a run whose sensor is silent; 0: none */
};

struct sl_outcome {
    enum sl_run_end end;
    int error;           /* the sensor's or recorder's negative errno, else 0 */
    struct sl_error err; /* says more, where there is more to say */
    struct sl_account account;
};

/* Runs until all is written and the pipeline is closed. */
void sl_supervise(const struct sl_supervisor *supervisor, struct sl_outcome *outcome);

/* Blocks the signals above in this and all later threads and returns a signalfd for them, or a negative errno. */
int sl_supervisor_signals(void);

#endif
