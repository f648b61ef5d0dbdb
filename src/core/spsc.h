/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_SPSC_H
#define SL_CORE_SPSC_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Bounded ring for exactly one producer thread and one consumer thread; items are copied in and out by value.
 * Each side keeps its own copy of the other's index and re-reads it only when the ring looks full (or empty), so that
 * in the steady state the two threads do not share a cache line in both directions.
 *
 * Ordering: push's release store of `tail` pairs with pop's acquire load of it (the item is visible);
 * pop's release store of `head` pairs with push's acquire load of it (the place is free).
 */

#define SL_CACHE_LINE 64

struct sl_spsc {
    alignas(SL_CACHE_LINE) _Atomic size_t head; /* next to pop; written by the consumer */
    size_t tail_seen;                           /* consumer's copy of tail */
    alignas(SL_CACHE_LINE) _Atomic size_t tail; /* next to fill; written by the producer */
    size_t head_seen;                           /* producer's copy of head */
    alignas(SL_CACHE_LINE) unsigned char *items;
    size_t capacity; /* power of two */
    size_t item_bytes;
};

/* Room for at least `capacity` items (rounded up to a power of two) of `item_bytes` each. -ENOMEM, -EINVAL (a zero). */
int sl_spsc_init(struct sl_spsc *ring, size_t capacity, size_t item_bytes);
void sl_spsc_fini(struct sl_spsc *ring); /* zeroed memory is fine */

/* Producer only. False when full: nothing is written. */
static inline bool sl_spsc_push(struct sl_spsc *ring, const void *item)
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    if (tail - ring->head_seen == ring->capacity) {
        ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
        if (tail - ring->head_seen == ring->capacity)
            return false;
    }
    memcpy(ring->items + (tail & (ring->capacity - 1)) * ring->item_bytes, item, ring->item_bytes);
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

/* Consumer only. False when empty: `item` is not written. */
static inline bool sl_spsc_pop(struct sl_spsc *ring, void *item)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (head == ring->tail_seen) {
        ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
        if (head == ring->tail_seen)
            return false;
    }
    memcpy(item, ring->items + (head & (ring->capacity - 1)) * ring->item_bytes, ring->item_bytes);
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
    return true;
}

/* Any thread; exact only for the two that use the ring. */
static inline size_t sl_spsc_count(const struct sl_spsc *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);

    return tail - head;
}

#endif
