/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a torn recording whole, in place.
 *
 * Order, so that it can be broken off anywhere and run again: slots without a whole frame become Void, tails and index are
 * written, the file is cut, all that is synced; then page 0 gets size, duration and the places of things. Until then the file
 * is one that was not closed, with the same frames in it. The recorder closes files in the same order.
 *
 * A frame whose record and checksum are right but not the Void before them is kept, and the Void written again.
 *
 * Invariants: no byte of a payload is written; a second run finds nothing to do. What is already as it should be is compared, not
 * written again.
 *
 * A closed file is not judged anew: a frame in it that no longer matches its checksum has a changed bit, not a torn end, and
 * may be worth looking at, and its payloads are not read. Only Voids, index and head, which can be computed from the rest, are set right
 * there.
 *
 * A file without any whole frame is refused: a player makes nothing of a recording of none.
 *
 * Rejected: writing a new file beside the old one. It needs as much room again, and a full disk is how recordings get torn.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "writer/files.h"
#include "writer/recording_file.h"

struct repairer {
    struct sl_recording *recording;
    void (*say)(void *context, const char *line);
    void *context;
    struct sl_repair *repair;
    const char *path;
    struct sl_error *err;
    bool closed;        /* was closed before */
    bool changed;       /* something had to be written */
    bool at_the_end;    /* slots are settled: index and head come next */
    bool said[2];       /* in a closed file: Voids, index and head are written again */
    uint64_t end;       /* slots that stay */
    bool holes_at_end;  /* slots without a frame after the last one */
    int64_t highest_ns; /* time among the frames */
};

static void __attribute__((format(printf, 2, 3))) say(struct repairer *r, const char *format, ...)
{
    char line[256];
    va_list list;

    if (!r->say)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    r->say(r->context, line);
}

static int write_at(struct repairer *r, uint64_t offset, const void *data, size_t bytes)
{
    const uint8_t *from = data;

    if (r->closed && !r->said[r->at_the_end])
        say(r, "%s are not as they must be: writing them again", r->at_the_end ? "index or head" : "Voids around frames");
    r->said[r->at_the_end] = true;
    r->changed = true;
    while (bytes) {
        ssize_t done = pwrite(r->recording->fd, from, bytes, (off_t)offset);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            int rc = done < 0 ? -errno : -EIO;

            return sl_fail(r->err, rc, "write %s: %s", r->path, strerror(-rc));
        }
        from += done;
        bytes -= (size_t)done;
        offset += (uint64_t)done;
    }
    return 0;
}

/* Writes only what is different. */
static int put_at(struct repairer *r, uint64_t offset, const uint8_t *data, size_t bytes)
{
    uint8_t there[SL_PAGE_BYTES];

    if (sl_recording_read_at(r->recording, offset, there, bytes) == (int64_t)bytes && !memcmp(there, data, bytes))
        return 0;
    return write_at(r, offset, data, bytes);
}

static int sync_file(struct repairer *r)
{
    int rc;

    if (!fdatasync(r->recording->fd))
        return 0;
    rc = -errno;
    return sl_fail(r->err, rc, "sync %s: %s", r->path, strerror(-rc));
}

/* -- Slots -------------------------------------------------------------------------------------------------------------- */

/* Void before and after a frame that stays: one may be torn, the other missing when the file was cut there. */
static int put_padding(struct repairer *r, uint64_t slot)
{
    const struct sl_layout *layout = &r->recording->layout;
    uint64_t tail_at = sl_layout_payload_at(layout, slot) + layout->frame_bytes;
    uint64_t end = sl_layout_header_at(layout, slot + 1);
    uint8_t bytes[SL_PAGE_BYTES * 2] = {0};
    int rc = 0;

    if (slot) {
        sl_layout_header(layout, slot, 0, bytes);
        rc = put_at(r, sl_layout_header_at(layout, slot), bytes, SL_LAYOUT_RECORD_VOID);
    }
    if (rc || !layout->tail_bytes)
        return rc;
    memset(bytes, 0, sizeof bytes);
    sl_layout_tail(layout, bytes);
    rc = put_at(r, tail_at, bytes, layout->tail_bytes < 8 ? 2 : 8);
    if (!rc && end > r->recording->info.file_bytes)
        rc = write_at(r, end - 1, bytes + layout->tail_bytes - 1, 1);
    return rc;
}

