/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page 0 of a recording: EBML header, Segment, SeekHead's place, Info, Tracks, stream record.
 *
 * Pure; any thread. What is patched at the end lies at fixed offsets before any text of variable length; only Tracks has to be
 * looked for, one element further on. Every master here has a two-byte size, every patched number eight bytes. All that is
 * patched lies in the page's first 512 bytes and the first frame's record in its last 512, so that a torn write of the patch can
 * spoil neither.
 *
 * Rejected: a CRC-32 element in Info or Segment: patching it would need two consistent writes where now one page suffices.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "writer/bytes.h"
#include "writer/ebml.h"
#include "writer/layout.h"

enum {
    SEGMENT_AT = SL_LAYOUT_SEGMENT_DATA - 12,
    SEEK_HEAD_AT = SL_LAYOUT_SEGMENT_DATA,
    SEEK_HEAD_BYTES = 96, /* three entries take 72, the rest stays Void */
    SEEK_BYTES = 22,
    INFO_AT = SEEK_HEAD_AT + SEEK_HEAD_BYTES,
    DURATION_AT = INFO_AT + 6 + 5, /* after Info's head and TimestampScale */
    DATE_AT = DURATION_AT + 11
};

static const int64_t seconds_1970_to_2001 = 978307200;

static void put_ebml_header(struct sl_ebml *ebml)
{
    uint8_t *header = sl_ebml_begin(ebml, SL_EBML_HEADER);

    sl_ebml_uint(ebml, SL_EBML_VERSION, 1);
    sl_ebml_uint(ebml, SL_EBML_READ_VERSION, 1);
    sl_ebml_uint(ebml, SL_EBML_MAX_ID_LENGTH, 4);
    sl_ebml_uint(ebml, SL_EBML_MAX_SIZE_LENGTH, 8);
    sl_ebml_string(ebml, SL_EBML_DOC_TYPE, "matroska");
    sl_ebml_uint(ebml, SL_EBML_DOC_TYPE_VERSION, 4);
    sl_ebml_uint(ebml, SL_EBML_DOC_TYPE_READ_VERSION, 2);
    sl_ebml_end(ebml, header);
}

static void put_info(struct sl_ebml *ebml, const struct sl_stream_record *record)
{
    uint8_t *info = sl_ebml_begin(ebml, SL_MKV_INFO);

    sl_ebml_uint(ebml, SL_MKV_TIMESTAMP_SCALE, 1);
    sl_ebml_void(ebml, 11); /* Duration's place */
    sl_ebml_uint64(ebml, SL_MKV_DATE_UTC, 0);
    sl_ebml_string(ebml, SL_MKV_MUXING_APP, "sluice");
    sl_ebml_string(ebml, SL_MKV_WRITING_APP, record->writer);
    sl_ebml_end(ebml, info);
}

static void put_colour(struct sl_ebml *ebml, const struct sl_colour *colour)
{
    uint8_t *element = sl_ebml_begin(ebml, SL_MKV_COLOUR);

    sl_ebml_uint(ebml, SL_MKV_MATRIX_COEFFICIENTS, colour->matrix);
    sl_ebml_uint(ebml, SL_MKV_RANGE, colour->range);
    sl_ebml_uint(ebml, SL_MKV_TRANSFER, colour->transfer);
    sl_ebml_uint(ebml, SL_MKV_PRIMARIES, colour->primaries);
    sl_ebml_end(ebml, element);
}

/* Pixels in a stored line, padding included; 0 when that is not a whole number that the subsampling allows. */
static uint32_t stored_width(const struct sl_video_format *format)
{
    uint32_t pixel_bytes = format->pixel->layout == SL_LAYOUT_PACKED_422 ? 2 : 1;
    uint32_t width = format->bytesperline[0] / pixel_bytes;

    if (format->bytesperline[0] % pixel_bytes || width % format->pixel->horizontal)
        return 0;
    return width;
}

int sl_layout_describable(const struct sl_video_format *format)
{
    struct sl_video_format stored = {0};
    uint32_t width = stored_width(format);

    if (width == 0 || format->lines[0] % format->pixel->vertical)
        return -EINVAL;
    if (sl_video_format_tight(&stored, format->pixel, width, format->lines[0]) < 0 || stored.frame_bytes != format->frame_bytes)
        return -EINVAL;
    for (unsigned plane = 0; plane < format->pixel->planes; plane++)
        if (stored.offset[plane] != format->offset[plane] || stored.bytesperline[plane] != format->bytesperline[plane])
            return -EINVAL;
    return 0;
}

