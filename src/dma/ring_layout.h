/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DMA_RING_LAYOUT_H
#define SL_DMA_RING_LAYOUT_H

#include <stddef.h>

/* Where slots lie in the regions of a ring. Pure arithmetic, private to the module. */

#define SL_REGION_MAX_BYTES ((size_t)1 << 30) /* io_uring registers no larger buffer */

struct sl_ring_layout {
    size_t payload_bytes; /* what the recorder writes after the header page */
    size_t stride;        /* from slot to slot */
    size_t page_bytes;    /* of the memory underneath */
    size_t group_bytes;   /* no slot crosses a multiple of this */
    size_t per_group;     /* slots */
};

/* page_bytes: a power of two from 4 KiB to 1 GiB. -EINVAL: no frame; -E2BIG: header and frame do not fit one region. */
int sl_ring_layout_init(struct sl_ring_layout *layout, size_t frame_bytes, size_t page_bytes);

struct sl_place {
    unsigned region;
    size_t offset; /* of the header page */
};

struct sl_place sl_ring_layout_place(const struct sl_ring_layout *layout, unsigned slot);
unsigned sl_ring_layout_regions(const struct sl_ring_layout *layout, unsigned slots);
size_t sl_ring_layout_region_bytes(const struct sl_ring_layout *layout, unsigned slots, unsigned region); /* a multiple of page_bytes */

#endif
