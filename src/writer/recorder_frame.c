/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One frame's way to the disk: header page, write, completion, release.
 *
 * Thread: recorder agent. Ownership: a flight holds its frame from fly until its slot is settled; where the payload is copied
 * (bounced) the frame goes home right after the copy. The bytes a write points at stay untouched until its completion has come.
 *
 * Invariants
 * - A frame is entered into the books once, in the order of its number, before anything is written of it.
 * - A flight counts as one `io` of its segment until the slot holds either the frame or a Void again (or the attempt to put one
 *   there has failed as well).
 *
 * Rejected: one write of a header and a payload from two places (writev). Registered buffers do not know it, and without them
 * the pages are pinned anew for each frame.
 */
#include <errno.h>
#include <string.h>

#include "writer/recorder.h"

enum { MAX_ROOM_TRIES = 3 };

static void count(struct sl_recorder *r, enum sl_recorder_counter which, uint64_t by)
{
    sl_count(&r->counter[which], by);
}

static unsigned index_of(const struct sl_recorder *r, const struct sl_flight *flight)
{
    return (unsigned)(flight - r->flight);
}

static struct sl_flight *free_flight(struct sl_recorder *r)
{
    for (unsigned i = 0; i < r->run.cfg.queue_depth; i++)
        if (r->flight[i].state == SL_FLIGHT_FREE)
            return &r->flight[i];
    return NULL;
}

enum sl_loss sl_recorder_why_refused(const struct sl_recorder *r, int64_t at_ns)
{
    if (r->full_ns && at_ns >= r->full_ns)
        return SL_LOSS_DISK_FULL;
    return r->failed_ns && at_ns >= r->failed_ns ? SL_LOSS_DISK_ERROR : SL_LOSS_DISK_LATE;
}

void sl_recorder_refused(struct sl_recorder *r, enum sl_loss cause, uint64_t first, uint64_t frames)
{
    count(r,
          cause == SL_LOSS_DISK_FULL    ? SL_RECORDER_REFUSED_FULL
          : cause == SL_LOSS_DISK_ERROR ? SL_RECORDER_REFUSED_ERROR
                                        : SL_RECORDER_DISK_LATE,
          frames);
    sl_recorder_lost(r, cause, first, frames, cause == SL_LOSS_DISK_LATE ? 0 : r->failure);
}

static void enter(struct sl_recorder *r, const struct sl_frame *frame)
{
    /* what was refused was refused shortly before this one was let in */
    enum sl_loss cause = sl_recorder_why_refused(r, frame->dequeued_ns);
    struct sl_gap gap;

    sl_tally_enter(&r->tally, frame, cause, &gap);
    sl_recorder_refused(r, cause, gap.first, gap.count);
}

void sl_recorder_give_up(struct sl_recorder *r, struct sl_frame *frame, enum sl_loss cause, int error)
{
    enter(r, frame);
    switch (cause) {
    case SL_LOSS_DISK_FULL:
        r->tally.disk_full++;
        count(r, SL_RECORDER_DISK_FULL, 1);
        break;
    case SL_LOSS_DISK_ERROR:
        r->tally.disk_error++;
        count(r, SL_RECORDER_DISK_ERROR, 1);
        break;
    default:
        cause = SL_LOSS_DISK_LATE;
        r->tally.abandoned++;
        count(r, SL_RECORDER_ABANDONED, 1);
        break;
    }
    sl_recorder_lost(r, cause, frame->number, 1, error);
    sl_sink_release(r->sink, frame);
}

void sl_recorder_let_go(struct sl_recorder *r, struct sl_frame *frame)
{
    enter(r, frame);
    r->tally.untriggered++;
    count(r, SL_RECORDER_UNTRIGGERED, 1);
    sl_sink_release(r->sink, frame);
}

/* -- The header page ---------------------------------------------------------------------------------------------------- */

/* Time 0 of the file is this frame's: DateUTC can be told now. */
static void date_segment(struct sl_recorder *r, struct sl_segment *segment, const struct sl_frame *frame)
{
    segment->begin_ns = frame->time_ns;
    sl_layout_file_date(segment->page0, sl_utc_ns(r->clock) - (sl_now_ns(r->clock) - frame->time_ns), frame->time_ns);
}

