/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spsc.h"

#include <errno.h>
#include <stdlib.h>

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

int sl_spsc_init(struct sl_spsc *ring, size_t capacity, size_t item_bytes)
{
    unsigned char *items;
    size_t places = 1;
    size_t bytes;

    if (!capacity || !item_bytes)
        return -EINVAL;
    while (places < capacity) {
        if (places > SIZE_MAX / 4)
            return -ENOMEM;
        places *= 2;
    }
    if (item_bytes > (SIZE_MAX - SL_CACHE_LINE) / places)
        return -ENOMEM;
    bytes = round_up(places * item_bytes, SL_CACHE_LINE);
    items = aligned_alloc(SL_CACHE_LINE, bytes);
    if (!items)
        return -ENOMEM;
    memset(items, 0, bytes); /* no page fault later */
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
    ring->tail_seen = 0;
    ring->head_seen = 0;
    ring->items = items;
    ring->capacity = places;
    ring->item_bytes = item_bytes;
    return 0;
}

void sl_spsc_fini(struct sl_spsc *ring)
{
    free(ring->items);
    ring->items = NULL;
    ring->capacity = 0;
}
