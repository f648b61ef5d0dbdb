/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder beside consumers that behave badly: never release, release late, fail with frames in their hands, come and go, are slow.
 * The disk stalls meanwhile for half of what the recorder's share lasts, so that it needs slots that only a promise keeps.
 * In real time and on a clock that is moved by hand; and over openings of the device, at whose end they keep what they have. The
 * recorder loses nothing and every frame it recorded is the one its number says; each sink's books are right; nothing is freed that
 * a consumer still has.
 */
#include <check.h>
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/supervisor.h"
#include "capture/script.h"
#include "core/wake.h"
#include "support/run_rig.h"
#include "support/scratch.h"
#include "support/seed.h"
#include "support/suite.h"

enum { FPS = 200, LIMIT = 60, CONSUMERS = 3, REAL_FRAMES = 500, MANUAL_FRAMES = 3000 };

enum kind { NEVER, LATE, FAILS, GUEST, SLOW, NEWEST };
static const char *const kind_names[] = {"never", "late", "fails", "guest", "slow", "newest"};

struct bad_consumer {
    enum kind kind;
    struct sl_sink *sink;
    struct sl_agent agent;
    uint64_t random;
    struct sl_frame *held[LIMIT];
    uint64_t number[LIMIT];
    unsigned holds;
    uint64_t taken;
    uint64_t passes; /* releases so many before it never does, so that each of several keeps other frames */
    uint64_t damage;
    unsigned opened;
    _Atomic bool stopped;
    _Atomic bool giving_back; /* another thread is at it */
};

static struct bad_consumer g_bad[CONSUMERS];
static struct sl_consumer g_consumer[CONSUMERS];
static struct sl_left_rings g_left;
static struct sl_config g_config;
static struct sl_video_format g_format;
static struct sl_error g_err;

static uint64_t one_in(struct bad_consumer *bad, unsigned count)
{
    return sl_test_random(&bad->random) % count == 0;
}

static bool intact(const struct sl_frame *frame, uint64_t number)
{
    struct sl_strip strip;
    uint64_t bad_byte;

    return sl_pattern_check(&g_format, frame->slot->data, g_format.frame_bytes, &strip, &bad_byte) == 0 && strip.number == number &&
           frame->number == number;
}

static bool take(struct bad_consumer *bad)
{
    struct sl_frame *frame = bad->holds < LIMIT ? sl_sink_take(bad->sink) : NULL;

    if (!frame)
        return false;
    bad->taken++;
    bad->number[bad->holds] = frame->number;
    bad->held[bad->holds++] = frame;
    return true;
}

static void release_one(struct bad_consumer *bad)
{
    unsigned which = (unsigned)(sl_test_random(&bad->random) % bad->holds);
    struct sl_frame *frame = bad->held[which];

    bad->damage += !intact(frame, bad->number[which]);
    bad->holds--;
    bad->held[which] = bad->held[bad->holds];
    bad->number[which] = bad->number[bad->holds];
    sl_sink_release(bad->sink, frame);
}

static void release_all(struct bad_consumer *bad)
{
    while (bad->holds)
        release_one(bad);
}

static void rest(struct bad_consumer *bad)
{
    nanosleep(&(struct timespec){.tv_nsec = (long)(sl_test_random(&bad->random) % 30000000)}, NULL);
}

static int do_work(void *self)
{
    struct bad_consumer *bad = self;
    bool took = take(bad);

    switch (bad->kind) {
    case NEVER:
        if (took && bad->taken <= bad->passes)
            release_one(bad);
        break;
    case LATE:
        if (bad->holds && one_in(bad, 3))
            release_one(bad);
        break;
    case FAILS:
        if (bad->taken > 3)
            return -EIO;
        break;
    case GUEST:
        if (one_in(bad, 20)) {
            sl_sink_leave(bad->sink);
            rest(bad);
            release_all(bad);
            sl_sink_join(bad->sink);
        }
        break;
    case SLOW:
    case NEWEST:
        if (took)
            rest(bad);
        release_all(bad);
        break;
    }
    return took;
}

static void idle(void *self)
{
    struct sl_wake *wake = sl_sink_wake(((struct bad_consumer *)self)->sink);
    struct pollfd fd = {.fd = wake->fd, .events = POLLIN};

    sl_wake_arm(wake);
    poll(&fd, 1, 10);
    sl_wake_disarm(wake);
    sl_wake_drain(wake);
}

static void wake(void *self)
{
    sl_wake_signal(sl_sink_wake(((struct bad_consumer *)self)->sink));
}

