/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a segment before its first frame and after its last one.
 *
 * Thread: house-keeper (or control, in open and close). The file belongs to whoever holds the segment.
 *
 * All writes are whole pages from page-aligned memory, so that O_DIRECT takes them; nothing is written through the page cache
 * to a file that is also written around it. Order at the end: Cues, cut, sync, then page 0, sync. Until page 0 says that the
 * file is finished it is a file that plays to its last frame; when it says so, everything it points at is on the disk.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/housekeeper.h"

static int write_all(int fd, const void *data, size_t bytes, uint64_t offset)
{
    const uint8_t *at = data;

    while (bytes > 0) {
        ssize_t written = pwrite(fd, at, bytes, (off_t)offset);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        if (written == 0)
            return -EIO;
        at += written;
        offset += (uint64_t)written;
        bytes -= (size_t)written;
    }
    return 0;
}

static int name_of(char *out, size_t bytes, const struct sl_segment *segment, const struct sl_run *run, const char *suffix)
{
    return sl_files_name(out, bytes, run->name, run->stamp, segment->number, suffix);
}

/* Page 0, the Void slots after it, and the last Void, which reaches to the end of the file. */
static int format_start(struct sl_segment *segment, const struct sl_run *run)
{
    const struct sl_layout *layout = &run->layout;
    uint64_t fits = sl_slots_in(layout, segment->file_bytes);
    uint64_t slots = fits < run->ahead_slots ? fits : run->ahead_slots;
    alignas(SL_PAGE_BYTES) uint8_t last[3 * SL_PAGE_BYTES];
    int rc;

    if (slots == 0)
        return -ENOSPC;
    memcpy(last, run->void_pages, run->void_bytes);
    sl_layout_void(slots, segment->file_bytes - slots * layout->slot_bytes, last + layout->tail_span);
    rc = write_all(segment->fd, last, run->void_bytes, slots * layout->slot_bytes - layout->tail_span);
    for (uint64_t slot = slots - 1; rc == 0 && slot > 0; slot--)
        rc = write_all(segment->fd, run->void_pages, run->void_bytes, slot * layout->slot_bytes - layout->tail_span);
    if (rc == 0)
        rc = write_all(segment->fd, segment->page0, SL_PAGE_BYTES, 0);
    if (rc == 0)
        segment->formatted = slots;
    return rc;
}

static int build_page0(struct sl_segment *segment, const struct sl_run *run)
{
    struct sl_stream_record head = run->head;
    int rc;

    head.segment = (uint32_t)segment->number;
    rc = sl_layout_file_head(&run->layout, &head, segment->page0);
    if (rc == 0)
        sl_layout_void(0, run->layout.slot_bytes, segment->page0);
    return rc;
}

int sl_segment_create(struct sl_segment *segment, const struct sl_run *run, uint64_t bytes)
{
    char file[SL_FILE_NAME_BYTES];
    int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | (run->direct ? O_DIRECT : 0);
    int rc = name_of(file, sizeof(file), segment, run, ".next");

    if (rc < 0)
        return rc;
    segment->fd = openat(run->dir_fd, file, flags, 0644);
    if (segment->fd < 0)
        return -errno;
    flock(segment->fd, LOCK_EX | LOCK_NB); /* tells other processes that it is in use; where there are no locks, nothing is lost */
    rc = run->space.allocate(run->space.self, segment->fd, 0, bytes);
    if (rc == 0) {
        segment->file_bytes = bytes;
        rc = build_page0(segment, run);
    }
    if (rc == 0)
        rc = format_start(segment, run);
    if (rc < 0)
        sl_segment_discard(segment, run, ".next");
    return rc;
}

int sl_segment_activate(struct sl_segment *segment, const struct sl_run *run)
{
    char from[SL_FILE_NAME_BYTES], to[SL_FILE_NAME_BYTES];
    int rc = name_of(from, sizeof(from), segment, run, ".next");

    if (rc == 0)
        rc = name_of(to, sizeof(to), segment, run, "");
    if (rc == 0 && renameat2(run->dir_fd, from, run->dir_fd, to, RENAME_NOREPLACE))
        rc = -errno;
    if (rc == -EINVAL && renameat(run->dir_fd, from, run->dir_fd, to) == 0) /* a file system without NOREPLACE */
        rc = 0;
    if (rc == 0 && run->durable)
        fsync(run->dir_fd); /* a file system that cannot do this still has the file's own syncs */
    return rc;
}

