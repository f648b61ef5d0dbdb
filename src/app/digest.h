/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_DIGEST_H
#define SL_APP_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* MD5 of frames, to compare with what players decode (FFmpeg's framemd5 prints the same). Not for security. Any thread. */

/* False in a build without libcrypto. */
bool sl_digest_available(void);

/* 32 hexadecimal digits and a NUL. -ENOTSUP without libcrypto, or when it does not do MD5 (FIPS). */
int sl_digest_md5(const uint8_t *data, size_t bytes, char text[33]);

#endif