/* Lowest slot that is still on its way. (One that was lost is not below it: after a loss the segment takes no more frames.) */
static uint64_t complete_below(const struct sl_recorder *r, const struct sl_segment *segment, uint64_t slot)
{
    uint64_t below = slot;

    for (unsigned i = 0; i < r->run.cfg.queue_depth; i++)
        if (r->flight[i].state != SL_FLIGHT_FREE && r->flight[i].segment == segment && r->flight[i].slot < below)
            below = r->flight[i].slot;
    return below;
}

static void build_header(struct sl_recorder *r, const struct sl_flight *flight, const struct sl_frame *frame, uint8_t *header,
                         uint8_t *data)
{
    const struct sl_layout *layout = &r->run.layout;
    struct sl_segment *segment = flight->segment;
    struct sl_frame_record record = {
        .segment = (uint32_t)segment->number,
        .slot = flight->slot,
        .number = frame->number,
        .time_ns = flight->time_ns,
        .monotonic_ns = frame->time_ns,
        .sequence = frame->sequence,
        .flags = frame->flags,
        .bytesused = frame->bytesused,
        .has_crc = layout->crc,
        .completed = complete_below(r, segment, flight->slot),
    };

    memcpy(record.session, r->run.head.session, sizeof(record.session));
    if (flight->slot == 0)
        memcpy(header, segment->page0, SL_PAGE_BYTES);
    sl_layout_header_from(r->header_template, flight->slot, flight->time_ns, header);
    memcpy(data + layout->frame_bytes, r->run.void_pages + layout->tail_span - layout->tail_bytes, layout->tail_head_bytes);
    if (layout->crc) {
        record.payload_crc = sl_layout_cluster_crc(layout, header, data);
        sl_layout_set_cluster_crc(header, record.payload_crc);
    }
    sl_tally_books(&r->tally, frame, &record.books);
    sl_layout_seal(header, &record);
    if (flight->slot == 0)
        memcpy(segment->page0, header, SL_PAGE_BYTES);
}

static void copy_payload(struct sl_recorder *r, const struct sl_frame *frame, uint8_t *to)
{
    const struct sl_video_format *format = &r->run.head.format;

    count(r, SL_RECORDER_BYTES_COPIED, format->frame_bytes);
    if (!r->planes) {
        memcpy(to, frame->slot->data, format->frame_bytes);
        return;
    }
    for (unsigned plane = 0; plane < format->pixel->planes; plane++)
        memcpy(to + format->offset[plane], frame->slot->plane[plane], (size_t)format->bytesperline[plane] * format->lines[plane]);
}

/* -- Writing ------------------------------------------------------------------------------------------------------------ */

static void write_part(struct sl_recorder *r, struct sl_flight *flight, unsigned index, bool first)
{
    struct sl_part *part = &flight->part[index];
    struct sl_store_write write = {
        .data = part->data,
        .bytes = part->bytes,
        .region = part->region,
        .file = flight->segment->place,
        .frame = first && part->payload,
        .offset = part->offset,
        .tag = sl_tag(SL_TAG_FRAME, index_of(r, flight), index),
    };
    int rc = r->store->ops->write(r->store, &write);

    flight->parts_left++;
    r->queued = true;
    if (rc < 0) /* the ring has room for all that can be in flight; if not, the frame is lost like by any other error */
        sl_recorder_landed(r, index_of(r, flight), index, rc);
}

static void describe_parts(const struct sl_recorder *r, struct sl_flight *flight, const struct sl_slot *slot)
{
    const struct sl_layout *layout = &r->run.layout;
    uint64_t at = sl_layout_header_at(layout, flight->slot);
    uint32_t header_region = r->path.registered ? slot->header_region : SL_STORE_NO_REGION;
    uint32_t data_region = r->path.registered ? slot->data_region : SL_STORE_NO_REGION;

    if (slot->adjacent) {
        flight->parts = 1;
        flight->part[0] = (struct sl_part){
            .data = slot->header, .bytes = (uint32_t)layout->slot_bytes, .region = header_region, .offset = at, .payload = true};
        return;
    }
    flight->parts = 2;
    flight->part[0] = (struct sl_part){.data = slot->header, .bytes = SL_PAGE_BYTES, .region = header_region, .offset = at};
    flight->part[1] = (struct sl_part){.data = slot->data,
                                       .bytes = (uint32_t)(layout->slot_bytes - SL_PAGE_BYTES),
                                       .region = data_region,
                                       .offset = at + SL_PAGE_BYTES,
                                       .payload = true};
}

