/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_BYTES_H
#define SL_WRITER_BYTES_H

#include <stdint.h>

/* Numbers in a fixed byte order at any address: little-endian for our records, big-endian for EBML. */

static inline void sl_put_le16(uint8_t *at, uint16_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

static inline void sl_put_le32(uint8_t *at, uint32_t value)
{
    sl_put_le16(at, (uint16_t)value);
    sl_put_le16(at + 2, (uint16_t)(value >> 16));
}

static inline void sl_put_le64(uint8_t *at, uint64_t value)
{
    sl_put_le32(at, (uint32_t)value);
    sl_put_le32(at + 4, (uint32_t)(value >> 32));
}

static inline uint16_t sl_get_le16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t sl_get_le32(const uint8_t *at)
{
    return (uint32_t)sl_get_le16(at) | (uint32_t)sl_get_le16(at + 2) << 16;
}

static inline uint64_t sl_get_le64(const uint8_t *at)
{
    return (uint64_t)sl_get_le32(at) | (uint64_t)sl_get_le32(at + 4) << 32;
}

static inline void sl_put_be(uint8_t *at, uint64_t value, unsigned bytes)
{
    while (bytes-- > 0) {
        at[bytes] = (uint8_t)value;
        value >>= 8;
    }
}

static inline void sl_put_be64(uint8_t *at, uint64_t value)
{
    sl_put_le64(at, __builtin_bswap64(value));
}

static inline uint64_t sl_get_be(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

#endif
