/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/strip.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define MAGIC     0x534Cu /* "SL" */
#define CRC_BYTES 20      /* everything before the CRC itself */

/* CRC-32 (IEEE, reflected) of one nibble. Sixteen words instead of 256: the hot path runs this on a cold cache once a frame. */
static const uint32_t g_crc_nibble[16] = {
    0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
    0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C, 0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
};

static uint32_t crc32_ieee(const uint8_t *bytes, unsigned count)
{
    uint32_t crc = UINT32_MAX;

    for (unsigned i = 0; i < count; i++) {
        crc = g_crc_nibble[(crc ^ bytes[i]) & 15] ^ crc >> 4;
        crc = g_crc_nibble[(crc ^ bytes[i] >> 4) & 15] ^ crc >> 4;
    }
    return ~crc;
}

void sl_strip_encode(const struct sl_strip_content *content, uint8_t bytes[SL_STRIP_BYTES])
{
    uint16_t magic = htobe16(MAGIC);
    uint16_t phase = htobe16(content->phase);
    uint64_t number = htobe64(content->number);
    uint64_t time_ns = htobe64((uint64_t)content->time_ns);

    memcpy(bytes, &magic, 2);
    memcpy(bytes + 2, &phase, 2);
    memcpy(bytes + 4, &number, 8);
    memcpy(bytes + 12, &time_ns, 8);
    uint32_t crc = htobe32(crc32_ieee(bytes, CRC_BYTES));
    memcpy(bytes + CRC_BYTES, &crc, 4);
}

int sl_strip_decode(const uint8_t bytes[SL_STRIP_BYTES], struct sl_strip_content *content)
{
    uint16_t magic, phase;
    uint64_t number, time_ns;
    uint32_t crc;

    memcpy(&magic, bytes, 2);
    memcpy(&phase, bytes + 2, 2);
    memcpy(&number, bytes + 4, 8);
    memcpy(&time_ns, bytes + 12, 8);
    memcpy(&crc, bytes + CRC_BYTES, 4);
    if (be16toh(magic) != MAGIC || be32toh(crc) != crc32_ieee(bytes, CRC_BYTES))
        return -EBADMSG;
    content->phase = be16toh(phase);
    content->number = be64toh(number);
    content->time_ns = (int64_t)be64toh(time_ns);
    return 0;
}
