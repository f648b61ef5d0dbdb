/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slot is a header page and the payload rounded up to pages, because the recorder writes both in one go and whole pages.
 * What the disk sees is how many physically contiguous pieces a slot has, so:
 *
 * - With huge pages larger than a slot (32 MiB) slots are grouped by huge page and none crosses into the next: one piece.
 *   As many slots as fit share the page evenly; the rest of the page would be lost anyway. 1080p 4:2:2 gets a 4 MiB stride.
 * - Otherwise slots lie back to back in the region, except that a stride within 1/32 of a multiple of 2 MiB is rounded up to
 *   it: at 1080p a slot is then two huge pages instead of three pieces of them, for 1 % of memory.
 *
 * Rejected: a power-of-two stride for every size. It costs up to half of the ring, that is half of the stall it can cover.
 */
#include "dma/ring_layout.h"

#include <errno.h>

#include "dma/dma.h"

static const size_t mid_page = (size_t)2 << 20;

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

int sl_ring_layout_init(struct sl_ring_layout *layout, size_t frame_bytes, size_t page_bytes)
{
    size_t payload, slot, rounded;

    if (!frame_bytes)
        return -EINVAL;
    if (frame_bytes > SL_REGION_MAX_BYTES)
        return -E2BIG;
    payload = round_up(frame_bytes, SL_PAGE_BYTES);
    if (payload - frame_bytes == 1) /* the smallest Void element takes two bytes */
        payload += SL_PAGE_BYTES;
    slot = SL_PAGE_BYTES + payload;
    if (slot > SL_REGION_MAX_BYTES)
        return -E2BIG;
    layout->payload_bytes = payload;
    layout->page_bytes = page_bytes;
    if (page_bytes > mid_page && slot <= page_bytes) {
        layout->group_bytes = page_bytes;
        layout->per_group = page_bytes / slot;
        layout->stride = page_bytes / layout->per_group / SL_PAGE_BYTES * SL_PAGE_BYTES;
        return 0;
    }
    rounded = round_up(slot, mid_page);
    layout->stride = rounded - slot <= slot / 32 ? rounded : slot;
    layout->group_bytes = SL_REGION_MAX_BYTES;
    layout->per_group = SL_REGION_MAX_BYTES / layout->stride;
    return 0;
}

static size_t slots_per_region(const struct sl_ring_layout *layout)
{
    return SL_REGION_MAX_BYTES / layout->group_bytes * layout->per_group;
}

struct sl_place sl_ring_layout_place(const struct sl_ring_layout *layout, unsigned slot)
{
    size_t in_region = slot % slots_per_region(layout);

    return (struct sl_place){
        .region = (unsigned)(slot / slots_per_region(layout)),
        .offset = in_region / layout->per_group * layout->group_bytes + in_region % layout->per_group * layout->stride,
    };
}

unsigned sl_ring_layout_regions(const struct sl_ring_layout *layout, unsigned slots)
{
    return slots ? sl_ring_layout_place(layout, slots - 1).region + 1 : 0;
}

size_t sl_ring_layout_region_bytes(const struct sl_ring_layout *layout, unsigned slots, unsigned region)
{
    struct sl_place last = sl_ring_layout_place(layout, slots - 1);

    if (region < last.region)
        last = sl_ring_layout_place(layout, (unsigned)((region + 1) * slots_per_region(layout) - 1));
    return round_up(last.offset + SL_PAGE_BYTES + layout->payload_bytes, layout->page_bytes);
}
