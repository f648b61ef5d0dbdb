/* SPDX-License-Identifier: Apache-2.0 */
#include "app/status.h"

#include <stdio.h>

void sl_status_init(struct sl_status *status, const struct sl_pipeline *pipeline, bool on)
{
    *status = (struct sl_status){.pipeline = pipeline, .on = on, .begin_ns = sl_now_ns(pipeline->clock)};
    status->next_ns = status->begin_ns + SL_NS_PER_S;
}

void sl_status_tick(struct sl_status *status, int64_t now_ns)
{
    const struct sl_pipeline *p = status->pipeline;
    struct sl_books books;

    if (!status->on || now_ns < status->next_ns)
        return;
    double span_s = (double)(now_ns - status->next_ns + SL_NS_PER_S) / 1e9;
    int64_t run_s = (now_ns - status->begin_ns) / SL_NS_PER_S;
    uint64_t frames = sl_recorder_counter(p->recorder, SL_RECORDER_RECORDED);
    uint64_t bytes = sl_recorder_counter(p->recorder, SL_RECORDER_BYTES);

    sl_pipeline_books(p, &books);
    fprintf(stderr, "\r%02lld:%02lld:%02lld  %llu frames, %llu lost  %.1f fps  %.1f MB/s  ring %u/%u  write p99 %.1f ms \x1b[K",
            (long long)run_s / 3600, (long long)run_s / 60 % 60, (long long)run_s % 60, (unsigned long long)frames,
            (unsigned long long)sl_books_lost(&books), (double)(frames - status->frames) / span_s,
            (double)(bytes - status->bytes) / 1e6 / span_s, sl_sink_waiting(p->record_sink), p->ring_frames,
            (double)sl_histogram_quantile(sl_recorder_write_us(p->recorder), 0.99) / 1e3);
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
