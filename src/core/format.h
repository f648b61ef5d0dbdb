/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_FORMAT_H
#define SL_CORE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"

/*
 * Pixel formats and the shape of a frame in memory. Pure arithmetic, any thread.
 *
 * Plane p of a frame has `height / vertical subsampling` lines of bytesperline[p] bytes and starts at offset[p] of the
 * frame's bytes; only the first width × bytes-per-pixel bytes of a line are picture.
 */

#define SL_MAX_PLANES         3
#define SL_FOURCC(a, b, c, d) ((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum sl_pixel_layout {
    SL_LAYOUT_PACKED_422, /* one plane, 2 bytes a pixel */
    SL_LAYOUT_NV,         /* luma plane, then interleaved chroma */
    SL_LAYOUT_PLANAR,     /* luma, then two chroma planes */
    SL_LAYOUT_BYTES       /* one byte a pixel: grey or Bayer, passed through */
};

struct sl_pixel_format {
    const char *name;         /* as in the config: "YUYV" */
    uint32_t v4l2_fourcc;     /* single-buffer form: V4L2_PIX_FMT_* */
    uint32_t v4l2_fourcc_mp;  /* form with one buffer a plane (NV16M …); 0: none */
    uint32_t matroska_fourcc; /* ColourSpace element: YUYV is "YUY2" there, grey "Y800" */
    enum sl_pixel_layout layout;
    uint8_t planes;
    uint8_t horizontal; /* chroma subsampling: 2 for 4:2:2 and 4:2:0, 1 where there is none */
    uint8_t vertical;   /* 2 for 4:2:0 */
};

/* NULL when unknown. by_v4l2 takes either form, single-buffer and one buffer a plane. */
const struct sl_pixel_format *sl_pixel_format_by_name(const char *name);
const struct sl_pixel_format *sl_pixel_format_by_v4l2(uint32_t fourcc);
const struct sl_pixel_format *sl_pixel_format_by_matroska(uint32_t fourcc);
const struct sl_pixel_format *sl_pixel_format_at(size_t index); /* NULL past the end: for lists */

/* Colour description, in the numbers of ITU-T H.273 (as Matroska's Colour element has them); 2 = unspecified. */
struct sl_colour {
    uint8_t primaries;
    uint8_t transfer;
    uint8_t matrix;
    uint8_t range; /* Matroska: 0 unspecified, 1 broadcast, 2 full */
};

struct sl_video_format {
    const struct sl_pixel_format *pixel;
    uint32_t width, height;               /* picture, pixels */
    uint32_t bytesperline[SL_MAX_PLANES]; /* as the driver granted */
    uint32_t lines[SL_MAX_PLANES];        /* lines stored; may be more than the picture has (alignment) */
    uint32_t offset[SL_MAX_PLANES];       /* from the first byte of the frame */
    uint32_t frame_bytes;                 /* from the first byte of plane 0 to the end of the last plane: what is recorded */
    struct sl_rational fps;
    struct sl_colour colour;
    bool interlaced;
};

/* Fills shape fields for a tight frame (bytesperline = width × bytes a pixel, planes back to back).
 * -EINVAL: width or height 0, above 16384, or not a multiple of the subsampling. fps and colour are left alone. */
int sl_video_format_tight(struct sl_video_format *format, const struct sl_pixel_format *pixel, uint32_t width, uint32_t height);

/* The same with a given bytesperline for plane 0 and stored lines ≥ height (other planes follow from the subsampling, as V4L2
 * defines it for single-buffer formats). -EINVAL also when bytesperline is below the tight one or above 64 KiB. */
int sl_video_format_padded(struct sl_video_format *format, const struct sl_pixel_format *pixel, uint32_t width, uint32_t height,
                           uint32_t bytesperline, uint32_t lines);

/* Bytes of picture in one line of plane p. */
uint32_t sl_video_format_line_bytes(const struct sl_video_format *format, unsigned plane);
/* Lines of picture in plane p. */
uint32_t sl_video_format_plane_lines(const struct sl_video_format *format, unsigned plane);

#endif
