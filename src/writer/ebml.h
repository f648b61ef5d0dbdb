/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_EBML_H
#define SL_WRITER_EBML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * EBML elements into a bounded buffer, and their heads out of one. Pure, any thread.
 * A writer that has run out of room writes nothing more and says so in `overflow`; it is asked once, at the end.
 */

#define SL_EBML_UNKNOWN  UINT64_MAX /* a master whose end is not known yet */
#define SL_EBML_MAX_SIZE ((1ULL << 56) - 2)

enum sl_ebml_id {
    SL_EBML_HEADER = 0x1A45DFA3,
    SL_EBML_VERSION = 0x4286,
    SL_EBML_READ_VERSION = 0x42F7,
    SL_EBML_MAX_ID_LENGTH = 0x42F2,
    SL_EBML_MAX_SIZE_LENGTH = 0x42F3,
    SL_EBML_DOC_TYPE = 0x4282,
    SL_EBML_DOC_TYPE_VERSION = 0x4287,
    SL_EBML_DOC_TYPE_READ_VERSION = 0x4285,
    SL_EBML_VOID = 0xEC,
    SL_EBML_CRC32 = 0xBF,
    SL_MKV_SEGMENT = 0x18538067,
    SL_MKV_SEEK_HEAD = 0x114D9B74,
    SL_MKV_SEEK = 0x4DBB,
    SL_MKV_SEEK_ID = 0x53AB,
    SL_MKV_SEEK_POSITION = 0x53AC,
    SL_MKV_INFO = 0x1549A966,
    SL_MKV_TIMESTAMP_SCALE = 0x2AD7B1,
    SL_MKV_DURATION = 0x4489,
    SL_MKV_DATE_UTC = 0x4461,
    SL_MKV_MUXING_APP = 0x4D80,
    SL_MKV_WRITING_APP = 0x5741,
    SL_MKV_TRACKS = 0x1654AE6B,
    SL_MKV_TRACK_ENTRY = 0xAE,
    SL_MKV_TRACK_NUMBER = 0xD7,
    SL_MKV_TRACK_UID = 0x73C5,
    SL_MKV_TRACK_TYPE = 0x83,
    SL_MKV_FLAG_LACING = 0x9C,
    SL_MKV_DEFAULT_DURATION = 0x23E383,
    SL_MKV_NAME = 0x536E,
    SL_MKV_LANGUAGE = 0x22B59C,
    SL_MKV_CODEC_ID = 0x86,
    SL_MKV_VIDEO = 0xE0,
    SL_MKV_FLAG_INTERLACED = 0x9A,
    SL_MKV_PIXEL_WIDTH = 0xB0,
    SL_MKV_PIXEL_HEIGHT = 0xBA,
    SL_MKV_PIXEL_CROP_BOTTOM = 0x54AA,
    SL_MKV_PIXEL_CROP_RIGHT = 0x54DD,
    SL_MKV_COLOUR_SPACE = 0x2EB524,
    SL_MKV_COLOUR = 0x55B0,
    SL_MKV_MATRIX_COEFFICIENTS = 0x55B1,
    SL_MKV_RANGE = 0x55B9,
    SL_MKV_TRANSFER = 0x55BA,
    SL_MKV_PRIMARIES = 0x55BB,
    SL_MKV_CLUSTER = 0x1F43B675,
    SL_MKV_TIMESTAMP = 0xE7,
    SL_MKV_SIMPLE_BLOCK = 0xA3,
    SL_MKV_CUES = 0x1C53BB6B,
    SL_MKV_CUE_POINT = 0xBB,
    SL_MKV_CUE_TIME = 0xB3,
    SL_MKV_CUE_TRACK_POSITIONS = 0xB7,
    SL_MKV_CUE_TRACK = 0xF7,
    SL_MKV_CUE_CLUSTER_POSITION = 0xF1
};

struct sl_ebml {
    uint8_t *start;
    uint8_t *at;
    uint8_t *end;
    bool overflow;
};

void sl_ebml_init(struct sl_ebml *ebml, uint8_t *buffer, size_t bytes);
/* Element head: the id, then the size in exactly size_bytes (1…8) bytes. */
void sl_ebml_head(struct sl_ebml *ebml, uint32_t id, uint64_t size, unsigned size_bytes);
void sl_ebml_uint(struct sl_ebml *ebml, uint32_t id, uint64_t value);   /* as few bytes as hold it */
void sl_ebml_uint64(struct sl_ebml *ebml, uint32_t id, uint64_t value); /* always 8 bytes, for a place that is patched later */
void sl_ebml_float(struct sl_ebml *ebml, uint32_t id, double value);
void sl_ebml_string(struct sl_ebml *ebml, uint32_t id, const char *text);
void sl_ebml_binary(struct sl_ebml *ebml, uint32_t id, const void *data, size_t bytes);
/* A Void of `total` bytes, head included; its content is left as it is and may lie beyond the buffer's end (only the head must
 * fit). The head takes 8 bytes, or 2 when total < 8. total must be at least 2. */
void sl_ebml_void(struct sl_ebml *ebml, uint64_t total);
/* A master of less than 16 KiB: everything written between the two calls is inside. */
uint8_t *sl_ebml_begin(struct sl_ebml *ebml, uint32_t id);
void sl_ebml_end(struct sl_ebml *ebml, uint8_t *begun);
size_t sl_ebml_length(const struct sl_ebml *ebml);

struct sl_ebml_element {
    uint32_t id;
    uint32_t head_bytes;
    uint64_t size; /* of the content; SL_EBML_UNKNOWN */
};

/* Head of the element at `data`. -EBADMSG: no valid head there; -EAGAIN: `bytes` ends before the head does. */
int sl_ebml_read_head(const uint8_t *data, size_t bytes, struct sl_ebml_element *element);

#endif
