/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The books must balance whatever happens: random faults, random hold-ups of the sink, random lateness of the agent, with time
 * by hand; and the same with real threads, for the thread sanitizer. The seed is printed; SLUICE_SEED repeats a run.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture/script.h"
#include "support/capture_rig.h"
#include "support/suite.h"

static uint64_t g_state;
static struct capture_rig g_rig;

static uint64_t below(uint64_t bound)
{
    g_state ^= g_state << 13;
    g_state ^= g_state >> 7;
    g_state ^= g_state << 17;
    return (g_state >> 16) % bound;
}

static uint64_t seed(const char *name)
{
    const char *given = getenv("SLUICE_SEED");
    uint64_t value = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    printf("%s: SLUICE_SEED=%lu\n", name, (unsigned long)value);
    fflush(stdout);
    g_state = value * UINT64_C(0x9E3779B97F4A7C15) + 1;
    return value;
}

static void random_faults(struct sl_sensor_fault *fault, unsigned count, uint64_t frames)
{
    for (unsigned i = 0; i < count; i++)
        fault[i] = (struct sl_sensor_fault){
            .kind = (enum sl_sensor_fault_kind)below(3), .frame = below(frames), .count = 1 + below(below(4) ? 4 : 100)};
}

/* Each frame carries the books up to itself; they must add up there and then. */
static void check_taken(unsigned from, uint64_t *next)
{
    for (unsigned i = from; i < g_rig.holding; i++) {
        const struct sl_frame *frame = g_rig.held[i];
        uint64_t lost = 0;

        for (unsigned k = 0; k < SL_LOSS_COUNT; k++)
            lost += frame->lost[k];
        ck_assert_uint_ge(frame->number, *next);
        ck_assert_uint_eq(frame->number + 1, frame->captured + lost);
        *next = frame->number + 1;
    }
}

static void one_run(void)
{
    struct sl_sensor_fault fault[8];
    struct sl_sensor_script script;
    uint64_t frames = 200 + below(2000);
    unsigned slots = 1 + (unsigned)below(40);
    struct sl_capture_cfg cfg = {.source = SL_SOURCE_PATTERN,
                                 .pixel_format = "NV12",
                                 .width = 64,
                                 .height = 48,
                                 .fps = {below(2) ? 60000 : 50000, below(2) ? 1001 : 1000},
                                 .buffers = 1 + (unsigned)below(12),
                                 .frame_limit = frames,
                                 .drop_bad_frames = below(2),
                                 .unpaced = below(4) == 0,
                                 .script = &script};
    uint64_t next = 0;
    int ret = 0;

    random_faults(fault, 8, frames);
    sl_sensor_script_init(&script, fault, (unsigned)below(8));
    rig_init(&g_rig);
    rig_start(&g_rig, &cfg, slots);
    while (ret >= 0) {
        unsigned held = g_rig.holding;

        sl_manual_clock_advance(&g_rig.clock, (int64_t)below(below(20) ? 20000000 : 900000000));
        ret = rig_work(&g_rig);
        rig_take(&g_rig);
        check_taken(held, &next);
        if (below(10)) /* else the sink holds on to what it has */
            rig_release(&g_rig, (unsigned)below(slots + 1));
    }
    ck_assert_int_eq(ret, -ESHUTDOWN);
    ck_assert_uint_eq(rig_books(&g_rig).expected, frames);
    rig_check_books(&g_rig);
    rig_fini(&g_rig);
}

START_TEST(books_balance_under_random_faults)
{
    seed("capture_books by hand");
    for (int i = 0; i < 150; i++)
        one_run();
}
END_TEST

/* --- real threads ---------------------------------------------------------------------------------------------------------- */

struct consumer {
    pthread_t thread;
    struct sl_sink *sink;
    _Atomic bool stop;
    uint64_t taken;
    uint64_t state;
};

static void *consume(void *arg)
{
    struct consumer *consumer = arg;
    struct sl_frame *held[4];
    unsigned holding = 0;

    for (;;) {
        struct sl_frame *frame = sl_sink_take(consumer->sink);

        if (frame) {
            consumer->taken++;
            held[holding++] = frame;
        } else if (atomic_load(&consumer->stop)) {
            break;
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        }
        consumer->state = consumer->state * 6364136223846793005u + 1442695040888963407u;
        if (holding == 4 || consumer->state >> 62 == 0)
            while (holding)
                sl_sink_release(consumer->sink, held[--holding]);
        if (consumer->state >> 55 == 7)
            nanosleep(&(struct timespec){.tv_nsec = 8000000}, NULL);
    }
    while (holding)
        sl_sink_release(consumer->sink, held[--holding]);
    return NULL;
}

START_TEST(books_balance_between_threads)
{
    struct sl_sensor_fault fault = {.kind = SL_SENSOR_FAULT_GAP, .frame = 50, .count = 5};
    struct sl_sensor_script script;
    struct sl_capture_cfg cfg = {.source = SL_SOURCE_PATTERN,
                                 .pixel_format = "UYVY",
                                 .width = 64,
                                 .height = 48,
                                 .fps = {500, 1},
                                 .buffers = 3,
                                 .frame_limit = 600,
                                 .unpaced = _i == 1,
                                 .script = &script};
    struct sl_runner_cfg runner_cfg = {.cpu = -1};
    struct sl_runner *runner;
    struct consumer consumer = {.state = seed("capture_books threads")};
    int result = 0;

    sl_sensor_script_init(&script, &fault, 1);
    rig_init(&g_rig);
    g_rig.deps.clock = &sl_clock_system;
    rig_start(&g_rig, &cfg, 6);
    consumer.sink = g_rig.sink;
    ck_assert_int_eq(pthread_create(&consumer.thread, NULL, consume, &consumer), 0);
    ck_assert_int_eq(sl_runner_open(&runner, g_rig.agent, &runner_cfg, &g_rig.err), 0);
    while (sl_runner_running(runner, &result)) {
        struct sl_books books = rig_books(&g_rig); /* a third thread may read at any time */

        ck_assert_uint_le(books.captured, 600);
        nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    }
    sl_runner_close(runner);
    atomic_store(&consumer.stop, true);
    pthread_join(consumer.thread, NULL);
    ck_assert_int_eq(result, -ESHUTDOWN);
    struct sl_books books = rig_books(&g_rig);
    ck_assert_uint_eq(books.expected, 600);
    ck_assert_uint_eq(books.captured, consumer.taken);
    /* paced, a buffer that came home during the gap may put it down to the ring */
    ck_assert_uint_ge(books.lost[SL_LOSS_SENSOR_GAP] + books.lost[SL_LOSS_NO_SLOT], 5);
    if (cfg.unpaced)
        ck_assert_uint_eq(books.lost[SL_LOSS_SENSOR_GAP], 5);
    rig_fini(&g_rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_books");
    TCase *tcase = tcase_create("torture");

    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, books_balance_under_random_faults);
    tcase_add_loop_test(tcase, books_balance_between_threads, 0, 2);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
