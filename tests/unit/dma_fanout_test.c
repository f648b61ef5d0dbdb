/* SPDX-License-Identifier: Apache-2.0 */
#include "dma/dma.h"
#include "support/alloc_trap.h"
#include "support/suite.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

enum { SLOTS = 6 };

static struct sl_memory *memory;
static struct sl_pool *pool;
static struct sl_fanout *fanout;

static void setup(void)
{
    struct sl_error err = {""};

    ck_assert_int_eq(sl_memory_host(&memory, SLOTS, 4096, SL_HUGEPAGES_NO, &err), 0);
    ck_assert_int_eq(sl_pool_open(&pool, memory, &err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, &err), 0);
}

static void teardown(void)
{
    sl_fanout_close(fanout);
    sl_pool_close(pool);
    sl_memory_close(memory);
}

static struct sl_sink *add(unsigned limit)
{
    const struct sl_sink_cfg cfg = {.name = "sink", .limit = limit};
    struct sl_sink *sink = NULL;
    struct sl_error err;

    ck_assert_int_eq(sl_fanout_add(fanout, &cfg, &sink, &err), 0);
    return sink;
}

static struct sl_frame *filled(void)
{
    struct sl_frame *frame = sl_pool_acquire(pool);

    ck_assert_ptr_nonnull(frame);
    sl_frame_filled(frame);
    return frame;
}

static void check_counters(const struct sl_sink *sink, uint64_t offered, uint64_t accepted, uint64_t refused)
{
    ck_assert_uint_eq(sl_sink_counter(sink, SL_SINK_OFFERED), offered);
    ck_assert_uint_eq(sl_sink_counter(sink, SL_SINK_ACCEPTED), accepted);
    ck_assert_uint_eq(sl_sink_counter(sink, SL_SINK_REFUSED), refused);
}

static bool rung(struct sl_wake *wake)
{
    struct pollfd entry = {.fd = wake->fd, .events = POLLIN};

    return poll(&entry, 1, 0) == 1;
}

START_TEST(without_sinks_a_frame_is_free_again)
{
    struct sl_frame *frame = filled();

    ck_assert_uint_eq(sl_fanout_publish(fanout, frame), 0);
    ck_assert_uint_eq(atomic_load(&frame->state), SL_FRAME_FREE);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
}
END_TEST

START_TEST(a_frame_comes_home_after_the_last_release)
{
    struct sl_sink *a = add(SLOTS);
    struct sl_sink *b = add(SLOTS);
    struct sl_frame *frame = filled();

    ck_assert_uint_eq(sl_fanout_publish(fanout, frame), 2);
    ck_assert_uint_eq(atomic_load(&frame->state), SL_FRAME_SHARED);
    ck_assert_uint_eq(atomic_load(&frame->references), 2);
    ck_assert_ptr_eq(sl_sink_take(a), frame);
    ck_assert_ptr_eq(sl_sink_take(b), frame);
    ck_assert_ptr_null(sl_sink_take(a));
    sl_sink_release(b, frame);
    ck_assert_uint_eq(sl_fanout_collect(fanout), 0);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS - 1);
    sl_sink_release(a, frame);
    ck_assert_uint_eq(sl_fanout_collect(fanout), 1);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    ck_assert_uint_eq(atomic_load(&frame->state), SL_FRAME_FREE);
    ck_assert_uint_eq(sl_fanout_collect(fanout), 0);
}
END_TEST

START_TEST(frames_come_in_order_and_go_in_any)
{
    struct sl_sink *sink = add(SLOTS);
    struct sl_frame *frame[SLOTS];
    static const unsigned order[SLOTS] = {3, 0, 5, 1, 4, 2};

    for (unsigned i = 0; i < SLOTS; i++) {
        frame[i] = filled();
        ck_assert_uint_eq(sl_fanout_publish(fanout, frame[i]), 1);
    }
    ck_assert_uint_eq(sl_sink_waiting(sink), SLOTS);
    for (unsigned i = 0; i < SLOTS; i++)
        ck_assert_ptr_eq(sl_sink_take(sink), frame[i]);
    ck_assert_uint_eq(sl_sink_waiting(sink), 0);
    for (unsigned i = 0; i < SLOTS; i++) {
        sl_sink_release(sink, frame[order[i]]);
        ck_assert_uint_eq(sl_fanout_collect(fanout), 1);
    }
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
}
END_TEST