static int void_slot(struct repairer *r, uint64_t slot, enum sl_slot_verdict verdict)
{
    uint64_t slot_bytes = r->recording->layout.slot_bytes;
    uint64_t at = sl_layout_header_at(&r->recording->layout, slot);
    size_t start = slot ? 0 : SL_LAYOUT_RECORD_VOID; /* page 0 keeps the file head */
    uint8_t page[SL_PAGE_BYTES] = {0};

    if (verdict == SL_SLOT_EMPTY && sl_layout_void_bytes(slot, r->recording->page) == slot_bytes)
        return 0; /* the page that was read last */
    if (verdict != SL_SLOT_EMPTY)
        say(r, "slot %" PRIu64 ": turning what is left of a torn frame into Void", slot);
    sl_layout_void(slot, slot_bytes, page);
    return write_at(r, at + start, page + start, sizeof page - start);
}

/* A frame to keep, its header page with a Void that leads to its record again if it had none. */
static int keep_frame(struct repairer *r, uint64_t slot, const struct sl_frame_record *record, bool mend)
{
    if (mend) {
        say(r, "slot %" PRIu64 ": writing the Void before the record of frame %" PRIu64 " again; the frame is kept", slot, record->number);
        r->repair->mended++;
    }
    r->repair->frames++;
    r->holes_at_end = false;
    if (record->time_ns > r->highest_ns)
        r->highest_ns = record->time_ns;
    if (slot >= r->end)
        r->end = slot + 1;
    return put_padding(r, slot);
}

static bool is_frame(enum sl_slot_verdict verdict)
{
    return verdict == SL_SLOT_GOOD || verdict == SL_SLOT_UNPROVEN;
}

/* What repair makes of a slot; *mend: a frame, when the Void before its record is written again. */
static enum sl_slot_verdict look_at_slot(struct repairer *r, uint64_t slot, struct sl_frame_record *record, bool *mend)
{
    enum sl_slot_verdict verdict = sl_recording_slot(r->recording, slot, !r->closed, record);

    *mend = verdict == SL_SLOT_DAMAGED && sl_recording_behind_void(r->recording, slot, record) == SL_SLOT_GOOD;
    return *mend ? SL_SLOT_GOOD : verdict;
}

/* Changes nothing. */
static int refuse_without_frames(struct repairer *r)
{
    uint64_t torn = 0;

    for (uint64_t slot = 0; slot < r->recording->info.slots; slot++) {
        struct sl_frame_record record;
        bool mend;
        enum sl_slot_verdict verdict = look_at_slot(r, slot, &record, &mend);

        if (is_frame(verdict) || (r->closed && verdict != SL_SLOT_EMPTY))
            return 0;
        torn += verdict != SL_SLOT_EMPTY;
    }
    if (torn)
        return sl_fail(r->err, -ENODATA, "%s: there is no whole frame in it, %" PRIu64 " are torn; it can be deleted; nothing was changed",
                       r->path, torn);
    return sl_fail(r->err, -ENODATA, "%s: there is no frame in it; it can be deleted; nothing was changed", r->path);
}

/* Goes through the slots once: counts frames, voids what is none, finds the last slot that stays. */
static int settle_slots(struct repairer *r)
{
    struct sl_repair *repair = r->repair;
    int rc = 0;

    r->end = r->closed ? r->recording->info.slots : 1; /* page 0 stays in any case */
    for (uint64_t slot = 0; slot < r->recording->info.slots && !rc; slot++) {
        struct sl_frame_record record;
        bool mend;
        enum sl_slot_verdict verdict = look_at_slot(r, slot, &record, &mend);

        if (is_frame(verdict)) {
            rc = keep_frame(r, slot, &record, mend);
        } else if (r->closed) {
            r->holes_at_end = true;
            repair->damaged += verdict != SL_SLOT_EMPTY;
        } else {
            repair->torn += verdict != SL_SLOT_EMPTY;
            rc = void_slot(r, slot, verdict);
        }
    }
    r->at_the_end = true;
    return rc;
}

