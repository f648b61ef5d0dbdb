/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_CRC_H
#define SL_CORE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32 of IEEE 802.3, as EBML, zlib and PNG use it. Start with 0; feed the result back in to go on. Any thread. */
uint32_t sl_crc32(uint32_t crc, const void *data, size_t bytes);

#endif