/* Queued and taken frames count alike, and a full sink costs the others nothing. */
START_TEST(the_limit_counts_all_that_a_sink_holds)
{
    struct sl_sink *small = add(2);
    struct sl_sink *large = add(SLOTS);
    struct sl_frame *first, *second;

    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 2);
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 2);
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
    first = sl_sink_take(small); /* taken, but still held */
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
    check_counters(small, 4, 2, 2);
    check_counters(large, 4, 4, 0);
    sl_sink_release(small, first);
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 2);
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
    check_counters(small, 6, 3, 3);
    second = sl_sink_take(small);
    ck_assert_ptr_ne(second, first);
    sl_sink_release(small, second);
    sl_sink_release(small, sl_sink_take(small));
    for (unsigned i = 0; i < SLOTS; i++)
        sl_sink_release(large, sl_sink_take(large));
    ck_assert_uint_eq(sl_fanout_collect(fanout), SLOTS);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
}
END_TEST

START_TEST(a_frame_that_nobody_takes_is_free_at_once)
{
    struct sl_sink *sink = add(1);
    struct sl_frame *frame;

    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
    frame = filled();
    ck_assert_uint_eq(sl_fanout_publish(fanout, frame), 0);
    ck_assert_uint_eq(atomic_load(&frame->state), SL_FRAME_FREE);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS - 1);
    check_counters(sink, 2, 1, 1);
}
END_TEST

START_TEST(bells_ring_only_for_those_who_sleep)
{
    struct sl_sink *awake = add(SLOTS);
    struct sl_sink *asleep = add(SLOTS);
    struct sl_sink *full = add(1);
    struct sl_wake *home = sl_fanout_home_wake(fanout);

    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 3);
    sl_wake_arm(sl_sink_wake(asleep));
    sl_wake_arm(sl_sink_wake(full));
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 2);
    ck_assert(!rung(sl_sink_wake(awake)));
    ck_assert(rung(sl_sink_wake(asleep)));
    ck_assert(!rung(sl_sink_wake(full))); /* there is nothing new for it */
    sl_wake_arm(home);
    sl_sink_release(full, sl_sink_take(full));
    sl_sink_release(asleep, sl_sink_take(asleep));
    ck_assert(!rung(home)); /* not the last release */
    sl_sink_release(awake, sl_sink_take(awake));
    ck_assert(rung(home));
}
END_TEST

START_TEST(close_brings_home_what_was_never_taken)
{
    struct sl_sink *sink = add(SLOTS);
    struct sl_error err;

    add(2);
    for (unsigned i = 0; i < 4; i++)
        sl_fanout_publish(fanout, filled());
    sl_sink_release(sink, sl_sink_take(sink));
    sl_fanout_close(fanout);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    sl_fanout_close(NULL);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, &err), 0); /* for teardown */
}
END_TEST

START_TEST(sinks_are_limited_in_number_and_need_a_limit)
{
    const struct sl_sink_cfg none = {.name = "none", .limit = 0};
    const struct sl_sink_cfg one = {.name = "ninth", .limit = 1};
    struct sl_sink *sink = NULL;
    struct sl_error err = {""};

    ck_assert_int_eq(sl_fanout_add(fanout, &none, &sink, &err), -EINVAL);
    for (unsigned i = 0; i < SL_MAX_SINKS; i++)
        add(1000000); /* more than there are slots: never reached, and not allocated either */
    ck_assert_int_eq(sl_fanout_add(fanout, &one, &sink, &err), -ENOSPC);
    ck_assert_ptr_null(sink);
    ck_assert_ptr_nonnull(strstr(err.text, "ninth"));
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), SL_MAX_SINKS);
}
END_TEST

START_TEST(counters_have_names)
{
    struct sl_sink *sink = add(1);

    for (unsigned i = 0; i < SL_SINK_COUNTERS; i++) {
        ck_assert_ptr_nonnull(sl_sink_counter_defs[i].name);
        ck_assert_str_eq(sl_sink_counter_defs[i].unit, "frames");
    }
    ck_assert_uint_eq(sl_sink_counter(sink, SL_SINK_COUNTERS), 0);
}
END_TEST

