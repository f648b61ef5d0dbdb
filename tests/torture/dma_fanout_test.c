/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One capture thread and sinks in threads of their own: a fast one, one that hesitates, one that often sleeps, one that wants the
 * newest only and is slow, one that leaves and joins again with frames in its hands, and one that never releases anything while the run
 * lasts. Releases are out of order. Checked: every sink gets its frames in order and whole; a frame's bytes do not change while a sink
 * holds it; the stuck sink costs its limit and nothing else; the books of every sink are right; all frames come home; and the fan-out
 * is closed only when nobody uses it any more, whatever the order.
 */
#include "core/wake.h"
#include "dma/fanout.h"
#include "support/seed.h"
#include "support/suite.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS = 32, FRAMES = 60000, SINKS = 6, GUEST = 4, STUCK = 5, STUCK_LIMIT = 5, HOLD_MAX = 6, LIVES = 400 };

struct worker {
    struct sl_sink *sink;
    uint64_t random;
    unsigned hold;  /* frames it keeps before it releases a random one; SLOTS: all, for ever */
    unsigned pause; /* one in so many frames is followed by a sleep; 0: none */
    unsigned away;  /* one in so many frames is followed by a time away; 0: none */
    uint64_t taken;
    uint64_t next; /* no frame number below this may come */
    uint64_t disorder;
    uint64_t damage;
    struct sl_frame *held[SLOTS];
    uint64_t number[SLOTS];
    unsigned holds;
    pthread_t thread;
};

static struct sl_memory *memory;
static struct sl_pool *pool;
static struct sl_fanout *fanout;
static struct worker workers[SINKS];
static _Atomic bool stopping;

static void fill(struct sl_frame *frame, uint64_t number)
{
    uint64_t *word = (uint64_t *)(void *)frame->slot->data;

    frame->number = number;
    for (unsigned i = 0; i < 8; i++)
        word[i * 64] = number ^ i; /* over the whole page */
}

static bool intact(const struct sl_frame *frame, uint64_t number)
{
    const uint64_t *word = (const uint64_t *)(const void *)frame->slot->data;

    for (unsigned i = 0; i < 8; i++)
        if (word[i * 64] != (number ^ i))
            return false;
    return frame->number == number;
}

static bool take(struct worker *worker)
{
    struct sl_frame *frame = sl_sink_take(worker->sink);

    if (!frame)
        return false;
    worker->taken++;
    worker->disorder += frame->number < worker->next;
    worker->next = frame->number + 1;
    worker->damage += !intact(frame, frame->number);
    worker->number[worker->holds] = frame->number;
    worker->held[worker->holds++] = frame;
    return true;
}

static void release_any(struct worker *worker)
{
    unsigned which = (unsigned)(sl_test_random(&worker->random) % worker->holds);
    struct sl_frame *frame = worker->held[which];

    worker->damage += !intact(frame, worker->number[which]);
    worker->holds--;
    worker->held[which] = worker->held[worker->holds];
    worker->number[which] = worker->number[worker->holds];
    sl_sink_release(worker->sink, frame);
}

static void sleep_on(struct sl_wake *wake, bool (*ready)(void *), void *arg)
{
    struct pollfd entry = {.fd = wake->fd, .events = POLLIN};

    sl_wake_arm(wake);
    if (!ready(arg))
        poll(&entry, 1, -1); /* without a limit: a lost wake-up ends in the test's time-out */
    sl_wake_disarm(wake);
    sl_wake_drain(wake);
}

static bool has_frames_or_stops(void *arg)
{
    return sl_sink_waiting(((struct worker *)arg)->sink) || atomic_load_explicit(&stopping, memory_order_acquire);
}

static void be_away(struct worker *worker)
{
    sl_sink_leave(worker->sink);
    while (worker->holds && sl_test_random(&worker->random) % 4)
        release_any(worker);
    usleep((useconds_t)(sl_test_random(&worker->random) % 300));
    sl_sink_join(worker->sink);
}

