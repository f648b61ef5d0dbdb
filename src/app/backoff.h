/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_BACKOFF_H
#define SL_APP_BACKOFF_H

#include "core/clock.h"

/*
 * How long to wait before a device is opened again: not at all the first time, then 50 ms, twice as long after each failure, 2 s at
 * most. Only a device that has streamed for a second is trusted again; one that fails every few frames would otherwise fill the disk
 * with files. Pure.
 */

#define SL_BACKOFF_FIRST_NS  (50 * SL_NS_PER_MS)
#define SL_BACKOFF_LAST_NS   (2 * SL_NS_PER_S)
#define SL_BACKOFF_STEADY_NS SL_NS_PER_S

struct sl_backoff { /* zeroed: nothing has failed */
    int64_t wait_ns;
};

/* The opening failed, or the device did after streaming for streamed_ns. Returns the wait. */
int64_t sl_backoff_failed(struct sl_backoff *backoff, int64_t streamed_ns);

#endif
