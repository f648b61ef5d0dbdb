/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_LAYOUT_H
#define SL_WRITER_LAYOUT_H

/*
 * The bytes of a recording, as docs/file-format.md describes them. Pure arithmetic on the caller's memory, any thread; shared by
 * the recorder and by whatever reads recordings. Every `page` is SL_PAGE_BYTES long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/format.h"
#include "core/loss.h"
#include "dma/dma.h"
#include "writer/recording.h"

enum {
    SL_LAYOUT_HEAD_MAX = 2048,          /* page 0: EBML header … Tracks end before it */
    SL_LAYOUT_STREAM_VOID = 2048,       /* page 0: Void with the stream record */
    SL_LAYOUT_STREAM_RECORD = 2048 + 8, /* page 0 */
    SL_LAYOUT_RECORD_VOID = 3584,       /* every header page: Void with the frame record */
    SL_LAYOUT_FRAME_RECORD = 3584 + 8,  /* every header page */
    SL_LAYOUT_CLUSTER = 4061,           /* every header page, without CRC-32 */
    SL_LAYOUT_CLUSTER_CRC = 4055,       /* every header page, with CRC-32 */
    SL_LAYOUT_CRC_COVERS = 4073,        /* every header page: first byte the cluster's CRC-32 covers (Timestamp) */
    SL_LAYOUT_SEGMENT_DATA = 53,        /* page 0: what positions in SeekHead and Cues count from */
    SL_LAYOUT_FRAME_RECORD_BYTES = 184,
    SL_LAYOUT_STREAM_RECORD_BYTES = 512,
    SL_LAYOUT_CUES_HEAD_BYTES = 12,
    SL_LAYOUT_CUE_POINT_BYTES = 27
};

/* Largest frame that is recorded: its slot must fit one registered buffer and one write completion. */
#define SL_LAYOUT_MAX_FRAME_BYTES ((1U << 30) - 4 * SL_PAGE_BYTES)

struct sl_layout {
    uint64_t slot_bytes;
    uint32_t frame_bytes;
    uint32_t tail_bytes;      /* Void after the payload; 0: none */
    uint32_t tail_head_bytes; /* its first bytes, which hold its head; behind them anything may stand */
    uint32_t tail_span;       /* bytes in whole pages that the Void touches: 0, 4096, or 8192 (payload ends a byte before a page) */
    uint32_t cluster;         /* page offset of the Cluster */
    bool crc;
};

/* -EINVAL: frame_bytes is 0 or above SL_LAYOUT_MAX_FRAME_BYTES. */
int sl_layout_init(struct sl_layout *layout, uint32_t frame_bytes, bool crc);
static inline uint64_t sl_layout_header_at(const struct sl_layout *layout, uint64_t slot)
{
    return slot * layout->slot_bytes;
}
static inline uint64_t sl_layout_payload_at(const struct sl_layout *layout, uint64_t slot)
{
    return slot * layout->slot_bytes + SL_PAGE_BYTES;
}
/* What a cue point says of the slot's cluster: from the first byte of the Segment's data. */
static inline uint64_t sl_layout_cluster_position(const struct sl_layout *layout, uint64_t slot)
{
    return slot * layout->slot_bytes + layout->cluster - SL_LAYOUT_SEGMENT_DATA;
}

/* -- Page 0 ------------------------------------------------------------------------------------------------------------- */

/* What page 0 says of the whole file; also the content of the stream record. */
struct sl_stream_record {
    uint8_t session[16];
    uint32_t segment; /* from 1 */
    bool checksum;
    uint64_t slot_bytes;
    int64_t utc_ns;       /* of time 0, since 1970; 0: not known yet */
    int64_t monotonic_ns; /* of time 0 */
    struct sl_video_format format;
    char writer[64];       /* NUL-terminated printable ASCII, as all text in a file */
    char description[256]; /* likewise */
};

void sl_stream_record_encode(const struct sl_stream_record *record, uint8_t *bytes); /* 512 bytes */
/* -EBADMSG: magic, version, CRC or a number in it is wrong; -ENOTSUP: a pixel format we do not know. A record that is accepted
 * describes a frame whose planes lie inside frame_bytes. */
int sl_stream_record_decode(const uint8_t *bytes, struct sl_stream_record *record);
void sl_stream_record_set_date(uint8_t *bytes, int64_t utc_ns, int64_t monotonic_ns);

