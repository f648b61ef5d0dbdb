/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of the recording and its file system: can it be written at all, directly, and for how long? */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor_rooms.h"

#define GB 1000000000.0

static bool no_directory(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    if (!doctor->dir.error)
        return false;
    sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "%s cannot be looked at", doctor->config->record.dir);
    return true;
}

void sl_doctor_directory(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    const char *path = doctor->config->record.dir;

    if (doctor->dir.error) {
        sl_doctor_found(finding, SL_DOCTOR_PROBLEM, "record.dir: %s: %s", path, strerror(doctor->dir.error));
        sl_doctor_cure(finding, doctor->dir.error == ENOENT ? "mkdir -p %s" : "another record.dir than %s", path);
    } else if (!doctor->dir.writable) {
        sl_doctor_found(finding, SL_DOCTOR_PROBLEM, "record.dir: %s: this user may not write there", path);
        sl_doctor_cure(finding, "chown USER %s", path);
    } else {
        sl_doctor_found(finding, SL_DOCTOR_OK, "%s, on %s (%s)", path, doctor->dir.mount, doctor->dir.fs);
        return;
    }
    sl_doctor_why(finding, "no recording starts, and every frame is lost");
}

/* Options of a mount that cost, and what to mount with instead. */
static const struct {
    const char *fs; /* NULL: any */
    const char *option;
    enum sl_doctor_state state;
    const char *why;
    const char *instead;
} costly[] = {
    {NULL, "discard", SL_DOCTOR_WARNING, "deleting a segment trims it at once, which can hold up writes for a second", "nodiscard"},
    {NULL, "sync", SL_DOCTOR_WARNING, "every write waits until the disk has it for good, and so does every update of the file's size",
     "async"},
    {"ext4", "data=journal", SL_DOCTOR_WARNING, "everything is written twice, through the page cache: O_DIRECT does not take effect",
     "data=ordered, after umount"},
    {NULL, "nobarrier", SL_DOCTOR_NOTE, "a power cut may damage the file system, whatever record.sync says", "barrier"},
    {"ext4", "barrier=0", SL_DOCTOR_NOTE, "a power cut may damage the file system, whatever record.sync says", "barrier=1"},
    {NULL, "compress", SL_DOCTOR_WARNING, "frames are compressed by the CPU, through the page cache: O_DIRECT does not take effect",
     "compress=no"},
    {NULL, "compress-force", SL_DOCTOR_WARNING, "frames are compressed by the CPU, through the page cache: O_DIRECT does not take effect",
     "compress=no"},
};

void sl_doctor_mount(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    const struct sl_host_dir *dir = &doctor->dir;

    if (no_directory(doctor, finding))
        return;
    if (!dir->mount[0]) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "the kernel does not show where it is mounted");
        return;
    }
    sl_doctor_found(finding, SL_DOCTOR_OK, "%s %s from %s: %.400s", dir->mount, dir->fs, dir->source, dir->options);
    for (unsigned i = 0; i < sizeof costly / sizeof *costly; i++) {
        if ((costly[i].fs && strcmp(costly[i].fs, dir->fs) != 0) || !sl_host_mount_has(dir, costly[i].option))
            continue;
        if (finding->state < costly[i].state)
            finding->state = costly[i].state;
        sl_doctor_add(finding->why, sizeof finding->why, "%s%s: %s", finding->why[0] ? "; " : "", costly[i].option, costly[i].why);
        sl_doctor_add(finding->cure, sizeof finding->cure, "%smount -o remount,%s %s, and the same in /etc/fstab%s",
                      finding->cure[0] ? "; " : "", costly[i].instead, dir->mount,
                      !strcmp(costly[i].option, "discard") ? "; systemctl enable --now fstrim.timer" : "");
    }
    if (sl_host_mount_has(dir, "discard"))
        sl_doctor_add(finding->why, sizeof finding->why, "; a second is %.0f frames", doctor->need.frames_per_s);
}

static void span_text(double seconds, char *text, size_t bytes)
{
    if (seconds < 600)
        snprintf(text, bytes, "%.0f s", seconds);
    else if (seconds < 36000)
        snprintf(text, bytes, "%.0f min", seconds / 60);
    else
        snprintf(text, bytes, "%.1f h", seconds / 3600);
}

