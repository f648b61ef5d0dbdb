/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every pixel layout is first taken apart into tight planes; what follows (RGB, YUV4MPEG2) then knows planes only. That costs one
 * pass over the frame more than converting each layout directly, in a command that compresses a PNG or feeds a pipe, and
 * saves one converter per layout.
 */
#include "app/picture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

size_t sl_picture_planar_bytes(const struct sl_video_format *format)
{
    size_t luma = (size_t)format->width * format->height;

    if (format->pixel->layout == SL_LAYOUT_BYTES)
        return luma;
    return luma + 2 * (luma / format->pixel->horizontal / format->pixel->vertical);
}

/* V4L2 names packed formats by the order of the bytes, so the fourcc itself says where a component first is. */
static unsigned first_of(uint32_t fourcc, char component)
{
    unsigned i = 0;

    while (i < 3 && (char)(fourcc >> 8 * i) != component)
        i++;
    return i;
}

static void planes_of_packed(const struct sl_video_format *format, const uint8_t *frame, uint8_t *planar)
{
    uint32_t fourcc = format->pixel->v4l2_fourcc;
    unsigned luma = first_of(fourcc, 'Y');
    unsigned blue = first_of(fourcc, 'U');
    unsigned red = first_of(fourcc, 'V');
    size_t pixels = (size_t)format->width * format->height;
    uint8_t *y = planar;
    uint8_t *u = planar + pixels;
    uint8_t *v = u + pixels / 2;

    for (uint32_t row = 0; row < format->height; row++) {
        const uint8_t *line = frame + format->offset[0] + (size_t)row * format->bytesperline[0];

        for (uint32_t pair = 0; pair < format->width / 2; pair++, line += 4) {
            *y++ = line[luma];
            *y++ = line[luma + 2];
            *u++ = line[blue];
            *v++ = line[red];
        }
    }
}

static uint8_t *copy_plane(const struct sl_video_format *format, const uint8_t *frame, unsigned plane, uint8_t *to)
{
    uint32_t bytes = sl_video_format_line_bytes(format, plane);

    for (uint32_t row = 0; row < sl_video_format_plane_lines(format, plane); row++, to += bytes)
        memcpy(to, frame + format->offset[plane] + (size_t)row * format->bytesperline[plane], bytes);
    return to;
}

static void planes_of_nv(const struct sl_video_format *format, const uint8_t *frame, uint8_t *planar)
{
    uint32_t fourcc = format->pixel->v4l2_fourcc;
    bool red_first = fourcc == SL_FOURCC('N', 'V', '2', '1') || fourcc == SL_FOURCC('N', 'V', '6', '1');
    uint8_t *first = copy_plane(format, frame, 0, planar);
    uint8_t *second = first + (size_t)format->width / 2 * sl_video_format_plane_lines(format, 1);

    if (red_first) {
        uint8_t *swap = first;

        first = second;
        second = swap;
    }
    for (uint32_t row = 0; row < sl_video_format_plane_lines(format, 1); row++) {
        const uint8_t *line = frame + format->offset[1] + (size_t)row * format->bytesperline[1];

        for (uint32_t pair = 0; pair < format->width / 2; pair++, line += 2) {
            *first++ = line[0];
            *second++ = line[1];
        }
    }
}

void sl_picture_planar(const struct sl_video_format *format, const uint8_t *frame, uint8_t *planar)
{
    bool red_first = format->pixel->v4l2_fourcc == SL_FOURCC('Y', 'V', '1', '2');

    switch (format->pixel->layout) {
    case SL_LAYOUT_PACKED_422:
        planes_of_packed(format, frame, planar);
        break;
    case SL_LAYOUT_NV:
        planes_of_nv(format, frame, planar);
        break;
    case SL_LAYOUT_PLANAR:
        planar = copy_plane(format, frame, 0, planar);
        planar = copy_plane(format, frame, red_first ? 2 : 1, planar);
        copy_plane(format, frame, red_first ? 1 : 2, planar);
        break;
    case SL_LAYOUT_BYTES:
        copy_plane(format, frame, 0, planar);
        break;
    }
}

unsigned sl_picture_channels(const struct sl_video_format *format)
{
    return format->pixel->layout == SL_LAYOUT_BYTES ? 1 : 3;
}

/* R = luma + red_v·V, G = luma − green_u·U − green_v·V, B = luma + blue_u·U with luma = luma_gain·(Y − black), U and V centred. */
struct conversion {
    double black, luma_gain;
    double red_v, green_u, green_v, blue_u;
};

