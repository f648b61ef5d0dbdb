/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_PICTURE_H
#define SL_APP_PICTURE_H

#include <stddef.h>
#include <stdint.h>

#include "core/format.h"

/*
 * Recorded frames as pictures. Pure, any thread; `frame` holds format->frame_bytes bytes, outputs are the caller's.
 * Grey and Bayer frames are passed through as they are: one grey byte a pixel.
 */

/* Bytes of a frame as separate tight planes, Y first, then U, then V. */
size_t sl_picture_planar_bytes(const struct sl_video_format *format);
void sl_picture_planar(const struct sl_video_format *format, const uint8_t *frame, uint8_t *planar);

/* 1 (grey) or 3 (RGB) bytes a pixel of what sl_picture_rgb makes. */
unsigned sl_picture_channels(const struct sl_video_format *format);

/* From planes to 8-bit RGB (or grey), lines tight. Matrix and range as recorded; where they are not: BT.709 from 720 lines on and
 * BT.601 below, broadcast range. Chroma is taken as sited with the left pixel of its pair, between the lines of its pair. */
void sl_picture_rgb(const struct sl_video_format *format, const uint8_t *planar, uint8_t *rgb);

/* YUV4MPEG2 stream header with its newline, NUL-terminated. -ENOSPC when it does not fit. */
int sl_picture_y4m_header(const struct sl_video_format *format, char *text, size_t bytes);

#endif
