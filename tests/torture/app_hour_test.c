/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An hour of streaming, simulated: the run as the appliance makes it, with its supervisor, under faults of sensor, disk and machine that
 * change every few seconds, on a clock that runs some hundred times as fast as ours (support/simulation.h). The seed is printed;
 * SLUICE_SEED repeats a run.
 *
 * Each frame of the time grid has to be in exactly one place: in a file that is whole, in the ledger as lost for a cause, or among those
 * that nobody wanted. What the process holds while the device is away must not be more in the second half than it was in the first.
 */
#include <check.h>
#include <glob.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/supervisor.h"
#include "core/log.h"
#include "support/holds.h"
#include "support/scratch.h"
#include "support/seed.h"
#include "support/simulation.h"
#include "support/suite.h"
#include "support/weather.h"
#include "writer/verify.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

enum { SHARE = SANITIZED ? 12 : 1 }; /* with a sanitizer it is five minutes */
enum { FPS = 60, HOUR = 3600 * FPS / SHARE, MANY = HOUR / 3, LEAST_LOOKS = 100, HEAP_SLACK = 4096, MAPPED_SLACK_KIB = 2048 };

/* What the ledger and the files say of one run. */
struct told {
    uint64_t lost[SL_LOSS_COUNT];
    uint64_t in_files, closed, files, removed_unread;
    uint64_t twice; /* told as lost, and told again */
    struct sl_audit audit;
};

static struct {
    struct sl_config config;
    struct sl_sensor_script script;
    struct sl_sensor_fault sensor[WEATHER_SENSOR];
    struct sl_pipeline pipeline;
    FILE *ledger;
    struct told told;
    struct holds early, late; /* the most of it while the device was away, in the first half of the run and in the second */
    unsigned looks;
    uint64_t full_at; /* the write for which there is no room on the disk; 0: there always is */
    int64_t half_ns, weather_ns, trigger_ns, end_ns;
    int end_signals; /* how many */
    uint8_t *fate;   /* of each frame: RECORDED, LOST */
} g;

enum { RECORDED = 1, LOST = 2 };

/* --- faults and orders ------------------------------------------------------------------------------------------------------ */

static void draw_faults(void)
{
    weather_of_sensor(&g.script, g.sensor);
    weather_of_store(g.pipeline.recorder, g.config.fault.store);
    if (g.full_at)
        g.config.fault.store[0] = (struct sl_store_fault){.kind = SL_STORE_FAULT_ENOSPC, .at = g.full_at, .count = 100};
}

static void let_weather_change(void)
{
    int64_t now_ns = sl_now_ns(&sim.clock.clock);

    if (now_ns >= g.weather_ns) {
        draw_faults();
        g.weather_ns = now_ns + (int64_t)(4000 + sim_below(12000)) * SL_NS_PER_MS;
    }
    if (now_ns >= g.trigger_ns) {
        sim_signal(sim_below(3) ? SIGUSR1 : SIGUSR2);
        g.trigger_ns = now_ns + (int64_t)(500 + sim_below(8000)) * SL_NS_PER_MS;
    }
    if (g.end_ns && now_ns >= g.end_ns && g.end_signals > 0) {
        sim_signal(g.end_signals-- > 1 ? SIGTERM : SIGHUP);
        g.end_ns = now_ns + (int64_t)sim_below(30) * SL_NS_PER_MS;
    }
}

/* --- what the process holds ---------------------------------------------------------------------------------------------- */

static void note_holds(void)
{
    struct holds now = holds_now();

    g.looks++;
    holds_most(sl_now_ns(&sim.clock.clock) < g.half_ns ? &g.early : &g.late, &now);
}

static void check_holds(void)
{
    if (SHARE > 1 && (!g.early.fds || !g.late.fds)) /* minutes may have no outage in one half */
        return;
    ck_assert(SHARE > 1 || g.looks > LEAST_LOOKS);
    ck_assert_uint_eq(g.late.fds, g.early.fds);
    ck_assert_msg(g.late.heap_bytes <= g.early.heap_bytes + HEAP_SLACK, "the heap grew from %zu to %zu bytes", g.early.heap_bytes,
                  g.late.heap_bytes);
#if !SANITIZED /* these keep what was freed, and the first looks for leaks itself */
    ck_assert_msg(g.late.mapped_kib <= g.early.mapped_kib + MAPPED_SLACK_KIB, "memory grew from %ld to %ld KiB", g.early.mapped_kib,
                  g.late.mapped_kib);
#endif
}

