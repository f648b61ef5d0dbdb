/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of a recording: where things lie, and the pages that are ours (docs/file-format.md).
 *
 * Pure; any thread. Invariant: whatever mixture of old and new pages a crash leaves, each slot begins with an element whose
 * size leads to the next slot. A header page's Void is therefore either 3584 bytes (a Cluster follows that is as long as the
 * rest of the slot without its tail) or the whole slot, and the tail's Void lies in the same place in both cases.
 *
 * Rejected: padding inside the block (FFmpeg refuses some sizes), clusters of several frames (a crash loses all of them, and
 * the CRC of one cannot be known before the last frame has come).
 */
#include "writer/layout.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "core/crc.h"
#include "writer/bytes.h"
#include "writer/ebml.h"

enum { TIMESTAMP_BYTES = 10, BLOCK_PREFIX_BYTES = 4, SIZE_FIELD_BYTES = 8, VOID_HEAD_BYTES = 8 };

static_assert(SL_LAYOUT_CLUSTER + 4 + SIZE_FIELD_BYTES == SL_LAYOUT_CRC_COVERS, "the Timestamp follows the Cluster's head");
static_assert(SL_LAYOUT_CLUSTER_CRC + 4 + SIZE_FIELD_BYTES + 6 == SL_LAYOUT_CRC_COVERS, "or the CRC-32 element");
static_assert(SL_LAYOUT_CRC_COVERS + TIMESTAMP_BYTES + 1 + SIZE_FIELD_BYTES + BLOCK_PREFIX_BYTES == SL_PAGE_BYTES,
              "the payload starts on a page");
static_assert(SL_LAYOUT_FRAME_RECORD + SL_LAYOUT_FRAME_RECORD_BYTES <= SL_LAYOUT_CLUSTER_CRC, "the record fits its Void");

