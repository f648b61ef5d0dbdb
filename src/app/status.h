/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_STATUS_H
#define SL_APP_STATUS_H

#include "app/pipeline.h"

/* The status line of a run on a terminal: one a second, written over the last one. Supervisor thread only. */

struct sl_status {
    const struct sl_pipeline *pipeline;
    bool on;
    int64_t begin_ns, next_ns;
    uint64_t frames, bytes; /* at the last line */
};

void sl_status_init(struct sl_status *status, const struct sl_pipeline *pipeline, bool on);
void sl_status_tick(struct sl_status *status, int64_t now_ns);
void sl_status_end(struct sl_status *status); /* leaves the terminal on a fresh line */

#endif