/* -- Index -------------------------------------------------------------------------------------------------------------- */

/* Output to the file in pieces of at most a page. */
struct piece {
    uint64_t at;
    size_t filled;
    uint8_t data[SL_PAGE_BYTES];
};

static int flush_piece(struct repairer *r, struct piece *piece)
{
    int rc = put_at(r, piece->at, piece->data, piece->filled);

    piece->at += piece->filled;
    piece->filled = 0;
    return rc;
}

static int put_cue(struct repairer *r, struct piece *piece, uint64_t slot, int64_t time_ns)
{
    int rc = 0;

    if (piece->filled + SL_LAYOUT_CUE_POINT_BYTES > sizeof piece->data)
        rc = flush_piece(r, piece);
    sl_layout_cue_point(time_ns, sl_layout_cluster_position(&r->recording->layout, slot), piece->data + piece->filled);
    piece->filled += SL_LAYOUT_CUE_POINT_BYTES;
    return rc;
}

static int put_index(struct repairer *r, const struct sl_file_end *end)
{
    struct piece piece = {.at = end->cues_at};
    struct sl_frame_record record;
    int rc = 0;

    sl_layout_cues_head(r->repair->frames, piece.data);
    piece.filled = SL_LAYOUT_CUES_HEAD_BYTES;
    for (uint64_t slot = 0; slot < r->end && !rc; slot++) {
        if (!sl_recording_read_page(r->recording, slot, &record))
            rc = put_cue(r, &piece, slot, record.time_ns);
    }
    if (!rc)
        rc = flush_piece(r, &piece);
    return rc;
}

/* -- The whole ---------------------------------------------------------------------------------------------------------- */

static int cut_file(struct repairer *r, uint64_t file_bytes)
{
    uint64_t now = r->recording->info.file_bytes;
    int rc;

    if (now > file_bytes) {
        r->repair->cut_bytes = now - file_bytes;
        say(r, "cutting off %" PRIu64 " bytes that hold no frame", now - file_bytes);
        r->changed = true;
        if (ftruncate(r->recording->fd, (off_t)file_bytes)) {
            rc = -errno;
            return sl_fail(r->err, rc, "cut %s to %" PRIu64 " bytes: %s", r->path, file_bytes, strerror(-rc));
        }
    }
    return 0;
}

static int put_head(struct repairer *r, const struct sl_file_end *end)
{
    uint8_t page[SL_PAGE_BYTES];

    if (sl_recording_file_head(r->recording, end, page))
        return sl_fail(r->err, -EUCLEAN, "%s: the head of the file cannot be made from what it says of itself", r->path);
    return put_at(r, 0, page, SL_LAYOUT_RECORD_VOID);
}

static int settle(struct repairer *r)
{
    const struct sl_recording *recording = r->recording;
    struct sl_file_end end;
    int rc;

    end.cues_at = sl_layout_header_at(&recording->layout, r->end);
    end.file_bytes = end.cues_at + sl_layout_cues_bytes(r->repair->frames);
    end.duration_ns = sl_layout_duration_ns(recording->info.format.fps, r->repair->frames, r->highest_ns);
    if (r->closed && r->holes_at_end && recording->end.duration_ns > end.duration_ns)
        end.duration_ns = recording->end.duration_ns; /* counts a frame that was lost at the very end */
    if (!r->closed)
        say(r, "writing the index: %" PRIu64 " frames", r->repair->frames);
    rc = put_index(r, &end);
    if (!rc)
        rc = cut_file(r, end.file_bytes);
    if (!rc && r->changed)
        rc = sync_file(r);
    if (rc)
        return rc;
    if (!r->closed)
        say(r, "writing sizes and duration: %.3f s", (double)end.duration_ns / 1e9);
    rc = put_head(r, &end);
    return rc || !r->changed ? rc : sync_file(r);
}

