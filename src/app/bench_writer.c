/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench writer`: the recorder, fed as fast as it gives frames back, against a real disk.
 *
 * Every slot is filled once, before the clock starts; then the same slots are published again and again, so that what is measured is
 * the way from a frame in memory to a finished, durable file and nothing else. For the same reason the recorder's agent works in the
 * main thread, which publishes between its turns: no wake-ups between threads are in the figures. The house-keeper has its own.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/bench.h"
#include "app/commands.h"
#include "core/log.h"
#include "writer/writer.h"

enum { EVENTS = 64, SPARE_SLOTS = 4 };

static const char usage[] =
    "usage: sluice bench writer [--dir D] [--frames N] [--size WxH] [--format F] [--queue-depth N] [--ring N]\n"
    "                           [--checksum crc32|none] [--hugepages auto|require|no] [--keep]\n\n"
    "Records frames from memory as fast as the disk takes them, syncs the file, removes it, and prints one JSON object.\n"
    "  --dir          where to write (.)\n"
    "  --frames       how many (1200)\n"
    "  --size         of a frame (1920x1080)\n"
    "  --format       pixel format (YUYV)\n"
    "  --queue-depth  frames being written at once (4)\n"
    "  --ring         frames in memory (twice the queue depth and four)\n"
    "  --checksum     CRC-32 over each frame (none)\n"
    "  --hugepages    of the frames' memory (auto)\n"
    "  --keep         leave the file there\n";

struct bench {
    const char *dir, *format_name;
    uint64_t frames;
    uint32_t width, height;
    unsigned queue_depth, slots;
    enum sl_checksum checksum;
    enum sl_hugepages hugepages;
    bool keep;

    struct sl_video_format format;
    struct sl_memory *memory;
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_sink *sink;
    struct sl_events events;
    struct sl_recorder *recorder;
    struct sl_runner *housekeeper_runner;
    double seconds, user_s, sys_s;
};

/* -- Arguments ---------------------------------------------------------------------------------------------------------- */

static int bad(const char *option, const char *value)
{
    fprintf(stderr, "sluice: bench: --%s: '%s' is not possible; see sluice bench writer --help\n", option, value);
    return -EINVAL;
}

static int take_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value < min || value > max)
        return bad(option, text);
    *out = value;
    return 0;
}

static int take_choice(const char *option, const char *text, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0)
            return i;
    return bad(option, text);
}

static int take_size(struct bench *b, const char *text)
{
    char end;

    if (sscanf(text, "%ux%u%c", &b->width, &b->height, &end) != 2)
        return bad("size", text);
    return 0;
}

static int take_option(struct bench *b, int option)
{
    static const char *const checksums[] = {"auto", "crc32", "none"};
    static const char *const hugepages[] = {"auto", "require", "no"};
    uint64_t number;
    int rc = 0;

    switch (option) {
    case 'd':
        b->dir = optarg;
        break;
    case 'n':
        rc = take_number("frames", optarg, 1, UINT32_MAX, &b->frames);
        break;
    case 's':
        rc = take_size(b, optarg);
        break;
    case 'f':
        b->format_name = optarg;
        break;
    case 'q':
        rc = take_number("queue-depth", optarg, 1, 64, &number);
        b->queue_depth = rc == 0 ? (unsigned)number : 0;
        break;
    case 'r':
        rc = take_number("ring", optarg, 1, 4096, &number);
        b->slots = rc == 0 ? (unsigned)number : 0;
        break;
    case 'c':
        rc = take_choice("checksum", optarg, checksums, 3);
        b->checksum = (enum sl_checksum)rc;
        break;
    case 'p':
        rc = take_choice("hugepages", optarg, hugepages, 3);
        b->hugepages = (enum sl_hugepages)rc;
        break;
    case 'k':
        b->keep = true;
        break;
    default:
        fprintf(stderr, "sluice: bench: see sluice bench writer --help\n");
        rc = -EINVAL;
        break;
    }
    return rc < 0 ? rc : 0;
}

/* 1: help was printed. */
static int parse(struct bench *b, int argc, char **argv)
{
    static const struct option options[] = {{"dir", required_argument, NULL, 'd'},
                                            {"frames", required_argument, NULL, 'n'},
                                            {"size", required_argument, NULL, 's'},
                                            {"format", required_argument, NULL, 'f'},
                                            {"checksum", required_argument, NULL, 'c'},
                                            {"queue-depth", required_argument, NULL, 'q'},
                                            {"keep", no_argument, NULL, 'k'},
                                            {"hugepages", required_argument, NULL, 'p'},
                                            {"ring", required_argument, NULL, 'r'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const struct sl_pixel_format *pixel;
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 1;
        }
        if (take_option(b, option) < 0)
            return -EINVAL;
    }
    if (optind != argc) {
        fprintf(stderr, "sluice: bench writer: what is '%s'?\n%s", argv[optind], usage);
        return -EINVAL;
    }
    pixel = sl_pixel_format_by_name(b->format_name);
    if (!pixel)
        return bad("format", b->format_name);
    if (sl_video_format_tight(&b->format, pixel, b->width, b->height) < 0)
        return bad("size", "that width or height for this format");
    b->format.fps = (struct sl_rational){60, 1};
    return 0;
}

/* -- The run ------------------------------------------------------------------------------------------------------------ */

static int open_all(struct bench *b, struct sl_error *err)
{
    unsigned slots = b->slots ? b->slots : 2 * b->queue_depth + SPARE_SLOTS;
    struct sl_sink_cfg sink = {.name = "record", .limit = SL_SINK_WHOLE_POOL};
    struct sl_recorder_cfg cfg = {
        .dir = b->dir,
        .name = "bench",
        .description = "sluice bench writer",
        .queue_depth = b->queue_depth,
        .checksum = b->checksum,
        .sync = SL_SYNC_INTERVAL,
        .sync_interval_ns = SL_NS_PER_S,
    };
    struct sl_recorder_deps deps = {.clock = &sl_clock_system, .format = &b->format, .events = &b->events};
    int rc = sl_events_init(&b->events, EVENTS);

    if (rc < 0)
        return sl_fail(err, rc, "events: %s", strerror(-rc));
    rc = sl_memory_host(&b->memory, slots, b->format.frame_bytes, b->hugepages, err);
    if (rc == 0)
        rc = sl_pool_open(&b->pool, b->memory, err);
    if (rc == 0)
        rc = sl_fanout_open(&b->fanout, b->pool, 0, err);
    if (rc == 0)
        rc = sl_fanout_add(b->fanout, &sink, &b->sink, err);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < slots; i++)
        memset(b->memory->slot[i].data, (int)(0x10 + i), b->format.frame_bytes);
    deps.memory = b->memory;
    deps.sink = b->sink;
    return sl_recorder_open(&b->recorder, &cfg, &deps, err);
}

static void close_all(struct bench *b)
{
    sl_runner_close(b->housekeeper_runner);
    sl_recorder_close(b->recorder);
    sl_sink_leave(b->sink);
    sl_fanout_close(b->fanout, NULL);
    sl_pool_close(b->pool);
    sl_memory_close(b->memory);
    sl_events_fini(&b->events);
}

/* Publishes every frame that is free; *number is the next one's. */
static void publish(struct bench *b, uint64_t *number)
{
    struct sl_frame *frame;

    sl_fanout_collect(b->fanout);
    while (*number < b->frames && (frame = sl_pool_acquire(b->pool))) {
        frame->flags = 0;
        frame->number = *number;
        frame->sequence = (uint32_t)*number;
        frame->bytesused = b->format.frame_bytes;
        frame->captured = ++*number;
        frame->time_ns = frame->dequeued_ns = sl_now_ns(&sl_clock_system);
        memset(frame->lost, 0, sizeof(frame->lost));
        sl_frame_filled(frame);
        sl_fanout_publish(b->fanout, frame);
    }
}

/* What the recorder's runner would do, with the frames published between its turns. Returns what ended it. */
static int work(struct bench *b)
{
    const struct sl_agent *agent = sl_recorder_agent(b->recorder);
    uint64_t number = 0;
    int rc = agent->on_start(agent->self);

    while (rc >= 0) {
        publish(b, &number);
        if (number == b->frames)
            sl_recorder_drain(b->recorder, false);
        rc = agent->do_work(agent->self);
        if (rc == 0)
            agent->idle(agent->self);
    }
    agent->on_stop(agent->self);
    return rc;
}

static double cpu_s(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

static int measure(struct bench *b, struct sl_error *err)
{
    static const struct sl_runner_cfg anywhere = {.cpu = -1};
    struct rusage before, after;
    int64_t begin_ns;
    int rc = sl_runner_open(&b->housekeeper_runner, sl_recorder_housekeeper(b->recorder), &anywhere, err);

    if (rc < 0)
        return rc;
    getrusage(RUSAGE_SELF, &before);
    begin_ns = sl_now_ns(&sl_clock_system);
    rc = work(b);
    b->seconds = (double)(sl_now_ns(&sl_clock_system) - begin_ns) / 1e9;
    getrusage(RUSAGE_SELF, &after);
    b->user_s = cpu_s(after.ru_utime) - cpu_s(before.ru_utime);
    b->sys_s = cpu_s(after.ru_stime) - cpu_s(before.ru_stime);
    return rc == -ESHUTDOWN ? 0 : sl_fail(err, rc, "%s: the recorder ended: %s", b->dir, strerror(-rc));
}

/* -- The result --------------------------------------------------------------------------------------------------------- */

static json_t *quantiles(const struct sl_histogram *histogram)
{
    return json_pack("{s:I, s:I, s:I, s:I}", "p50", (json_int_t)sl_histogram_quantile(histogram, 0.5), "p99",
                     (json_int_t)sl_histogram_quantile(histogram, 0.99), "p999", (json_int_t)sl_histogram_quantile(histogram, 0.999), "max",
                     (json_int_t)sl_histogram_quantile(histogram, 1.0));
}

static int print(const struct bench *b)
{
    const struct sl_recorder_path *path = sl_recorder_path(b->recorder);
    uint64_t recorded = sl_recorder_counter(b->recorder, SL_RECORDER_RECORDED);
    uint64_t submits = sl_recorder_counter(b->recorder, SL_RECORDER_SUBMITS);
    double bytes = (double)sl_recorder_counter(b->recorder, SL_RECORDER_BYTES);
    json_t *what = json_pack("{s:s, s:s, s:s, s:i, s:i, s:I, s:i}", "bench", "writer", "dir", b->dir, "format", b->format.pixel->name,
                             "width", (int)b->width, "height", (int)b->height, "frame_bytes", (json_int_t)b->format.frame_bytes,
                             "queue_depth", (int)b->queue_depth);
    json_t *how = json_pack("{s:I, s:I, s:f, s:f, s:{s:f, s:f, s:f}, s:I, s:f, s:I, s:I}", "frames", (json_int_t)b->frames, "recorded",
                            (json_int_t)recorded, "seconds", b->seconds, "mb_per_s", bytes / 1e6 / b->seconds, "cpu", "user_s", b->user_s,
                            "sys_s", b->sys_s, "s_per_gb", (b->user_s + b->sys_s) / (bytes / 1e9), "submits", (json_int_t)submits,
                            "submits_per_frame", (double)submits / (double)recorded, "bytes_copied",
                            (json_int_t)sl_recorder_counter(b->recorder, SL_RECORDER_BYTES_COPIED), "syncs",
                            (json_int_t)sl_recorder_counter(b->recorder, SL_RECORDER_SYNCS));
    json_t *on = json_pack("{s:{s:b, s:b, s:b, s:b, s:s}, s:{s:s, s:s}, s:o}", "path", "direct", path->direct, "registered",
                           path->registered, "bounced", path->bounced, "checksum", path->checksum, "reason", path->reason, "memory", "kind",
                           b->memory->kind, "pages", b->memory->pages, "write_us", quantiles(sl_recorder_write_us(b->recorder)));
    int rc = !what || !how || !on || json_object_update(what, how) || json_object_update(what, on) ||
             json_dumpf(what, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));

    json_decref(what);
    json_decref(how);
    json_decref(on);
    putchar('\n');
    return rc || fflush(stdout) ? -EIO : 0;
}

static void remove_file(const struct bench *b)
{
    char path[4096];

    if (!b->keep && sl_recorder_segment_path(b->recorder, 1, path, sizeof(path)) == 0)
        unlink(path);
}

int sl_bench_writer(int argc, char **argv)
{
    struct bench b = {.dir = ".",
                      .format_name = "YUYV",
                      .frames = 1200,
                      .width = 1920,
                      .height = 1080,
                      .queue_depth = 4,
                      .checksum = SL_CHECKSUM_NONE,
                      .hugepages = SL_HUGEPAGES_AUTO};
    struct sl_error err = {""};
    int rc = parse(&b, argc, argv);

    if (rc)
        return rc > 0 ? SL_EXIT_OK : SL_EXIT_USAGE;
    rc = open_all(&b, &err);
    if (rc == 0)
        rc = measure(&b, &err);
    if (rc < 0)
        sl_log(SL_LOG_ERROR, "bench: %s", err.text);
    else
        rc = print(&b);
    if (b.recorder)
        remove_file(&b);
    close_all(&b);
    return rc < 0 ? SL_EXIT_FAILED : SL_EXIT_OK;
}
