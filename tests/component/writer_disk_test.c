/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder in threads, with io_uring, on real file systems and with memory of every kind. Small frames, a few MB each. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "support/make_recording.h"
#include "support/scratch.h"
#include "support/suite.h"
#include "writer/verify.h"
#include "writer/writer.h"

enum { SLOTS = 24, TMPFS = 0x01021994 };

enum memory_kind { HOST, APART, PLANES, READ_ONLY, UNREADABLE };

struct disk {
    struct sl_video_format format;
    struct sl_memory *memory;
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_sink *sink;
    struct sl_events events;
    struct sl_recorder *recorder;
    struct sl_runner *recorder_runner, *housekeeper_runner;
    uint64_t number;
};

static struct disk disk;

/* -- Memory as devices have it ------------------------------------------------------------------------------------------ */

static void apart_close(struct sl_memory *memory)
{
    for (unsigned i = 0; i < memory->regions; i++)
        munmap(memory->region[i].base, memory->region[i].bytes);
    free(memory->slot);
    free(memory->region);
    free(memory);
}

static uint8_t *map(struct sl_memory *memory, size_t bytes)
{
    uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(base, MAP_FAILED);
    memory->region[memory->regions++] = (struct sl_region){.base = base, .bytes = bytes};
    return base;
}

/* Slots whose header pages and payloads (or planes) are mappings of their own, as a driver's are. */
static struct sl_memory *apart(const struct sl_video_format *format, enum memory_kind kind)
{
    struct sl_memory *memory = calloc(1, sizeof(*memory));
    size_t data_bytes = (format->frame_bytes + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES;
    uint8_t *headers;

    ck_assert_ptr_nonnull(memory);
    memory->kind = "mmap";
    memory->cached = true;
    memory->slots = SLOTS;
    memory->close = apart_close;
    memory->slot = calloc(SLOTS, sizeof(struct sl_slot));
    memory->region = calloc(1 + 3 * SLOTS, sizeof(struct sl_region));
    headers = map(memory, (size_t)SLOTS * SL_PAGE_BYTES);
    ck_assert(memory->slot && memory->region && headers);
    for (unsigned i = 0; i < SLOTS; i++) {
        struct sl_slot *slot = &memory->slot[i];

        *slot = (struct sl_slot){.header = headers + i * SL_PAGE_BYTES, .data_bytes = data_bytes, .dmabuf_fd = -1};
        if (kind == PLANES) {
            for (unsigned plane = 0; plane < format->pixel->planes; plane++)
                ck_assert_ptr_nonnull(slot->plane[plane] = map(memory, 65536));
            slot->data = slot->plane[0];
        } else {
            slot->data = map(memory, data_bytes);
        }
        slot->data_region = (uint16_t)(memory->regions - 1);
    }
    return memory;
}

/* Driver memory that cannot be pinned is played by memory that, while the recorder tries it, cannot be written to (io_uring refuses to
 * register it) or cannot be read either (a direct write from it fails with EFAULT, as one from a mapping without struct pages does). */
static void protect(const struct sl_memory *memory, int protection)
{
    for (unsigned i = 0; i < memory->slots; i++)
        ck_assert_int_eq(mprotect(memory->slot[i].data, memory->slot[i].data_bytes, protection), 0);
}

/* -- A run -------------------------------------------------------------------------------------------------------------- */

static int open_disk(const char *format, uint32_t width, uint32_t height, enum memory_kind kind, struct sl_recorder_cfg cfg)
{
    struct sl_error err = {""};
    struct sl_recorder_deps deps = {.clock = &sl_clock_system, .format = &disk.format, .events = &disk.events};
    static char dir[512];
    int rc;

    ck_assert_int_eq(sl_video_format_tight(&disk.format, sl_pixel_format_by_name(format), width, height), 0);
    disk.format.fps = (struct sl_rational){60, 1};
    if (kind == HOST)
        ck_assert_int_eq(sl_memory_host(&disk.memory, SLOTS, disk.format.frame_bytes, SL_HUGEPAGES_NO, &err), 0);
    else
        disk.memory = apart(&disk.format, kind);
    snprintf(dir, sizeof(dir), "%s", scratch_path("."));
    cfg.dir = cfg.dir ? cfg.dir : dir;
    cfg.name = "disk";
    cfg.queue_depth = cfg.queue_depth ? cfg.queue_depth : 4;
    ck_assert_int_eq(sl_events_init(&disk.events, 64), 0);
    ck_assert_int_eq(sl_pool_open(&disk.pool, disk.memory, &err), 0);
    ck_assert_int_eq(sl_fanout_open(&disk.fanout, disk.pool, 0, &err), 0);
    ck_assert_int_eq(sl_fanout_add(disk.fanout, &(struct sl_sink_cfg){.name = "record", .limit = SLOTS}, &disk.sink, &err), 0);
    deps.memory = disk.memory;
    deps.sink = disk.sink;
    if (kind == READ_ONLY || kind == UNREADABLE)
        protect(disk.memory, kind == READ_ONLY ? PROT_READ : PROT_NONE);
    rc = sl_recorder_open(&disk.recorder, &cfg, &deps, &err);
    if (kind == READ_ONLY || kind == UNREADABLE)
        protect(disk.memory, PROT_READ | PROT_WRITE);
    if (rc < 0) {
        fprintf(stderr, "open: %s\n", err.text);
        return rc;
    }
    ck_assert_msg(
        sl_runner_open(&disk.housekeeper_runner, sl_recorder_housekeeper(disk.recorder), &(struct sl_runner_cfg){.cpu = -1}, &err) == 0,
        "%s", err.text);
    ck_assert_msg(sl_runner_open(&disk.recorder_runner, sl_recorder_agent(disk.recorder), &(struct sl_runner_cfg){.cpu = -1}, &err) == 0,
                  "%s", err.text);
    return 0;
}

static void close_disk(void)
{
    sl_runner_close(disk.recorder_runner);
    sl_runner_close(disk.housekeeper_runner);
    sl_recorder_close(disk.recorder);
    sl_sink_leave(disk.sink);
    ck_assert_int_eq(sl_fanout_close(disk.fanout, NULL), 0);
    sl_pool_close(disk.pool);
    sl_memory_close(disk.memory);
    sl_events_fini(&disk.events);
    memset(&disk, 0, sizeof(disk));
}

static void fill(const struct sl_frame *frame)
{
    static uint8_t bytes[1 << 20];

    if (!frame->slot->plane[0]) {
        made_payload(disk.number, frame->slot->data, disk.format.frame_bytes);
        return;
    }
    ck_assert_uint_le(disk.format.frame_bytes, sizeof(bytes));
    made_payload(disk.number, bytes, disk.format.frame_bytes);
    for (unsigned plane = 0; plane < disk.format.pixel->planes; plane++)
        memcpy(frame->slot->plane[plane], bytes + disk.format.offset[plane],
               (size_t)disk.format.bytesperline[plane] * disk.format.lines[plane]);
}

/* Publishes a frame as soon as a slot is free; pause_us between two. */
static void feed(uint64_t frames, unsigned pause_us)
{
    for (uint64_t end = disk.number + frames; disk.number < end;) {
        struct sl_frame *frame;

        sl_fanout_collect(disk.fanout);
        frame = sl_pool_acquire(disk.pool);
        if (!frame) {
            usleep(200);
            continue;
        }
        fill(frame);
        frame->flags = 0;
        frame->number = disk.number++;
        frame->sequence = (uint32_t)frame->number;
        frame->captured = disk.number;
        frame->bytesused = disk.format.frame_bytes;
        frame->time_ns = frame->dequeued_ns = sl_now_ns(&sl_clock_system);
        memset(frame->lost, 0, sizeof(frame->lost));
        sl_frame_filled(frame);
        sl_fanout_publish(disk.fanout, frame);
        if (pause_us)
            usleep(pause_us);
    }
}

static int check_frame(void *context, const struct sl_frame_record *record, const uint8_t *payload)
{
    static uint8_t wanted[1 << 20];

    ck_assert_uint_le(disk.format.frame_bytes, sizeof(wanted));
    made_payload(record->number, wanted, disk.format.frame_bytes);
    ck_assert_msg(memcmp(wanted, payload, disk.format.frame_bytes) == 0, "frame %llu", (unsigned long long)record->number);
    ++*(uint64_t *)context;
    return 0;
}

static void damaged(void *context, const char *line)
{
    (void)context;
    ck_abort_msg("%s", line);
}

/* Drains and reads everything back. */
static void finish(uint64_t frames)
{
    uint64_t seen = 0;
    const struct sl_verify_sink sink = {.context = &seen, .damage = damaged, .frame = check_frame};
    struct sl_verify_result result;
    struct sl_audit audit = {0};
    struct sl_error err = {""};
    char path[1024];
    int ended = 0;

    sl_recorder_drain(disk.recorder, false);
    for (unsigned ms = 0; sl_runner_running(disk.recorder_runner, &ended); ms++) {
        ck_assert_uint_lt(ms, 60000);
        usleep(1000);
    }
    ck_assert_int_eq(ended, -ESHUTDOWN);
    ck_assert_uint_eq(sl_recorder_counter(disk.recorder, SL_RECORDER_RECORDED), frames);
    for (uint64_t number = 1; sl_recorder_segment_path(disk.recorder, number, path, sizeof(path)) == 0; number++) {
        ck_assert_msg(sl_verify_file(path, &audit, &sink, &result, &err) == 0, "%s", err.text);
        ck_assert(result.info.finished);
    }
    ck_assert_uint_eq(seen, frames);
}

/* -- Tests -------------------------------------------------------------------------------------------------------------- */

START_TEST(test_build_directory)
{
    ck_assert_int_eq(open_disk("YUYV", 640, 360, HOST, (struct sl_recorder_cfg){.sync_interval_ns = SL_NS_PER_S}), 0);
    ck_assert(sl_recorder_path(disk.recorder)->direct);
    ck_assert(!sl_recorder_path(disk.recorder)->bounced);
    feed(60, 2000);
    finish(60);
    ck_assert_uint_eq(sl_recorder_counter(disk.recorder, SL_RECORDER_BYTES_COPIED), 0);
}
END_TEST

START_TEST(test_buffered_and_unregistered)
{
    ck_assert_int_eq(open_disk("UYVY", 64, 48, HOST, (struct sl_recorder_cfg){.buffered = true, .no_register = true}), 0);
    ck_assert(!sl_recorder_path(disk.recorder)->direct);
    ck_assert(!sl_recorder_path(disk.recorder)->registered);
    ck_assert_ptr_nonnull(strstr(sl_recorder_path(disk.recorder)->reason, "buffered"));
    feed(100, 0);
    finish(100);
}
END_TEST

START_TEST(test_rotation_in_threads)
{
    ck_assert_int_eq(open_disk("YUYV", 64, 48, HOST, (struct sl_recorder_cfg){.segment_bytes = 40 * 12288}), 0);
    feed(400, 500);
    finish(400);
    ck_assert_uint_ge(sl_recorder_counter(disk.recorder, SL_RECORDER_SEGMENTS), 10);
}
END_TEST

START_TEST(test_tmpfs)
{
    struct statfs stat;
    char path[1024];

    if (statfs("/dev/shm", &stat) || stat.f_type != TMPFS)
        return;
    ck_assert_int_eq(open_disk("YUYV", 64, 48, HOST, (struct sl_recorder_cfg){.dir = "/dev/shm"}), 0);
    ck_assert_ptr_nonnull(strstr(sl_recorder_path(disk.recorder)->reason, "tmpfs"));
    ck_assert(!sl_recorder_path(disk.recorder)->direct);
    feed(50, 0);
    finish(50);
    ck_assert_int_eq(sl_recorder_segment_path(disk.recorder, 1, path, sizeof(path)), 0);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

/* Payload and header page apart: two writes a frame, nothing copied. */
START_TEST(test_memory_apart)
{
    ck_assert_int_eq(open_disk("UYVY", 642, 358, APART, (struct sl_recorder_cfg){0}), 0);
    ck_assert(!sl_recorder_path(disk.recorder)->bounced);
    feed(60, 0);
    finish(60);
    ck_assert_uint_eq(sl_recorder_counter(disk.recorder, SL_RECORDER_BYTES_COPIED), 0);
}
END_TEST

/* A frame that ends one byte before a page: the tail needs a page more than the mapping has. */
START_TEST(test_memory_without_slack)
{
    ck_assert_int_eq(open_disk("GREY", 63, 65, APART, (struct sl_recorder_cfg){0}), 0);
    ck_assert_uint_eq(disk.format.frame_bytes, 4095);
    ck_assert(sl_recorder_path(disk.recorder)->bounced);
    feed(60, 0);
    finish(60);
    ck_assert_uint_eq(sl_recorder_counter(disk.recorder, SL_RECORDER_BYTES_COPIED), 60 * 4095);
}
END_TEST

START_TEST(test_memory_not_registrable)
{
    ck_assert_int_eq(open_disk("YUYV", 640, 360, READ_ONLY, (struct sl_recorder_cfg){0}), 0);
    ck_assert(!sl_recorder_path(disk.recorder)->registered);
    ck_assert(!sl_recorder_path(disk.recorder)->bounced);
    feed(60, 0);
    finish(60);
    ck_assert_uint_eq(sl_recorder_counter(disk.recorder, SL_RECORDER_BYTES_COPIED), 0);
}
END_TEST

START_TEST(test_memory_not_pinnable)
{
    ck_assert_int_eq(open_disk("YUYV", 640, 360, UNREADABLE, (struct sl_recorder_cfg){0}), 0);
    ck_assert(sl_recorder_path(disk.recorder)->registered); /* the copies' memory is */
    ck_assert(sl_recorder_path(disk.recorder)->bounced);
    ck_assert_ptr_nonnull(strstr(sl_recorder_path(disk.recorder)->reason, "Bad address"));
    feed(60, 0);
    finish(60);
    ck_assert_uint_eq(sl_recorder_counter(disk.recorder, SL_RECORDER_BYTES_COPIED), 60 * 640 * 360 * 2);
}
END_TEST

START_TEST(test_memory_in_planes)
{
    ck_assert_int_eq(open_disk("NV12", 128, 96, PLANES, (struct sl_recorder_cfg){0}), 0);
    ck_assert(sl_recorder_path(disk.recorder)->bounced);
    ck_assert_ptr_nonnull(strstr(sl_recorder_path(disk.recorder)->reason, "plane"));
    feed(60, 0);
    finish(60);
    ck_assert_uint_eq(sl_recorder_counter(disk.recorder, SL_RECORDER_BYTES_COPIED), 60 * 128 * 96 * 3 / 2);
}
END_TEST

START_TEST(test_no_such_directory)
{
    ck_assert_int_eq(open_disk("YUYV", 64, 48, HOST, (struct sl_recorder_cfg){.dir = "/nonexistent/recordings"}), -ENOENT);
}
END_TEST

/* The memory-lock limit of a process without privileges: registering is refused, recording is not. */
START_TEST(test_memory_lock_limit)
{
    struct rlimit limit = {256 << 10, 256 << 10}; /* enough for the ring itself, not for frames */

    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    if (geteuid() == 0)
        ck_assert_int_eq(seteuid(65534), 0);
    if (faccessat(AT_FDCWD, scratch_path("."), W_OK, AT_EACCESS)) /* a directory above is root's */
        return;
    ck_assert_int_eq(open_disk("YUYV", 640, 360, HOST, (struct sl_recorder_cfg){0}), 0);
    ck_assert(!sl_recorder_path(disk.recorder)->registered);
    ck_assert_ptr_nonnull(strstr(sl_recorder_path(disk.recorder)->reason, "memory-lock"));
    feed(30, 0);
    finish(30);
}
END_TEST

/* 60 frames a second for a second and a half: what the recorder's thread asks of the kernel. */
START_TEST(test_system_calls_per_frame)
{
    uint64_t before, after;

    ck_assert_int_eq(open_disk("YUYV", 64, 48, HOST, (struct sl_recorder_cfg){.sync = SL_SYNC_SEGMENT}), 0);
    feed(5, 16667);
    before = sl_recorder_counter(disk.recorder, SL_RECORDER_SUBMITS);
    feed(90, 16667);
    after = sl_recorder_counter(disk.recorder, SL_RECORDER_SUBMITS);
    ck_assert_msg(after - before <= 90 * 3, "%llu calls for 90 frames", (unsigned long long)(after - before));
    ck_assert_uint_ge(after - before, 90);
    finish(95);
}
END_TEST

static void setup(void)
{
    scratch_open_on_disk();
}

static void teardown(void)
{
    if (disk.memory)
        close_disk();
    if (geteuid() != 0)
        ck_assert_int_eq(seteuid(getuid()), 0);
    scratch_close();
}

int main(void)
{
    Suite *suite = suite_create("writer on real disks");
    TCase *tcase = tcase_create("disk");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_build_directory);
    tcase_add_test(tcase, test_buffered_and_unregistered);
    tcase_add_test(tcase, test_rotation_in_threads);
    tcase_add_test(tcase, test_tmpfs);
    tcase_add_test(tcase, test_memory_apart);
    tcase_add_test(tcase, test_memory_without_slack);
    tcase_add_test(tcase, test_memory_not_registrable);
    tcase_add_test(tcase, test_memory_not_pinnable);
    tcase_add_test(tcase, test_memory_in_planes);
    tcase_add_test(tcase, test_no_such_directory);
    tcase_add_test(tcase, test_memory_lock_limit);
    tcase_add_test(tcase, test_system_calls_per_frame);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
