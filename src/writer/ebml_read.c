/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/ebml_read.h"

#include <errno.h>

#include "writer/bytes.h"

int sl_ebml_next_child(struct sl_ebml_children *children, struct sl_ebml_element *element, const uint8_t **content)
{
    if (!children->left)
        return 0;
    if (sl_ebml_read_head(children->data, children->left, element) || element->size > children->left - element->head_bytes)
        return -EBADMSG; /* SL_EBML_UNKNOWN is larger than any `left` */
    *content = children->data + element->head_bytes;
    children->data = *content + element->size;
    children->left -= element->head_bytes + (size_t)element->size;
    return 1;
}

int sl_ebml_read_uint(const uint8_t *content, uint64_t bytes, uint64_t *value)
{
    if (bytes > 8)
        return -EBADMSG;
    *value = sl_get_be(content, (unsigned)bytes);
    return 0;
}
