/* SPDX-License-Identifier: Apache-2.0 */
#include "app/consumer.h"

unsigned sl_consumers_share(const struct sl_consumer *consumer, uint32_t which)
{
    unsigned frames = 0;

    for (unsigned i = 0; which >> i; i++)
        if (which & 1u << i)
            frames += consumer[i].sink.limit;
    return frames;
}

uint32_t sl_consumers_fit(const struct sl_consumer *consumer, uint32_t which, unsigned frames)
{
    uint32_t fit = 0;

    for (unsigned i = 0; which >> i; i++)
        if (which & 1u << i && sl_consumers_share(consumer, fit) + consumer[i].sink.limit <= frames)
            fit |= 1u << i;
    return fit;
}

void sl_left_rings_add(struct sl_left_rings *left, const struct sl_left_ring *ring)
{
    left->ring[left->count++] = *ring;
}

static bool came_home(const struct sl_left_ring *ring)
{
    if (ring->of_device || sl_fanout_close(ring->fanout, NULL) < 0)
        return false;
    sl_pool_close(ring->pool);
    sl_memory_close(ring->memory);
    return true;
}

uint32_t sl_left_rings_tidy(struct sl_left_rings *left)
{
    unsigned kept = 0;
    uint32_t consumers = 0;

    for (unsigned i = 0; i < left->count; i++) {
        if (came_home(&left->ring[i]))
            continue;
        consumers |= left->ring[i].consumers;
        left->ring[kept++] = left->ring[i];
    }
    left->count = kept;
    return consumers;
}
