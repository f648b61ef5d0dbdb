/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DMA_DMA_H
#define SL_DMA_DMA_H

/*
 * Frames in DMA memory, and who may touch them when.
 *
 *     FREE ──acquire──► QUEUED ──filled──► FILLED ──publish──► SHARED ──last release──► (home ring) ──collect──► FREE
 *             capture            capture            capture             any sink                        capture
 *
 * QUEUED: the device owns the bytes. FILLED: capture alone. SHARED: n sinks hold one reference each and only read the
 * payload. Acquiring a free frame and referencing a shared one are different verbs on purpose. A frame comes back to the
 * device only through the home ring of the sink that released it last, and only the capture thread queues it again.
 * A wrong transition is a bug of ours: it aborts with the frame's number in every build.
 *
 * A slot is one page for a header (the recorder writes it) directly before the payload where the memory kind allows that
 * (`adjacent`), so that one disk write covers both.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format.h"
#include "core/loss.h"

#define SL_PAGE_BYTES 4096u

struct sl_slot {
    uint8_t *header;      /* SL_PAGE_BYTES, page-aligned, always cached memory */
    uint8_t *data;        /* page-aligned; data == header + SL_PAGE_BYTES when adjacent */
    size_t data_bytes;    /* usable and mapped: a multiple of the page, ≥ the frame */
    uint16_t data_region; /* index into sl_memory.region, for io_uring's registered buffers */
    uint16_t header_region;
    bool adjacent;
    int dmabuf_fd;                 /* -1: none */
    uint8_t *plane[SL_MAX_PLANES]; /* separate mappings per plane (multi-planar MMAP); all NULL when contiguous in data */
};

struct sl_region {
    uint8_t *base;
    size_t bytes; /* ≤ 1 GiB, the limit of one registered buffer */
};

/* Where slots come from. Made by sl_memory_host() or by a capture device that owns its buffers (kind "mmap"). */
struct sl_memory {
    const char *kind; /* "userptr", "mmap": what the summary prints */
    char pages[24];   /* "hugetlb 32 MiB", "hugetlb 2 MiB", "THP", "THP 87 %", "4 KiB", "driver" */
    bool cached;      /* CPU reads run at cache speed; false: keep checksums off it */
    unsigned slots;
    struct sl_slot *slot;
    unsigned regions;
    struct sl_region *region;
    void *owner;
    void (*close)(struct sl_memory *memory);
};

enum sl_hugepages { SL_HUGEPAGES_AUTO, SL_HUGEPAGES_REQUIRE, SL_HUGEPAGES_NO };

/* `slots` slots for frames of frame_bytes in anonymous or hugetlb memory, touched (no page fault later), largest huge page
 * that can be had first (32 MiB, 2 MiB, transparent, 4 KiB; `pages` says which, "THP 87 %" when only a part was granted). A slot is a
 * header page and the payload in whole pages, zeroed; of 32 MiB pages no slot crosses one. -ENOMEM; with REQUIRE also when only small
 * pages can be had, and the text says how to reserve them. -EINVAL, -E2BIG: no slots, no bytes, too many. */
int sl_memory_host(struct sl_memory **out, unsigned slots, size_t frame_bytes, enum sl_hugepages hugepages, struct sl_error *err);
void sl_memory_close(struct sl_memory *memory); /* NULL is fine; after the pool on it is closed */

enum sl_frame_state { SL_FRAME_FREE, SL_FRAME_QUEUED, SL_FRAME_FILLED, SL_FRAME_SHARED };

enum sl_frame_flags {
    SL_FRAME_DEVICE_ERROR = 1u << 0, /* V4L2_BUF_FLAG_ERROR */
    SL_FRAME_SHORT = 1u << 1,        /* bytesused below the format's frame_bytes */
    SL_FRAME_TIME_GUESSED = 1u << 2, /* the device's timestamp was unusable; time_ns is ours */
    SL_FRAME_TIME_SOE = 1u << 3      /* stamped at start of exposure, not end of frame */
};

struct sl_frame {
    const struct sl_slot *slot;
    uint32_t index; /* in the pool */
    /* written by capture while FILLED, read-only while SHARED */
    uint32_t flags;
    uint32_t sequence;            /* the device's own */
    uint32_t bytesused;           /* as the device said, checked against the slot */
    uint64_t number;              /* place on the run's time grid: counts every frame that should have been, from 0 */
    int64_t time_ns;              /* monotonic, the driver's stamp */
    int64_t dequeued_ns;          /* monotonic, when capture got it */
    uint64_t captured;            /* frames delivered up to and with this one */
    uint64_t lost[SL_LOSS_COUNT]; /* losses on the capture side before this frame, by cause, since frame 0 */
    _Atomic uint32_t references;
    _Atomic uint32_t state;
};

struct sl_pool;
/* One frame per slot, all FREE. `memory` is borrowed until sl_pool_close. */
int sl_pool_open(struct sl_pool **out, const struct sl_memory *memory, struct sl_error *err);
void sl_pool_close(struct sl_pool *pool); /* aborts if a frame is still SHARED; NULL is fine */
unsigned sl_pool_slots(const struct sl_pool *pool);
unsigned sl_pool_free(const struct sl_pool *pool); /* capture thread */
struct sl_frame *sl_pool_frame(struct sl_pool *pool, unsigned index);
struct sl_frame *sl_pool_acquire(struct sl_pool *pool);               /* capture: FREE → QUEUED; NULL when none is free */
void sl_frame_filled(struct sl_frame *frame);                         /* capture: QUEUED → FILLED */
void sl_pool_give_back(struct sl_pool *pool, struct sl_frame *frame); /* capture: QUEUED or FILLED → FREE, unseen by any sink */

#endif