void sl_segment_discard(struct sl_segment *segment, const struct sl_run *run, const char *suffix)
{
    char file[SL_FILE_NAME_BYTES];

    if (segment->fd < 0)
        return;
    if (name_of(file, sizeof(file), segment, run, suffix) == 0)
        unlinkat(run->dir_fd, file, 0);
    close(segment->fd);
    segment->fd = -1;
}

struct cue_writer {
    int fd;
    uint64_t at;
    uint8_t *buffer;
    size_t used;
};

/* The last call, with `force`, writes whatever is there as whole pages; what lies beyond is cut off afterwards. */
static int flush_cues(struct cue_writer *w, bool force)
{
    size_t whole = force ? (w->used + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES : w->used / SL_PAGE_BYTES * SL_PAGE_BYTES;
    int rc;

    if (force)
        memset(w->buffer + w->used, 0, whole - w->used);
    rc = write_all(w->fd, w->buffer, whole, w->at);
    if (rc < 0 || force)
        return rc;
    w->at += whole;
    w->used -= whole;
    memmove(w->buffer, w->buffer + whole, w->used);
    return 0;
}

/* *last_ns: the highest time of a frame that is there. */
static int write_cues(const struct sl_segment *segment, const struct sl_layout *layout, uint8_t *buffer, size_t buffer_bytes,
                      int64_t *last_ns)
{
    struct cue_writer w = {.fd = segment->fd, .at = segment->slots * layout->slot_bytes, .buffer = buffer};
    const struct sl_time_block *block = segment->first_times;
    int rc = 0;

    sl_layout_cues_head(segment->frames, buffer);
    w.used = SL_LAYOUT_CUES_HEAD_BYTES;
    *last_ns = 0;
    for (uint64_t slot = 0; slot < segment->slots && rc == 0; slot++) {
        unsigned place = (unsigned)(slot % SL_TIMES_PER_BLOCK);

        if (slot > 0 && place == 0)
            block = block->next;
        if (block->time_ns[place] == SL_TIME_LOST)
            continue;
        if (block->time_ns[place] > *last_ns)
            *last_ns = block->time_ns[place];
        sl_layout_cue_point(block->time_ns[place], sl_layout_cluster_position(layout, slot), buffer + w.used);
        w.used += SL_LAYOUT_CUE_POINT_BYTES;
        if (w.used + SL_LAYOUT_CUE_POINT_BYTES > buffer_bytes)
            rc = flush_cues(&w, false);
    }
    return rc < 0 ? rc : flush_cues(&w, true);
}

static int finish_file(struct sl_segment *segment, const struct sl_run *run, uint8_t *buffer, size_t buffer_bytes)
{
    const struct sl_rational fps = run->head.format.fps;
    uint64_t cues_at = segment->slots * run->layout.slot_bytes;
    struct sl_file_end end = {
        .cues_at = cues_at,
        .file_bytes = cues_at + sl_layout_cues_bytes(segment->frames),
    };
    int rc = write_cues(segment, &run->layout, buffer, buffer_bytes, &end.duration_ns);

    if (rc < 0)
        return rc;
    if (ftruncate(segment->fd, (off_t)end.file_bytes) || (run->durable && fdatasync(segment->fd)))
        return -errno;
    end.duration_ns += fps.num ? sl_frame_time_ns(fps, 1) : 0;
    rc = sl_layout_file_finish(segment->page0, &end);
    if (rc == 0)
        rc = write_all(segment->fd, segment->page0, SL_PAGE_BYTES, 0);
    if (rc == 0 && run->durable && fdatasync(segment->fd))
        rc = -errno;
    return rc;
}

int sl_segment_finish(struct sl_segment *segment, const struct sl_run *run, uint8_t *buffer, size_t buffer_bytes)
{
    int rc = finish_file(segment, run, buffer, buffer_bytes);

    if (close(segment->fd) && rc == 0 && errno != EINTR)
        rc = -errno;
    segment->fd = -1;
    return rc;
}
