/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_STRIP_H
#define SL_CAPTURE_STRIP_H

#include <stdint.h>

/*
 * What the strip at the top of the test pattern says, as bytes. How the bytes become cells is pattern.c's business;
 * docs/pattern.md has both. Pure, any thread.
 */

#define SL_STRIP_BYTES 24

struct sl_strip_content {
    uint16_t phase;
    uint64_t number;
    int64_t time_ns;
};

void sl_strip_encode(const struct sl_strip_content *content, uint8_t bytes[SL_STRIP_BYTES]);

/* 0, or -EBADMSG when magic or CRC are wrong. */
int sl_strip_decode(const uint8_t bytes[SL_STRIP_BYTES], struct sl_strip_content *content);

#endif
