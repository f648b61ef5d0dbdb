/* SPDX-License-Identifier: Apache-2.0 */
#include "app/digest.h"

#include <errno.h>

#ifdef SL_WITH_OPENSSL
#include <openssl/evp.h>

bool sl_digest_available(void)
{
    return true;
}

int sl_digest_md5(const uint8_t *data, size_t bytes, char text[33])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned length = 0;

    if (!EVP_Digest(data, bytes, digest, &length, EVP_md5(), NULL) || length != 16)
        return -ENOTSUP;
    for (unsigned i = 0; i < 16; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[32] = '\0';
    return 0;
}
#else
bool sl_digest_available(void)
{
    return false;
}

int sl_digest_md5(const uint8_t *data, size_t bytes, char text[33])
{
    (void)data;
    (void)bytes;
    (void)text;
    return -ENOTSUP;
}
#endif
