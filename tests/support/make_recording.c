/* SPDX-License-Identifier: Apache-2.0 */
#include "support/make_recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct maker {
    const struct made_spec *spec;
    struct made_recording *made;
    int fd;
    uint8_t page0[SL_PAGE_BYTES];
    uint8_t *slot; /* one slot */
    uint8_t *cues;
    uint64_t points;
    uint64_t number; /* of the next frame */
};

static void need(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

void made_payload(uint64_t number, uint8_t *data, size_t bytes)
{
    uint32_t state = (uint32_t)number * 2654435761u + 12345u;

    for (size_t i = 0; i < bytes; i++) {
        state = state * 1664525u + 1013904223u;
        data[i] = (uint8_t)(state >> 24);
    }
}

static void write_at(struct maker *maker, uint64_t offset, const void *data, size_t bytes)
{
    need(pwrite(maker->fd, data, bytes, (off_t)offset) == (ssize_t)bytes, "pwrite");
}

static void make_format(struct maker *maker)
{
    const struct made_spec *spec = maker->spec;
    struct sl_video_format *format = &maker->made->format;
    const struct sl_pixel_format *pixel = sl_pixel_format_by_name(spec->format);
    int rc;

    need(pixel != NULL, "pixel format");
    if (spec->bytesperline)
        rc = sl_video_format_padded(format, pixel, spec->width, spec->height, spec->bytesperline, spec->lines);
    else
        rc = sl_video_format_tight(format, pixel, spec->width, spec->height);
    need(!rc, "video format");
    format->fps = (struct sl_rational){60, 1};
    format->colour = (struct sl_colour){1, 1, 1, 1};
    format->interlaced = false;
    need(!sl_layout_init(&maker->made->layout, format->frame_bytes, spec->checksum), "layout");
}

static void make_head(struct maker *maker)
{
    struct sl_stream_record record = {
        .segment = maker->spec->segment ? maker->spec->segment : 1,
        .checksum = maker->spec->checksum,
        .slot_bytes = maker->made->layout.slot_bytes,
        .utc_ns = INT64_C(1700000000123456789),
        .monotonic_ns = 1000000000,
        .format = maker->made->format,
        .writer = "sluice tests",
        .description = "a made recording",
    };

    memset(record.session, maker->spec->session, sizeof record.session);
    need(!sl_layout_file_head(&maker->made->layout, &record, maker->page0), "file head");
}

static bool is_hole(const struct made_spec *spec, uint64_t slot)
{
    for (unsigned i = 0; i < spec->holes; i++)
        if (spec->hole[i] == slot)
            return true;
    return false;
}

static void lose_before(struct maker *maker, uint64_t slot)
{
    struct sl_books *books = &maker->made->books;

    for (unsigned i = 0; i < maker->spec->gaps; i++) {
        const struct made_gap *gap = &maker->spec->gap[i];

        if (gap->slot != slot)
            continue;
        maker->number += gap->count;
        books->expected += gap->count;
        if (gap->unbooked)
            books->recorded += gap->count; /* books that balance, and lie */
        else
            books->lost[gap->cause] += gap->count;
    }
}

static void make_record(const struct maker *maker, uint64_t slot, struct sl_frame_record *record)
{
    const struct made_spec *spec = maker->spec;
    uint64_t behind = spec->behind ? spec->behind : 1;

    memset(record, 0, sizeof *record);
    memset(record->session, spec->session, sizeof record->session);
    record->segment = spec->segment ? spec->segment : 1;
    record->slot = slot;
    record->number = maker->number;
    record->time_ns = sl_frame_time_ns(maker->made->format.fps, maker->number - spec->number);
    record->monotonic_ns = 1000000000 + sl_frame_time_ns(maker->made->format.fps, maker->number);
    record->sequence = (uint32_t)maker->number;
    record->bytesused = maker->made->format.frame_bytes;
    record->completed = slot + 1 > behind ? slot + 1 - behind : 0;
    record->books = maker->made->books;
    record->has_crc = spec->checksum;
}

static void make_frame(struct maker *maker, uint64_t slot)
{
    struct made_recording *made = maker->made;
    const struct sl_layout *layout = &made->layout;
    uint8_t *page = maker->slot;
    uint8_t *payload = maker->slot + SL_PAGE_BYTES;
    struct sl_frame_record record;

    made->books.expected++;
    made->books.captured++;
    made->books.recorded++;
    make_record(maker, slot, &record);
    memset(maker->slot, 0, layout->slot_bytes);
    if (slot == 0)
        memcpy(page, maker->page0, SL_PAGE_BYTES);
    sl_layout_header(layout, slot, record.time_ns, page);
    made_payload(maker->number, payload, made->format.frame_bytes);
    if (record.has_crc) {
        record.payload_crc = sl_layout_cluster_crc(layout, page, payload);
        sl_layout_set_cluster_crc(page, record.payload_crc);
    }
    sl_layout_seal(page, &record);
    sl_layout_tail(layout, payload + made->format.frame_bytes);
    write_at(maker, sl_layout_header_at(layout, slot), maker->slot, layout->slot_bytes);
    if (slot == 0)
        memcpy(maker->page0, page, SL_PAGE_BYTES);
    sl_layout_cue_point(record.time_ns, sl_layout_cluster_position(layout, slot), maker->cues + maker->points * SL_LAYOUT_CUE_POINT_BYTES);
    maker->points++;
    made->frames++;
    made->last_time_ns = record.time_ns;
    maker->number++;
}

static void make_void(struct maker *maker, uint64_t slot, uint64_t void_bytes)
{
    const struct sl_layout *layout = &maker->made->layout;

    memset(maker->slot, 0, layout->slot_bytes);
    if (slot == 0)
        memcpy(maker->slot, maker->page0, SL_PAGE_BYTES);
    sl_layout_void(slot, void_bytes, maker->slot);
    sl_layout_tail(layout, maker->slot + SL_PAGE_BYTES + layout->frame_bytes);
    write_at(maker, sl_layout_header_at(layout, slot), maker->slot, layout->slot_bytes);
    if (slot == 0)
        memcpy(maker->page0, maker->slot, SL_PAGE_BYTES);
}

/* A slot whose write failed: its number is gone, and the next frame books that. */
static void make_hole(struct maker *maker, uint64_t slot)
{
    make_void(maker, slot, maker->made->layout.slot_bytes);
    maker->number++;
    maker->made->books.expected++;
    maker->made->books.captured++;
    maker->made->books.lost[SL_LOSS_DISK_ERROR]++;
}

static void make_ahead(struct maker *maker)
{
    const struct made_spec *spec = maker->spec;
    const struct sl_layout *layout = &maker->made->layout;
    uint64_t end = maker->made->end_of_slots + spec->preformatted * layout->slot_bytes + spec->extended;

    need(!ftruncate(maker->fd, (off_t)end), "ftruncate");
    for (unsigned i = 0; i < spec->preformatted; i++) {
        uint64_t slot = spec->slots + i;
        bool last = i + 1 == spec->preformatted;

        make_void(maker, slot, last ? end - sl_layout_header_at(layout, slot) : layout->slot_bytes);
    }
    maker->made->file_bytes = end;
}

static void make_end(struct maker *maker)
{
    struct made_recording *made = maker->made;
    struct sl_file_end end = {.cues_at = made->end_of_slots};
    uint8_t head[SL_LAYOUT_CUES_HEAD_BYTES];
    struct sl_frame_record record;
    bool framed = !sl_layout_open_seal(maker->page0, &record);

    end.file_bytes = end.cues_at + sl_layout_cues_bytes(maker->points);
    end.duration_ns = sl_layout_duration_ns(made->format.fps, made->frames, made->last_time_ns);
    sl_layout_cues_head(maker->points, head);
    write_at(maker, end.cues_at, head, sizeof head);
    write_at(maker, end.cues_at + sizeof head, maker->cues, maker->points * SL_LAYOUT_CUE_POINT_BYTES);
    need(!sl_layout_file_finish(maker->page0, &end), "finish");
    if (framed)
        sl_layout_seal(maker->page0, &record);
    write_at(maker, 0, maker->page0, SL_PAGE_BYTES);
    made->file_bytes = end.file_bytes;
}

void make_recording(const char *path, const struct made_spec *spec, struct made_recording *made)
{
    struct maker maker = {.spec = spec, .made = made, .number = spec->number};

    memset(made, 0, sizeof *made);
    made->books = spec->books;
    make_format(&maker);
    make_head(&maker);
    maker.fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    need(maker.fd >= 0, path);
    maker.slot = malloc(made->layout.slot_bytes);
    maker.cues = malloc((spec->slots + 1) * SL_LAYOUT_CUE_POINT_BYTES);
    need(maker.slot && maker.cues, "malloc");
    for (uint64_t slot = 0; slot < spec->slots; slot++) {
        lose_before(&maker, slot);
        if (is_hole(spec, slot))
            make_hole(&maker, slot);
        else
            make_frame(&maker, slot);
    }
    made->end_of_slots = sl_layout_header_at(&made->layout, spec->slots);
    made->next_number = maker.number;
    if (spec->finished)
        make_end(&maker);
    else
        make_ahead(&maker);
    free(maker.cues);
    free(maker.slot);
    need(!close(maker.fd), "close");
}