static void on_stop(void *self)
{
    struct bad_consumer *bad = self;

    sl_sink_leave(bad->sink);
    if (bad->kind != FAILS && bad->kind != NEVER)
        release_all(bad);
    atomic_store(&bad->stopped, true);
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static const struct sl_agent *open_bad(void *self, struct sl_sink *sink)
{
    struct bad_consumer *bad = self;

    while (bad->opened && atomic_load(&bad->giving_back))
        wait_a_little();
    bad->agent =
        (struct sl_agent){.name = kind_names[bad->kind], .self = bad, .do_work = do_work, .idle = idle, .wake = wake, .on_stop = on_stop};
    bad->sink = sink;
    bad->opened++;
    bad->taken = 0;
    atomic_store(&bad->stopped, false);
    return &bad->agent;
}

static void make_consumers(const enum kind kinds[CONSUMERS], uint64_t seed)
{
    memset(g_bad, 0, sizeof g_bad);
    for (unsigned i = 0; i < CONSUMERS; i++) {
        g_bad[i].kind = kinds[i];
        g_bad[i].random = seed + i;
        g_bad[i].passes = i * LIMIT;
        g_consumer[i] = (struct sl_consumer){
            .sink = {.name = kind_names[kinds[i]], .limit = LIMIT, .policy = kinds[i] == NEWEST ? SL_SINK_NEWEST : SL_SINK_IN_ORDER},
            .self = &g_bad[i],
            .open = open_bad};
    }
}

static void load_config(void)
{
    FILE *file = fopen(scratch_path("cam.ini"), "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "[sensor]\nname = cam\nsource = pattern\nsize = 64x48\nfps = %d\nbuffers = 32\n[ring]\ndepth = 200\nhugepages = no\n"
            "[record]\ndir = %s\nkeep_free = 0\nsync = none\n[fault]\nstore = stall@1200ms:500ms\n",
            FPS, scratch_path("."));
    fclose(file);
    ck_assert_msg(sl_config_load(&g_config, NULL, scratch_path("cam.ini"), NULL, 0, &g_err) == 0, "%s", g_err.text);
    ck_assert_int_eq(sl_video_format_tight(&g_format, sl_pixel_format_by_name("YUYV"), 64, 48), 0);
}

static void verify_files(unsigned count)
{
    const char *arguments[16] = {"--pattern"};
    glob_t found;

    ck_assert_int_eq(glob(scratch_path("*.mkv"), 0, NULL, &found), 0);
    ck_assert_uint_eq(found.gl_pathc, count);
    for (unsigned i = 0; i < count; i++)
        arguments[1 + i] = found.gl_pathv[i];
    ck_assert_msg(run_command(sl_cmd_verify, arguments, 1 + count) == 0, "%s%s", run_out, run_err);
    globfree(&found);
}

static void setup(void)
{
    scratch_open();
    load_config();
    memset(&g_left, 0, sizeof g_left);
}

static void teardown(void)
{
    sl_config_fini(&g_config);
    scratch_close();
}

/* --- one opening --------------------------------------------------------------------------------------------------------- */

static uint64_t recorded(const struct sl_pipeline *p)
{
    return sl_recorder_counter(p->recorder, SL_RECORDER_RECORDED);
}

/* Moves the clock as fast as capture and recorder follow. */
static void let_run(struct sl_pipeline *p, struct sl_manual_clock *manual)
{
    const struct sl_agent *capture = sl_capture_agent(p->capture);
    uint64_t due = 0;

    while (sl_runner_running(p->capture_runner, NULL)) {
        if (manual && sl_capture_counter(p->capture, SL_CAPTURE_EXPECTED) >= due && recorded(p) + 180 >= due) {
            sl_manual_clock_advance(manual, SL_NS_PER_S / FPS);
            due++;
            capture->wake(capture->self);
        }
        wait_a_little();
    }
    sl_pipeline_stop_capture(p, 0);
    sl_recorder_drain(p->recorder, false);
    while (sl_runner_running(p->recorder_runner, NULL))
        wait_a_little();
}

static void check_sink(const struct sl_sink *sink, const struct bad_consumer *bad, uint64_t frames)
{
    uint64_t accepted = sl_sink_counter(sink, SL_SINK_ACCEPTED);

    ck_assert_uint_eq(sl_sink_counter(sink, SL_SINK_OFFERED), frames);
    ck_assert_uint_eq(accepted + sl_sink_counter(sink, SL_SINK_REFUSED) + sl_sink_counter(sink, SL_SINK_MISSED), frames);
    ck_assert_uint_le(sl_sink_held(sink), LIMIT);
    ck_assert_uint_gt(accepted, 0);
    if (bad->kind == NEVER)
        ck_assert_uint_eq(accepted, LIMIT + bad->passes);
    if (bad->kind == FAILS)
        ck_assert_uint_ge(sl_sink_counter(sink, SL_SINK_MISSED), frames / 2);
}

/* What consumers keep past the end is theirs, whole, until they release it. */
static void take_leave(void)
{
    uint32_t keep = 0;

    for (unsigned i = 0; i < CONSUMERS; i++)
        keep |= g_bad[i].holds ? 1u << i : 0;
    ck_assert_uint_eq(g_left.count, keep ? 1 : 0);
    ck_assert_uint_eq(sl_left_rings_tidy(&g_left), keep);
    for (unsigned i = 0; i < CONSUMERS; i++) {
        if (g_bad[i].holds)
            ck_assert_uint_eq(sl_sink_held(g_bad[i].sink), g_bad[i].holds);
        release_all(&g_bad[i]);
        ck_assert_uint_eq(g_bad[i].damage, 0);
    }
    ck_assert_uint_eq(sl_left_rings_tidy(&g_left), 0);
    ck_assert_uint_eq(g_left.count, 0);
}

static void run_beside(const enum kind kinds[CONSUMERS], struct sl_manual_clock *manual, uint64_t frames)
{
    struct sl_pipeline_cfg cfg = {.config = &g_config,
                                  .clock = manual ? &manual->clock : &sl_clock_system,
                                  .limit.frames = frames,
                                  .consumer = g_consumer,
                                  .consumers = CONSUMERS,
                                  .left = &g_left};
    struct sl_account account = {0};
    struct sl_books books;
    struct sl_pipeline p;

    make_consumers(kinds, sl_test_seed());
    ck_assert_msg(sl_pipeline_open(&p, &cfg, &g_err) == 0, "%s", g_err.text);
    ck_assert_uint_eq(sl_pool_slots(p.pool), 200 + 32 + CONSUMERS * LIMIT);
    ck_assert_uint_eq(p.ring_frames, 200);
    ck_assert_msg(sl_pipeline_start(&p, &g_config, &g_err) == 0, "%s", g_err.text);
    let_run(&p, manual);
    sl_pipeline_account(&p, &account);
    sl_account_books(&account, &books);
    ck_assert_uint_eq(books.expected, frames);
    if (!manual) /* a busy machine may be late to take a frame from the sensor; what was taken is recorded */
        frames -= books.lost[SL_LOSS_NO_SLOT] + books.lost[SL_LOSS_SENSOR_GAP];
    ck_assert_uint_eq(account.recorder.counter[SL_RECORDER_RECORDED], frames); /* not one is lost */
    ck_assert(sl_books_balanced(&books));
    ck_assert_uint_eq(account.sink[SL_SINK_ACCEPTED], frames);
    for (unsigned i = 0; i < CONSUMERS; i++)
        check_sink(p.consumer_sink[i], &g_bad[i], frames);
    sl_pipeline_close(&p);
    take_leave();
    verify_files(1);
}

static const enum kind company[][CONSUMERS] = {{NEVER, LATE, FAILS}, {GUEST, SLOW, NEWEST}, {NEVER, NEVER, NEVER}, {FAILS, GUEST, NEVER}};

START_TEST(recorder_loses_nothing_in_real_time)
{
    run_beside(company[_i], NULL, REAL_FRAMES);
}
END_TEST

START_TEST(recorder_loses_nothing_on_a_clock_moved_by_hand)
{
    struct sl_manual_clock manual;

    sl_manual_clock_init(&manual, 1000 * SL_NS_PER_S);
    run_beside(company[_i], &manual, MANUAL_FRAMES);
}
END_TEST

/* --- over openings of the device ----------------------------------------------------------------------------------------- */

static const struct sl_sensor_fault unplugs[] = {{SL_SENSOR_FAULT_UNPLUG, 100, 300000000}, {SL_SENSOR_FAULT_UNPLUG, 200, 300000000}};

static void supervise(struct sl_outcome *outcome)
{
    struct sl_sensor_script script;
    struct sl_pipeline pipeline;
    struct sl_trigger trigger;
    struct sl_service service;
    struct sl_supervisor s = {.cfg = {.config = &g_config,
                                      .clock = &sl_clock_system,
                                      .limit.frames = 800,
                                      .script = &script,
                                      .consumer = g_consumer,
                                      .consumers = CONSUMERS,
                                      .left = &g_left},
                              .pipeline = &pipeline,
                              .trigger = &trigger,
                              .service = &service,
                              .signal_fd = sl_supervisor_signals()};

    g_config.fault.stores = 0; /* outages are enough here */
    sl_sensor_script_init(&script, unplugs, 2);
    ck_assert_int_ge(s.signal_fd, 0);
    ck_assert_int_eq(sl_trigger_init(&trigger, NULL, &g_err), 0);
    ck_assert_msg(sl_pipeline_open(&pipeline, &s.cfg, &g_err) == 0, "%s", g_err.text);
    ck_assert_int_eq(sl_ledger_open(&s.ledger, sl_recorder_ledger_path(pipeline.recorder), &sl_clock_system, &g_err), 0);
    ck_assert_int_eq(sl_service_open(&service, &g_err), 0);
    sl_supervise(&s, outcome);
    sl_service_close(&service);
    sl_ledger_close(s.ledger);
    close(s.signal_fd);
}

static void check_outcome(const struct sl_outcome *outcome)
{
    struct sl_books books;

    sl_account_books(&outcome->account, &books);
    ck_assert_int_eq(outcome->end, SL_END_LIMIT);
    ck_assert_uint_eq(outcome->account.openings, 3);
    ck_assert(sl_books_balanced(&books));
    ck_assert_uint_eq(books.expected, 800);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 0);
    ck_assert_uint_eq(outcome->account.sink[SL_SINK_REFUSED], 0);
    verify_files(3);
}

