/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records that lie in Voids: one in each header page, one in page 0. Fixed offsets, little-endian, written byte by byte so
 * that no compiler or machine changes them. Pure; any thread. What is decoded is untrusted: a record that passes its CRC may
 * still have been made by a bug or by hand, so numbers that others compute with are checked here, once.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/crc.h"
#include "writer/bytes.h"
#include "writer/ebml.h"
#include "writer/layout.h"

enum { FRAME_VERSION = 1, STREAM_VERSION = 1, CRC_AT = 12, LOSS_PLACES = 8 };

static const char frame_magic[8] = {'S', 'L', 'U', 'F', 'R', 'A', 'M', 'E'};
static const char stream_magic[8] = {'S', 'L', 'U', 'S', 'T', 'R', 'E', 'A'};

static_assert((int)SL_LOSS_COUNT <= (int)LOSS_PLACES, "the record has a place for each cause");
static_assert(120 + 8 * LOSS_PLACES == SL_LAYOUT_FRAME_RECORD_BYTES, "the losses end the record");

/* CRC of a block that holds its own CRC, with that taken as zero. */
static uint32_t crc_without_itself(const uint8_t *block, size_t bytes, size_t crc_at)
{
    static const uint8_t zero[4];
    uint32_t crc = sl_crc32(0, block, crc_at);

    crc = sl_crc32(crc, zero, sizeof(zero));
    return sl_crc32(crc, block + crc_at + 4, bytes - crc_at - 4);
}

/* The record's sector: Void, record, Cluster head. Not the sectors before it, of which page 0's first is patched at the end. */
static uint32_t record_crc(const uint8_t *page)
{
    return crc_without_itself(page + SL_LAYOUT_RECORD_VOID, SL_PAGE_BYTES - SL_LAYOUT_RECORD_VOID,
                              SL_LAYOUT_FRAME_RECORD - SL_LAYOUT_RECORD_VOID + CRC_AT);
}

void sl_layout_seal(uint8_t *page, const struct sl_frame_record *record)
{
    uint8_t *at = page + SL_LAYOUT_FRAME_RECORD;

    memcpy(at, frame_magic, 8);
    sl_put_le16(at + 8, FRAME_VERSION);
    sl_put_le16(at + 10, SL_LAYOUT_FRAME_RECORD_BYTES);
    sl_put_le32(at + CRC_AT, 0);
    memcpy(at + 16, record->session, 16);
    sl_put_le32(at + 32, record->segment);
    sl_put_le32(at + 36, record->flags);
    sl_put_le64(at + 40, record->slot);
    sl_put_le64(at + 48, record->number);
    sl_put_le64(at + 56, (uint64_t)record->time_ns);
    sl_put_le64(at + 64, (uint64_t)record->monotonic_ns);
    sl_put_le32(at + 72, record->sequence);
    sl_put_le32(at + 76, record->bytesused);
    sl_put_le64(at + 80, record->completed);
    sl_put_le32(at + 88, record->has_crc ? record->payload_crc : 0);
    sl_put_le32(at + 92, record->has_crc);
    sl_put_le64(at + 96, record->books.expected);
    sl_put_le64(at + 104, record->books.captured);
    sl_put_le64(at + 112, record->books.recorded);
    for (unsigned i = 0; i < LOSS_PLACES; i++)
        sl_put_le64(at + 120 + 8 * i, i < SL_LOSS_COUNT ? record->books.lost[i] : 0);
    sl_put_le32(at + CRC_AT, sl_crc32(0, page + SL_LAYOUT_RECORD_VOID, SL_PAGE_BYTES - SL_LAYOUT_RECORD_VOID));
}

static bool cluster_agrees(const uint8_t *page, const struct sl_frame_record *record)
{
    const uint8_t *cluster = page + (record->has_crc ? SL_LAYOUT_CLUSTER_CRC : SL_LAYOUT_CLUSTER);

    if (sl_get_be(cluster, 4) != SL_MKV_CLUSTER)
        return false;
    if (record->has_crc && sl_get_le32(page + SL_LAYOUT_CRC_COVERS - 4) != record->payload_crc)
        return false;
    return sl_get_be(page + SL_LAYOUT_CRC_COVERS + 2, 8) == (uint64_t)record->time_ns;
}

