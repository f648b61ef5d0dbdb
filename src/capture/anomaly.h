/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_ANOMALY_H
#define SL_CAPTURE_ANOMALY_H

/* What a device says that cannot be: told in the ledger, counted, and not believed. docs/capture.md has each. */

enum sl_anomaly {
    SL_ANOMALY_SEQUENCE_FROZEN,
    SL_ANOMALY_SEQUENCE_JUMP,
    SL_ANOMALY_SEQUENCE_RESET,
    SL_ANOMALY_TIME_FROZEN,
    SL_ANOMALY_TIME_BACKWARD,
    SL_ANOMALY_TIME_FOREIGN_CLOCK,
    SL_ANOMALY_BAD_INDEX,
    SL_ANOMALY_BAD_SIZE,
    SL_ANOMALY_BAD_BUFFER,
    SL_ANOMALY_FALSE_READY,
    SL_ANOMALY_QUEUE_REFUSED,
    SL_ANOMALY_COUNT
};
const char *sl_anomaly_name(enum sl_anomaly anomaly); /* as in the ledger; NULL: no such */

#endif