static struct sl_flight *take_off(struct sl_recorder *r, const struct sl_frame *frame)
{
    struct sl_segment *segment = r->current;
    struct sl_flight *flight = free_flight(r);
    uint64_t slot = segment->slots++;
    int64_t time_ns;

    if (slot == 0)
        date_segment(r, segment, frame);
    time_ns = frame->time_ns > segment->begin_ns ? frame->time_ns - segment->begin_ns : 0;
    if (time_ns > segment->last_ns)
        segment->last_ns = time_ns;
    segment->last_times->time_ns[slot % SL_TIMES_PER_BLOCK] = time_ns;
    segment->io++;
    r->in_flight++;
    *flight = (struct sl_flight){
        .state = SL_FLIGHT_WRITING,
        .segment = segment,
        .slot = slot,
        .number = frame->number,
        .time_ns = time_ns,
        .dequeued_ns = frame->dequeued_ns,
        .bounce = r->bounce ? &r->bounce->slot[index_of(r, flight)] : NULL,
    };
    return flight;
}

static int64_t us_since(int64_t now_ns, int64_t then_ns)
{
    return now_ns > then_ns ? (now_ns - then_ns) / SL_NS_PER_US : 0;
}

void sl_recorder_fly(struct sl_recorder *r, struct sl_frame *frame)
{
    struct sl_flight *flight;
    const struct sl_slot *slot;

    enter(r, frame);
    flight = take_off(r, frame);
    slot = flight->bounce ? flight->bounce : frame->slot;
    if (flight->bounce)
        copy_payload(r, frame, slot->data);
    build_header(r, flight, frame, slot->header, slot->data);
    describe_parts(r, flight, slot);
    flight->submitted_ns = sl_now_ns(r->clock);
    sl_histogram_add(&r->submit_us, (uint64_t)us_since(flight->submitted_ns, flight->dequeued_ns));
    if (flight->bounce)
        sl_sink_release(r->sink, frame);
    else
        flight->frame = frame;
    flight->parts_left = 1; /* so that the flight does not end between its two writes */
    for (unsigned i = 0; i < flight->parts; i++)
        write_part(r, flight, i, true);
    flight->parts_left--;
}

/* -- Landing ------------------------------------------------------------------------------------------------------------ */

static void end_flight(struct sl_recorder *r, struct sl_flight *flight)
{
    flight->segment->io--;
    flight->state = SL_FLIGHT_FREE;
    r->in_flight--;
}

static void release(struct sl_recorder *r, struct sl_flight *flight)
{
    if (flight->frame)
        sl_sink_release(r->sink, flight->frame);
    flight->frame = NULL;
}

static void recorded(struct sl_recorder *r, struct sl_flight *flight)
{
    count(r, SL_RECORDER_RECORDED, 1);
    count(r, SL_RECORDER_BYTES, r->run.layout.frame_bytes);
    sl_histogram_add(&r->write_us, (uint64_t)us_since(r->now_ns, flight->submitted_ns));
    sl_histogram_add(&r->durable_us, (uint64_t)us_since(r->now_ns, flight->dequeued_ns));
    if (flight->segment->frames++ == 0)
        count(r, SL_RECORDER_SEGMENTS, 1);
    flight->segment->dirty = true;
    release(r, flight);
    end_flight(r, flight);
}

/* Puts a Void where the frame should have been, as well as that goes. */
static void revoid(struct sl_recorder *r, struct sl_flight *flight)
{
    const uint8_t *page = r->run.void_pages + r->run.layout.tail_span;
    struct sl_store_write write = {
        .bytes = SL_PAGE_BYTES,
        .region = r->scratch_region,
        .file = flight->segment->place,
        .offset = sl_layout_header_at(&r->run.layout, flight->slot),
        .tag = sl_tag(SL_TAG_REVOID, index_of(r, flight), 0),
    };

    if (flight->slot == 0) {
        sl_layout_void(0, r->run.layout.slot_bytes, flight->segment->page0);
        page = flight->segment->page0;
    }
    write.data = page;
    flight->state = SL_FLIGHT_REVOIDING;
    r->queued = true;
    if (r->store->ops->write(r->store, &write) < 0)
        end_flight(r, flight);
}