START_TEST(the_hot_path_neither_allocates_nor_locks)
{
    struct sl_sink *a = add(SLOTS);
    struct sl_sink *b = add(1);

    sl_trap_arm();
    for (unsigned i = 0; i < 1000; i++) {
        struct sl_frame *frame = sl_pool_acquire(pool);

        sl_frame_filled(frame);
        sl_wake_arm(sl_sink_wake(a));
        sl_fanout_publish(fanout, frame);
        sl_wake_drain(sl_sink_wake(a));
        sl_sink_release(a, sl_sink_take(a));
        if (i % 2)
            sl_sink_release(b, sl_sink_take(b));
        sl_fanout_collect(fanout);
    }
    sl_trap_disarm();
    ck_assert_uint_eq(sl_trap_allocations(), 0);
    ck_assert_uint_eq(sl_trap_locks(), 0);
    check_counters(a, 1000, 1000, 0);
    check_counters(b, 1000, 500, 500);
}
END_TEST

START_TEST(publishing_a_queued_frame_aborts)
{
    sl_fanout_publish(fanout, sl_pool_acquire(pool));
}
END_TEST

START_TEST(publishing_twice_aborts)
{
    struct sl_frame *frame = filled();

    add(SLOTS);
    sl_fanout_publish(fanout, frame);
    sl_fanout_publish(fanout, frame);
}
END_TEST

START_TEST(giving_back_a_shared_frame_aborts)
{
    struct sl_frame *frame = filled();

    add(SLOTS);
    sl_fanout_publish(fanout, frame);
    sl_pool_give_back(pool, frame);
}
END_TEST

START_TEST(releasing_twice_aborts)
{
    struct sl_sink *sink = add(SLOTS);
    struct sl_frame *frame;

    sl_fanout_publish(fanout, filled());
    frame = sl_sink_take(sink);
    sl_sink_release(sink, frame);
    sl_sink_release(sink, frame);
}
END_TEST

/* It has another frame, so only the references tell. */
START_TEST(releasing_twice_while_holding_another_aborts)
{
    struct sl_sink *sink = add(SLOTS);
    struct sl_frame *frame;

    sl_fanout_publish(fanout, filled());
    sl_fanout_publish(fanout, filled());
    frame = sl_sink_take(sink);
    sl_sink_take(sink);
    sl_sink_release(sink, frame);
    sl_sink_release(sink, frame);
}
END_TEST

START_TEST(releasing_a_frame_that_is_home_aborts)
{
    struct sl_sink *sink = add(SLOTS);
    struct sl_frame *frame;

    sl_fanout_publish(fanout, filled());
    sl_fanout_publish(fanout, filled());
    frame = sl_sink_take(sink);
    sl_sink_take(sink);
    sl_sink_release(sink, frame);
    sl_fanout_collect(fanout);
    sl_sink_release(sink, frame);
}
END_TEST

START_TEST(closing_the_pool_under_a_sink_aborts)
{
    struct sl_sink *sink = add(SLOTS);

    sl_fanout_publish(fanout, filled());
    sl_sink_take(sink);
    sl_fanout_close(fanout);
    sl_pool_close(pool);
}
END_TEST

static TCase *aborts(void)
{
    TCase *tcase = tcase_create("aborts");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test_raise_signal(tcase, publishing_a_queued_frame_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, publishing_twice_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, giving_back_a_shared_frame_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, releasing_twice_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, releasing_twice_while_holding_another_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, releasing_a_frame_that_is_home_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, closing_the_pool_under_a_sink_aborts, SIGABRT);
    return tcase;
}

int main(void)
{
    Suite *suite = suite_create("dma_fanout");
    TCase *tcase = tcase_create("fanout");

    suite_add_tcase(suite, tcase);
    suite_add_tcase(suite, aborts());
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, without_sinks_a_frame_is_free_again);
    tcase_add_test(tcase, a_frame_comes_home_after_the_last_release);
    tcase_add_test(tcase, frames_come_in_order_and_go_in_any);
    tcase_add_test(tcase, the_limit_counts_all_that_a_sink_holds);
    tcase_add_test(tcase, a_frame_that_nobody_takes_is_free_at_once);
    tcase_add_test(tcase, bells_ring_only_for_those_who_sleep);
    tcase_add_test(tcase, close_brings_home_what_was_never_taken);
    tcase_add_test(tcase, sinks_are_limited_in_number_and_need_a_limit);
    tcase_add_test(tcase, counters_have_names);
    tcase_add_test(tcase, the_hot_path_neither_allocates_nor_locks);
    return sl_run_suite(suite);
}