void sl_doctor_free_space(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    enum { SHORT_SECONDS = 600 };
    uint64_t keep = (uint64_t)doctor->config->record.keep_free, spare = doctor->dir.free_bytes;
    double seconds = spare > keep ? (double)(spare - keep) / doctor->need.bytes_per_s : 0;
    bool stops = doctor->config->record.when_full == SL_WHEN_FULL_STOP;
    char span[32];

    if (no_directory(doctor, finding))
        return;
    span_text(seconds, span, sizeof span);
    sl_doctor_found(finding, SL_DOCTOR_OK, "%.1f GB, of which record.keep_free keeps %.1f: room for %s at %.1f MB/s", (double)spare / GB,
                    (double)keep / GB, span, doctor->need.bytes_per_s / 1e6);
    if (seconds > 0 && (seconds >= SHORT_SECONDS || !stops))
        return;
    finding->state = seconds > 0 || !stops ? SL_DOCTOR_WARNING : SL_DOCTOR_PROBLEM;
    if (!stops)
        sl_doctor_why(finding, "record.when_full = overwrite-oldest: old recordings are removed at once to make room");
    else if (seconds > 0)
        sl_doctor_why(finding, "record.when_full = stop: the recording ends after %s", span);
    else
        sl_doctor_why(finding, "record.when_full = stop: the recording ends at once, and every frame is lost");
    sl_doctor_cure(finding, "delete recordings in %s, or record.when_full = overwrite-oldest, or a larger disk: an hour is %.0f GB",
                   doctor->config->record.dir, doctor->need.bytes_per_s * 3600 / GB);
}

/* File systems that take O_DIRECT and do something else. */
static const struct {
    const char *fs;
    const char *why;
    const char *cure;
} indirect[] = {
    {"btrfs", "with checksums it turns O_DIRECT into buffered writes, which copy every byte and push other files out of memory",
     "chattr +C on the directory while it is empty"},
    {"zfs", "it buffers what is written with O_DIRECT", "record to ext4 or XFS"},
    {"tmpfs", "files are in memory and gone at power-off", "record to ext4 or XFS on a disk"},
    {"overlay", "it costs time on top of the file system below", "record to a volume of its own"},
};

void sl_doctor_direct_io(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    uint32_t memory = 0, offset = 0;
    int rc;

    if (no_directory(doctor, finding))
        return;
    rc = doctor->ops->direct_io(doctor->ops->self, doctor->config->record.dir, &memory, &offset);
    if (rc == -EOPNOTSUPP || rc == -EISDIR || rc == -EACCES || rc == -EROFS) { /* no nameless files there, or not for this user */
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "not tried: %s", strerror(-rc));
        return;
    }
    if (rc < 0 || memory > SL_PAGE_BYTES || offset > SL_PAGE_BYTES) {
        if (rc < 0)
            sl_doctor_found(finding, SL_DOCTOR_WARNING, "a file in %s cannot be written with O_DIRECT: %s", doctor->config->record.dir,
                            strerror(-rc));
        else
            sl_doctor_found(finding, SL_DOCTOR_WARNING,
                            "O_DIRECT wants memory at multiples of %" PRIu32 " and offsets of %" PRIu32 ", and ours are of %u", memory,
                            offset, SL_PAGE_BYTES);
        sl_doctor_why(finding,
                      "every byte is copied into the page cache, %.0f MB/s through the CPU, and other files are pushed out of memory",
                      doctor->need.bytes_per_s / 1e6);
        sl_doctor_cure(finding, "record to ext4 or XFS, on a disk with blocks of 512 or 4096 bytes");
        return;
    }
    sl_doctor_found(finding, SL_DOCTOR_OK, "works");
    if (memory)
        sl_doctor_add(finding->found, sizeof finding->found,
                      "; memory at multiples of %" PRIu32 ", offsets of %" PRIu32 ", and ours are of %u", memory, offset, SL_PAGE_BYTES);
    for (unsigned i = 0; i < sizeof indirect / sizeof *indirect; i++) {
        if (strcmp(indirect[i].fs, doctor->dir.fs) != 0)
            continue;
        finding->state = SL_DOCTOR_WARNING;
        sl_doctor_add(finding->found, sizeof finding->found, "; but it is %s", indirect[i].fs);
        sl_doctor_why(finding, "%s", indirect[i].why);
        sl_doctor_cure(finding, "%s", indirect[i].cure);
    }
}