/* --- files and ledger ---------------------------------------------------------------------------------------------------- */

struct reading {
    const char *path;
    struct sl_verify_result result;
};

static void damaged(void *context, const char *line)
{
    ck_abort_msg("%s: %s", ((const struct reading *)context)->path, line);
}

static int see_frame(void *context, const struct sl_frame_record *record, const uint8_t *payload)
{
    const struct reading *reading = context;
    const struct sl_video_format *format = &reading->result.info.format; /* is there before the first frame */
    struct sl_strip strip;
    uint64_t bad_byte;

    ck_assert_int_eq(sl_pattern_check(format, payload, format->frame_bytes, &strip, &bad_byte), 0);
    ck_assert_msg(strip.number == record->number, "%s: frame %lu shows the number %lu", reading->path, (unsigned long)record->number,
                  (unsigned long)strip.number);
    ck_assert(sl_books_balanced(&record->books));
    ck_assert_uint_lt(record->number, HOUR);
    ck_assert_msg(g.fate[record->number] != RECORDED, "%s: frame %lu is there twice", reading->path, (unsigned long)record->number);
    g.fate[record->number] |= RECORDED;
    g.told.in_files++;
    return 0;
}

static void read_file(const char *path, uint64_t frames, bool may_be_gone)
{
    struct reading reading = {.path = path};
    const struct sl_verify_sink sink = {.context = &reading, .damage = damaged, .frame = see_frame};
    uint64_t before = g.told.in_files;
    struct sl_error err = {""};
    int rc;

    if (may_be_gone && access(path, F_OK)) { /* older files make room; one that nobody had looked into yet cannot be counted */
        g.told.removed_unread += frames;
        return;
    }
    rc = sl_verify_file(path, &g.told.audit, &sink, &reading.result, &err);
    ck_assert_msg(rc == 0, "%s: %s", path, err.text);
    ck_assert(reading.result.info.finished);
    ck_assert_uint_eq(g.told.in_files - before, frames);
    g.told.files++;
}

static void take_loss(json_t *line)
{
    const char *cause = json_string_value(json_object_get(line, "cause"));
    uint64_t first = (uint64_t)json_integer_value(json_object_get(line, "first"));
    uint64_t count = (uint64_t)json_integer_value(json_object_get(line, "count"));
    unsigned which = 0;

    while (strcmp(sl_loss_name((enum sl_loss)which), cause) != 0)
        which++;
    g.told.lost[which] += count;
    ck_assert_uint_le(first + count, HOUR);
    for (uint64_t i = first; i < first + count; i++) {
        g.told.twice += (g.fate[i] & LOST) != 0;
        g.fate[i] |= LOST;
    }
}

static void take_line(json_t *line)
{
    const char *event = json_string_value(json_object_get(line, "event"));
    bool overwrites = g.config.record.when_full == SL_WHEN_FULL_OVERWRITE_OLDEST;
    uint64_t frames = (uint64_t)json_integer_value(json_object_get(line, "frames"));
    const char *path = json_string_value(json_object_get(line, "file"));

    if (!strcmp(event, "loss"))
        take_loss(line);
    if (strcmp(event, "segment_close") != 0)
        return;
    g.told.closed += frames;
    if (frames == 0)
        return;
    read_file(path, frames, overwrites);
    if (!overwrites)
        unlink(path);
}

static void read_ledger(void)
{
    char text[8192];

    clearerr(g.ledger);
    while (fgets(text, sizeof text, g.ledger)) {
        json_t *line = json_loads(text, 0, NULL);

        ck_assert_msg(line != NULL, "no JSON: %s", text);
        take_line(line);
        json_decref(line);
    }
}

static void watch(void *self)
{
    (void)self;
    read_ledger();
    if (sim.runners == 0)
        note_holds();
    let_weather_change();
}

