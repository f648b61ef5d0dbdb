/* SPDX-License-Identifier: Apache-2.0 */
#include "app/status.h"

#include <stdio.h>

void sl_status_init(struct sl_status *status, bool on, int64_t now_ns)
{
    *status = (struct sl_status){.on = on, .begin_ns = now_ns, .next_ns = now_ns + SL_NS_PER_S};
}

bool sl_status_due(const struct sl_status *status, int64_t now_ns)
{
    return status->on && now_ns >= status->next_ns;
}

void sl_status_line(struct sl_status *status, int64_t now_ns, const struct sl_account *account, unsigned waiting, const char *state)
{
    double span_s = (double)(now_ns - status->next_ns + SL_NS_PER_S) / 1e9;
    int64_t run_s = (now_ns - status->begin_ns) / SL_NS_PER_S;
    uint64_t frames = account->recorder.counter[SL_RECORDER_RECORDED];
    uint64_t bytes = account->recorder.counter[SL_RECORDER_BYTES];
    struct sl_books books;

    sl_account_books(account, &books);
    fprintf(stderr, "\r%02lld:%02lld:%02lld  %llu frames, %llu lost  %.1f fps  %.1f MB/s  ring %u/%u  write p99 %.1f ms%s%s \x1b[K",
            (long long)run_s / 3600, (long long)run_s / 60 % 60, (long long)run_s % 60, (unsigned long long)frames,
            (unsigned long long)sl_books_lost(&books), (double)(frames - status->frames) / span_s,
            (double)(bytes - status->bytes) / 1e6 / span_s, waiting, account->ring_frames,
            (double)sl_histogram_quantile(&account->recorder.write_us, 0.99) / 1e3, state ? "  " : "", state ? state : "");
    fflush(stderr);
    status->frames = frames;
    status->bytes = bytes;
    status->next_ns = now_ns + SL_NS_PER_S;
}

void sl_status_end(struct sl_status *status)
{
    if (status->on)
        fputc('\n', stderr);
}
