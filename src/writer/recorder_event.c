/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the recorder tells the supervisor. Recorder agent only. Losses of one cause that follow each other are told as one event,
 * once no more have come for a moment: a stall of a second is one line in the ledger, not thirty.
 */
#include "writer/recorder.h"

static const int64_t loss_settles_ns = 100 * SL_NS_PER_MS;

void sl_recorder_post(struct sl_recorder *r, enum sl_event_kind kind, uint32_t code, uint64_t first, uint64_t count, int error)
{
    sl_events_post(
        r->events,
        &(struct sl_event){.time_ns = sl_now_ns(r->clock), .kind = kind, .code = code, .first = first, .count = count, .error = error});
}

void sl_recorder_lost(struct sl_recorder *r, enum sl_loss cause, uint64_t first, uint64_t count, int error)
{
    struct sl_loss_run *loss = &r->loss;

    if (count == 0)
        return;
    if (loss->count == 0 || loss->cause != (uint32_t)cause || loss->error != error || first != loss->first + loss->count) {
        sl_recorder_flush_loss(r, true);
        *loss = (struct sl_loss_run){.cause = cause, .error = error, .first = first};
    }
    loss->count += count;
    loss->last_ns = r->now_ns;
}

void sl_recorder_flush_loss(struct sl_recorder *r, bool now)
{
    struct sl_loss_run *loss = &r->loss;

    if (loss->count == 0 || (!now && r->now_ns - loss->last_ns < loss_settles_ns))
        return;
    sl_recorder_post(r, SL_EVENT_LOSS, loss->cause, loss->first, loss->count, loss->error);
    loss->count = 0;
}
