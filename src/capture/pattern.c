/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test pattern and its check.
 *
 * Pixel (x, y) of phase k shows column (x + shift(y, k)) mod 1024 of one fixed line, where shift(y, k) is even and grows with the
 * square of y. So a row is a window into one period that is computed once, a page that landed in the wrong place on a disk
 * shows, and the picture (curved stripes in all colours) moves from frame to frame.
 *
 * Rendering and checking share one description of a row (fill_row), so they cannot drift apart.
 *
 * Rejected: drawing each frame. 4 MB written per frame by the CPU is more than the whole pipeline costs.
 */
#include "capture/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"

#define BLACK        16
#define WHITE        235
#define NEUTRAL      128
#define CELL_PIXELS  8
#define GROUP_CELLS  4 /* one nibble */
#define GROUP_PIXELS (CELL_PIXELS * GROUP_CELLS)
#define NIBBLES      (2 * SL_STRIP_BYTES)
#define PHASE_STEP   16    /* pixels a phase moves the picture */
#define MAX_LINE     65536 /* bytesperline is never above this, see sl_video_format_padded */

static uint8_t luma(uint32_t u)
{
    int32_t x = (int32_t)(u % 256) - 128;

    return (uint8_t)(60 + abs(x));
}

static uint8_t chroma(uint32_t u, uint32_t offset)
{
    int32_t x = (int32_t)((u + offset) % SL_PATTERN_PERIOD) - SL_PATTERN_PERIOD / 2;

    return (uint8_t)(64 + abs(x) / 4);
}

static uint8_t cb(uint32_t u)
{
    return chroma(u, 341);
}

static uint8_t cr(uint32_t u)
{
    return chroma(u, 682);
}

/* Where the luma sits in a packed 4:2:2 pixel (0 or 1) and whether Cr comes before Cb. */
struct order {
    unsigned luma;
    bool cr_first;
};

static struct order order_of(const struct sl_pixel_format *pixel)
{
    struct order order = {0};

    switch (pixel->v4l2_fourcc) {
    case SL_FOURCC('U', 'Y', 'V', 'Y'):
        order.luma = 1;
        break;
    case SL_FOURCC('V', 'Y', 'U', 'Y'):
        order.luma = 1;
        order.cr_first = true;
        break;
    case SL_FOURCC('Y', 'V', 'Y', 'U'):
    case SL_FOURCC('N', 'V', '6', '1'):
    case SL_FOURCC('N', 'V', '2', '1'):
    case SL_FOURCC('N', 'V', '4', '2'):
    case SL_FOURCC('Y', 'V', '1', '2'):
        order.cr_first = true;
        break;
    default:
        break;
    }
    return order;
}

static void period_packed(struct sl_pattern *pattern, struct order order)
{
    uint8_t *out = pattern->period[0];

    for (uint32_t u = 0; u < SL_PATTERN_PERIOD; u += 2) {
        uint8_t first = order.cr_first ? cr(u) : cb(u);
        uint8_t second = order.cr_first ? cb(u) : cr(u);

        out[2 * u + order.luma] = luma(u);
        out[2 * u + 2 + order.luma] = luma(u + 1);
        out[2 * u + (1 - order.luma)] = first;
        out[2 * u + 2 + (1 - order.luma)] = second;
    }
    pattern->period_bytes[0] = 2 * SL_PATTERN_PERIOD;
}

static void period_planes(struct sl_pattern *pattern, struct order order)
{
    const struct sl_pixel_format *pixel = pattern->format.pixel;
    uint32_t columns = SL_PATTERN_PERIOD / (pixel->horizontal ? pixel->horizontal : 1);

    for (uint32_t u = 0; u < SL_PATTERN_PERIOD; u++)
        pattern->period[0][u] = luma(u);
    pattern->period_bytes[0] = SL_PATTERN_PERIOD;
    for (uint32_t c = 0; c < columns; c++) {
        uint32_t u = c * pixel->horizontal;
        uint8_t first = order.cr_first ? cr(u) : cb(u);
        uint8_t second = order.cr_first ? cb(u) : cr(u);

        if (pixel->layout == SL_LAYOUT_NV) {
            pattern->period[1][2 * c] = first;
            pattern->period[1][2 * c + 1] = second;
            pattern->period_bytes[1] = 2 * columns;
        } else if (pixel->layout == SL_LAYOUT_PLANAR) {
            pattern->period[1][c] = first;
            pattern->period[2][c] = second;
            pattern->period_bytes[1] = pattern->period_bytes[2] = columns;
        }
    }
}

