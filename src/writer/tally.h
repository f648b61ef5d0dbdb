/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_TALLY_H
#define SL_WRITER_TALLY_H

/*
 * The recorder's side of the books, as arithmetic. Pure; the recorder agent.
 *
 * Frames come in the order of their numbers; each is entered once, when it leaves the queue: to be written, to be let go
 * because nothing triggered, or to be given up. Whatever number is neither entered nor accounted for by capture was refused at
 * the sink because the recorder held its limit: that is the remainder, exactly. Its cause is what kept the recorder from letting
 * go: disk_late, or disk_full and disk_error when the disk was that already.
 *
 * A frame that came and was let go untriggered is not expected by anyone: it is taken off expected and captured. What was lost
 * on the capture side meanwhile stays lost.
 */

#include <stdint.h>

#include "core/loss.h"
#include "dma/dma.h"

struct sl_tally {
    uint64_t entered;
    uint64_t untriggered; /* of those entered */
    uint64_t abandoned;   /* likewise, and so on */
    uint64_t disk_error;
    uint64_t disk_full;
    uint64_t refused[SL_LOSS_COUNT]; /* not entered, and not lost by capture, by cause */
    uint64_t next;                   /* number after that of the frame entered last */
};

struct sl_gap {
    uint64_t first; /* lowest number that can be missing */
    uint64_t count; /* how many are newly missing, beyond what capture says */
};

/* Enters the next frame; *gap is what the recorder missed before it, for this cause. */
void sl_tally_enter(struct sl_tally *tally, const struct sl_frame *frame, enum sl_loss cause, struct sl_gap *gap);

/* The books up to and with `frame`, the one entered last, taking for granted that it and those in flight will be recorded. */
void sl_tally_books(const struct sl_tally *tally, const struct sl_frame *frame, struct sl_books *books);

/* After the last frame: `refused` is what the sink refused in all. Returns how many of them no frame told of; they have this cause. */
uint64_t sl_tally_close(struct sl_tally *tally, uint64_t refused, enum sl_loss cause);

#endif