/* Copies `text` as printable ASCII ('?' for anything else), cut to bytes − 1. */
void sl_layout_text(char *out, size_t bytes, const char *text);
/* Whether Matroska can describe the shape: planes back to back, lines a whole number of pixels. 0 or -EINVAL. */
int sl_layout_describable(const struct sl_video_format *format);
/* Page 0 up to SL_LAYOUT_RECORD_VOID, of a file that is being written; the rest is left as it is. -EINVAL: not describable. */
int sl_layout_file_head(const struct sl_layout *layout, const struct sl_stream_record *record, uint8_t *page);
/* Sets DateUTC and the stream record's time of time 0 in such a page. */
void sl_layout_file_date(uint8_t *page, int64_t utc_ns, int64_t monotonic_ns);

struct sl_file_end {
    uint64_t file_bytes; /* to the end of the Cues */
    uint64_t cues_at;    /* file offset of the Cues */
    int64_t duration_ns;
};
int64_t sl_layout_duration_ns(struct sl_rational fps, uint64_t frames, int64_t highest_ns); /* to the end of the last frame */
/* Puts SeekHead, Segment size and Duration into page 0. -EBADMSG: that is no page 0 of ours; nothing is changed. */
int sl_layout_file_finish(uint8_t *page, const struct sl_file_end *end);
/* Reads them back. -EBADMSG: no page 0 of ours; -ENODATA: not finished. */
int sl_layout_file_end(const uint8_t *page, struct sl_file_end *end);

/* -- Header page, tail, Void -------------------------------------------------------------------------------------------- */

/* Whole header page of a slot without its record; of slot 0 the part after the file head, which must be there already. */
void sl_layout_header(const struct sl_layout *layout, uint64_t slot, int64_t time_ns, uint8_t *page);
/* The same in two steps: what all header pages of a layout share, and one page from it. */
void sl_layout_header_template(const struct sl_layout *layout, uint8_t *page);
void sl_layout_header_from(const uint8_t *template, uint64_t slot, int64_t time_ns, uint8_t *page);
/* CRC-32 over the cluster (the header page's part and frame_bytes of payload), and putting it where it belongs. */
uint32_t sl_layout_cluster_crc(const struct sl_layout *layout, const uint8_t *page, const uint8_t *payload);
void sl_layout_set_cluster_crc(uint8_t *page, uint32_t crc);
/* The record, and the checksum over it and the Cluster's head: the last thing done to a header page. */
void sl_layout_seal(uint8_t *page, const struct sl_frame_record *record);
/* -EBADMSG unless magic, version, length, CRC and the page's elements are right; open_record: whatever the Void before the record says. */
int sl_layout_open_seal(const uint8_t *page, struct sl_frame_record *record);
int sl_layout_open_record(const uint8_t *page, struct sl_frame_record *record);
/* Void after the payload, tail_bytes long; none when that is 0. */
void sl_layout_tail(const struct sl_layout *layout, uint8_t *after_payload);

/* First page of a slot that holds no frame: one Void of void_bytes, which is slot_bytes or, for the last one, whatever is left of
 * the file. Slot 0 keeps its file head, which must be there already. */
void sl_layout_void(uint64_t slot, uint64_t void_bytes, uint8_t *page);
/* Last tail_span bytes of such a slot: zeros up to where the payload would end, then the tail. */
void sl_layout_tail_pages(const struct sl_layout *layout, uint8_t *pages);
/* Length of the Void at the start of a slot's first page (for slot 0: after the file head); 0: there is none. */
uint64_t sl_layout_void_bytes(uint64_t slot, const uint8_t *page);

/* -- Cues --------------------------------------------------------------------------------------------------------------- */

static inline uint64_t sl_layout_cues_bytes(uint64_t points)
{
    return SL_LAYOUT_CUES_HEAD_BYTES + points * SL_LAYOUT_CUE_POINT_BYTES;
}
void sl_layout_cues_head(uint64_t points, uint8_t *bytes);                            /* SL_LAYOUT_CUES_HEAD_BYTES */
void sl_layout_cue_point(int64_t time_ns, uint64_t cluster_position, uint8_t *bytes); /* SL_LAYOUT_CUE_POINT_BYTES */

#endif
