/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of pixel formats, and where planes and lines lie in a frame.
 *
 * Values are those of V4L2 (written as fourccs, so that core needs no kernel header) and those that FFmpeg's raw video
 * decoder understands in Matroska's ColourSpace; tried with FFmpeg 5.1. They differ for YUYV, GREY, the planar formats and
 * Bayer, where FFmpeg has tags of its own. It has none for NV16 and NV61 and takes VYUY for YUYV: those keep their V4L2
 * names, which GStreamer and VLC know.
 *
 * Sizes are computed in 64 bits and checked before they are stored: a granted format is the driver's word, and the same
 * code reads formats back from files.
 */
#include "core/format.h"

#include <errno.h>
#include <string.h>

enum { MAX_SIDE = 16384, MAX_LINES = 2 * MAX_SIDE, MAX_BYTESPERLINE = 65536 };

/* clang-format off */
static const struct sl_pixel_format table[] = {
    /* name    V4L2: one buffer             V4L2: one a plane            Matroska                     layout            pl h  v */
    {"YUYV", SL_FOURCC('Y','U','Y','V'), 0,                           SL_FOURCC('Y','U','Y','2'), SL_LAYOUT_PACKED_422, 1, 2, 1},
    {"UYVY", SL_FOURCC('U','Y','V','Y'), 0,                           SL_FOURCC('U','Y','V','Y'), SL_LAYOUT_PACKED_422, 1, 2, 1},
    {"YVYU", SL_FOURCC('Y','V','Y','U'), 0,                           SL_FOURCC('Y','V','Y','U'), SL_LAYOUT_PACKED_422, 1, 2, 1},
    {"VYUY", SL_FOURCC('V','Y','U','Y'), 0,                           SL_FOURCC('V','Y','U','Y'), SL_LAYOUT_PACKED_422, 1, 2, 1},
    {"NV16", SL_FOURCC('N','V','1','6'), SL_FOURCC('N','M','1','6'), SL_FOURCC('N','V','1','6'), SL_LAYOUT_NV,         2, 2, 1},
    {"NV61", SL_FOURCC('N','V','6','1'), SL_FOURCC('N','M','6','1'), SL_FOURCC('N','V','6','1'), SL_LAYOUT_NV,         2, 2, 1},
    {"NV12", SL_FOURCC('N','V','1','2'), SL_FOURCC('N','M','1','2'), SL_FOURCC('N','V','1','2'), SL_LAYOUT_NV,         2, 2, 2},
    {"NV21", SL_FOURCC('N','V','2','1'), SL_FOURCC('N','M','2','1'), SL_FOURCC('N','V','2','1'), SL_LAYOUT_NV,         2, 2, 2},
    {"422P", SL_FOURCC('4','2','2','P'), SL_FOURCC('Y','M','1','6'), SL_FOURCC('Y','4','2','B'), SL_LAYOUT_PLANAR,     3, 2, 1},
    {"YU12", SL_FOURCC('Y','U','1','2'), SL_FOURCC('Y','M','1','2'), SL_FOURCC('I','4','2','0'), SL_LAYOUT_PLANAR,     3, 2, 2},
    {"YV12", SL_FOURCC('Y','V','1','2'), SL_FOURCC('Y','M','2','1'), SL_FOURCC('Y','V','1','2'), SL_LAYOUT_PLANAR,     3, 2, 2},
    {"GREY", SL_FOURCC('G','R','E','Y'), 0,                           SL_FOURCC('Y','8','0','0'), SL_LAYOUT_BYTES,      1, 1, 1},
    {"BA81", SL_FOURCC('B','A','8','1'), 0,                           SL_FOURCC(0xBA,'B','G',8), SL_LAYOUT_BYTES,      1, 1, 1},
    {"GBRG", SL_FOURCC('G','B','R','G'), 0,                           SL_FOURCC(0xBA,'G','B',8), SL_LAYOUT_BYTES,      1, 1, 1},
    {"GRBG", SL_FOURCC('G','R','B','G'), 0,                           SL_FOURCC(0xBA,'G','R',8), SL_LAYOUT_BYTES,      1, 1, 1},
    {"RGGB", SL_FOURCC('R','G','G','B'), 0,                           SL_FOURCC(0xBA,'R','G',8), SL_LAYOUT_BYTES,      1, 1, 1},
};
/* clang-format on */
static const size_t table_length = sizeof(table) / sizeof(table[0]);