/* --- a run --------------------------------------------------------------------------------------------------------------- */

static const char *pick(const char *a, const char *b)
{
    return sim_below(2) ? a : b;
}

static void write_config(const char *record)
{
    struct sl_error err = {""};
    char text[2048];
    int bytes = snprintf(text, sizeof text,
                         "[sensor]\nname = cam\nsource = pattern\nsize = 64x48\nfps = %d\nbuffers = 16\nstall_timeout = 300ms\n"
                         "bad_frames = %s\n[ring]\ndepth = 60\nhugepages = no\n"
                         "[record]\ndir = %s\nkeep_free = 0\nsync = %s\nchecksum = %s\nqueue_depth = %u\n%s\n",
                         FPS, pick("keep", "drop"), scratch_path("."), pick("segment", "1s"), pick("crc32", "none"),
                         2 + (unsigned)sim_below(10), record);

    ck_assert_msg(sl_config_parse(&g.config, NULL, "cam.ini", text, (size_t)bytes, NULL, 0, &err) == 0, "%s", err.text);
    g.config.fault.stores = WEATHER_STORE;
}

static void supervise(uint64_t frames, struct sl_outcome *outcome)
{
    struct sl_error err = {""};
    struct sl_trigger trigger;
    struct sl_service service;
    struct sl_supervisor s = {
        .cfg = {.config = &g.config, .clock = &sim.clock.clock, .limit.frames = frames, .script = &g.script, .fakes = &sim.fakes},
        .pipeline = &g.pipeline,
        .trigger = &trigger,
        .service = &service,
        .signal_fd = sim.order[0]};

    ck_assert_int_eq(sl_trigger_init(&trigger, NULL, &err), 0);
    ck_assert_int_eq(sl_service_open(&service, &err), 0);
    ck_assert_msg(sl_pipeline_open(&g.pipeline, &s.cfg, &err) == 0, "%s", err.text);
    ck_assert_int_eq(sl_ledger_open(&s.ledger, sl_recorder_ledger_path(g.pipeline.recorder), &sim.clock.clock, &err), 0);
    g.ledger = fopen(sl_recorder_ledger_path(g.pipeline.recorder), "r");
    ck_assert_ptr_nonnull(g.ledger);
    sl_supervise(&s, outcome);
    read_ledger();
    fclose(g.ledger);
    sl_ledger_close(s.ledger);
    sl_service_close(&service);
}

/* From the sensor to the file, level by level. */
static void check_account(const struct sl_account *account)
{
    const uint64_t *capture = account->capture.counter, *sink = account->sink, *recorder = account->recorder.counter;
    uint64_t lost = 0;

    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        lost += account->capture.lost[i];
    ck_assert_uint_eq(capture[SL_CAPTURE_EXPECTED], capture[SL_CAPTURE_CAPTURED] + lost);
    ck_assert_uint_eq(sink[SL_SINK_OFFERED], capture[SL_CAPTURE_CAPTURED]);
    ck_assert_uint_eq(sink[SL_SINK_OFFERED], sink[SL_SINK_ACCEPTED] + sink[SL_SINK_REFUSED] + sink[SL_SINK_MISSED]);
    ck_assert_uint_eq(sink[SL_SINK_ACCEPTED], recorder[SL_RECORDER_RECORDED] + recorder[SL_RECORDER_DISK_ERROR] +
                                                  recorder[SL_RECORDER_DISK_FULL] + recorder[SL_RECORDER_ABANDONED] +
                                                  recorder[SL_RECORDER_UNTRIGGERED]);
    ck_assert_uint_eq(account->capture_events[SL_EVENTS_DROPPED] + account->recorder_events[SL_EVENTS_DROPPED], 0);
}