static int repair_open(struct repairer *r)
{
    struct sl_recording *recording = r->recording;
    int rc;

    r->closed = recording->info.finished;
    r->repair->payloads_read = !r->closed;
    rc = refuse_without_frames(r);
    if (rc)
        return rc;
    if (!r->closed)
        say(r, "checking %" PRIu64 " slots", recording->info.slots);
    rc = settle_slots(r);
    if (rc || !r->repair->damaged)
        return rc ? rc : settle(r);
    say(r, "%" PRIu64 " frames of this closed recording are damaged and stay as they are; verify says which", r->repair->damaged);
    return r->changed ? sync_file(r) : 0;
}

static void say_leftover(void *context, const char *file)
{
    say(context, "removing %s, which the run left behind; it holds no recording", file);
}

/* A run that was killed could not remove the file it had made ready, nor the rest of one it was just removing. */
static void remove_leftovers(struct repairer *r)
{
    char dir[PATH_MAX], name[SL_FILE_NAME_BYTES];
    const char *slash = strrchr(r->path, '/');
    int length = slash ? (int)(slash - r->path) + 1 : 1, fd;
    struct sl_file_id id;

    if (!sl_files_split(slash ? slash + 1 : r->path, name, sizeof name, &id) || length >= (int)sizeof dir)
        return;
    snprintf(dir, sizeof dir, "%.*s", length, slash ? r->path : ".");
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    r->repair->leftovers = sl_files_clean(fd, name, id.stamp, say_leftover, r);
    close(fd);
}

/* The kernel holds files of a process that was killed a little longer, while it ends what was in flight. */
#define PATIENCE_NS  (2 * SL_NS_PER_S)
#define TRY_AGAIN_NS (20 * SL_NS_PER_MS)

/* False when the time is over. */
static bool wait_a_little(int64_t *waited_ns)
{
    const struct timespec pause = {.tv_nsec = TRY_AGAIN_NS};

    if (*waited_ns >= PATIENCE_NS)
        return false;
    nanosleep(&pause, NULL);
    *waited_ns += TRY_AGAIN_NS;
    return true;
}

static int refuse_written(const char *path, struct sl_error *err)
{
    return sl_fail(err, -EBUSY, "%s: is still being written; nothing was changed", path);
}

/* -EBUSY while somebody has the file open for writing. Where the kernel does not tell, nobody has. */
static int refuse_while_written(int fd, const char *path, int64_t *waited_ns, struct sl_error *err)
{
    do {
        if (!fcntl(fd, F_SETLEASE, F_RDLCK)) {
            fcntl(fd, F_SETLEASE, F_UNLCK);
            return 0;
        }
    } while (errno == EAGAIN && wait_a_little(waited_ns));
    return errno == EAGAIN ? refuse_written(path, err) : 0;
}

/* The recorder holds this lock; a lease not every file system has. */
static int lock_file(int fd, const char *path, int64_t *waited_ns, struct sl_error *err)
{
    while (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)
        if (!wait_a_little(waited_ns))
            return refuse_written(path, err);
    return 0;
}

int sl_recording_repair(const char *path, void (*say_line)(void *context, const char *line), void *context, struct sl_repair *repair,
                        struct sl_error *err)
{
    struct repairer r = {.say = say_line, .context = context, .repair = repair, .path = path, .err = err};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int64_t waited_ns = 0;
    int rc;

    memset(repair, 0, sizeof *repair);
    if (fd < 0) {
        rc = -errno;
        return sl_fail(err, rc, "open %s: %s", path, strerror(-rc));
    }
    rc = sl_recording_open_fd(&r.recording, fd, path, err); /* first see whether it is ours at all */
    if (rc) {
        close(fd);
        return rc;
    }
    rc = refuse_while_written(fd, path, &waited_ns, err);
    if (rc)
        goto close;
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) {
        rc = -errno;
        sl_fail(err, rc, "open %s for writing: %s", path, strerror(-rc));
        goto close;
    }
    sl_recording_close(r.recording);
    r.recording = NULL;
    rc = lock_file(fd, path, &waited_ns, err);
    if (!rc)
        rc = sl_recording_open_fd(&r.recording, fd, path, err);
    if (rc) {
        close(fd);
        return rc;
    }
    rc = repair_open(&r);
    repair->already_whole = !rc && !r.changed && !repair->damaged;
    if (!rc)
        remove_leftovers(&r);
close:
    sl_recording_close(r.recording);
    return rc;
}
