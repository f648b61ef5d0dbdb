/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two threads, a small ring and millions of items: every item arrives once, in order and whole. Then the same with a consumer
 * that sleeps on a wake-up without a time limit, so that one lost wake-up ends the test by its time-out.
 */
#include "core/spsc.h"
#include "core/wake.h"
#include "support/seed.h"
#include "support/suite.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>

#ifdef __SANITIZE_THREAD__
enum { ITEMS = 3000000 }; /* each is some twenty times slower */
#else
enum { ITEMS = 10000000 };
#endif
enum { RING_ITEMS = 64, SLEEPER_ITEMS = 200000 };

struct item {
    uint64_t number;
    uint64_t check; /* tells an item that was read while it was written */
};

struct lane {
    struct sl_spsc ring;
    struct sl_wake wake;
    uint64_t seed;
    uint64_t items;
    uint64_t sleeps;
    uint64_t wrong; /* an assertion per item would be a write(2) per item */
};

static struct lane lane;

static uint64_t mix(uint64_t number)
{
    return (number * 0x9e3779b97f4a7c15u) ^ 0x5555555555555555u;
}

static void *produce(void *arg)
{
    (void)arg;
    for (uint64_t i = 0; i < lane.items; i++) {
        const struct item item = {i, mix(i)};

        while (!sl_spsc_push(&lane.ring, &item))
            sched_yield();
    }
    return NULL;
}

/* Waits until the ring is empty, and a little: the push falls into the moment in which the consumer arms and looks once more. */
static void *produce_for_a_sleeper(void *arg)
{
    uint64_t random = lane.seed;

    (void)arg;
    for (uint64_t i = 0; i < lane.items; i++) {
        const struct item item = {i, mix(i)};

        for (unsigned spins = 0; sl_spsc_count(&lane.ring); spins++)
            if (spins > 1000)
                sched_yield(); /* on one CPU nobody would empty it */
        for (uint64_t pause = sl_test_random(&random) % 4; pause; pause--)
            atomic_signal_fence(memory_order_seq_cst); /* only keeps the loop */
        while (!sl_spsc_push(&lane.ring, &item))
            sched_yield();
        sl_wake_notify(&lane.wake);
    }
    return NULL;
}

static bool look(uint64_t *next)
{
    struct item item;

    if (!sl_spsc_pop(&lane.ring, &item))
        return false;
    lane.wrong += item.number != *next || item.check != mix(item.number);
    ++*next;
    return true;
}

static void sleep_until_woken(uint64_t *next)
{
    struct pollfd entry = {.fd = lane.wake.fd, .events = POLLIN};

    sl_wake_arm(&lane.wake);
    if (!look(next)) {
        poll(&entry, 1, -1);
        lane.sleeps++;
    }
    sl_wake_disarm(&lane.wake);
    sl_wake_drain(&lane.wake);
}

static void start(pthread_t *thread, void *(*producer)(void *), uint64_t items)
{
    lane.items = items;
    lane.seed = sl_test_seed();
    ck_assert_int_eq(sl_spsc_init(&lane.ring, RING_ITEMS, sizeof(struct item)), 0);
    ck_assert_int_eq(sl_wake_init(&lane.wake), 0);
    ck_assert_int_eq(pthread_create(thread, NULL, producer, NULL), 0);
}

static void finish(pthread_t thread)
{
    struct item item;

    pthread_join(thread, NULL);
    ck_assert(!sl_spsc_pop(&lane.ring, &item));
    ck_assert_uint_eq(lane.wrong, 0);
    sl_wake_fini(&lane.wake);
    sl_spsc_fini(&lane.ring);
}

START_TEST(millions_of_items_arrive_once_and_in_order)
{
    pthread_t thread;
    uint64_t next = 0;

    start(&thread, produce, ITEMS);
    while (next < ITEMS)
        if (!look(&next))
            sched_yield();
    finish(thread);
}
END_TEST

START_TEST(a_sleeper_misses_no_wake_up)
{
    pthread_t thread;
    uint64_t next = 0;

    start(&thread, produce_for_a_sleeper, SLEEPER_ITEMS);
    while (next < SLEEPER_ITEMS)
        if (!look(&next))
            sleep_until_woken(&next);
    finish(thread);
    ck_assert_uint_gt(lane.sleeps, 0); /* else nothing was tried */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_spsc_torture");
    TCase *tcase = tcase_create("threads");

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, millions_of_items_arrive_once_and_in_order);
    tcase_add_test(tcase, a_sleeper_misses_no_wake_up);
    return sl_run_suite(suite);
}