static void check_run(const struct sl_outcome *outcome, struct sl_books *books)
{
    const struct sl_account *account = &outcome->account;
    uint64_t both = 0, neither = 0, expected = account->capture.counter[SL_CAPTURE_EXPECTED];

    check_account(account);
    sl_account_books(account, books);
    ck_assert(sl_books_balanced(books));
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        ck_assert_msg(g.told.lost[i] == books->lost[i], "%s: %lu in the ledger, %lu in the books", sl_loss_name((enum sl_loss)i),
                      (unsigned long)g.told.lost[i], (unsigned long)books->lost[i]);
    ck_assert_uint_eq(g.told.closed, books->recorded);
    ck_assert_uint_eq(g.told.in_files + g.told.removed_unread, books->recorded);
    for (uint64_t i = 0; i < expected; i++) {
        both += g.fate[i] == (RECORDED | LOST);
        neither += g.fate[i] == 0;
    }
    ck_assert_uint_eq(both, 0);
    /* frames that the ring refused are told with the number of the first: one that the sensor lost among them is counted on */
    ck_assert_uint_eq(neither, account->recorder.counter[SL_RECORDER_UNTRIGGERED] + g.told.removed_unread + g.told.twice);
    ck_assert_uint_eq(scratch_count(".next") + scratch_count(".gone") + scratch_count(".probe"), 0);
    ck_assert_uint_eq(sim.runners, 0);
}

/* The lines of `record` are the config's. */
static void run(const char *record, uint64_t frames, struct sl_outcome *outcome, struct sl_books *books)
{
    write_config(record);
    memset(&g.told, 0, sizeof g.told);
    memset(g.fate, 0, HOUR);
    memset(&g.script, 0, sizeof g.script);
    draw_faults();
    supervise(frames, outcome);
    check_run(outcome, books);
    sl_config_fini(&g.config);
}

static void add_books(struct sl_books *sum, const struct sl_books *books)
{
    sum->expected += books->expected;
    sum->recorded += books->recorded;
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        sum->lost[i] += books->lost[i];
}

static void print(const char *what, const struct sl_books *books, uint64_t files, unsigned openings)
{
    printf("%s: %lu frames expected, %lu recorded in %lu files; lost", what, (unsigned long)books->expected, (unsigned long)books->recorded,
           (unsigned long)files);
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        printf(" %s %lu", sl_loss_name((enum sl_loss)i), (unsigned long)books->lost[i]);
    printf("; %u openings; held while the device was away: descriptors %u then %u, heap %zu then %zu bytes, memory %ld then %ld KiB\n",
           openings, g.early.fds, g.late.fds, g.early.heap_bytes, g.late.heap_bytes, g.early.mapped_kib, g.late.mapped_kib);
}

static void open_simulation(uint64_t seed)
{
    sim_open(seed);
    sim.watch = watch;
    g.trigger_ns = INT64_MAX;
    g.weather_ns = 0;
    g.half_ns = sl_now_ns(&sim.clock.clock) + HOUR / FPS / 2 * SL_NS_PER_S;
}

START_TEST(an_hour_in_one_run)
{
    struct sl_outcome outcome;
    struct sl_books books;

    sim.disk_bytes = 48 << 20;
    run("segment_time = 5s\nwhen_full = overwrite-oldest", HOUR, &outcome, &books);
    print("one run", &books, outcome.account.recorder.segments, outcome.account.openings);
    ck_assert_int_eq(outcome.end, SL_END_LIMIT);
    ck_assert_uint_eq(books.expected, HOUR);
    /* In an hour the faults do what they are for; in minutes one of them may not be drawn. */
    for (unsigned i = 0; i < SL_LOSS_COUNT && SHARE == 1; i++)
        if (i != SL_LOSS_DISK_FULL && i != SL_LOSS_BAD_FRAME)
            ck_assert_msg(books.lost[i] > 0, "nothing was lost as %s", sl_loss_name((enum sl_loss)i));
    check_holds();
}
END_TEST

