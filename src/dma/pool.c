/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All frames of a run and the list of the free ones.
 *
 * Thread: the free list belongs to the capture thread; open and close to the control thread, before and after it.
 * Ownership: frames live as long as the pool, slots as long as the memory below it.
 *
 * The list is last in, first out: the slot that came home last is the one most likely still in a cache, and an idle ring
 * touches few slots. Rejected: a lock-free list that every sink may push to. Home rings make it unnecessary, and the free
 * list stays a plain array.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dma/state.h"

struct sl_pool {
    const struct sl_memory *memory;
    struct sl_frame *frame;
    struct sl_frame **free;
    unsigned free_count;
};

int sl_pool_open(struct sl_pool **out, const struct sl_memory *memory, struct sl_error *err)
{
    struct sl_pool *pool;

    if (!memory->slots)
        return sl_fail(err, -EINVAL, "frame pool: the memory has no slots");
    pool = calloc(1, sizeof(*pool));
    if (!pool)
        goto fail;
    pool->memory = memory;
    pool->frame = calloc(memory->slots, sizeof(*pool->frame));
    if (!pool->frame)
        goto free_pool;
    pool->free = calloc(memory->slots, sizeof(struct sl_frame *));
    if (!pool->free)
        goto free_frames;
    for (unsigned i = 0; i < memory->slots; i++) {
        pool->frame[i].slot = &memory->slot[i];
        pool->frame[i].index = i;
        atomic_init(&pool->frame[i].references, 0);
        atomic_init(&pool->frame[i].state, SL_FRAME_FREE);
        pool->free[memory->slots - 1 - i] = &pool->frame[i]; /* frame 0 is acquired first */
    }
    pool->free_count = memory->slots;
    *out = pool;
    return 0;

free_frames:
    free(pool->frame);
free_pool:
    free(pool);
fail:
    return sl_fail(err, -ENOMEM, "frame pool of %u slots: out of memory", memory->slots);
}

void sl_pool_close(struct sl_pool *pool)
{
    if (!pool)
        return;
    for (unsigned i = 0; i < pool->memory->slots; i++)
        if (atomic_load_explicit(&pool->frame[i].state, memory_order_relaxed) == SL_FRAME_SHARED)
            sl_frame_bug(&pool->frame[i], "the pool is closed while a sink has it");
    free(pool->free);
    free(pool->frame);
    free(pool);
}

unsigned sl_pool_slots(const struct sl_pool *pool)
{
    return pool->memory->slots;
}

unsigned sl_pool_free(const struct sl_pool *pool)
{
    return pool->free_count;
}

struct sl_frame *sl_pool_frame(struct sl_pool *pool, unsigned index)
{
    return index < pool->memory->slots ? &pool->frame[index] : NULL;
}

struct sl_frame *sl_pool_acquire(struct sl_pool *pool)
{
    struct sl_frame *frame;

    if (!pool->free_count)
        return NULL;
    frame = pool->free[--pool->free_count];
    sl_frame_move(frame, SL_FRAME_FREE, SL_FRAME_QUEUED);
    return frame;
}

static void put_free(struct sl_pool *pool, struct sl_frame *frame)
{
    if (sl_pool_frame(pool, frame->index) != frame)
        sl_frame_bug(frame, "it belongs to another pool");
    pool->free[pool->free_count++] = frame; /* each frame is in at most once, as only a frame that was not FREE gets here */
}

void sl_pool_give_back(struct sl_pool *pool, struct sl_frame *frame)
{
    uint32_t state = atomic_load_explicit(&frame->state, memory_order_relaxed);

    sl_frame_move(frame, state == SL_FRAME_QUEUED ? SL_FRAME_QUEUED : SL_FRAME_FILLED, SL_FRAME_FREE);
    put_free(pool, frame);
}

void sl_pool_take_home(struct sl_pool *pool, struct sl_frame *frame)
{
    if (atomic_load_explicit(&frame->references, memory_order_relaxed))
        sl_frame_bug(frame, "it came home while a sink has it");
    sl_frame_move(frame, SL_FRAME_SHARED, SL_FRAME_FREE);
    put_free(pool, frame);
}
