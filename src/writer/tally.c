/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/tally.h"

#include <string.h>

static uint64_t lost_by_capture(const struct sl_frame *frame)
{
    uint64_t lost = 0;

    for (unsigned cause = 0; cause < SL_LOSS_COUNT; cause++)
        lost += frame->lost[cause];
    return lost;
}

void sl_tally_enter(struct sl_tally *tally, const struct sl_frame *frame, struct sl_gap *gap)
{
    uint64_t known = lost_by_capture(frame) + ++tally->entered + tally->late;
    uint64_t due = frame->number + 1;

    *gap = (struct sl_gap){.first = tally->next, .count = due > known ? due - known : 0};
    tally->late += gap->count;
    tally->next = due;
}

void sl_tally_books(const struct sl_tally *tally, const struct sl_frame *frame, struct sl_books *books)
{
    books->expected = frame->number + 1 - tally->untriggered;
    books->captured = frame->captured - tally->untriggered;
    books->recorded = tally->entered - tally->untriggered - tally->abandoned - tally->disk_error - tally->disk_full;
    memcpy(books->lost, frame->lost, sizeof(books->lost));
    books->lost[SL_LOSS_DISK_LATE] += tally->late + tally->abandoned;
    books->lost[SL_LOSS_DISK_ERROR] += tally->disk_error;
    books->lost[SL_LOSS_DISK_FULL] += tally->disk_full;
}

uint64_t sl_tally_close(struct sl_tally *tally, uint64_t refused)
{
    uint64_t untold = refused > tally->late ? refused - tally->late : 0;

    tally->late += untold;
    return untold;
}