static void *work(void *arg)
{
    struct worker *worker = arg;
    bool stop = false;

    while (!stop) {
        stop = atomic_load_explicit(&stopping, memory_order_acquire);
        while (take(worker)) {
            if (worker->hold < SLOTS && worker->holds > worker->hold)
                release_any(worker);
            if (worker->pause && sl_test_random(&worker->random) % worker->pause == 0)
                usleep((useconds_t)(sl_test_random(&worker->random) % 300));
            if (worker->away && sl_test_random(&worker->random) % worker->away == 0)
                be_away(worker);
        }
        while (worker->hold < SLOTS && worker->holds) /* before it sleeps: else capture could starve for ever */
            release_any(worker);
        if (!stop)
            sleep_on(sl_sink_wake(worker->sink), has_frames_or_stops, worker);
    }
    return NULL;
}

static bool came_home(void *arg)
{
    (void)arg;
    return sl_fanout_collect(fanout) > 0;
}

static void capture(void)
{
    for (uint64_t number = 0; number < FRAMES; number++) {
        struct sl_frame *frame;

        sl_fanout_collect(fanout);
        while (!(frame = sl_pool_acquire(pool)))
            sleep_on(sl_fanout_home_wake(fanout), came_home, NULL);
        fill(frame, number);
        sl_frame_filled(frame);
        sl_fanout_publish(fanout, frame);
    }
}

static void open_all(uint64_t seed)
{
    static const struct worker kinds[SINKS] = {
        {.hold = 0}, {.hold = HOLD_MAX}, {.hold = 2, .pause = 40}, {.hold = 1, .pause = 4}, {.hold = 3, .away = 50}, {.hold = SLOTS}};
    static const struct sl_sink_cfg sinks[SINKS] = {{"fast", SL_SINK_WHOLE_POOL, SL_SINK_IN_ORDER},
                                                    {"slow", 12, SL_SINK_IN_ORDER},
                                                    {"sleepy", 4, SL_SINK_IN_ORDER},
                                                    {"preview", 3, SL_SINK_NEWEST},
                                                    {"guest", 5, SL_SINK_IN_ORDER},
                                                    {"stuck", STUCK_LIMIT, SL_SINK_IN_ORDER}};
    struct sl_error err = {""};

    ck_assert_msg(sl_memory_host(&memory, SLOTS, 4096, SL_HUGEPAGES_NO, &err) == 0, "%s", err.text);
    ck_assert_int_eq(sl_pool_open(&pool, memory, &err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 2, &err), 0);
    for (unsigned i = 0; i < SINKS; i++) {
        workers[i] = kinds[i];
        workers[i].random = seed + i;
        ck_assert_int_eq(sl_fanout_add(fanout, &sinks[i], &workers[i].sink, &err), 0);
    }
    for (unsigned i = 0; i < SINKS; i++)
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
}

static void stop_all(void)
{
    atomic_store_explicit(&stopping, true, memory_order_release);
    for (unsigned i = 0; i < SINKS; i++)
        sl_wake_signal(sl_sink_wake(workers[i].sink));
    for (unsigned i = 0; i < SINKS; i++)
        pthread_join(workers[i].thread, NULL);
}

static void check_books(const struct worker *worker, bool is_guest)
{
    uint64_t accepted = sl_sink_counter(worker->sink, SL_SINK_ACCEPTED);
    uint64_t seen = accepted - sl_sink_counter(worker->sink, SL_SINK_UNSEEN);

    ck_assert_uint_eq(sl_sink_counter(worker->sink, SL_SINK_OFFERED), FRAMES);
    ck_assert_uint_eq(accepted + sl_sink_counter(worker->sink, SL_SINK_REFUSED) + sl_sink_counter(worker->sink, SL_SINK_MISSED), FRAMES);
    if (is_guest)
        ck_assert_uint_le(worker->taken, seen); /* leaving, it gave back some that it never looked at */
    else
        ck_assert_uint_eq(worker->taken + sl_sink_waiting(worker->sink), seen);
    ck_assert_uint_eq(sl_sink_held(worker->sink), worker->holds + sl_sink_waiting(worker->sink));
    ck_assert_uint_eq(worker->disorder, 0);
    ck_assert_uint_eq(worker->damage, 0);
}

