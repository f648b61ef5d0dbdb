/* SPDX-License-Identifier: Apache-2.0 */
#include "core/loss.h"

#include <stddef.h>

static const char *const names[] = {
    [SL_LOSS_SENSOR_GAP] = "sensor_gap",   [SL_LOSS_BAD_FRAME] = "bad_frame",   [SL_LOSS_NO_SLOT] = "no_slot",
    [SL_LOSS_DISK_LATE] = "disk_late",     [SL_LOSS_DISK_ERROR] = "disk_error", [SL_LOSS_DISK_FULL] = "disk_full",
    [SL_LOSS_DEVICE_GONE] = "device_gone",
};
_Static_assert(sizeof(names) / sizeof(names[0]) == SL_LOSS_COUNT, "one name per cause");

const char *sl_loss_name(enum sl_loss cause)
{
    return (unsigned)cause < SL_LOSS_COUNT ? names[cause] : NULL;
}

uint64_t sl_books_lost(const struct sl_books *books)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        sum += books->lost[i];
    return sum;
}

bool sl_books_balanced(const struct sl_books *books)
{
    return books->expected == books->recorded + sl_books_lost(books);
}