static void time_lost(struct sl_segment *segment, uint64_t slot)
{
    struct sl_time_block *block = segment->first_times;

    for (uint64_t skip = slot / SL_TIMES_PER_BLOCK; skip > 0; skip--)
        block = block->next;
    block->time_ns[slot % SL_TIMES_PER_BLOCK] = SL_TIME_LOST;
}

static void lose(struct sl_recorder *r, struct sl_flight *flight)
{
    struct sl_segment *segment = flight->segment;
    bool full = flight->error == -ENOSPC || flight->error == -EDQUOT;

    if (full) {
        r->tally.disk_full++;
        count(r, SL_RECORDER_DISK_FULL, 1);
    } else {
        r->tally.disk_error++;
        count(r, SL_RECORDER_DISK_ERROR, 1);
    }
    sl_recorder_lost(r, full ? SL_LOSS_DISK_FULL : SL_LOSS_DISK_ERROR, flight->number, 1, flight->error);
    time_lost(segment, flight->slot);
    segment->broken = true;
    if (segment->error == 0)
        segment->error = flight->error;
    release(r, flight);
    revoid(r, flight);
    if (full)
        sl_recorder_fail(r, SL_MODE_FULL, -ENOSPC);
}

static void wait_for_room(struct sl_recorder *r, struct sl_flight *flight)
{
    flight->state = SL_FLIGHT_NO_SPACE; /* until the house-keeper has made some */
    r->wait_for_room++;
}

static void settle(struct sl_recorder *r, struct sl_flight *flight)
{
    bool no_space = flight->error == -ENOSPC || flight->error == -EDQUOT;

    if (flight->error == 0)
        recorded(r, flight);
    else if (no_space && r->run.cfg.when_full == SL_WHEN_FULL_OVERWRITE_OLDEST && flight->room_tries++ < MAX_ROOM_TRIES)
        wait_for_room(r, flight);
    else
        lose(r, flight);
}

void sl_recorder_landed(struct sl_recorder *r, unsigned index, unsigned number, int64_t result)
{
    struct sl_flight *flight = &r->flight[index];
    struct sl_part *part = &flight->part[number];
    uint32_t whole;

    flight->parts_left--;
    if (result == -EAGAIN || result == -EINTR || (result > 0 && result < part->bytes)) {
        whole = result > 0 ? (uint32_t)result / SL_PAGE_BYTES * SL_PAGE_BYTES : 0;
        part->data += whole;
        part->bytes -= whole;
        part->offset += whole;
        if (result > 0)
            count(r, SL_RECORDER_SHORT_WRITES, 1);
        if (whole > 0 || ++flight->retries < SL_MAX_EAGAIN) {
            write_part(r, flight, number, false);
            return;
        }
        result = -EIO;
    }
    if (result == part->bytes)
        part->done = true;
    else if (flight->error == 0)
        flight->error = result < 0 ? (int)result : -EIO;
    if (flight->parts_left == 0)
        settle(r, flight);
}

void sl_recorder_revoided(struct sl_recorder *r, unsigned index)
{
    end_flight(r, &r->flight[index]);
}

void sl_recorder_retry_no_space(struct sl_recorder *r, int error)
{
    for (unsigned i = 0; i < r->run.cfg.queue_depth; i++) {
        struct sl_flight *flight = &r->flight[i];

        if (flight->state != SL_FLIGHT_NO_SPACE)
            continue;
        r->wait_for_room--;
        if (error < 0) {
            lose(r, flight);
            continue;
        }
        flight->state = SL_FLIGHT_WRITING;
        flight->error = 0;
        flight->parts_left = 1;
        for (unsigned part = 0; part < flight->parts; part++)
            if (!flight->part[part].done)
                write_part(r, flight, part, false);
        flight->parts_left--;
    }
}

void sl_recorder_force_landing(struct sl_recorder *r)
{
    for (unsigned i = 0; i < r->run.cfg.queue_depth; i++) {
        struct sl_flight *flight = &r->flight[i];

        if (flight->state == SL_FLIGHT_FREE)
            continue;
        r->wait_for_room -= flight->state == SL_FLIGHT_NO_SPACE;
        if (flight->state != SL_FLIGHT_REVOIDING) {
            r->tally.disk_error++;
            count(r, SL_RECORDER_DISK_ERROR, 1);
            sl_recorder_lost(r, SL_LOSS_DISK_ERROR, flight->number, 1, -ETIMEDOUT);
            time_lost(flight->segment, flight->slot);
        }
        release(r, flight);
        end_flight(r, flight);
    }
}
