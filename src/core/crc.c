/* SPDX-License-Identifier: Apache-2.0 */
#include "core/crc.h"

#include <isa-l/crc.h>

uint32_t sl_crc32(uint32_t crc, const void *data, size_t bytes)
{
    return crc32_gzip_refl(crc, data, bytes);
}
