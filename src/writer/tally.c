/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/tally.h"

static uint64_t sum(const uint64_t by_cause[SL_LOSS_COUNT])
{
    uint64_t all = 0;

    for (unsigned cause = 0; cause < SL_LOSS_COUNT; cause++)
        all += by_cause[cause];
    return all;
}

void sl_tally_enter(struct sl_tally *tally, const struct sl_frame *frame, enum sl_loss cause, struct sl_gap *gap)
{
    uint64_t known = sum(frame->lost) + ++tally->entered + sum(tally->refused);
    uint64_t due = frame->number + 1;

    *gap = (struct sl_gap){.first = tally->next, .count = due > known ? due - known : 0};
    tally->refused[cause] += gap->count;
    tally->next = due;
}

void sl_tally_books(const struct sl_tally *tally, const struct sl_frame *frame, struct sl_books *books)
{
    books->expected = frame->number + 1 - tally->untriggered;
    books->captured = frame->captured - tally->untriggered;
    books->recorded = tally->entered - tally->untriggered - tally->abandoned - tally->disk_error - tally->disk_full;
    for (unsigned cause = 0; cause < SL_LOSS_COUNT; cause++)
        books->lost[cause] = frame->lost[cause] + tally->refused[cause];
    books->lost[SL_LOSS_DISK_LATE] += tally->abandoned;
    books->lost[SL_LOSS_DISK_ERROR] += tally->disk_error;
    books->lost[SL_LOSS_DISK_FULL] += tally->disk_full;
}

uint64_t sl_tally_close(struct sl_tally *tally, uint64_t refused, enum sl_loss cause)
{
    uint64_t told = sum(tally->refused);
    uint64_t untold = refused > told ? refused - told : 0;

    tally->refused[cause] += untold;
    return untold;
}
