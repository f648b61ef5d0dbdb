/* SPDX-License-Identifier: Apache-2.0 */
#include "app/account.h"

#include <string.h>

void sl_account_books(const struct sl_account *account, struct sl_books *books)
{
    const uint64_t *recorder = account->recorder.counter;

    uint64_t refused_full = recorder[SL_RECORDER_REFUSED_FULL], refused_error = recorder[SL_RECORDER_REFUSED_ERROR];

    *books = (struct sl_books){
        .expected = account->capture.counter[SL_CAPTURE_EXPECTED] - recorder[SL_RECORDER_UNTRIGGERED],
        .captured = account->capture.counter[SL_CAPTURE_CAPTURED] - recorder[SL_RECORDER_UNTRIGGERED],
        .recorded = recorder[SL_RECORDER_RECORDED],
    };
    memcpy(books->lost, account->capture.lost, sizeof books->lost);
    books->lost[SL_LOSS_DISK_LATE] += account->sink[SL_SINK_REFUSED] - refused_full - refused_error + recorder[SL_RECORDER_ABANDONED];
    books->lost[SL_LOSS_DISK_ERROR] += refused_error + recorder[SL_RECORDER_DISK_ERROR];
    books->lost[SL_LOSS_DISK_FULL] += refused_full + recorder[SL_RECORDER_DISK_FULL];
}