START_TEST(who_keeps_frames_gets_none_of_the_next_opening)
{
    struct sl_outcome outcome;

    make_consumers((const enum kind[]){NEVER, LATE, SLOW}, sl_test_seed());
    supervise(&outcome);
    check_outcome(&outcome);
    ck_assert_uint_eq(g_bad[1].opened, 3);
    ck_assert_uint_eq(g_bad[0].opened, 1);
    take_leave();
}
END_TEST

/* Gives back what the first opening left, while the device is away. */
static void *give_back_later(void *self)
{
    struct bad_consumer *bad = self;

    while (!atomic_load(&bad->stopped))
        wait_a_little();
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    release_all(bad);
    atomic_store(&bad->giving_back, false);
    return NULL;
}

START_TEST(who_gave_them_back_is_let_in_again)
{
    struct sl_outcome outcome;
    pthread_t thread;

    make_consumers((const enum kind[]){NEVER, LATE, SLOW}, sl_test_seed());
    ck_assert_int_gt(sl_supervisor_signals(), 0); /* blocked before there is a thread that could take one */
    atomic_store(&g_bad[0].giving_back, true);
    ck_assert_int_eq(pthread_create(&thread, NULL, give_back_later, &g_bad[0]), 0);
    supervise(&outcome);
    pthread_join(thread, NULL);
    check_outcome(&outcome);
    ck_assert_uint_eq(g_bad[0].opened, 2); /* and kept those of its second time */
    take_leave();
}
END_TEST

