/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/config.h"
#include "app/ledger.h"
#include "app/pipeline.h"
#include "app/summary.h"
#include "app/supervisor.h"
#include "app/trigger.h"
#include "core/log.h"
#include "core/units.h"

enum { MAX_SETS = 64 };

struct run_args {
    const char *config_path;
    const char *summary_path;
    const char *set[MAX_SETS];
    unsigned sets;
    struct sl_run_limit limit;
};

static const char *const source_names[] = {"v4l2", "pattern", "replay"};

static const char usage[] =
    "usage: sluice run CONFIG [--seconds S] [--frames N] [--set SECTION.KEY=VALUE]... [--summary FILE|-]\n\n"
    "Records the sensor until --seconds or --frames of its time grid have passed, or a signal comes.\n"
    "  SIGINT, SIGTERM, SIGHUP  orderly end: every queued frame is written; a second one gives the queued frames up\n"
    "  SIGUSR1, SIGUSR2 start and stop keeping frames, with [record] prerecord\n"
    "  --summary        the account of the run as JSON, into a file or to the standard output\n";

static int parse_seconds(const char *text, int64_t *out_ns)
{
    char *end;

    errno = 0;
    double seconds = strtod(text, &end);

    if (errno || end == text || *end || !(seconds > 0) || seconds > 1e9)
        return -EINVAL;
    *out_ns = (int64_t)(seconds * 1e9 + 0.5);
    return 0;
}

static int parse_frames(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    unsigned long long frames = strtoull(text, &end, 10);

    if (errno || end == text || *end || *text == '-' || frames == 0)
        return -EINVAL;
    *out = frames;
    return 0;
}

static int usage_error(const char *what, const char *value)
{
    fprintf(stderr, "sluice run: %s%s%s\n%s", what, value ? " " : "", value ? value : "", usage);
    return -EINVAL;
}

static int take_option(struct run_args *args, int option)
{
    switch (option) {
    case 's':
        return parse_seconds(optarg, &args->limit.time_ns) < 0 ? usage_error("--seconds takes a number above 0, not", optarg) : 0;
    case 'n':
        return parse_frames(optarg, &args->limit.frames) < 0 ? usage_error("--frames takes a whole number above 0, not", optarg) : 0;
    case 'S':
        if (args->sets == MAX_SETS)
            return usage_error("too many --set options", NULL);
        args->set[args->sets++] = optarg;
        return 0;
    case 'j':
        args->summary_path = optarg;
        return 0;
    default:
        fputs(usage, stderr);
        return -EINVAL;
    }
}

/* 0, 1 when help was printed, or -EINVAL. */
static int parse_args(struct run_args *args, int argc, char **argv)
{
    static const struct option options[] = {{"seconds", required_argument, NULL, 's'}, {"frames", required_argument, NULL, 'n'},
                                            {"set", required_argument, NULL, 'S'},     {"summary", required_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(usage, stdout);
            return 1;
        }
        if (take_option(args, option) < 0)
            return -EINVAL;
    }
    if (optind != argc - 1)
        return usage_error(optind == argc ? "which config file?" : "one config file only; the second is",
                           optind == argc ? NULL : argv[optind + 1]);
    args->config_path = argv[optind];
    return 0;
}

static void write_start(struct sl_ledger *ledger, const struct run_args *args, const struct sl_pipeline *p)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    const struct sl_recorder_path *path = sl_recorder_path(p->recorder);

    sl_ledger_write(ledger, "start",
                    json_pack("{s:s, s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:b, s:s, s:s}", "config",
                              args->config_path, "device", info->device, "format", info->format.pixel->name, "width",
                              (int)info->format.width, "height", (int)info->format.height, "fps_num", (int)info->format.fps.num, "fps_den",
                              (int)info->format.fps.den, "memory", p->memory->kind, "pages", p->memory->pages, "slots",
                              (int)p->memory->slots, "ring_frames", (int)p->ring_frames, "direct", path->direct, "registered",
                              path->registered, "bounced", path->bounced, "checksum", path->checksum, "reason", path->reason, "granted",
                              info->granted));
}

