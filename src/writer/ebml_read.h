/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_EBML_READ_H
#define SL_WRITER_EBML_READ_H

#include <stddef.h>
#include <stdint.h>

#include "writer/ebml.h"

/*
 * The children of an EBML element whose content is in memory as a whole, and numbers. Pure, any thread; every length is checked
 * against the bytes that are there. Pointers that are given out point into the caller's bytes.
 */

#define SL_EBML_HEAD_MAX 12u /* four bytes of ID, eight of size */

struct sl_ebml_children {
    const uint8_t *data;
    size_t left;
};

/* Next child: 1 with *element and *content; 0 at the end; -EBADMSG when it does not fit into what is left, or has no known size. */
int sl_ebml_next_child(struct sl_ebml_children *children, struct sl_ebml_element *element, const uint8_t **content);

/* Content of `bytes` bytes as a number, big-endian; none is 0. -EBADMSG: more than eight bytes. */
int sl_ebml_read_uint(const uint8_t *content, uint64_t bytes, uint64_t *value);

#endif
