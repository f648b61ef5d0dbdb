/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room on the disk: how much there is, and how more is made.
 *
 * Thread: house-keeper. An old recording is removed a piece at a time, because where the file system discards freed blocks at
 * once, a gigabyte unlinked in one go holds up the writes of the file being recorded for up to a second. It is renamed to `.gone`
 * first, so that nobody takes what is left of it for a recording, and a run that is killed meanwhile leaves something the next
 * run recognises and removes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/housekeeper.h"

static const uint64_t step_bytes = 64ULL << 20;

/* Bytes that may still be taken, what is to be kept free not counted. */
static int room_left(const struct sl_run *run, uint64_t *bytes)
{
    uint64_t free_bytes;
    int rc = run->space.free_bytes(run->space.self, run->dir_fd, &free_bytes);

    *bytes = rc == 0 && free_bytes > run->cfg.keep_free_bytes ? free_bytes - run->cfg.keep_free_bytes : 0;
    return rc;
}

uint64_t sl_room_capacity(const struct sl_run *run)
{
    uint64_t left = 0;

    return room_left(run, &left) < 0 ? 0 : left + sl_files_bytes(run->dir_fd, run->name);
}

void sl_room_judge(const struct sl_run *run, uint64_t capacity_bytes, char *warning, size_t bytes)
{
    const struct sl_rational fps = run->head.format.fps;
    uint64_t slots = run->limit_slots, needed = 0;

    if (run->cfg.segment_time_ns > 0 && fps.num && (uint64_t)(run->cfg.segment_time_ns / sl_frame_time_ns(fps, 1)) < slots)
        slots = (uint64_t)(run->cfg.segment_time_ns / sl_frame_time_ns(fps, 1));
    if (slots == UINT64_MAX && run->rotates)
        return;
    if (slots == UINT64_MAX) {
        snprintf(warning, bytes,
                 "when_full = overwrite-oldest without segment_time or segment_size: the recording is one file, which is not removed, and "
                 "the run ends when it has filled the disk");
        return;
    }
    if (__builtin_mul_overflow(2 * run->layout.slot_bytes, slots, &needed))
        needed = UINT64_MAX;
    if (needed > capacity_bytes)
        snprintf(warning, bytes,
                 "%.200s cannot hold two segments: they take %llu MB, and there are %llu MB beside keep_free, old recordings of this name "
                 "included; files will end early: make segment_time or segment_size smaller",
                 run->dir, (unsigned long long)(needed / 1000000), (unsigned long long)(capacity_bytes / 1000000));
}

static bool begin(struct sl_room *room, const struct sl_run *run, uint64_t keep_from)
{
    char file[SL_FILE_NAME_BYTES - sizeof(".gone")];
    struct sl_file_id id;
    struct stat stat;
    int fd = sl_files_oldest(run->dir_fd, run->name, run->stamp, keep_from, &id, file, sizeof(file));

    if (fd < 0)
        return false;
    snprintf(room->file, sizeof(room->file), "%s.gone", file);
    if (fstat(fd, &stat) || renameat(run->dir_fd, file, run->dir_fd, room->file)) {
        close(fd);
        return false;
    }
    room->fd = fd;
    room->number = strcmp(id.stamp, run->stamp) == 0 ? id.number : 0;
    room->left_bytes = (uint64_t)stat.st_size;
    room->freed_bytes = (uint64_t)stat.st_blocks * 512;
    return true;
}

bool sl_room_remove_piece(struct sl_room *room, const struct sl_run *run, uint64_t keep_from)
{
    if (room->removed)
        return true;
    if (room->fd < 0)
        return begin(room, run, keep_from);
    if (room->left_bytes > step_bytes) {
        room->left_bytes -= step_bytes;
        if (ftruncate(room->fd, (off_t)room->left_bytes) == 0)
            return true;
    }
    unlinkat(run->dir_fd, room->file, 0);
    close(room->fd);
    room->fd = -1;
    room->removed = true;
    return true;
}

int sl_room_make(struct sl_room *room, const struct sl_run *run, uint64_t bytes, uint64_t keep_from)
{
    uint64_t left = 0;
    int rc = room_left(run, &left);

    if (rc < 0 || left >= bytes)
        return rc;
    if (run->cfg.when_full != SL_WHEN_FULL_OVERWRITE_OLDEST)
        return -ENOSPC;
    return sl_room_remove_piece(room, run, keep_from) ? -EAGAIN : -ENOSPC;
}

int sl_room_settle(const struct sl_run *run, uint64_t *bytes, uint64_t least)
{
    uint64_t left = 0;
    int rc = room_left(run, &left);

    if (rc < 0)
        return rc;
    while (*bytes > left && *bytes > least)
        *bytes = *bytes / 2 > least ? *bytes / 2 / SL_PAGE_BYTES * SL_PAGE_BYTES : least;
    return *bytes <= left ? 0 : -ENOSPC;
}
