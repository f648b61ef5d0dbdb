/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_PATTERN_H
#define SL_CAPTURE_PATTERN_H

#include "capture/strip.h"
#include "core/error.h"
#include "core/format.h"

/*
 * The test pattern: a picture that depends on a phase only, and on top of it a strip that changes with every frame.
 * A slot is rendered once; after that a frame costs the strip. docs/pattern.md has the formulas.
 * Pure, any thread; a struct is filled once and then only read.
 */

#define SL_PATTERN_PERIOD 1024 /* pixels; a power of two */

struct sl_pattern {
    struct sl_video_format format;
    uint8_t period[SL_MAX_PLANES][2 * SL_PATTERN_PERIOD]; /* one period of a line, per plane */
    uint32_t period_bytes[SL_MAX_PLANES];                 /* a power of two */
    uint8_t group[16][64];                                /* four cells for each value of a nibble, in plane 0 */
    uint32_t group_at[2 * SL_STRIP_BYTES];                /* where the group of each nibble goes in the frame */
    uint32_t group_bytes;
    uint32_t groups_per_row; /* nibbles that fit a row of cells */
    uint32_t strip_lines;    /* of plane 0: two for each row of cells */
};

/* -EINVAL: the picture is too small for the strip. */
int sl_pattern_init(struct sl_pattern *pattern, const struct sl_video_format *format, struct sl_error *err);

/* Every byte of the frame (frame_bytes) for `phase`, with an empty strip. */
void sl_pattern_render(const struct sl_pattern *pattern, uint16_t phase, uint8_t *data);

/* Writes the strip into a rendered frame. `drawn`: what it shows until now, all zero when just rendered; only the cells that differ are
 * drawn. Hot path: no allocation, no clock, a few hundred instructions. */
void sl_pattern_stamp(const struct sl_pattern *pattern, const struct sl_strip_content *content, uint8_t drawn[SL_STRIP_BYTES],
                      uint8_t *data);

#endif
