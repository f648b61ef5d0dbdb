/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that tells one lie after the other, at random, to a capture whose sink is random too: by hand with manual time, and with
 * real threads for the thread sanitizer. Whatever comes of it, the books balance and nothing is left. The seed is printed;
 * SLUICE_SEED repeats a run.
 */
#include <check.h>
#include <stdatomic.h>
#include <time.h>

#include "support/seed.h"
#include "support/suite.h"
#include "support/v4l2_session.h"

enum { BY_HAND = 400, WITH_THREADS = 25 };

static uint64_t g_random;
static struct v4l2_session g_session;

static unsigned below(unsigned bound)
{
    return (unsigned)(sl_test_random(&g_random) % bound);
}

/* Now and then the truth. */
static const struct fake_lie *any_lie(void)
{
    return below(4) ? &v4l2_lies[below(v4l2_lie_count)].lie : NULL;
}

static void init(void)
{
    session_init(&g_session, 1u << below(4));
    g_session.cfg.drop_bad_frames = below(2);
    g_session.cfg.buffers = 1 + below(8);
    g_session.cfg.frame_limit = below(3) ? 0 : 1 + below(100);
    if (below(3) == 0)
        g_session.fake.lie = any_lie();
}

static void stream_by_hand(void)
{
    struct capture_rig *rig = &g_session.rig;
    int ret = 0;

    for (unsigned n = 0; n < 120 && ret >= 0; n++) {
        if (below(8) == 0)
            g_session.fake.lie = any_lie();
        sl_manual_clock_advance(&rig->clock, (int64_t)below(below(10) ? 20000000 : 2000000000));
        for (unsigned frames = below(3); frames; frames--)
            fake_complete(&g_session.fake, sl_now_ns(rig->deps.clock));
        ret = session_pump(&g_session);
        rig_take(rig);
        if (below(4))
            rig_release(rig, below(RIG_MAX_SLOTS));
        rig_check_books(rig);
    }
}

START_TEST(lies_by_hand)
{
    unsigned opened = 0;

    g_random = sl_test_seed();
    for (unsigned i = 0; i < BY_HAND; i++) {
        init();
        if (session_begin(&g_session) == 0) {
            opened++;
            stream_by_hand();
        }
        session_fini(&g_session, false);
    }
    ck_assert_uint_gt(opened, BY_HAND / 4);
}
END_TEST

/* --- real threads ---------------------------------------------------------------------------------------------------------- */

static pthread_mutex_t g_guard = PTHREAD_MUTEX_INITIALIZER;

static void tell(const struct fake_lie *lie)
{
    pthread_mutex_lock(&g_guard);
    g_session.fake.lie = lie;
    pthread_mutex_unlock(&g_guard);
}

/* This thread is the device and the sink; the runner's is the capture. */
static void stream_between_threads(void)
{
    struct sl_runner_cfg cfg = {.cpu = -1};
    struct capture_rig *rig = &g_session.rig;
    struct sl_runner *runner;
    int result;

    ck_assert_int_eq(sl_runner_open(&runner, rig->agent, &cfg, &rig->err), 0);
    for (unsigned n = 0; n < 60 && sl_runner_running(runner, &result); n++) {
        if (below(4) == 0)
            tell(any_lie());
        fake_complete(&g_session.fake, sl_now_ns(rig->deps.clock));
        nanosleep(&(struct timespec){.tv_nsec = below(2000000)}, NULL);
        rig_take(rig);
        if (below(4))
            rig_release(rig, below(RIG_MAX_SLOTS));
        rig_books(rig);
    }
    sl_runner_close(runner);
}

START_TEST(lies_between_threads)
{
    g_random = sl_test_seed();
    for (unsigned i = 0; i < WITH_THREADS; i++) {
        init();
        g_session.cfg.fps = (struct sl_rational){1000, 1};
        g_session.cfg.stall_timeout_ns = 20 * SL_NS_PER_MS;
        g_session.rig.deps.clock = &sl_clock_system;
        g_session.fake.interval = (struct v4l2_fract){1, 1000};
        g_session.fake.guard = &g_guard;
        if (session_begin(&g_session) == 0)
            stream_between_threads();
        tell(NULL);
        session_fini(&g_session, false);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_lies");
    TCase *tcase = tcase_create("torture");

    tcase_set_timeout(tcase, 240);
    tcase_add_test(tcase, lies_by_hand);
    tcase_add_test(tcase, lies_between_threads);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