static void prepare_groups(struct sl_pattern *pattern, struct order order)
{
    unsigned pixel_bytes = pattern->format.pixel->layout == SL_LAYOUT_PACKED_422 ? 2 : 1;

    pattern->group_bytes = GROUP_PIXELS * pixel_bytes;
    for (unsigned nibble = 0; nibble < 16; nibble++)
        for (unsigned x = 0; x < GROUP_PIXELS; x++) {
            bool one = nibble >> (GROUP_CELLS - 1 - x / CELL_PIXELS) & 1;
            uint8_t *at = &pattern->group[nibble][x * pixel_bytes];

            memset(at, NEUTRAL, pixel_bytes);
            at[pixel_bytes == 2 ? order.luma : 0] = one ? WHITE : BLACK;
        }
    for (unsigned nibble = 0; nibble < NIBBLES; nibble++)
        pattern->group_at[nibble] = pattern->format.offset[0] + 2 * (nibble / pattern->groups_per_row) * pattern->format.bytesperline[0] +
                                    nibble % pattern->groups_per_row * pattern->group_bytes;
}

int sl_pattern_init(struct sl_pattern *pattern, const struct sl_video_format *format, struct sl_error *err)
{
    struct order order = order_of(format->pixel);
    uint32_t groups = format->width / GROUP_PIXELS;
    uint32_t rows = groups ? (NIBBLES + groups - 1) / groups : 0;

    if (!groups || 2 * rows > format->height)
        return sl_fail(err, -EINVAL, "the test pattern needs a picture of at least 64x48 (or 1536x2) for its strip, not %ux%u",
                       format->width, format->height);
    *pattern = (struct sl_pattern){.format = *format, .groups_per_row = groups, .strip_lines = 2 * rows};
    if (format->pixel->layout == SL_LAYOUT_PACKED_422)
        period_packed(pattern, order);
    else
        period_planes(pattern, order);
    prepare_groups(pattern, order);
    return 0;
}

/* One row of plane p: y counts lines of the plane. Writes bytesperline bytes. */
static void fill_row(const struct sl_pattern *pattern, unsigned p, uint32_t y, uint16_t phase, uint8_t *row)
{
    const struct sl_video_format *format = &pattern->format;
    uint32_t bytes = sl_video_format_line_bytes(format, p);
    uint32_t top = p && format->pixel->vertical ? y * format->pixel->vertical : y; /* the line of the picture */
    uint32_t filled = 0;

    if (y >= sl_video_format_plane_lines(format, p)) {
        memset(row, 0, format->bytesperline[p]);
        return;
    }
    if (top < pattern->strip_lines) { /* the black of the strip: nibble 0, or no colour at all */
        for (; filled < bytes; filled++)
            row[filled] = p ? NEUTRAL : pattern->group[0][filled % pattern->group_bytes];
    } else {
        uint32_t period = pattern->period_bytes[p];
        uint32_t shift = ((top * top >> 7) & ~1u) + (uint32_t)phase * PHASE_STEP;
        uint32_t from = (uint32_t)((uint64_t)(shift % SL_PATTERN_PERIOD) * period / SL_PATTERN_PERIOD);

        while (filled < bytes) {
            uint32_t run = period - from < bytes - filled ? period - from : bytes - filled;

            memcpy(row + filled, pattern->period[p] + from, run);
            filled += run;
            from = 0;
        }
    }
    memset(row + bytes, 0, format->bytesperline[p] - bytes);
}

void sl_pattern_render(const struct sl_pattern *pattern, uint16_t phase, uint8_t *data)
{
    const struct sl_video_format *format = &pattern->format;

    for (unsigned p = 0; p < format->pixel->planes; p++)
        for (uint32_t y = 0; y < format->lines[p]; y++)
            fill_row(pattern, p, y, phase, data + format->offset[p] + (size_t)y * format->bytesperline[p]);
}

/* Two, so that the copies have constant sizes and become a few vector moves each. */
static void draw_packed(const struct sl_pattern *pattern, unsigned i, uint8_t byte, uint8_t *data)
{
    memcpy(data + pattern->group_at[2 * i], pattern->group[byte >> 4], 2 * GROUP_PIXELS);
    memcpy(data + pattern->group_at[2 * i + 1], pattern->group[byte & 15], 2 * GROUP_PIXELS);
}

static void draw_planar(const struct sl_pattern *pattern, unsigned i, uint8_t byte, uint8_t *data)
{
    memcpy(data + pattern->group_at[2 * i], pattern->group[byte >> 4], GROUP_PIXELS);
    memcpy(data + pattern->group_at[2 * i + 1], pattern->group[byte & 15], GROUP_PIXELS);
}