/* --- in the device's own buffers ----------------------------------------------------------------------------------------- */

START_TEST(consumers_fit_in_the_order_of_the_config)
{
    const struct sl_consumer four[] = {{.sink.limit = 4}, {.sink.limit = 6}, {.sink.limit = 3}, {.sink.limit = 1}};

    ck_assert_uint_eq(sl_consumers_share(four, 0xf), 14);
    ck_assert_uint_eq(sl_consumers_share(four, 0x5), 7);
    ck_assert_uint_eq(sl_consumers_fit(four, 0xf, 14), 0xf);
    ck_assert_uint_eq(sl_consumers_fit(four, 0xf, 13), 0x7);
    ck_assert_uint_eq(sl_consumers_fit(four, 0xf, 9), 0xd);
    ck_assert_uint_eq(sl_consumers_fit(four, 0xe, 9), 0x6);
    ck_assert_uint_eq(sl_consumers_fit(four, 0xf, 0), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_isolation");
    TCase *tests = tcase_create("isolation");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, recorder_loses_nothing_in_real_time, 0, 4);
    tcase_add_loop_test(tests, recorder_loses_nothing_on_a_clock_moved_by_hand, 0, 4);
    tcase_add_test(tests, who_keeps_frames_gets_none_of_the_next_opening);
    tcase_add_test(tests, who_gave_them_back_is_let_in_again);
    tcase_add_test(tests, consumers_fit_in_the_order_of_the_config);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