const struct sl_pixel_format *sl_pixel_format_by_name(const char *name)
{
    for (size_t i = 0; i < table_length; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    return NULL;
}

const struct sl_pixel_format *sl_pixel_format_by_v4l2(uint32_t fourcc)
{
    if (!fourcc)
        return NULL;
    for (size_t i = 0; i < table_length; i++)
        if (table[i].v4l2_fourcc == fourcc || table[i].v4l2_fourcc_mp == fourcc)
            return &table[i];
    return NULL;
}

const struct sl_pixel_format *sl_pixel_format_by_matroska(uint32_t fourcc)
{
    for (size_t i = 0; i < table_length; i++)
        if (table[i].matroska_fourcc == fourcc)
            return &table[i];
    return NULL;
}

const struct sl_pixel_format *sl_pixel_format_at(size_t index)
{
    return index < table_length ? &table[index] : NULL;
}

/* Bytes of picture in one line of a plane. */
static uint32_t tight_bytes(const struct sl_pixel_format *pixel, uint32_t width, unsigned plane)
{
    if (pixel->layout == SL_LAYOUT_PACKED_422)
        return 2 * width;
    if (pixel->layout == SL_LAYOUT_PLANAR && plane > 0)
        return width / pixel->horizontal;
    return width; /* an interleaved chroma line is as long as a luma line */
}

static uint32_t plane_lines(const struct sl_pixel_format *pixel, uint32_t lines, unsigned plane)
{
    return plane > 0 ? lines / pixel->vertical : lines;
}

static bool size_is_good(const struct sl_pixel_format *pixel, uint32_t width, uint32_t height)
{
    return width && height && width <= MAX_SIDE && height <= MAX_SIDE && width % pixel->horizontal == 0 && height % pixel->vertical == 0;
}

int sl_video_format_tight(struct sl_video_format *format, const struct sl_pixel_format *pixel, uint32_t width, uint32_t height)
{
    if (!size_is_good(pixel, width, height))
        return -EINVAL;
    return sl_video_format_padded(format, pixel, width, height, tight_bytes(pixel, width, 0), height);
}

int sl_video_format_padded(struct sl_video_format *format, const struct sl_pixel_format *pixel, uint32_t width, uint32_t height,
                           uint32_t bytesperline, uint32_t lines)
{
    uint32_t plane_bytes[SL_MAX_PLANES] = {0};
    uint32_t plane_count[SL_MAX_PLANES] = {0};
    uint32_t offset[SL_MAX_PLANES] = {0};
    uint64_t total = 0;

    if (!size_is_good(pixel, width, height))
        return -EINVAL;
    if (bytesperline < tight_bytes(pixel, width, 0) || bytesperline > MAX_BYTESPERLINE || lines < height || lines > MAX_LINES)
        return -EINVAL;
    if (lines % pixel->vertical || (pixel->planes > 1 && bytesperline % pixel->horizontal))
        return -EINVAL;
    for (unsigned p = 0; p < pixel->planes; p++) {
        bool halved = pixel->layout == SL_LAYOUT_PLANAR && p > 0;

        plane_bytes[p] = halved ? bytesperline / pixel->horizontal : bytesperline;
        plane_count[p] = plane_lines(pixel, lines, p);
        offset[p] = (uint32_t)total; /* of an earlier plane, so below the limit checked at the end of the last turn */
        total += (uint64_t)plane_bytes[p] * plane_count[p];
        if (total > UINT32_MAX)
            return -EINVAL;
    }
    format->pixel = pixel;
    format->width = width;
    format->height = height;
    memcpy(format->bytesperline, plane_bytes, sizeof(plane_bytes));
    memcpy(format->lines, plane_count, sizeof(plane_count));
    memcpy(format->offset, offset, sizeof(offset));
    format->frame_bytes = (uint32_t)total;
    return 0;
}

uint32_t sl_video_format_line_bytes(const struct sl_video_format *format, unsigned plane)
{
    return plane < format->pixel->planes ? tight_bytes(format->pixel, format->width, plane) : 0;
}

uint32_t sl_video_format_plane_lines(const struct sl_video_format *format, unsigned plane)
{
    return plane < format->pixel->planes ? plane_lines(format->pixel, format->height, plane) : 0;
}
