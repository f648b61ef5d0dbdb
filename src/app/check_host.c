/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config against the machine it is checked on. Everything here is a warning, never an error: the config may be meant for
 * another machine, and the disk may be mounted later. The device is not asked (it may be in use): what depends on its answer is
 * said to do so.
 */
#include "app/check_host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/need.h"

#define PAGE_2M  (UINT64_C(2) << 20)
#define PAGE_32M (UINT64_C(32) << 20)
#define MB       1000000.0

struct look {
    const struct sl_config *config;
    const struct sl_host *host;
    const char *root;
    FILE *to;
    unsigned warnings;
    bool shape_known; /* the rest is right */
    struct sl_need need;
};

static void warn(struct look *look, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void warn(struct look *look, const char *format, ...)
{
    va_list args;

    look->warnings++;
    fputs("warning: ", look->to);
    va_start(args, format);
    vfprintf(look->to, format, args);
    va_end(args);
    fputc('\n', look->to);
}

static void take_shape(struct look *look)
{
    const struct sl_config *config = look->config;

    look->shape_known = sl_need_of(&look->need, config);
    if (look->shape_known)
        fprintf(look->to, "note: data rate %.1f MB/s\n", look->need.bytes_per_s / MB);
    else
        fprintf(look->to, "note: format, size or rate is the %s's: no rates are worked out\n",
                config->sensor.source == SL_SOURCE_REPLAY ? "recording" : "device");
}

static double frames_to_seconds(const struct look *look, double frames)
{
    return frames * look->config->sensor.fps.den / look->config->sensor.fps.num;
}

/* -- Sensor --------------------------------------------------------------------------------------------------------------- */

static void look_at_source(struct look *look)
{
    const struct sl_config *config = look->config;
    const char *path = config->sensor.source == SL_SOURCE_V4L2 ? config->sensor.device : config->sensor.file;
    int mode = config->sensor.source == SL_SOURCE_V4L2 ? R_OK | W_OK : R_OK;
    struct stat st;

    if (config->sensor.source == SL_SOURCE_PATTERN)
        return;
    if (stat(path, &st) < 0)
        warn(look, "%s: %s", path, strerror(errno));
    else if (config->sensor.source == SL_SOURCE_V4L2 && !S_ISCHR(st.st_mode))
        warn(look, "%s is not a device", path);
    else if (access(path, mode) < 0)
        warn(look, "%s: %s%s", path, strerror(errno),
             config->sensor.source == SL_SOURCE_V4L2 ? "; its group (video, as a rule) may open it: usermod -aG video USER" : "");
}

/* What tests/scripts/players.sh shows of FFmpeg 5.1; GStreamer 1.22 has no name for them either. */
static const struct {
    const char *pixel;
    const char *remark;
} unplayable[] = {
    {"NV16", "FFmpeg and GStreamer cannot decode it from Matroska"},
    {"NV61", "FFmpeg and GStreamer cannot decode it from Matroska"},
    {"VYUY", "FFmpeg takes it for YUYV and shows a wrong picture, and GStreamer cannot decode it"},
};

static void look_at_players(struct look *look)
{
    const struct sl_config *config = look->config;

    if (config->sensor.source == SL_SOURCE_REPLAY || !config->sensor.format)
        return;
    for (size_t i = 0; i < sizeof unplayable / sizeof *unplayable; i++)
        if (!strcmp(unplayable[i].pixel, config->sensor.format))
            warn(look,
                 "sensor.format = %s: %s; use another format if the device has one (YUYV and UYVY play everywhere), or play it by sluice "
                 "export FILE --to y4m -",
                 config->sensor.format, unplayable[i].remark);
}

/* -- Memory --------------------------------------------------------------------------------------------------------------- */

static void look_at_driver_ring(struct look *look)
{
    const struct sl_config *config = look->config;

    if (config->sensor.source != SL_SOURCE_V4L2 || config->sensor.memory == SL_MEMORY_USERPTR)
        return;

    double covered = frames_to_seconds(look, (double)config->sensor.buffers);

    if (look->need.ring_frames <= config->sensor.buffers)
        return;
    if (config->sensor.memory == SL_MEMORY_MMAP)
        warn(look,
             "the ring is shorter than asked: with memory = mmap it is the driver's %" PRId64
             " buffers, at most %.3f s, and %u frames were asked for; use memory = userptr, or more sensor.buffers",
             config->sensor.buffers, covered, look->need.ring_frames);
    else
        fprintf(look->to,
                "note: if the device does not take userptr (sluice probe tells), the ring is the driver's %" PRId64
                " buffers, at most %.3f s\n",
                config->sensor.buffers, covered);
}

static void ask_for_huge_pages(struct look *look)
{
    const struct sl_host_pages *pages = sl_host_pages_of(look->host, PAGE_32M);
    const char *cost = look->config->ring.hugepages == SL_HUGEPAGES_REQUIRE && !sl_host_transparent(look->host)
                           ? "the start will fail (ring.hugepages = require)"
                           : "transparent ones are tried, which the kernel may not have either";

    if (!pages)
        pages = sl_host_pages_of(look->host, PAGE_2M);
    if (!pages) {
        warn(look, "this kernel has no huge pages of 2 MiB or 32 MiB: %s", cost);
        return;
    }

    uint64_t needed = sl_need_huge_pages(&look->need, pages->page_bytes), total = pages->total - pages->free + needed;
    char cure[128];

    if (pages->is_default)
        snprintf(cure, sizeof cure, "sysctl -w vm.nr_hugepages=%" PRIu64, total);
    else
        snprintf(cure, sizeof cure, "echo %" PRIu64 " >/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages", total,
                 pages->page_bytes / 1024);
    warn(look, "the ring takes %" PRIu64 " huge pages of %" PRIu64 " MiB and %" PRIu64 " are free: %s; as root: %s", needed,
         pages->page_bytes >> 20, pages->free, cost, cure);
}

static void look_at_memory(struct look *look)
{
    const struct sl_config *config = look->config;
    uint64_t bytes = sl_need_ring_bytes(&look->need);
    bool huge = false;

    look_at_driver_ring(look);
    if (config->sensor.memory == SL_MEMORY_MMAP)
        return;
    fprintf(look->to, "note: ring of %u frames (%.3f s) and %" PRId64 " of the sensor's: %.0f MB of memory\n", look->need.ring_frames,
            frames_to_seconds(look, look->need.ring_frames), config->sensor.buffers, (double)bytes / MB);
    if (config->ring.hugepages != SL_HUGEPAGES_NO) {
        huge = sl_need_pages_there(&look->need, look->host) != NULL;
        if (!huge)
            ask_for_huge_pages(look);
    }
    if (!huge && look->host->memory_available && bytes > look->host->memory_available)
        warn(look,
             "not enough memory for the ring: it takes %.0f MB and %.0f MB are available; make ring.depth or record.prerecord smaller",
             (double)bytes / MB, (double)look->host->memory_available / MB);
}

static void look_at_memlock(struct look *look)
{
    uint64_t limit = look->host->memlock_bytes, bytes = sl_need_ring_bytes(&look->need);

    if (limit == UINT64_MAX || limit >= bytes)
        return;
    warn(look,
         "the memory-lock limit is %.1f MB and the ring takes %.0f MB: %s; raise it (LimitMEMLOCK=infinity in the systemd unit, or "
         "ulimit -l unlimited), or give CAP_IPC_LOCK",
         (double)limit / MB, (double)bytes / MB,
         look->config->realtime.lock_memory ? "the start will fail (realtime.lock_memory = yes)"
                                            : "its buffers cannot be registered, which costs CPU time");
}

/* -- CPUs ----------------------------------------------------------------------------------------------------------------- */

static void look_at_cpu(struct look *look, const char *key, int64_t cpu)
{
    if (cpu < 0 || !look->host->cpus_known || (cpu < SL_HOST_MAX_CPUS && look->host->online[cpu]))
        return;
    warn(look, "realtime.%s = %" PRId64 ": this machine's CPUs are %s: the start will fail", key, cpu, look->host->online_text);
}

static void look_at_realtime(struct look *look)
{
    const struct sl_config *config = look->config;

    look_at_cpu(look, "capture_cpu", config->realtime.capture_cpu);
    look_at_cpu(look, "writer_cpu", config->realtime.writer_cpu);
    if (config->realtime.capture_cpu >= 0 && config->realtime.capture_cpu == config->realtime.writer_cpu)
        warn(look, "realtime.capture_cpu and writer_cpu are the same CPU: the writer will hold up the sensor");
    if (config->realtime.priority > look->host->rt_priority)
        warn(look,
             "realtime.priority = %" PRId64 " is above what this user may ask for (%u): the start will fail; set LimitRTPRIO=%" PRId64
             " in the systemd unit, or give CAP_SYS_NICE",
             config->realtime.priority, look->host->rt_priority, config->realtime.priority);
}

/* -- Disk ----------------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *fs;
    const char *remark;
} file_systems[] = {
    {"tmpfs", "files are in memory, gone at power-off, and O_DIRECT may be missing"},
    {"ramfs", "files are in memory, gone at power-off, and there is no O_DIRECT"},
    {"btrfs", "with checksums it turns O_DIRECT into buffered writes: chattr +C the directory while it is empty"},
    {"zfs", "it buffers what is written with O_DIRECT"},
    {"overlay", "it costs time on top of the file system below: record to a volume of its own"},
    {"nfs", "a network has stalls of seconds: size ring.depth for them"},
    {"nfs4", "a network has stalls of seconds: size ring.depth for them"},
    {"cifs", "a network has stalls of seconds: size ring.depth for them"},
    {"smb3", "a network has stalls of seconds: size ring.depth for them"},
    {"9p", "O_DIRECT may be missing"},
    {"fuse", "O_DIRECT may be missing"},
    {"fuseblk", "O_DIRECT may be missing"},
    {"vfat", "it cannot reserve space ahead, and files end at 4 GiB: set record.segment_size to 3GiB or less"},
    {"exfat", "it cannot reserve space ahead"},
};

static void look_at_file_system(struct look *look, const struct sl_host_dir *dir)
{
    for (size_t i = 0; i < sizeof file_systems / sizeof *file_systems; i++)
        if (!strcmp(file_systems[i].fs, dir->fs))
            warn(look, "record.dir is on %s (%s): %s", dir->fs, dir->mount, file_systems[i].remark);
    if (dir->discard)
        warn(look,
             "%s is mounted with discard: deleting a file can hold up writes for a second; mount -o remount,nodiscard %s, and run fstrim "
             "by timer",
             dir->mount, dir->mount);
}

static void print_span(double seconds, FILE *to)
{
    if (seconds < 600)
        fprintf(to, "%.0f s", seconds);
    else if (seconds < 36000)
        fprintf(to, "%.0f min (%.0f s)", seconds / 60, seconds);
    else
        fprintf(to, "%.1f h (%.0f s)", seconds / 3600, seconds);
}

static void look_at_space(struct look *look, const struct sl_host_dir *dir)
{
    const struct sl_config *config = look->config;
    uint64_t keep = (uint64_t)config->record.keep_free, usable = dir->free_bytes > keep ? dir->free_bytes - keep : 0;

    fprintf(look->to, "note: %.1f GB free in %s", (double)dir->free_bytes / 1e9, config->record.dir);
    if (look->shape_known) {
        fputs(", which lasts ", look->to);
        print_span((double)usable / look->need.bytes_per_s, look->to);
    }
    fputc('\n', look->to);
    if (dir->free_bytes < keep)
        warn(look, "less is free (%.2f GB) than record.keep_free asks for (%.2f GB): %s", (double)dir->free_bytes / 1e9, (double)keep / 1e9,
             config->record.when_full == SL_WHEN_FULL_STOP ? "recording will stop at once" : "old recordings will be removed at once");
}

static void look_at_disk(struct look *look)
{
    const char *path = look->config->record.dir;
    struct sl_host_dir dir;

    sl_host_read_dir(&dir, look->root, path);
    if (dir.error) {
        warn(look, "record.dir: %s: %s%s", path, strerror(dir.error), dir.error == ENOENT ? "; make it: mkdir -p" : "");
        return;
    }
    if (!dir.writable)
        warn(look, "record.dir: %s: this user may not write there", path);
    look_at_space(look, &dir);
    look_at_file_system(look, &dir);
}

static void look_at_trigger(struct look *look)
{
    const char *path = look->config->record.trigger;
    struct stat st;

    if (path && stat(path, &st) == 0 && !S_ISFIFO(st.st_mode))
        warn(look, "record.trigger: %s is there and is no FIFO: the start will fail", path);
}

unsigned sl_check_host(const struct sl_config *config, const struct sl_host *host, const char *root, FILE *to)
{
    struct look look = {.config = config, .host = host, .root = root, .to = to};

    take_shape(&look);
    look_at_source(&look);
    look_at_players(&look);
    if (look.shape_known) {
        look_at_memory(&look);
        look_at_memlock(&look);
    }
    look_at_realtime(&look);
    look_at_disk(&look);
    look_at_trigger(&look);
    if (config->fault.stores || config->fault.sensors)
        warn(&look, "[fault] is on: frames will be lost on purpose");
    return look.warnings;
}