int sl_layout_open_record(const uint8_t *page, struct sl_frame_record *record)
{
    const uint8_t *at = page + SL_LAYOUT_FRAME_RECORD;
    struct sl_frame_record read = {
        .segment = sl_get_le32(at + 32),
        .slot = sl_get_le64(at + 40),
        .number = sl_get_le64(at + 48),
        .time_ns = (int64_t)sl_get_le64(at + 56),
        .monotonic_ns = (int64_t)sl_get_le64(at + 64),
        .sequence = sl_get_le32(at + 72),
        .flags = sl_get_le32(at + 36),
        .bytesused = sl_get_le32(at + 76),
        .has_crc = sl_get_le32(at + 92) == 1,
        .payload_crc = sl_get_le32(at + 88),
        .completed = sl_get_le64(at + 80),
        .books = {.expected = sl_get_le64(at + 96), .captured = sl_get_le64(at + 104), .recorded = sl_get_le64(at + 112)},
    };

    if (memcmp(at, frame_magic, 8) != 0 || sl_get_le16(at + 8) != FRAME_VERSION || sl_get_le16(at + 10) != SL_LAYOUT_FRAME_RECORD_BYTES)
        return -EBADMSG;
    if (sl_get_le32(at + CRC_AT) != record_crc(page))
        return -EBADMSG;
    memcpy(read.session, at + 16, 16);
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        read.books.lost[i] = sl_get_le64(at + 120 + 8 * i);
    if (read.time_ns < 0 || !cluster_agrees(page, &read))
        return -EBADMSG;
    *record = read;
    return 0;
}

int sl_layout_open_seal(const uint8_t *page, struct sl_frame_record *record)
{
    struct sl_frame_record read;
    int rc = sl_layout_open_record(page, &read);

    if (!rc && read.slot > 0 && sl_layout_void_bytes(read.slot, page) != SL_LAYOUT_RECORD_VOID)
        rc = -EBADMSG;
    if (!rc)
        *record = read;
    return rc;
}