static void say_path(const struct sl_pipeline *p)
{
    if (sl_capture_info(p->capture)->granted[0])
        sl_log(SL_LOG_INFO, "sensor: %s", sl_capture_info(p->capture)->granted);
    if (p->memory_reason[0])
        sl_log(SL_LOG_INFO, "memory: %s (the device's own buffers are used)", p->memory_reason);
    if (sl_recorder_path(p->recorder)->reason[0])
        sl_log(SL_LOG_INFO, "record: %s", sl_recorder_path(p->recorder)->reason);
    if (sl_recorder_path(p->recorder)->warning[0])
        sl_log(SL_LOG_WARNING, "record: %s", sl_recorder_path(p->recorder)->warning);
}

static int exit_code(const struct sl_account *account, const struct sl_books *books, enum sl_run_end end)
{
    if (end == SL_END_RECORDER || end == SL_END_START)
        return SL_EXIT_FAILED;
    if (account->capture.counter[SL_CAPTURE_CAPTURED] == 0 && (end == SL_END_SENSOR || books->lost[SL_LOSS_DEVICE_GONE]))
        return SL_EXIT_FAILED;
    if (end == SL_END_SENSOR || end == SL_END_DISK_FULL || sl_books_lost(books) || !sl_books_balanced(books))
        return SL_EXIT_LOST;
    return SL_EXIT_OK;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

/* `summary` is taken; NULL: there was no memory for it. False: it could not be written, and that was logged. */
static bool write_summary(const struct run_args *args, json_t *summary)
{
    struct sl_error err = {{0}};
    bool written = summary && sl_summary_write(summary, args->summary_path, &err) == 0;

    if (!written)
        sl_log(SL_LOG_ERROR, "%s", summary ? err.text : "no memory for the summary");
    json_decref(summary);
    return written;
}

static int finish(const struct sl_outcome *outcome, struct sl_ledger *ledger, const struct run_args *args, struct sl_run_facts *facts)
{
    const struct sl_account *account = &outcome->account;
    struct sl_books books;
    struct rusage usage_of_run;

    getrusage(RUSAGE_SELF, &usage_of_run);
    facts->cpu_user_s = seconds_of(usage_of_run.ru_utime);
    facts->cpu_sys_s = seconds_of(usage_of_run.ru_stime);
    sl_account_books(account, &books);
    facts->exit_code = exit_code(account, &books, outcome->end);
    facts->reason = sl_run_end_name(outcome->end);
    facts->error = outcome->err.text[0] ? outcome->err.text : outcome->error ? strerror(-outcome->error) : NULL;
    json_t *stop = json_pack("{s:s, s:i, s:o}", "reason", facts->reason, "exit", facts->exit_code, "frames", sl_frames_json(account));

    if (facts->error)
        json_object_set_new(stop, "error", json_string(facts->error));
    sl_ledger_write(ledger, "stop", stop);
    if (!sl_books_balanced(&books))
        sl_log(SL_LOG_ERROR, "the books do not balance: this is a defect of sluice, please report it with the ledger");
    if (args->summary_path && !write_summary(args, sl_summary_json(account, facts)))
        facts->exit_code = SL_EXIT_FAILED;
    if (!args->summary_path || strcmp(args->summary_path, "-") != 0)
        sl_summary_print(account, facts, stdout);
    return facts->exit_code;
}

/* The run did not begin. */
static int fail(const struct run_args *args, const struct sl_error *err)
{
    struct sl_run_facts facts = {
        .config_path = args->config_path, .exit_code = SL_EXIT_FAILED, .reason = "start_failed", .error = err->text};

    sl_log(SL_LOG_ERROR, "%s", err->text);
    if (args->summary_path)
        write_summary(args, sl_summary_failed_json(&facts));
    return SL_EXIT_FAILED;
}

static void say_error(const struct sl_outcome *outcome)
{
    if (outcome->err.text[0])
        sl_log(SL_LOG_ERROR, "%s", outcome->err.text);
    else if (outcome->error)
        sl_log(SL_LOG_ERROR, "%s: %s", outcome->end == SL_END_RECORDER ? "recorder" : "sensor", strerror(-outcome->error));
}

/* The pipeline is open; it is closed on the way. */
static int supervise(struct sl_supervisor *supervisor, const struct run_args *args)
{
    const struct sl_config *config = supervisor->cfg.config;
    const struct sl_clock *clock = supervisor->cfg.clock;
    struct sl_pipeline *p = supervisor->pipeline;
    struct sl_run_facts facts = {.config_path = args->config_path, .source = source_names[config->sensor.source]};
    struct sl_error err = {{0}};
    struct sl_outcome outcome;
    char ledger_path[4096];
    int code;

    if (args->limit.time_ns)
        supervisor->time_limit_ns = args->limit.time_ns + config->sensor.stall_timeout + SL_NS_PER_S;
    snprintf(ledger_path, sizeof ledger_path, "%s", sl_recorder_ledger_path(p->recorder));
    if (sl_ledger_open(&supervisor->ledger, ledger_path, clock, &err) < 0) {
        sl_pipeline_close(p);
        return fail(args, &err);
    }
    write_start(supervisor->ledger, args, p);
    say_path(p);

    int64_t begin_ns = sl_now_ns(clock);

    sl_supervise(supervisor, &outcome);
    facts.seconds = (double)(sl_now_ns(clock) - begin_ns) / 1e9;
    if (outcome.end == SL_END_START && !outcome.account.openings) {
        sl_ledger_discard(supervisor->ledger, ledger_path);
        return fail(args, &outcome.err);
    }
    say_error(&outcome);
    code = finish(&outcome, supervisor->ledger, args, &facts);
    sl_ledger_close(supervisor->ledger);
    return code;
}

static int run(const struct run_args *args, const struct sl_config *config)
{
    struct sl_pipeline pipeline;
    struct sl_error err = {{0}};
    struct sl_trigger trigger;
    struct sl_service service;
    struct sl_sensor_script script;
    struct sl_supervisor supervisor = {.cfg = {.config = config, .clock = &sl_clock_system, .limit = args->limit, .script = &script},
                                       .pipeline = &pipeline,
                                       .trigger = &trigger,
                                       .service = &service,
                                       .status = isatty(STDERR_FILENO)};

    if (args->summary_path && sl_summary_writable(args->summary_path, &err) < 0) {
        sl_log(SL_LOG_ERROR, "%s", err.text);
        return SL_EXIT_FAILED;
    }
    sl_sensor_script_init(&script, config->fault.sensor, config->fault.sensors); /* a config holds no more than a script may */
    if (config->realtime.lock_memory && mlockall(MCL_CURRENT | MCL_FUTURE) < 0) {
        sl_fail(&err, -errno,
                "realtime: mlockall: %s; raise the memory-lock limit (LimitMEMLOCK=infinity in the systemd unit, or ulimit -l unlimited), "
                "or set lock_memory = no",
                strerror(errno));
        return fail(args, &err);
    }
    int signal_fd = sl_supervisor_signals();

    if (signal_fd < 0) {
        sl_fail(&err, signal_fd, "signalfd: %s", strerror(-signal_fd));
        return fail(args, &err);
    }
    if (sl_trigger_init(&trigger, config->record.trigger, &err) < 0) {
        close(signal_fd);
        return fail(args, &err);
    }
    supervisor.signal_fd = signal_fd;
    if (sl_service_open(&service, &err) < 0) /* a recording is worth more than a manager that hears of it */
        sl_log(SL_LOG_WARNING, "%s: no service manager is told of this run", err.text);

    int code = sl_pipeline_open(&pipeline, &supervisor.cfg, &err) < 0 ? fail(args, &err) : supervise(&supervisor, args);

    sl_service_close(&service);
    sl_trigger_fini(&trigger);
    close(signal_fd);
    return code;
}

int sl_cmd_run(int argc, char **argv)
{
    struct run_args args = {0};
    struct sl_config config;
    struct sl_error err = {{0}};
    int rc = parse_args(&args, argc, argv);

    if (rc)
        return rc > 0 ? SL_EXIT_OK : SL_EXIT_USAGE;
    if (sl_config_load(&config, NULL, args.config_path, args.set, args.sets, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return SL_EXIT_USAGE;
    }
    int code = run(&args, &config);

    sl_config_fini(&config);
    return code;
}
