/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/ebml.h"

#include <errno.h>
#include <string.h>

#include "writer/bytes.h"

void sl_ebml_init(struct sl_ebml *ebml, uint8_t *buffer, size_t bytes)
{
    *ebml = (struct sl_ebml){.start = buffer, .at = buffer, .end = buffer + bytes};
}

static uint8_t *reserve(struct sl_ebml *ebml, size_t bytes)
{
    uint8_t *at = ebml->at;

    if (ebml->overflow || (size_t)(ebml->end - at) < bytes) {
        ebml->overflow = true;
        return NULL;
    }
    ebml->at = at + bytes;
    return at;
}

static unsigned id_bytes(uint32_t id)
{
    return id > 0xFFFFFF ? 4 : id > 0xFFFF ? 3 : id > 0xFF ? 2 : 1;
}

void sl_ebml_head(struct sl_ebml *ebml, uint32_t id, uint64_t size, unsigned size_bytes)
{
    unsigned length = id_bytes(id);
    uint64_t all_ones = (1ULL << 7 * size_bytes) - 1;
    uint8_t *at = reserve(ebml, length + size_bytes);

    if (!at)
        return;
    if (size != SL_EBML_UNKNOWN && size >= all_ones) {
        ebml->overflow = true;
        return;
    }
    sl_put_be(at, id, length);
    sl_put_be(at + length, (size & all_ones) | 1ULL << 7 * size_bytes, size_bytes);
}

void sl_ebml_uint(struct sl_ebml *ebml, uint32_t id, uint64_t value)
{
    unsigned bytes = 1;
    uint8_t *at;

    while (bytes < 8 && value >> 8 * bytes)
        bytes++;
    sl_ebml_head(ebml, id, bytes, 1);
    at = reserve(ebml, bytes);
    if (at)
        sl_put_be(at, value, bytes);
}

void sl_ebml_uint64(struct sl_ebml *ebml, uint32_t id, uint64_t value)
{
    uint8_t *at;

    sl_ebml_head(ebml, id, 8, 1);
    at = reserve(ebml, 8);
    if (at)
        sl_put_be(at, value, 8);
}

void sl_ebml_float(struct sl_ebml *ebml, uint32_t id, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    sl_ebml_uint64(ebml, id, bits);
}

void sl_ebml_binary(struct sl_ebml *ebml, uint32_t id, const void *data, size_t bytes)
{
    uint8_t *at;

    sl_ebml_head(ebml, id, bytes, bytes < 127 ? 1 : 2);
    at = reserve(ebml, bytes);
    if (at)
        memcpy(at, data, bytes);
}

void sl_ebml_string(struct sl_ebml *ebml, uint32_t id, const char *text)
{
    sl_ebml_binary(ebml, id, text, strlen(text));
}

void sl_ebml_void(struct sl_ebml *ebml, uint64_t total)
{
    unsigned head = total < 8 ? 2 : 8;
    size_t room;

    if (total < 2) {
        ebml->overflow = true;
        return;
    }
    sl_ebml_head(ebml, SL_EBML_VOID, total - head, head - 1);
    room = (size_t)(ebml->end - ebml->at);
    if (!ebml->overflow)
        ebml->at += total - head < room ? (size_t)(total - head) : room;
}

uint8_t *sl_ebml_begin(struct sl_ebml *ebml, uint32_t id)
{
    sl_ebml_head(ebml, id, 0, 2);
    return ebml->at;
}

void sl_ebml_end(struct sl_ebml *ebml, uint8_t *begun)
{
    size_t size = (size_t)(ebml->at - begun);

    if (ebml->overflow)
        return;
    if (size >= (1U << 14) - 1) {
        ebml->overflow = true;
        return;
    }
    sl_put_be(begun - 2, size | 1U << 14, 2);
}

size_t sl_ebml_length(const struct sl_ebml *ebml)
{
    return (size_t)(ebml->at - ebml->start);
}

int sl_ebml_read_head(const uint8_t *data, size_t bytes, struct sl_ebml_element *element)
{
    unsigned id_length, size_length;
    uint64_t size, all_ones;

    if (bytes == 0)
        return -EAGAIN;
    if (data[0] < 0x10)
        return -EBADMSG;
    id_length = (unsigned)__builtin_clz(data[0]) - 24 + 1;
    if (bytes <= id_length)
        return -EAGAIN;
    if (data[id_length] == 0)
        return -EBADMSG;
    size_length = (unsigned)__builtin_clz(data[id_length]) - 24 + 1;
    if (bytes < id_length + size_length)
        return -EAGAIN;
    all_ones = (1ULL << 7 * size_length) - 1;
    size = sl_get_be(data + id_length, size_length) & all_ones;
    element->id = (uint32_t)sl_get_be(data, id_length);
    element->head_bytes = id_length + size_length;
    element->size = size == all_ones ? SL_EBML_UNKNOWN : size;
    return 0;
}
