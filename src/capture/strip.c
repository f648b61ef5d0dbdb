/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/strip.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "core/crc.h"

#define MAGIC     0x534Cu /* "SL" */
#define CRC_BYTES 20      /* everything before the CRC itself */

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
    uint32_t crc = htobe32(sl_crc32(0, bytes, CRC_BYTES));
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
    if (be16toh(magic) != MAGIC || be32toh(crc) != sl_crc32(0, bytes, CRC_BYTES))
        return -EBADMSG;
    content->phase = be16toh(phase);
    content->number = be64toh(number);
    content->time_ns = (int64_t)be64toh(time_ns);
    return 0;
}
