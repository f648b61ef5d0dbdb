/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which way the frames take to the disk: tried on the real file system with the real memory, never assumed.
 *
 * Thread: control, in open. Each step down is told three times over: in path.reason for a person, as an event for the ledger, and
 * by the flags of struct sl_recorder_path.
 *
 *     O_DIRECT, registered buffers            best
 *     O_DIRECT, pinned for each write         when registering is refused (memory-lock limit, driver memory) but writing works
 *     O_DIRECT, copied into registered memory when the device's memory cannot be pinned at all, or a frame is in pieces
 *     buffered                                when the file system has no O_DIRECT
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "writer/direct_io.h"
#include "writer/recorder.h"

enum { TMPFS = 0x01021994, BTRFS = (int)0x9123683e };

static void __attribute__((format(printf, 2, 3))) reason(struct sl_recorder *r, const char *format, ...)
{
    size_t used = strlen(r->path.reason);
    va_list args;

    if (used > 0 && used + 1 < sizeof(r->path.reason)) {
        r->path.reason[used++] = '\n';
        r->path.reason[used] = '\0';
    }
    va_start(args, format);
    vsnprintf(r->path.reason + used, sizeof(r->path.reason) - used, format, args);
    va_end(args);
}

static void step_down(struct sl_recorder *r, enum sl_recorder_step step, int error)
{
    sl_recorder_post(r, SL_EVENT_STEP_DOWN, step, 0, 0, error);
}

/* -- The file system ---------------------------------------------------------------------------------------------------- */

static int open_probe(struct sl_recorder *r, char *file, size_t bytes, int flags)
{
    int length = snprintf(file, bytes, ".%s-%s.probe", r->run.name, r->run.stamp);
    int fd;

    if (length < 0 || (size_t)length >= bytes)
        return -ENAMETOOLONG;
    fd = openat(r->run.dir_fd, file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | flags, 0600);
    return fd < 0 ? -errno : fd;
}

static int try_write(int fd, const void *data, size_t bytes)
{
    ssize_t written = pwrite(fd, data, bytes, 0);

    return written < 0 ? -errno : (size_t)written == bytes ? 0 : -EIO;
}

static bool is_tmpfs(const struct sl_recorder *r)
{
    struct statfs stat;

    return fstatfs(r->run.dir_fd, &stat) == 0 && stat.f_type == TMPFS;
}

/* Whether direct writes to the file will work as we do them; 0, or what stands against it. Fills the path's alignment. */
static int try_direct(struct sl_recorder *r, int fd)
{
    uint32_t memory = SL_PAGE_BYTES, offset = SL_PAGE_BYTES;
    int rc;

    if (fd < 0)
        return fd;
    rc = sl_direct_io_alignment(fd, &memory, &offset);
    if (rc == 0 && (memory == 0 || memory > SL_PAGE_BYTES || offset > SL_PAGE_BYTES))
        return -EOPNOTSUPP;
    r->path.memory_alignment = memory;
    r->path.alignment = offset;
    return try_write(fd, r->scratch, SL_PAGE_BYTES);
}

/* Opens the file anew without O_DIRECT: where that is refused, some file systems leave the file there all the same. */
static int open_buffered(struct sl_recorder *r, char *file, size_t bytes, int direct_fd)
{
    if (direct_fd >= 0)
        close(direct_fd);
    unlinkat(r->run.dir_fd, file, 0);
    r->path.alignment = r->path.memory_alignment = SL_PAGE_BYTES;
    return open_probe(r, file, bytes, 0);
}

/* A file to try writes on: with O_DIRECT, or, where the file system has none, without. Its name is gone already. */
static int probe_file_system(struct sl_recorder *r, struct sl_error *err)
{
    char file[SL_FILE_NAME_BYTES];
    bool direct = !r->run.cfg.buffered && !is_tmpfs(r); /* which takes O_DIRECT from Linux 6.6 on, and copies */
    int fd = open_probe(r, file, sizeof(file), direct ? O_DIRECT : 0);
    int rc = direct ? try_direct(r, fd) : fd < 0 ? fd : try_write(fd, r->scratch, SL_PAGE_BYTES);

    if (direct && (rc == -EINVAL || rc == -EOPNOTSUPP)) {
        reason(r, "%s: the file system takes no direct writes (%s): writes are buffered, and fill the page cache", r->run.dir,
               strerror(-rc));
        step_down(r, SL_STEP_BUFFERED, rc);
        direct = false;
        fd = open_buffered(r, file, sizeof(file), fd);
        rc = fd < 0 ? fd : try_write(fd, r->scratch, SL_PAGE_BYTES);
    } else if (!direct) {
        if (r->run.cfg.buffered)
            reason(r, "buffered writes were asked for");
        step_down(r, SL_STEP_BUFFERED, 0);
    }
    if (fd >= 0)
        unlinkat(r->run.dir_fd, file, 0);
    if (rc < 0) {
        if (fd >= 0)
            close(fd);
        return sl_fail(err, rc, "%s: cannot write there: %s", r->run.dir, strerror(-rc));
    }
    r->path.direct = r->run.direct = direct;
    return fd;
}

static void warn_of_file_system(struct sl_recorder *r)
{
    struct statfs stat;

    if (fstatfs(r->run.dir_fd, &stat))
        return;
    if ((uint32_t)stat.f_type == (uint32_t)BTRFS)
        reason(r, "btrfs with checksums turns direct writes into buffered ones: `chattr +C %s` before the first recording", r->run.dir);
    if (stat.f_type == TMPFS)
        reason(r, "tmpfs: recordings lie in memory and are gone with it");
}

