/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The block devices that the recording ends up on, and how the kernel queues for them. A partition has its disk's queue; a volume
 * made of others (dm, md) is followed down to them.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

enum { MAX_DISKS = 8, MAX_LEVELS = 4, PATH_BYTES = 160 };

struct disks {
    unsigned count;
    char name[MAX_DISKS][64];
};

static void add_disk(const struct sl_doctor *doctor, const char *path, struct disks *disks, unsigned level)
{
    char link[PATH_MAX], file[2 * PATH_MAX], slaves[PATH_MAX], *real, *name, **below;
    unsigned count;
    int64_t partition;

    snprintf(link, sizeof link, "%s%s", doctor->root, path);
    real = realpath(link, NULL);
    if (!real)
        return;
    snprintf(file, sizeof file, "%s/partition", path);
    if (sl_host_number(doctor->root, file, &partition) && (name = strrchr(real, '/')) != NULL)
        *name = '\0';
    name = strrchr(real, '/') + 1;
    snprintf(slaves, sizeof slaves, "/sys/block/%s/slaves", name);
    count = level < MAX_LEVELS ? sl_host_list(doctor->root, slaves, "", &below) : 0;
    for (unsigned i = 0; i < count; i++) {
        snprintf(file, sizeof file, "%s/%s", slaves, below[i]);
        add_disk(doctor, file, disks, level + 1);
    }
    if (count)
        sl_host_list_free(below, count);
    else if (disks->count < MAX_DISKS)
        snprintf(disks->name[disks->count++], sizeof disks->name[0], "%.63s", name);
    free(real);
}

/* False, and the finding says so, when no disk is known. */
static bool find_disks(const struct sl_doctor *doctor, struct disks *disks, struct sl_doctor_finding *finding)
{
    char path[PATH_MAX];

    disks->count = 0;
    if (!doctor->dir.error && doctor->dir.device[0] && strncmp(doctor->dir.device, "0:", 2) != 0) {
        snprintf(path, sizeof path, "/sys/dev/block/%s", doctor->dir.device);
        add_disk(doctor, path, disks, 0);
    } else if (!doctor->dir.error && !strncmp(doctor->dir.source, "/dev/", 5)) { /* btrfs has a number of its own */
        snprintf(path, sizeof path, "/sys/class/block/%s", strrchr(doctor->dir.source, '/') + 1);
        add_disk(doctor, path, disks, 0);
    }
    if (!disks->count && finding)
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "no block device is known to be below %s", doctor->config->record.dir);
    return disks->count > 0;
}

static const char *queue_path(char *path, const char *disk, const char *file)
{
    snprintf(path, PATH_BYTES, "/sys/block/%.63s/queue/%s", disk, file);
    return path;
}

/* -- Scheduler ------------------------------------------------------------------------------------------------------------ */

/* "none [mq-deadline] kyber bfq", or one name without brackets. */
static bool scheduler_of(const struct sl_doctor *doctor, const char *disk, char *word, size_t bytes)
{
    char path[PATH_BYTES];

    if (!sl_host_word(doctor->root, queue_path(path, disk, "scheduler"), word, bytes))
        return false;
    (void)sl_host_choice(word);
    return true;
}

static bool fair_and_slow(const char *scheduler)
{
    return !strcmp(scheduler, "bfq") || !strcmp(scheduler, "cfq");
}

void sl_doctor_scheduler(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    struct disks disks;
    char word[160];

    if (!find_disks(doctor, &disks, finding))
        return;
    for (unsigned i = 0; i < disks.count; i++) {
        if (!scheduler_of(doctor, disks.name[i], word, sizeof word))
            continue;
        sl_doctor_add(finding->found, sizeof finding->found, "%s%s %s", finding->found[0] ? "; " : "", disks.name[i], word);
        if (!fair_and_slow(word))
            continue;
        finding->state = SL_DOCTOR_WARNING;
        sl_doctor_why(
            finding,
            "it gives each program its share of the disk: while another one reads or writes, the recording may get less than its %.0f MB/s",
            doctor->need.bytes_per_s / 1e6);
        sl_doctor_cure(finding,
                       "echo mq-deadline >/sys/block/%s/queue/scheduler; for good, a udev rule: ACTION==\"add\", KERNEL==\"%s\", "
                       "ATTR{queue/scheduler}=\"mq-deadline\"",
                       disks.name[i], disks.name[i]);
    }
    if (!finding->found[0])
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "%s has none", disks.name[0]);
}