void sl_layout_text(char *out, size_t bytes, const char *text)
{
    size_t i;

    for (i = 0; i + 1 < bytes && text[i]; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7f ? text[i] : '?';
    memset(out + i, 0, bytes - i);
}

static void encode_format(uint8_t *at, const struct sl_video_format *format)
{
    sl_put_le32(at + 64, format->pixel->v4l2_fourcc);
    sl_put_le32(at + 68, format->width);
    sl_put_le32(at + 72, format->height);
    sl_put_le32(at + 76, format->frame_bytes);
    for (unsigned plane = 0; plane < SL_MAX_PLANES; plane++) {
        sl_put_le32(at + 80 + 4 * plane, format->bytesperline[plane]);
        sl_put_le32(at + 92 + 4 * plane, format->lines[plane]);
        sl_put_le32(at + 104 + 4 * plane, format->offset[plane]);
    }
    sl_put_le32(at + 116, format->fps.num);
    sl_put_le32(at + 120, format->fps.den);
    at[124] = format->colour.primaries;
    at[125] = format->colour.transfer;
    at[126] = format->colour.matrix;
    at[127] = format->colour.range;
    at[128] = format->interlaced;
}

void sl_stream_record_encode(const struct sl_stream_record *record, uint8_t *bytes)
{
    memset(bytes, 0, SL_LAYOUT_STREAM_RECORD_BYTES);
    memcpy(bytes, stream_magic, 8);
    sl_put_le16(bytes + 8, STREAM_VERSION);
    sl_put_le16(bytes + 10, SL_LAYOUT_STREAM_RECORD_BYTES);
    memcpy(bytes + 16, record->session, 16);
    sl_put_le32(bytes + 32, record->segment);
    sl_put_le32(bytes + 36, record->checksum);
    sl_put_le64(bytes + 40, record->slot_bytes);
    sl_put_le64(bytes + 48, (uint64_t)record->utc_ns);
    sl_put_le64(bytes + 56, (uint64_t)record->monotonic_ns);
    encode_format(bytes, &record->format);
    sl_layout_text((char *)bytes + 132, sizeof(record->writer), record->writer);
    sl_layout_text((char *)bytes + 196, sizeof(record->description), record->description);
    sl_put_le32(bytes + CRC_AT, crc_without_itself(bytes, SL_LAYOUT_STREAM_RECORD_BYTES, CRC_AT));
}

void sl_stream_record_set_date(uint8_t *bytes, int64_t utc_ns, int64_t monotonic_ns)
{
    sl_put_le64(bytes + 48, (uint64_t)utc_ns);
    sl_put_le64(bytes + 56, (uint64_t)monotonic_ns);
    sl_put_le32(bytes + CRC_AT, crc_without_itself(bytes, SL_LAYOUT_STREAM_RECORD_BYTES, CRC_AT));
}

static bool shape_is_sane(const struct sl_video_format *format)
{
    const struct sl_pixel_format *pixel = format->pixel;

    if (format->width == 0 || format->width > 16384 || format->width % pixel->horizontal)
        return false;
    if (format->height == 0 || format->height > 16384 || format->height % pixel->vertical || format->fps.den == 0)
        return false;
    for (unsigned plane = 0; plane < pixel->planes; plane++) {
        uint64_t bytes = (uint64_t)format->bytesperline[plane] * format->lines[plane];

        if (format->bytesperline[plane] < sl_video_format_line_bytes(format, plane) ||
            format->lines[plane] < sl_video_format_plane_lines(format, plane) || format->offset[plane] + bytes > format->frame_bytes)
            return false;
    }
    return true;
}

static int decode_format(const uint8_t *at, struct sl_video_format *format)
{
    *format = (struct sl_video_format){
        .pixel = sl_pixel_format_by_v4l2(sl_get_le32(at + 64)),
        .width = sl_get_le32(at + 68),
        .height = sl_get_le32(at + 72),
        .frame_bytes = sl_get_le32(at + 76),
        .fps = {sl_get_le32(at + 116), sl_get_le32(at + 120)},
        .colour = {at[124], at[125], at[126], at[127]},
        .interlaced = at[128] == 1,
    };
    for (unsigned plane = 0; plane < SL_MAX_PLANES; plane++) {
        format->bytesperline[plane] = sl_get_le32(at + 80 + 4 * plane);
        format->lines[plane] = sl_get_le32(at + 92 + 4 * plane);
        format->offset[plane] = sl_get_le32(at + 104 + 4 * plane);
    }
    if (!format->pixel)
        return -ENOTSUP;
    return shape_is_sane(format) ? 0 : -EBADMSG;
}

int sl_stream_record_decode(const uint8_t *bytes, struct sl_stream_record *record)
{
    struct sl_stream_record read = {
        .segment = sl_get_le32(bytes + 32),
        .checksum = sl_get_le32(bytes + 36) == 1,
        .slot_bytes = sl_get_le64(bytes + 40),
        .utc_ns = (int64_t)sl_get_le64(bytes + 48),
        .monotonic_ns = (int64_t)sl_get_le64(bytes + 56),
    };
    struct sl_layout layout;
    int rc;

    if (memcmp(bytes, stream_magic, 8) != 0 || sl_get_le16(bytes + 8) != STREAM_VERSION ||
        sl_get_le16(bytes + 10) != SL_LAYOUT_STREAM_RECORD_BYTES ||
        sl_get_le32(bytes + CRC_AT) != crc_without_itself(bytes, SL_LAYOUT_STREAM_RECORD_BYTES, CRC_AT))
        return -EBADMSG;
    rc = decode_format(bytes, &read.format);
    if (rc < 0)
        return rc;
    if (sl_layout_init(&layout, read.format.frame_bytes, read.checksum) < 0 || layout.slot_bytes != read.slot_bytes)
        return -EBADMSG;
    memcpy(read.session, bytes + 16, 16);
    memcpy(read.writer, bytes + 132, sizeof(read.writer) - 1);
    memcpy(read.description, bytes + 196, sizeof(read.description) - 1);
    *record = read;
    return 0;
}