static void put_video(struct sl_ebml *ebml, const struct sl_video_format *format)
{
    uint8_t *video = sl_ebml_begin(ebml, SL_MKV_VIDEO);
    uint32_t width = stored_width(format);
    uint8_t fourcc[4];

    sl_put_le32(fourcc, format->pixel->matroska_fourcc);
    sl_ebml_uint(ebml, SL_MKV_FLAG_INTERLACED, format->interlaced ? 1 : 2);
    sl_ebml_uint(ebml, SL_MKV_PIXEL_WIDTH, width);
    sl_ebml_uint(ebml, SL_MKV_PIXEL_HEIGHT, format->lines[0]);
    if (width > format->width)
        sl_ebml_uint(ebml, SL_MKV_PIXEL_CROP_RIGHT, width - format->width);
    if (format->lines[0] > format->height)
        sl_ebml_uint(ebml, SL_MKV_PIXEL_CROP_BOTTOM, format->lines[0] - format->height);
    sl_ebml_binary(ebml, SL_MKV_COLOUR_SPACE, fourcc, sizeof(fourcc));
    put_colour(ebml, &format->colour);
    sl_ebml_end(ebml, video);
}

static void put_tracks(struct sl_ebml *ebml, const struct sl_stream_record *record)
{
    const struct sl_rational fps = record->format.fps;
    uint8_t *tracks = sl_ebml_begin(ebml, SL_MKV_TRACKS);
    uint8_t *entry = sl_ebml_begin(ebml, SL_MKV_TRACK_ENTRY);

    sl_ebml_uint(ebml, SL_MKV_TRACK_NUMBER, 1);
    sl_ebml_uint(ebml, SL_MKV_TRACK_UID, sl_get_le64(record->session) | 1);
    sl_ebml_uint(ebml, SL_MKV_TRACK_TYPE, 1);
    sl_ebml_uint(ebml, SL_MKV_FLAG_LACING, 0);
    if (fps.num > 0)
        sl_ebml_uint(ebml, SL_MKV_DEFAULT_DURATION, ((uint64_t)fps.den * SL_NS_PER_S + fps.num / 2) / fps.num);
    sl_ebml_string(ebml, SL_MKV_LANGUAGE, "und");
    if (record->description[0])
        sl_ebml_string(ebml, SL_MKV_NAME, record->description);
    sl_ebml_string(ebml, SL_MKV_CODEC_ID, "V_UNCOMPRESSED");
    put_video(ebml, &record->format);
    sl_ebml_end(ebml, entry);
    sl_ebml_end(ebml, tracks);
}

int sl_layout_file_head(const struct sl_layout *layout, const struct sl_stream_record *record, uint8_t *page)
{
    struct sl_stream_record clean = *record;
    struct sl_ebml ebml;

    if (sl_layout_describable(&record->format) < 0 || layout->slot_bytes != record->slot_bytes)
        return -EINVAL;
    sl_layout_text(clean.writer, sizeof(clean.writer), record->writer);
    sl_layout_text(clean.description, sizeof(clean.description), record->description);
    memset(page, 0, SL_LAYOUT_RECORD_VOID);
    sl_ebml_init(&ebml, page, SL_LAYOUT_HEAD_MAX - 2);
    put_ebml_header(&ebml);
    sl_ebml_head(&ebml, SL_MKV_SEGMENT, SL_EBML_UNKNOWN, 8);
    assert(sl_ebml_length(&ebml) == SL_LAYOUT_SEGMENT_DATA);
    sl_ebml_void(&ebml, SEEK_HEAD_BYTES);
    put_info(&ebml, &clean);
    put_tracks(&ebml, &clean);
    if (ebml.overflow)
        return -EINVAL;
    ebml.end = page + SL_LAYOUT_RECORD_VOID;
    sl_ebml_void(&ebml, SL_LAYOUT_STREAM_VOID - sl_ebml_length(&ebml));
    sl_ebml_void(&ebml, SL_LAYOUT_RECORD_VOID - SL_LAYOUT_STREAM_VOID);
    sl_stream_record_encode(&clean, page + SL_LAYOUT_STREAM_RECORD);
    sl_layout_file_date(page, record->utc_ns, record->monotonic_ns);
    return 0;
}

