/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How large the pieces of a recording are: what is allocated, pre-formatted and allowed. Pure arithmetic, any thread; and the
 * real disk's space.
 *
 * A file grows by 256 MiB, because smaller steps cost latency, and by less when frames are so small that this would be minutes.
 * Pre-formatting runs about as far ahead, so that its writes can be made in batches that nobody waits for.
 */
#include "writer/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const uint64_t chunk_max_bytes = 256ULL << 20;
enum { CHUNK_MAX_SLOTS = 1024, AHEAD_MAX_SLOTS = 64, AHEAD_SPARE_SLOTS = 8, CAPACITY_SHARES = 24 };

uint64_t sl_slots_in(const struct sl_layout *layout, uint64_t file_bytes)
{
    uint64_t slots = file_bytes / layout->slot_bytes;

    while (slots > 0 && slots * layout->slot_bytes + sl_cues_reserve(slots) > file_bytes)
        slots -= 1 + (slots * layout->slot_bytes + sl_cues_reserve(slots) - file_bytes) / (2 * layout->slot_bytes);
    return slots;
}

/* The same for the finished file, whose Cues need no whole pages. */
static uint64_t slots_of_segment(const struct sl_layout *layout, uint64_t segment_bytes)
{
    uint64_t slots = 0;

    if (segment_bytes > SL_LAYOUT_CUES_HEAD_BYTES)
        slots = (segment_bytes - SL_LAYOUT_CUES_HEAD_BYTES) / (layout->slot_bytes + SL_LAYOUT_CUE_POINT_BYTES);
    return slots ? slots : 1;
}

void sl_run_size(struct sl_run *run)
{
    uint64_t slot_bytes = run->layout.slot_bytes;
    uint64_t least = run->cfg.queue_depth + AHEAD_SPARE_SLOTS;
    uint64_t chunk_slots = chunk_max_bytes / slot_bytes;

    run->half_frame_ns = run->head.format.fps.num ? sl_frame_time_ns(run->head.format.fps, 1) / 2 : 0;
    run->ahead_slots = chunk_slots < AHEAD_MAX_SLOTS ? chunk_slots : AHEAD_MAX_SLOTS;
    if (run->ahead_slots < least)
        run->ahead_slots = least;
    run->chunk_bytes = chunk_slots < CHUNK_MAX_SLOTS ? chunk_max_bytes : CHUNK_MAX_SLOTS * slot_bytes;
    if (run->chunk_bytes < 4 * slot_bytes)
        run->chunk_bytes = 4 * slot_bytes;
    run->limit_slots = run->cfg.segment_bytes ? slots_of_segment(&run->layout, run->cfg.segment_bytes) : UINT64_MAX;
    run->limit_bytes = UINT64_MAX;
    if (run->limit_slots < UINT64_MAX)
        run->limit_bytes = run->limit_slots * slot_bytes + sl_cues_reserve(run->limit_slots);
    if (run->chunk_bytes > run->limit_bytes)
        run->chunk_bytes = run->limit_bytes;
    run->initial_bytes = run->ahead_slots * slot_bytes + run->chunk_bytes;
    if (run->initial_bytes > run->limit_bytes)
        run->initial_bytes = run->limit_bytes;
    run->rotates = run->cfg.segment_time_ns > 0 || run->cfg.segment_bytes > 0 || run->cfg.prerecord_ns > 0;
}

void sl_run_fit(struct sl_run *run, uint64_t capacity_bytes)
{
    uint64_t slot_bytes = run->layout.slot_bytes;
    uint64_t share = capacity_bytes / CAPACITY_SHARES / slot_bytes;
    uint64_t least = run->cfg.queue_depth + AHEAD_SPARE_SLOTS;

    if (run->ahead_slots > share)
        run->ahead_slots = share > least ? share : least;
    if (share < 4)
        share = 4;
    if (run->chunk_bytes > share * slot_bytes)
        run->chunk_bytes = share * slot_bytes;
    if (run->initial_bytes > run->ahead_slots * slot_bytes + run->chunk_bytes)
        run->initial_bytes = run->ahead_slots * slot_bytes + run->chunk_bytes;
}

static int system_free_bytes(void *self, int dir_fd, uint64_t *bytes)
{
    struct statvfs stat;

    (void)self;
    if (fstatvfs(dir_fd, &stat))
        return -errno;
    *bytes = stat.f_blocks ? (uint64_t)stat.f_bavail * stat.f_frsize : INT64_MAX; /* 0: it does not count, as ramfs */
    return 0;
}

static int system_allocate(void *self, int fd, uint64_t offset, uint64_t bytes)
{
    int rc;

    (void)self;
    do
        rc = fallocate(fd, 0, (off_t)offset, (off_t)bytes) ? -errno : 0;
    while (rc == -EINTR);
    if (rc != -EOPNOTSUPP && rc != -ENOSYS)
        return rc;
    return ftruncate(fd, (off_t)(offset + bytes)) ? -errno : 0;
}

const struct sl_space sl_space_system = {.free_bytes = system_free_bytes, .allocate = system_allocate};