int sl_layout_init(struct sl_layout *layout, uint32_t frame_bytes, bool crc)
{
    uint32_t gap;

    if (frame_bytes == 0 || frame_bytes > SL_LAYOUT_MAX_FRAME_BYTES)
        return -EINVAL;
    gap = (SL_PAGE_BYTES - frame_bytes % SL_PAGE_BYTES) % SL_PAGE_BYTES;
    if (gap == 1) /* a Void has at least two bytes */
        gap += SL_PAGE_BYTES;
    *layout = (struct sl_layout){
        .slot_bytes = (uint64_t)SL_PAGE_BYTES + frame_bytes + gap,
        .frame_bytes = frame_bytes,
        .tail_bytes = gap,
        .tail_head_bytes = gap < VOID_HEAD_BYTES ? gap : VOID_HEAD_BYTES,
        .tail_span = (gap + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES,
        .cluster = crc ? SL_LAYOUT_CLUSTER_CRC : SL_LAYOUT_CLUSTER,
        .crc = crc,
    };
    return 0;
}

static void put_void(uint8_t *at, uint64_t total)
{
    struct sl_ebml ebml;

    sl_ebml_init(&ebml, at, total < 8 ? 2 : 8);
    sl_ebml_void(&ebml, total);
}

void sl_layout_header_template(const struct sl_layout *layout, uint8_t *page)
{
    uint64_t block_bytes = (uint64_t)BLOCK_PREFIX_BYTES + layout->frame_bytes;
    uint64_t cluster_bytes = (layout->crc ? 6 : 0) + TIMESTAMP_BYTES + 1 + SIZE_FIELD_BYTES + block_bytes;
    struct sl_ebml ebml;
    static const uint8_t block_prefix[BLOCK_PREFIX_BYTES] = {0x81, 0, 0, 0x80}; /* track 1, relative time 0, key frame */

    memset(page, 0, SL_PAGE_BYTES);
    put_void(page, SL_LAYOUT_RECORD_VOID);
    put_void(page + SL_LAYOUT_RECORD_VOID, layout->cluster - SL_LAYOUT_RECORD_VOID);
    sl_ebml_init(&ebml, page + layout->cluster, SL_PAGE_BYTES - layout->cluster);
    sl_ebml_head(&ebml, SL_MKV_CLUSTER, cluster_bytes, SIZE_FIELD_BYTES);
    if (layout->crc)
        sl_ebml_binary(&ebml, SL_EBML_CRC32, (const uint8_t[4]){0}, 4);
    sl_ebml_uint64(&ebml, SL_MKV_TIMESTAMP, 0);
    sl_ebml_head(&ebml, SL_MKV_SIMPLE_BLOCK, block_bytes, SIZE_FIELD_BYTES);
    memcpy(ebml.at, block_prefix, sizeof(block_prefix));
}

void sl_layout_header_from(const uint8_t *template, uint64_t slot, int64_t time_ns, uint8_t *page)
{
    size_t start = slot == 0 ? SL_LAYOUT_RECORD_VOID : 0;

    memcpy(page + start, template + start, SL_PAGE_BYTES - start);
    sl_put_be64(page + SL_LAYOUT_CRC_COVERS + TIMESTAMP_BYTES - 8, (uint64_t)time_ns);
}

void sl_layout_header(const struct sl_layout *layout, uint64_t slot, int64_t time_ns, uint8_t *page)
{
    uint8_t template[SL_PAGE_BYTES];

    sl_layout_header_template(layout, template);
    sl_layout_header_from(template, slot, time_ns, page);
}

uint32_t sl_layout_cluster_crc(const struct sl_layout *layout, const uint8_t *page, const uint8_t *payload)
{
    uint32_t crc = sl_crc32(0, page + SL_LAYOUT_CRC_COVERS, SL_PAGE_BYTES - SL_LAYOUT_CRC_COVERS);

    return sl_crc32(crc, payload, layout->frame_bytes);
}

void sl_layout_set_cluster_crc(uint8_t *page, uint32_t crc)
{
    sl_put_le32(page + SL_LAYOUT_CRC_COVERS - 4, crc);
}

void sl_layout_tail(const struct sl_layout *layout, uint8_t *after_payload)
{
    if (layout->tail_bytes)
        put_void(after_payload, layout->tail_bytes);
}

void sl_layout_void(uint64_t slot, uint64_t void_bytes, uint8_t *page)
{
    size_t start = slot == 0 ? SL_LAYOUT_RECORD_VOID : 0;

    memset(page + start, 0, SL_PAGE_BYTES - start);
    put_void(page + start, void_bytes - start);
}

void sl_layout_tail_pages(const struct sl_layout *layout, uint8_t *pages)
{
    memset(pages, 0, layout->tail_span);
    if (layout->tail_bytes)
        put_void(pages + layout->tail_span - layout->tail_bytes, layout->tail_bytes);
}

uint64_t sl_layout_void_bytes(uint64_t slot, const uint8_t *page)
{
    size_t start = slot == 0 ? SL_LAYOUT_RECORD_VOID : 0;
    struct sl_ebml_element element;

    if (sl_ebml_read_head(page + start, SL_PAGE_BYTES - start, &element) < 0 || element.id != SL_EBML_VOID ||
        element.size == SL_EBML_UNKNOWN)
        return 0;
    return start + element.head_bytes + element.size;
}

void sl_layout_cues_head(uint64_t points, uint8_t *bytes)
{
    struct sl_ebml ebml;

    sl_ebml_init(&ebml, bytes, SL_LAYOUT_CUES_HEAD_BYTES);
    sl_ebml_head(&ebml, SL_MKV_CUES, points * SL_LAYOUT_CUE_POINT_BYTES, SIZE_FIELD_BYTES);
}

void sl_layout_cue_point(int64_t time_ns, uint64_t cluster_position, uint8_t *bytes)
{
    struct sl_ebml ebml;

    sl_ebml_init(&ebml, bytes, SL_LAYOUT_CUE_POINT_BYTES);
    sl_ebml_head(&ebml, SL_MKV_CUE_POINT, 25, 1);
    sl_ebml_uint64(&ebml, SL_MKV_CUE_TIME, (uint64_t)time_ns);
    sl_ebml_head(&ebml, SL_MKV_CUE_TRACK_POSITIONS, 13, 1);
    sl_ebml_uint(&ebml, SL_MKV_CUE_TRACK, 1);
    sl_ebml_uint64(&ebml, SL_MKV_CUE_CLUSTER_POSITION, cluster_position);
}

int64_t sl_layout_duration_ns(struct sl_rational fps, uint64_t frames, int64_t highest_ns)
{
    uint64_t period_ns = fps.num ? (uint64_t)sl_frame_time_ns(fps, 1) : 0;

    return frames ? (int64_t)((uint64_t)highest_ns + period_ns) : 0; /* times out of a file may be anything */
}