/* Runs one after the other, as a service manager starts them; they end by limit, signal, sensor or a full disk. */
static void draw_run(unsigned number, uint64_t left, char *record, size_t bytes, uint64_t *frames)
{
    static const char *const segments[] = {"segment_time = 2s", "segment_time = 7s", "segment_size = 3MB", ""};
    bool fills = number % 4 == 0;

    sim.disk_bytes = UINT64_C(16) << (20 + sim_below(3));
    sim.disk_latency_ns = (int64_t)sim_below(25) * SL_NS_PER_MS;
    g.full_at = fills ? 200 + sim_below(10 * FPS) : 0;
    g.trigger_ns = sim_below(3) ? INT64_MAX : 0;
    *frames = 60 * FPS + sim_below(150 * FPS);
    if (*frames > left)
        *frames = left;
    g.end_signals = fills ? 0 : (int)sim_below(3);
    g.end_ns = g.end_signals ? sl_now_ns(&sim.clock.clock) + (int64_t)sim_below(120000) * SL_NS_PER_MS : 0;
    snprintf(record, bytes, "%s\nwhen_full = %s\nprerecord = %s", segments[sim_below(4)], fills ? "stop" : pick("stop", "overwrite-oldest"),
             g.trigger_ns ? "0s" : "300ms");
}

static void remove_files(void)
{
    glob_t found;

    if (glob(scratch_path("cam-*"), 0, NULL, &found) == 0)
        for (size_t i = 0; i < found.gl_pathc; i++)
            unlink(found.gl_pathv[i]);
    globfree(&found);
}

START_TEST(many_runs_one_after_the_other)
{
    unsigned ends[SL_END_START + 1] = {0}, openings = 0, runs = 0;
    uint64_t files = 0, made = 0, frames;
    struct sl_books sum = {0}, books;
    struct sl_outcome outcome;
    char record[256];

    g.half_ns = sl_now_ns(&sim.clock.clock) + MANY / FPS / 2 * SL_NS_PER_S;
    while (made < MANY) {
        draw_run(runs++, MANY - made, record, sizeof record, &frames);
        run(record, frames, &outcome, &books);
        made += outcome.account.capture.counter[SL_CAPTURE_EXPECTED];
        files += outcome.account.recorder.segments;
        openings += outcome.account.openings;
        ends[outcome.end]++;
        add_books(&sum, &books);
        remove_files();
    }
    print("many runs", &sum, files, openings);
    printf("they ended by limit %u, signal %u, full disk %u\n", ends[SL_END_LIMIT], ends[SL_END_SIGNAL], ends[SL_END_DISK_FULL]);
    ck_assert_uint_eq(ends[SL_END_RECORDER] + ends[SL_END_START] + ends[SL_END_SENSOR], 0);
    for (unsigned i = 0; i < SL_LOSS_COUNT && SHARE == 1; i++)
        ck_assert_msg(sum.lost[i] > 0, "nothing was lost as %s", sl_loss_name((enum sl_loss)i));
    check_holds();
}
END_TEST

/* What a printed seed is worth. */
START_TEST(a_seed_repeats_the_run)
{
    uint64_t seed = sl_test_seed();
    struct sl_outcome outcome;
    struct sl_books books[2];

    for (unsigned i = 0; i < 2; i++) {
        sim_close();
        open_simulation(seed);
        run("segment_time = 5s", 60 * FPS, &outcome, &books[i]);
        remove_files();
    }
    ck_assert_mem_eq(&books[0], &books[1], sizeof books[0]);
}
END_TEST

static void setup(void)
{
    scratch_open();
    sl_log_set_level(SL_LOG_ERROR);
    open_simulation(sl_test_seed());
    g.fate = malloc(HOUR);
    ck_assert_ptr_nonnull(g.fate);
}

static void teardown(void)
{
    free(g.fate);
    sim_close();
    scratch_close();
}

/* The C library counts what its threads' caches keep as in use: without them, not one block may be too many. */
static void turn_off_heap_caches(char **argv)
{
    if (getenv("GLIBC_TUNABLES"))
        return;
    setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 1);
    execv("/proc/self/exe", argv);
}

static void add(Suite *suite, const char *name, const TTest *test)
{
    TCase *tcase = tcase_create(name);

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 200);
    tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
}

int main(int argc, char **argv)
{
    Suite *suite = suite_create("app hour");

    (void)argc;
    turn_off_heap_caches(argv);
    add(suite, "hour", an_hour_in_one_run);
    add(suite, "runs", many_runs_one_after_the_other);
    add(suite, "seed", a_seed_repeats_the_run);
    return sl_run_suite(suite);
}