void sl_pattern_stamp(const struct sl_pattern *pattern, const struct sl_strip_content *content, uint8_t drawn[SL_STRIP_BYTES],
                      uint8_t *data)
{
    uint8_t bytes[SL_STRIP_BYTES];
    bool packed = pattern->group_bytes == 2 * GROUP_PIXELS;

    sl_strip_encode(content, bytes);
    for (unsigned i = 0; i < SL_STRIP_BYTES; i++) {
        if (bytes[i] == drawn[i])
            continue;
        if (packed)
            draw_packed(pattern, i, bytes[i], data);
        else
            draw_planar(pattern, i, bytes[i], data);
        drawn[i] = bytes[i];
    }
}

static void read_strip(const struct sl_pattern *pattern, const uint8_t *data, uint8_t bytes[SL_STRIP_BYTES])
{
    const struct sl_video_format *format = &pattern->format;
    unsigned pixel_bytes = pattern->group_bytes / GROUP_PIXELS;
    unsigned luma_at = pixel_bytes == 2 ? order_of(format->pixel).luma : 0;

    memset(bytes, 0, SL_STRIP_BYTES);
    for (unsigned bit = 0; bit < 8 * SL_STRIP_BYTES; bit++) {
        unsigned nibble = bit / GROUP_CELLS;
        uint32_t row = nibble / pattern->groups_per_row;
        uint32_t x = nibble % pattern->groups_per_row * GROUP_PIXELS + bit % GROUP_CELLS * CELL_PIXELS + CELL_PIXELS / 2;
        uint8_t value = data[format->offset[0] + 2 * (size_t)row * format->bytesperline[0] + x * pixel_bytes + luma_at];

        bytes[bit / 8] |= (uint8_t)((value >= NEUTRAL) << (7 - bit % 8));
    }
}

static bool same_row(const uint8_t *seen, const uint8_t *expected, uint32_t bytes, uint64_t at, uint64_t *bad_byte)
{
    if (!memcmp(seen, expected, bytes))
        return true;
    uint32_t i = 0;
    while (seen[i] == expected[i])
        i++;
    *bad_byte = at + i;
    return false;
}

/* Cells of strip line y of plane 0, laid over the black row that is there. */
static void overlay_cells(const struct sl_pattern *pattern, uint32_t y, const uint8_t bytes[SL_STRIP_BYTES], uint8_t *row)
{
    uint32_t first = y / 2 * pattern->groups_per_row;

    for (uint32_t i = 0; y % 2 == 0 && i < pattern->groups_per_row && first + i < NIBBLES; i++) {
        unsigned nibble = first + i;
        unsigned value = nibble & 1 ? bytes[nibble / 2] & 15 : bytes[nibble / 2] >> 4;

        memcpy(row + (size_t)i * pattern->group_bytes, pattern->group[value], pattern->group_bytes);
    }
}

/* The format may come from a file: nothing outside the frame is looked at, whatever it says. */
static bool shape_is_good(const struct sl_video_format *format, size_t bytes)
{
    if (bytes < format->frame_bytes)
        return false;
    for (unsigned p = 0; p < format->pixel->planes; p++) {
        uint64_t end = format->offset[p] + (uint64_t)format->bytesperline[p] * format->lines[p];

        if (format->bytesperline[p] > MAX_LINE || format->bytesperline[p] < sl_video_format_line_bytes(format, p) ||
            format->lines[p] < sl_video_format_plane_lines(format, p) || end > format->frame_bytes)
            return false;
    }
    return true;
}

int sl_pattern_check(const struct sl_video_format *format, const uint8_t *data, size_t bytes, struct sl_strip *strip, uint64_t *bad_byte)
{
    struct sl_pattern pattern;
    struct sl_strip_content content;
    uint8_t strip_bytes[SL_STRIP_BYTES];
    uint8_t row[MAX_LINE];

    if (!shape_is_good(format, bytes) || sl_pattern_init(&pattern, format, NULL) < 0)
        return -EBADMSG;
    read_strip(&pattern, data, strip_bytes);
    if (sl_strip_decode(strip_bytes, &content) < 0)
        return -EBADMSG;
    *strip = (struct sl_strip){.number = content.number, .time_ns = content.time_ns};

    for (unsigned p = 0; p < format->pixel->planes; p++)
        for (uint32_t y = 0; y < format->lines[p]; y++) {
            uint64_t at = format->offset[p] + (uint64_t)y * format->bytesperline[p];

            fill_row(&pattern, p, y, content.phase, row);
            if (p == 0 && y < pattern.strip_lines)
                overlay_cells(&pattern, y, strip_bytes, row);
            if (!same_row(data + at, row, format->bytesperline[p], at, bad_byte))
                return -EIO;
        }
    return 0;
}
