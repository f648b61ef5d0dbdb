/* SPDX-License-Identifier: Apache-2.0 */
#include "app/backoff.h"

int64_t sl_backoff_failed(struct sl_backoff *backoff, int64_t streamed_ns)
{
    int64_t wait_ns = backoff->wait_ns;

    if (streamed_ns >= SL_BACKOFF_STEADY_NS) {
        backoff->wait_ns = 0;
        return 0;
    }
    wait_ns = wait_ns ? 2 * wait_ns : SL_BACKOFF_FIRST_NS;
    backoff->wait_ns = wait_ns < SL_BACKOFF_LAST_NS ? wait_ns : SL_BACKOFF_LAST_NS;
    return backoff->wait_ns;
}