/* -- The frames' memory ------------------------------------------------------------------------------------------------- */

static bool in_planes(const struct sl_memory *memory)
{
    return memory->slot[0].plane[0] != NULL;
}

/* Whether a frame can be written from where it lies. 0, or what stands against it. */
static int try_memory(const struct sl_recorder *r, int fd)
{
    const struct sl_memory *memory = r->memory;
    size_t payload = (size_t)(r->run.layout.slot_bytes - SL_PAGE_BYTES);

    for (unsigned i = 0; i < memory->slots; i++)
        if (memory->slot[i].data_bytes < payload)
            return -ENOBUFS;
    return try_write(fd, memory->slot[0].data, payload);
}

static void choose_bounce(struct sl_recorder *r, int fd)
{
    int rc;

    r->planes = in_planes(r->memory);
    if (r->planes) {
        reason(r, "%s buffers hold each plane apart: frames are copied together", r->memory->kind);
        step_down(r, SL_STEP_BOUNCED, 0);
        r->path.bounced = true;
        return;
    }
    rc = try_memory(r, fd);
    if (rc == -ENOBUFS)
        reason(r, "%s buffers have no room for the %u bytes behind a frame: frames are copied", r->memory->kind, r->run.layout.tail_bytes);
    else if (rc < 0)
        reason(r, "%s buffers cannot be written from (%s): frames are copied", r->memory->kind, strerror(-rc));
    if (rc < 0)
        step_down(r, SL_STEP_BOUNCED, rc);
    r->path.bounced = rc < 0;
}

static void choose_checksum(struct sl_recorder *r)
{
    bool cached = r->memory->cached || r->path.bounced;

    r->path.checksum = r->run.cfg.checksum == SL_CHECKSUM_CRC32 || (r->run.cfg.checksum == SL_CHECKSUM_AUTO && cached);
    if (r->run.cfg.checksum == SL_CHECKSUM_AUTO && !cached) {
        reason(r, "%s buffers are not cached, and reading them would cost too much: no checksum", r->memory->kind);
        step_down(r, SL_STEP_NO_CHECKSUM, 0);
    }
}

/* -- The store ---------------------------------------------------------------------------------------------------------- */

static int add_regions(struct sl_recorder *r)
{
    const struct sl_memory *memory = r->path.bounced ? r->bounce : r->memory;
    struct sl_region *region = calloc(memory->regions + 1, sizeof(*region));
    int rc;

    if (!region)
        return -ENOMEM;
    memcpy(region, memory->region, memory->regions * sizeof(region[0]));
    region[memory->regions] = (struct sl_region){.base = r->scratch, .bytes = SL_SCRATCH_PAGES * SL_PAGE_BYTES};
    r->scratch_region = memory->regions;
    rc = sl_uring_add_regions(r->store, region, memory->regions + 1);
    free(region);
    return rc;
}

static void register_memory(struct sl_recorder *r)
{
    int rc = r->run.cfg.no_register ? -ECANCELED : add_regions(r);

    r->path.registered = rc == 0;
    if (rc == 0)
        return;
    r->scratch_region = SL_STORE_NO_REGION;
    if (r->run.cfg.no_register)
        reason(r, "buffers are not registered, as was asked for");
    else if (rc == -ENOMEM)
        reason(r, "buffers cannot be registered (memory-lock limit): raise `ulimit -l`, or LimitMEMLOCK= of the service");
    else
        reason(r, "%s buffers cannot be registered (%s): pages are pinned for each write", r->memory->kind, strerror(-rc));
    step_down(r, SL_STEP_UNREGISTERED, rc == -ECANCELED ? 0 : rc);
}

static int open_store(struct sl_recorder *r, const struct sl_recorder_fakes *fakes, struct sl_error *err)
{
    struct sl_uring_cfg cfg = {.entries = SL_STORE_ENTRIES, .wake = sl_sink_wake(r->sink)};
    struct sl_store *faulty;
    int rc;

    r->scratch_region = SL_STORE_NO_REGION;
    if (fakes && fakes->open_store) {
        rc = fakes->open_store(fakes->self, &r->store, sl_sink_wake(r->sink));
        if (rc < 0)
            return sl_fail(err, rc, "store: %s", strerror(-rc));
    } else {
        rc = sl_uring_open(&r->store, &cfg, err);
        if (rc < 0)
            return rc;
        register_memory(r);
    }
    if (r->run.cfg.faults == 0)
        return 0;
    rc = sl_store_fault_open(&faulty, r->store, r->clock, r->run.cfg.fault, r->run.cfg.faults, &r->fault_place, err);
    if (rc == 0)
        r->store = faulty;
    return rc;
}

int sl_recorder_find_path(struct sl_recorder *r, const struct sl_recorder_fakes *fakes, struct sl_error *err)
{
    int rc = 0, fd;

    r->path.alignment = r->path.memory_alignment = SL_PAGE_BYTES;
    fd = probe_file_system(r, err);
    if (fd < 0)
        return fd;
    warn_of_file_system(r);
    choose_bounce(r, fd);
    close(fd);
    choose_checksum(r);
    if (r->path.bounced)
        rc = sl_memory_host(&r->bounce, r->run.cfg.queue_depth, r->run.layout.frame_bytes, SL_HUGEPAGES_AUTO, err);
    if (rc < 0)
        return sl_fail_context(err, rc, "memory for copies of frames");
    return open_store(r, fakes, err);
}