void sl_layout_file_date(uint8_t *page, int64_t utc_ns, int64_t monotonic_ns)
{
    sl_put_be(page + DATE_AT + 3, (uint64_t)utc_ns - (uint64_t)(seconds_1970_to_2001 * SL_NS_PER_S), 8); /* of a file that lies: wraps */
    sl_stream_record_set_date(page + SL_LAYOUT_STREAM_RECORD, utc_ns, monotonic_ns);
}

/* Offset of Tracks in page 0 of one of our files, 0 when it is none. */
static size_t find_tracks(const uint8_t *page)
{
    struct sl_ebml_element info, tracks;
    size_t at;

    if (sl_get_be(page, 4) != SL_EBML_HEADER || sl_get_be(page + SEGMENT_AT, 4) != SL_MKV_SEGMENT || page[SEGMENT_AT + 4] != 0x01)
        return 0;
    if (sl_ebml_read_head(page + INFO_AT, SL_LAYOUT_HEAD_MAX - INFO_AT, &info) < 0 || info.id != SL_MKV_INFO ||
        info.size > SL_LAYOUT_HEAD_MAX)
        return 0;
    at = INFO_AT + info.head_bytes + info.size;
    if (at >= SL_LAYOUT_HEAD_MAX || sl_ebml_read_head(page + at, SL_LAYOUT_HEAD_MAX - at, &tracks) < 0 || tracks.id != SL_MKV_TRACKS)
        return 0;
    return at;
}

static void put_seek(struct sl_ebml *ebml, uint32_t id, uint64_t file_offset)
{
    uint8_t *seek = sl_ebml_begin(ebml, SL_MKV_SEEK);
    uint8_t target[4];

    sl_put_be(target, id, 4);
    sl_ebml_binary(ebml, SL_MKV_SEEK_ID, target, sizeof(target));
    sl_ebml_uint64(ebml, SL_MKV_SEEK_POSITION, file_offset - SL_LAYOUT_SEGMENT_DATA);
    sl_ebml_end(ebml, seek);
}

int sl_layout_file_finish(uint8_t *page, const struct sl_file_end *end)
{
    size_t tracks_at = find_tracks(page);
    struct sl_ebml ebml;
    uint8_t *seek_head;

    if (tracks_at == 0)
        return -EBADMSG;
    sl_put_be(page + SEGMENT_AT + 4, (end->file_bytes - SL_LAYOUT_SEGMENT_DATA) | 1ULL << 56, 8);
    sl_ebml_init(&ebml, page + SEEK_HEAD_AT, SEEK_HEAD_BYTES);
    seek_head = sl_ebml_begin(&ebml, SL_MKV_SEEK_HEAD);
    put_seek(&ebml, SL_MKV_INFO, INFO_AT);
    put_seek(&ebml, SL_MKV_TRACKS, tracks_at);
    put_seek(&ebml, SL_MKV_CUES, end->cues_at);
    sl_ebml_end(&ebml, seek_head);
    sl_ebml_void(&ebml, SEEK_HEAD_BYTES - sl_ebml_length(&ebml));
    sl_ebml_init(&ebml, page + DURATION_AT, 11);
    sl_ebml_float(&ebml, SL_MKV_DURATION, (double)end->duration_ns);
    return 0;
}

int sl_layout_file_end(const uint8_t *page, struct sl_file_end *end)
{
    const uint8_t *seek = page + SEEK_HEAD_AT + 6 + 2 * SEEK_BYTES;
    uint64_t segment_bytes, bits;
    double duration;

    if (find_tracks(page) == 0)
        return -EBADMSG;
    segment_bytes = sl_get_be(page + SEGMENT_AT + 5, 7);
    if (segment_bytes == SL_EBML_UNKNOWN >> 8 || sl_get_be(page + SEEK_HEAD_AT, 4) != SL_MKV_SEEK_HEAD ||
        sl_get_be(seek + 7, 4) != SL_MKV_CUES || sl_get_be(page + DURATION_AT, 2) != SL_MKV_DURATION)
        return -ENODATA;
    bits = sl_get_be(page + DURATION_AT + 3, 8);
    memcpy(&duration, &bits, sizeof(duration));
    if (!(duration >= 0 && duration < 9e18))
        return -ENODATA;
    *end = (struct sl_file_end){
        .file_bytes = segment_bytes + SL_LAYOUT_SEGMENT_DATA,
        .cues_at = sl_get_be(seek + 14, 8) + SL_LAYOUT_SEGMENT_DATA,
        .duration_ns = (int64_t)duration,
    };
    return 0;
}
