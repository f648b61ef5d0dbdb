/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_LOSS_H
#define SL_CORE_LOSS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The books. Every frame that the time grid expects is either recorded or lost for exactly one of these causes.
 */

enum sl_loss {
    SL_LOSS_SENSOR_GAP,  /* the device delivered nothing although it had a buffer to fill */
    SL_LOSS_BAD_FRAME,   /* delivered with the error flag, short or with lying sizes, and bad_frames=drop */
    SL_LOSS_NO_SLOT,     /* the device had no buffer: every slot was held by a sink */
    SL_LOSS_DISK_LATE,   /* the recorder's share of the ring was full because the disk did not answer in time */
    SL_LOSS_DISK_ERROR,  /* the write failed */
    SL_LOSS_DISK_FULL,   /* no space left, and when_full=stop */
    SL_LOSS_DEVICE_GONE, /* the device was absent or being opened again */
    SL_LOSS_COUNT
};

/* "sensor_gap" …, as in summary, ledger and recording. NULL for a value out of range. */
const char *sl_loss_name(enum sl_loss cause);

struct sl_books {
    uint64_t expected; /* from the time grid, cross-checked with the sequence */
    uint64_t captured; /* delivered by the sensor; of a recorder's books: those of the expected ones */
    uint64_t recorded; /* written completely */
    uint64_t lost[SL_LOSS_COUNT];
};

uint64_t sl_books_lost(const struct sl_books *books); /* sum over all causes */
bool sl_books_balanced(const struct sl_books *books); /* expected == recorded + lost */

#endif