static void let_stuck_go(void)
{
    struct sl_error err;

    sl_fanout_collect(fanout);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS - STUCK_LIMIT);
    ck_assert_int_eq(sl_fanout_close(fanout, &err), -EBUSY);
    for (unsigned i = 0; i < STUCK_LIMIT; i++) {
        ck_assert_uint_eq(workers[STUCK].number[i], i); /* from the first frame on, and still as it was */
        ck_assert(intact(workers[STUCK].held[i], i));
        sl_sink_release(workers[STUCK].sink, workers[STUCK].held[i]);
    }
}

START_TEST(all_frames_come_home)
{
    struct sl_error err = {""};

    open_all(sl_test_seed());
    capture();
    stop_all();
    for (unsigned i = 0; i < SINKS; i++)
        check_books(&workers[i], i == GUEST);
    ck_assert_uint_eq(workers[0].taken, FRAMES); /* without a limit nothing is refused */
    ck_assert_uint_eq(workers[STUCK].taken, STUCK_LIMIT);
    ck_assert_uint_gt(sl_sink_counter(workers[GUEST].sink, SL_SINK_MISSED), 0);
    for (unsigned i = 0; i < SINKS; i++)
        sl_sink_leave(workers[i].sink);
    let_stuck_go();
    ck_assert_msg(sl_fanout_close(fanout, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    sl_pool_close(pool);
    sl_memory_close(memory);
}
END_TEST

/* Takes until it is told to stop, leaves, and releases what it has in its own time. */
static void *live_shortly(void *arg)
{
    struct worker *worker = arg;
    bool early = sl_test_random(&worker->random) % 2; /* it leaves in the midst of the frames */

    while (!atomic_load_explicit(&stopping, memory_order_acquire) && !(early && worker->taken > 5)) {
        if (worker->holds < 4)
            take(worker);
        if (worker->holds && sl_test_random(&worker->random) % 3 == 0)
            release_any(worker);
    }
    sl_sink_leave(worker->sink);
    while (worker->holds) {
        if (sl_test_random(&worker->random) % 2)
            usleep((useconds_t)(sl_test_random(&worker->random) % 100));
        release_any(worker);
    }
    return NULL;
}

static void one_life(uint64_t seed)
{
    struct sl_error err = {""};

    atomic_store(&stopping, false);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 2, &err), 0);
    for (unsigned i = 0; i < 3; i++) {
        const struct sl_sink_cfg cfg = {"short", 6, i == 2 ? SL_SINK_NEWEST : SL_SINK_IN_ORDER};

        workers[i] = (struct worker){.random = seed * 3 + i};
        ck_assert_int_eq(sl_fanout_add(fanout, &cfg, &workers[i].sink, &err), 0);
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, live_shortly, &workers[i]), 0);
    }
    for (uint64_t number = 0; number < 40; number++) {
        struct sl_frame *frame;

        sl_fanout_collect(fanout);
        frame = sl_pool_acquire(pool);
        ck_assert_ptr_nonnull(frame); /* 3 × 6 frames at most are away */
        fill(frame, number);
        sl_frame_filled(frame);
        sl_fanout_publish(fanout, frame);
    }
    atomic_store_explicit(&stopping, true, memory_order_release);
    while (sl_fanout_close(fanout, &err) < 0)
        usleep(10);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    for (unsigned i = 0; i < 3; i++) {
        pthread_join(workers[i].thread, NULL); /* after the close: it may still be on its way out */
        ck_assert_uint_eq(workers[i].disorder + workers[i].damage, 0);
    }
}

START_TEST(close_races_with_those_who_leave)
{
    uint64_t seed = sl_test_seed();
    struct sl_error err;

    ck_assert_int_eq(sl_memory_host(&memory, SLOTS, 4096, SL_HUGEPAGES_NO, &err), 0);
    ck_assert_int_eq(sl_pool_open(&pool, memory, &err), 0);
    for (unsigned i = 0; i < LIVES; i++)
        one_life(seed + i);
    sl_pool_close(pool);
    sl_memory_close(memory);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dma_fanout_torture");
    TCase *tcase = tcase_create("threads");

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, all_frames_come_home);
    tcase_add_test(tcase, close_races_with_those_who_leave);
    return sl_run_suite(suite);
}
