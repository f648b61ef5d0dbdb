/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pre-formatting: Voids ahead of the frames, so that a slot that is lost, torn or never written is skipped by every reader.
 *
 * Thread: recorder agent. The tail of a slot and the first page of the next one lie side by side, so that a slot costs one small
 * write, and all but the last write the same constant pages. The last Void leads to the end of the file.
 *
 * Order in a batch: first the new Voids, of which the last leads to the end; only when all of them are on their way back does
 * the old last Void become an ordinary one. A crash in between leaves a file whose elements still lead to its end. Frames go
 * only into slots of batches that are complete.
 *
 * Rejected: one slot at a time with each frame (twice the writes: every slot would be the last one once).
 */
#include <errno.h>
#include <string.h>

#include "writer/recorder.h"

enum { OLD_FRONTIER = SL_FORMAT_BATCH }; /* index of phase 2's write */

static void write_void(struct sl_recorder *r, unsigned index)
{
    struct sl_format *f = &r->format;
    const struct sl_layout *layout = &r->run.layout;
    uint64_t slot = f->from + index + 1;
    const uint8_t *data = slot == f->target ? f->frontier : r->run.void_pages;
    struct sl_store_write write = {
        .data = data,
        .bytes = (uint32_t)r->run.void_bytes,
        .region = r->scratch_region,
        .file = f->segment->place,
        .offset = sl_layout_header_at(layout, slot) - layout->tail_span,
        .tag = sl_tag(SL_TAG_FORMAT, index, 0),
    };

    if (index == OLD_FRONTIER) { /* its tail is right already, or there is no new frontier and it is only told the new length */
        write.data = (f->from == f->target ? f->frontier : r->run.void_pages) + layout->tail_span;
        write.bytes = SL_PAGE_BYTES;
        write.offset = sl_layout_header_at(layout, f->from);
    }
    f->left++;
    f->segment->io++;
    r->queued = true;
    if (r->store->ops->write(r->store, &write) < 0)
        sl_recorder_formatted(r, index, -EBUSY);
}

static uint64_t batch_slots(const struct sl_recorder *r, const struct sl_segment *segment)
{
    uint64_t top = segment->slots + r->run.ahead_slots;
    uint64_t slots;

    if (top > segment->fits)
        top = segment->fits;
    if (top > r->run.limit_slots)
        top = r->run.limit_slots;
    slots = top > segment->formatted ? top - segment->formatted : 0;
    if (slots >= SL_FORMAT_BATCH)
        return SL_FORMAT_BATCH;
    /* a small batch only when there is little left, or nothing more to come */
    return segment->formatted - segment->slots < r->run.ahead_slots / 2 ? slots : 0;
}

void sl_recorder_format(struct sl_recorder *r)
{
    struct sl_format *f = &r->format;
    struct sl_segment *segment = r->current;
    const struct sl_layout *layout = &r->run.layout;
    uint64_t slots;

    if (!segment || segment->broken || f->phase != 0)
        return;
    slots = batch_slots(r, segment);
    if (slots == 0 && !f->stale)
        return;
    f->segment = segment;
    f->from = segment->formatted;
    f->target = f->from + slots;
    f->retries = 0;
    f->stale = false;
    memcpy(f->frontier, r->run.void_pages, r->run.void_bytes);
    sl_layout_void(f->target, segment->file_bytes - sl_layout_header_at(layout, f->target), f->frontier + layout->tail_span);
    f->phase = slots ? 1 : 2;
    f->left = 1; /* so that the batch is not over before all of it is queued */
    for (unsigned i = 0; i < slots; i++)
        write_void(r, i);
    if (slots == 0)
        write_void(r, OLD_FRONTIER);
    f->left--;
}

/* The segment is written on without Voids as far as there are some; then the next one has to do. */
static void give_up(struct sl_recorder *r, int error)
{
    struct sl_segment *segment = r->format.segment;

    sl_recorder_post(r, SL_EVENT_STEP_DOWN, SL_STEP_FORMAT_FAILED, segment->number, segment->formatted, error);
    segment->fits = segment->formatted;
    segment->grown = true;
    if (segment->error == 0)
        segment->error = error;
}

static void next_phase(struct sl_recorder *r)
{
    struct sl_format *f = &r->format;

    if (f->phase == 1 && f->segment == r->current && f->segment->fits > f->from) {
        f->phase = 2;
        write_void(r, OLD_FRONTIER);
        return;
    }
    if (f->phase == 2 && f->segment->fits >= f->target)
        f->segment->formatted = f->target;
    f->phase = 0;
}

void sl_recorder_formatted(struct sl_recorder *r, unsigned index, int64_t result)
{
    struct sl_format *f = &r->format;
    int64_t whole = index == OLD_FRONTIER ? SL_PAGE_BYTES : (int64_t)r->run.void_bytes;

    f->left--;
    f->segment->io--;
    if (result != whole) {
        bool again = result >= 0 || result == -EAGAIN || result == -EINTR;

        if (again && ++f->retries < SL_MAX_EAGAIN) {
            write_void(r, index);
            return;
        }
        if (!f->segment->grown || f->segment->fits > f->segment->formatted)
            give_up(r, result < 0 ? (int)result : -EIO);
    }
    if (f->left == 0)
        next_phase(r);
}
