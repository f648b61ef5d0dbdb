/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_PNG_H
#define SL_APP_PNG_H

#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

/* Writes width × height pixels of `channels` bytes (1: grey, 3: RGB), lines tight, as a PNG. Negative errno. */
int sl_png_write(FILE *file, uint32_t width, uint32_t height, unsigned channels, const uint8_t *pixels, struct sl_error *err);

#endif
