/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_STATUS_H
#define SL_APP_STATUS_H

#include "app/account.h"

/* The status line of a run on a terminal: one a second, written over the last one. Supervisor thread only. */

struct sl_status {
    bool on;
    int64_t begin_ns, next_ns;
    uint64_t frames, bytes; /* at the last line */
};

void sl_status_init(struct sl_status *status, bool on, int64_t now_ns);
bool sl_status_due(const struct sl_status *status, int64_t now_ns);
/* `waiting`: frames in the ring. `state`: of the device, when it does not stream; NULL: it does. */
void sl_status_line(struct sl_status *status, int64_t now_ns, const struct sl_account *account, unsigned waiting, const char *state);
void sl_status_end(struct sl_status *status); /* leaves the terminal on a fresh line */

#endif
