/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice bench appliance`: the appliance itself with the test pattern, as fast as slots come home: what is measured is what records,
 * threads, pattern and all. Results are JSON on the standard output; the recording is removed unless --keep.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "app/bench.h"
#include "app/commands.h"
#include "app/config.h"
#include "app/pipeline.h"
#include "app/summary.h"
#include "core/log.h"

struct bench_args {
    const char *dir, *size, *format, *queue_depth, *checksum, *hugepages, *ring;
    uint64_t frames;
    bool keep;
};

static const char usage[] =
    "usage: sluice bench appliance [--dir DIR] [--frames N] [--size WxH] [--format F] [--queue-depth N] [--ring N]\n"
    "                              [--checksum crc32|none] [--hugepages auto|require|no] [--keep]\n\n"
    "Records N frames of the test pattern (1200) into DIR (.) as fast as the disk takes them, the last fdatasync included, and\n"
    "prints speed, CPU time and the path that was taken as JSON.\n";

static int parse_frames(const char *text, uint64_t *frames)
{
    char *end;

    errno = 0;
    *frames = strtoull(text, &end, 10);
    return errno || end == text || *end || *text == '-' || *frames == 0 ? -EINVAL : 0;
}

/* 0, 1 when help was printed, or -EINVAL. */
static int parse_args(struct bench_args *args, int argc, char **argv)
{
    enum { DIR_ = 1, FRAMES, SIZE, FORMAT, QUEUE, CHECKSUM, PAGES, RING, KEEP };
    static const struct option options[] = {{"dir", required_argument, NULL, DIR_},
                                            {"frames", required_argument, NULL, FRAMES},
                                            {"size", required_argument, NULL, SIZE},
                                            {"format", required_argument, NULL, FORMAT},
                                            {"queue-depth", required_argument, NULL, QUEUE},
                                            {"checksum", required_argument, NULL, CHECKSUM},
                                            {"hugepages", required_argument, NULL, PAGES},
                                            {"ring", required_argument, NULL, RING},
                                            {"keep", no_argument, NULL, KEEP},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char **texts[] = {
        [DIR_] = &args->dir,          [SIZE] = &args->size,       [FORMAT] = &args->format, [QUEUE] = &args->queue_depth,
        [CHECKSUM] = &args->checksum, [PAGES] = &args->hugepages, [RING] = &args->ring};
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 1;
        }
        if (option == '?')
            return -EINVAL;
        if (option == KEEP)
            args->keep = true;
        else if (option != FRAMES)
            *texts[option] = optarg;
        else if (parse_frames(optarg, &args->frames) < 0) {
            fprintf(stderr, "sluice bench: --frames takes a whole number above 0, not %s\n", optarg);
            return -EINVAL;
        }
    }
    if (optind != argc) {
        fputs(usage, stderr);
        return -EINVAL;
    }
    return 0;
}

static int make_config(const struct bench_args *args, struct sl_config *config, struct sl_error *err)
{
    char text[4096];
    int bytes = snprintf(text, sizeof text,
                         "[sensor]\nname = bench\nsource = pattern\npaced = no\nformat = %s\nsize = %s\n"
                         "[ring]\ndepth = %s\nhugepages = %s\n"
                         "[record]\ndir = %s\nqueue_depth = %s\nchecksum = %s\nsync = segment\nsegment_time = 0s\nkeep_free = 0\n",
                         args->format, args->size, args->ring, args->hugepages, args->dir, args->queue_depth, args->checksum);

    if (bytes >= (int)sizeof text)
        return sl_fail(err, -EINVAL, "bench: arguments too long");
    return sl_config_parse(config, NULL, "bench", text, (size_t)bytes, NULL, 0, err);
}

static double cpu_seconds(const struct rusage *usage_of_run)
{
    return (double)(usage_of_run->ru_utime.tv_sec + usage_of_run->ru_stime.tv_sec) +
           (double)(usage_of_run->ru_utime.tv_usec + usage_of_run->ru_stime.tv_usec) / 1e6;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2 * SL_NS_PER_MS}, NULL);
}

/* Waits for the sensor's end and the last completion. 0 or the error of the agent that failed. */
static int run_to_end(struct sl_pipeline *p)
{
    int sensor = 0, recorder = 0;

    while (sl_runner_running(p->capture_runner, &sensor) && sl_runner_running(p->recorder_runner, &recorder))
        nap();
    sl_pipeline_stop_capture(p, 0);
    sl_recorder_drain(p->recorder, false);
    while (!sl_recorder_drained(p->recorder) && sl_runner_running(p->recorder_runner, &recorder))
        nap();
    sl_runner_running(p->recorder_runner, &recorder);
    if (sensor < 0 && sensor != -ESHUTDOWN)
        return sensor;
    return recorder < 0 && recorder != -ESHUTDOWN ? recorder : 0;
}

static void remove_files(const struct sl_pipeline *p)
{
    char path[4096];

    for (uint64_t n = 1; sl_recorder_segment_path(p->recorder, n, path, sizeof path) == 0; n++)
        unlink(path);
}

static void print_result(const struct sl_account *account, const struct sl_run_facts *facts, uint64_t slot_bytes)
{
    json_t *result = sl_summary_json(account, facts);
    double gb = (double)account->recorder.counter[SL_RECORDER_RECORDED] * (double)slot_bytes / 1e9;

    json_object_set_new(result, "mb_per_s", json_real(facts->seconds > 0 ? gb * 1e3 / facts->seconds : 0));
    json_object_set_new(result, "s_per_gb", json_real(gb > 0 ? (facts->cpu_user_s + facts->cpu_sys_s) / gb : 0));
    json_dumpf(result, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
    putchar('\n');
    json_decref(result);
}

static int bench_appliance(const struct bench_args *args, const struct sl_config *config)
{
    const struct sl_pipeline_cfg cfg = {.config = config, .clock = &sl_clock_system, .limit.frames = args->frames};
    struct sl_run_facts facts = {.config_path = "bench appliance", .source = "pattern"};
    struct rusage before, after;
    struct sl_pipeline p;
    struct sl_error err = {{0}};

    if (sl_pipeline_open(&p, &cfg, &err) < 0) {
        sl_log(SL_LOG_ERROR, "bench: %s", err.text);
        return SL_EXIT_FAILED;
    }
    getrusage(RUSAGE_SELF, &before);
    int64_t begin_ns = sl_now_ns(p.clock);
    int rc = sl_pipeline_start(&p, config, &err);

    if (rc < 0)
        sl_log(SL_LOG_ERROR, "bench: %s", err.text);
    else if ((rc = run_to_end(&p)) < 0)
        sl_log(SL_LOG_ERROR, "bench: %s", strerror(-rc));
    facts.seconds = (double)(sl_now_ns(p.clock) - begin_ns) / 1e9;
    getrusage(RUSAGE_SELF, &after);
    facts.cpu_user_s = (double)after.ru_utime.tv_sec + (double)after.ru_utime.tv_usec / 1e6 - (double)before.ru_utime.tv_sec -
                       (double)before.ru_utime.tv_usec / 1e6;
    facts.cpu_sys_s = cpu_seconds(&after) - cpu_seconds(&before) - facts.cpu_user_s;
    if (rc == 0) {
        struct sl_account account;
        struct sl_books books;

        sl_pipeline_account(&p, &account);
        sl_account_books(&account, &books);
        facts.exit_code = sl_books_lost(&books) || !sl_books_balanced(&books) ? SL_EXIT_LOST : SL_EXIT_OK;
        print_result(&account, &facts, p.memory->slot[0].data_bytes + SL_PAGE_BYTES);
    }
    if (!args->keep)
        remove_files(&p);
    sl_pipeline_close(&p);
    return rc < 0 ? SL_EXIT_FAILED : facts.exit_code;
}

int sl_bench_appliance(int argc, char **argv)
{
    struct bench_args args = {.dir = ".",
                              .size = "1920x1080",
                              .format = "YUYV",
                              .queue_depth = "4",
                              .checksum = "none",
                              .hugepages = "auto",
                              .ring = "16",
                              .frames = 1200};
    struct sl_config config;
    struct sl_error err = {{0}};
    int rc = parse_args(&args, argc, argv);

    if (rc)
        return rc > 0 ? SL_EXIT_OK : SL_EXIT_USAGE;
    if (make_config(&args, &config, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return SL_EXIT_USAGE;
    }
    int code = bench_appliance(&args, &config);

    sl_config_fini(&config);
    return code;
}