static void luma_weights(const struct sl_video_format *format, double *red, double *blue)
{
    switch (format->colour.matrix) { /* ITU-T H.273, table 4 */
    case 1:
        *red = 0.2126, *blue = 0.0722;
        return;
    case 4:
        *red = 0.30, *blue = 0.11;
        return;
    case 5:
    case 6:
        *red = 0.299, *blue = 0.114;
        return;
    case 7:
        *red = 0.212, *blue = 0.087;
        return;
    case 9:
    case 10:
        *red = 0.2627, *blue = 0.0593;
        return;
    default:
        *red = format->height >= 720 ? 0.2126 : 0.299;
        *blue = format->height >= 720 ? 0.0722 : 0.114;
    }
}

static struct conversion conversion_of(const struct sl_video_format *format)
{
    bool full = format->colour.range == 2;
    double chroma_gain = full ? 1.0 : 255.0 / 224.0;
    double red, green, blue;
    struct conversion c;

    luma_weights(format, &red, &blue);
    green = 1 - red - blue;
    c.black = full ? 0 : 16;
    c.luma_gain = full ? 1.0 : 255.0 / 219.0;
    c.red_v = chroma_gain * 2 * (1 - red);
    c.blue_u = chroma_gain * 2 * (1 - blue);
    c.green_u = chroma_gain * 2 * (1 - blue) * blue / green;
    c.green_v = chroma_gain * 2 * (1 - red) * red / green;
    return c;
}

static uint8_t to_byte(double value)
{
    if (value <= 0)
        return 0;
    return value >= 255 ? 255 : (uint8_t)(value + 0.5);
}

/* Chroma at a pixel, less 128. `above` and `below` are the chroma lines on either side of the pixel's line. */
static double chroma_at(const uint8_t *above, const uint8_t *below, double weight_below, uint32_t column, uint32_t pairs)
{
    uint32_t left = column / 2;
    uint32_t right = column % 2 && left + 1 < pairs ? left + 1 : left;
    double top = (above[left] + above[right]) / 2.0;
    double bottom = (below[left] + below[right]) / 2.0;

    return top + (bottom - top) * weight_below - 128;
}

/* Chroma lines around picture line `row`, and how much the lower one weighs. */
static void chroma_lines(const struct sl_video_format *format, uint32_t row, uint32_t *above, uint32_t *below, double *weight_below)
{
    uint32_t lines = format->height / format->pixel->vertical;

    if (format->pixel->vertical == 1) {
        *above = *below = row;
        *weight_below = 0;
        return;
    }
    /* an upper line of a pair lies a quarter of the way back to the chroma line before, a lower one a quarter ahead */
    *above = row % 2 ? row / 2 : row / 2 - (row > 1);
    *below = row % 2 ? row / 2 + (row / 2 + 1 < lines) : row / 2;
    *weight_below = row % 2 ? 0.25 : 0.75;
}

void sl_picture_rgb(const struct sl_video_format *format, const uint8_t *planar, uint8_t *rgb)
{
    size_t pixels = (size_t)format->width * format->height;
    uint32_t pairs = format->width / 2;
    const struct conversion c = conversion_of(format);
    const uint8_t *u = planar + pixels;
    const uint8_t *v = u + pixels / 2 / format->pixel->vertical;

    if (format->pixel->layout == SL_LAYOUT_BYTES) {
        memcpy(rgb, planar, pixels);
        return;
    }
    for (uint32_t row = 0; row < format->height; row++) {
        uint32_t above, below;
        double weight;

        chroma_lines(format, row, &above, &below, &weight);
        for (uint32_t column = 0; column < format->width; column++) {
            double luma = (*planar++ - c.black) * c.luma_gain;
            double blue = chroma_at(u + (size_t)above * pairs, u + (size_t)below * pairs, weight, column, pairs);
            double red = chroma_at(v + (size_t)above * pairs, v + (size_t)below * pairs, weight, column, pairs);

            *rgb++ = to_byte(luma + c.red_v * red);
            *rgb++ = to_byte(luma - c.green_u * blue - c.green_v * red);
            *rgb++ = to_byte(luma + c.blue_u * blue);
        }
    }
}

int sl_picture_y4m_header(const struct sl_video_format *format, char *text, size_t bytes)
{
    const char *chroma = format->pixel->vertical == 2 ? "420mpeg2" : "422";
    const char *range = "";
    int length;

    if (format->pixel->layout == SL_LAYOUT_BYTES)
        chroma = "mono";
    if (format->colour.range == 1)
        range = " XCOLORRANGE=LIMITED";
    else if (format->colour.range == 2)
        range = " XCOLORRANGE=FULL";
    /* 0:0 is YUV4MPEG2's word for a rate that is not known */
    length = snprintf(text, bytes, "YUV4MPEG2 W%u H%u F%u:%u I%c A1:1 C%s%s\n", format->width, format->height, format->fps.num,
                      format->fps.num ? format->fps.den : 0, format->interlaced ? '?' : 'p', chroma, range);
    return length < 0 || (size_t)length >= bytes ? -ENOSPC : 0;
}