void sl_doctor_fix_scheduler(const struct sl_doctor *doctor, struct sl_doctor_repair *repair)
{
    struct disks disks;
    char path[PATH_BYTES], word[160];

    (void)find_disks(doctor, &disks, NULL);
    for (unsigned i = 0; i < disks.count; i++) {
        if (!scheduler_of(doctor, disks.name[i], word, sizeof word) || !fair_and_slow(word))
            continue;
        if (sl_doctor_set(doctor, repair, queue_path(path, disks.name[i], "scheduler"), "mq-deadline") < 0)
            return;
    }
}

/* -- Cache ---------------------------------------------------------------------------------------------------------------- */

void sl_doctor_write_cache(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    struct disks disks;
    char path[PATH_BYTES], word[160];
    bool volatile_cache = false;

    if (!find_disks(doctor, &disks, finding))
        return;
    sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "%s does not tell", disks.name[0]);
    for (unsigned i = 0; i < disks.count; i++) {
        if (!sl_host_word(doctor->root, queue_path(path, disks.name[i], "write_cache"), word, sizeof word))
            continue;
        if (finding->state == SL_DOCTOR_UNKNOWN)
            sl_doctor_found(finding, SL_DOCTOR_OK, "%s", "");
        sl_doctor_add(finding->found, sizeof finding->found, "%s%s: %s", finding->found[0] ? "; " : "", disks.name[i], word);
        volatile_cache = volatile_cache || !strcmp(word, "write back");
    }
    if (!volatile_cache || doctor->config->record.sync != SL_SYNC_NONE)
        return;
    finding->state = SL_DOCTOR_NOTE;
    sl_doctor_why(finding,
                  "record.sync = none: a power cut costs what the disk still has in its cache, as far as the kernel flushed at all");
    sl_doctor_cure(finding, "record.sync = 1s in the config");
}

/* -- Requests ------------------------------------------------------------------------------------------------------------- */

void sl_doctor_request_size(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    struct disks disks;
    char path[PATH_BYTES];
    int64_t now, requests, hardware = 0, frame_kib = (int64_t)(doctor->need.slot_bytes / 1024);

    if (!find_disks(doctor, &disks, finding))
        return;
    sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "%s does not tell", disks.name[0]);
    for (unsigned i = 0; i < disks.count; i++) {
        if (!sl_host_number(doctor->root, queue_path(path, disks.name[i], "max_sectors_kb"), &now) || now <= 0)
            continue;
        if (finding->state == SL_DOCTOR_UNKNOWN)
            sl_doctor_found(finding, SL_DOCTOR_OK, "%s", "");
        requests = (frame_kib + now - 1) / now;
        (void)sl_host_number(doctor->root, queue_path(path, disks.name[i], "max_hw_sectors_kb"), &hardware);
        sl_doctor_add(finding->found, sizeof finding->found, "%s%s: at most %" PRId64 " KiB, %" PRId64 " a frame",
                      finding->found[0] ? "; " : "", disks.name[i], now, requests);
        if (now >= frame_kib || hardware <= now)
            continue;
        finding->state = SL_DOCTOR_NOTE;
        sl_doctor_why(finding, "the device takes larger ones: fewer requests and interrupts a second (now %.0f of them)",
                      (double)requests * doctor->need.frames_per_s);
        sl_doctor_cure(finding, "echo %" PRId64 " >/sys/block/%s/queue/max_sectors_kb",
                       hardware < frame_kib ? hardware : (frame_kib + 3) / 4 * 4, disks.name[i]);
    }
}
