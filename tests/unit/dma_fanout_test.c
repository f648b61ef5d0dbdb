/* SPDX-License-Identifier: Apache-2.0 */
#include "core/wake.h"
#include "dma/fanout.h"
#include "support/alloc_trap.h"
#include "support/suite.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

enum { SLOTS = 8 };

static struct sl_memory *memory;
static struct sl_pool *pool;
static struct sl_fanout *fanout;
static struct sl_sink *sinks[SL_MAX_SINKS];
static unsigned sink_count;

static void setup(void)
{
    struct sl_error err = {""};

    ck_assert_int_eq(sl_memory_host(&memory, SLOTS, 4096, SL_HUGEPAGES_NO, &err), 0);
    ck_assert_int_eq(sl_pool_open(&pool, memory, &err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 0, &err), 0);
}

static void leave_all(void)
{
    for (unsigned i = 0; i < sink_count; i++)
        sl_sink_leave(sinks[i]);
}

static void teardown(void)
{
    struct sl_error err;

    leave_all();
    ck_assert_msg(sl_fanout_close(fanout, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    sl_pool_close(pool);
    sl_memory_close(memory);
}

static struct sl_sink *add_with(unsigned limit, enum sl_sink_policy policy)
{
    const struct sl_sink_cfg cfg = {.name = "sink", .limit = limit, .policy = policy};
    struct sl_sink *sink = NULL;
    struct sl_error err;

    ck_assert_msg(sl_fanout_add(fanout, &cfg, &sink, &err) == 0, "%s", err.text);
    sinks[sink_count++] = sink;
    return sink;
}

static struct sl_sink *add(unsigned limit)
{
    return add_with(limit, SL_SINK_IN_ORDER);
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
    struct sl_sink *a = add(SL_SINK_WHOLE_POOL);
    struct sl_sink *b = add(SL_SINK_WHOLE_POOL);
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
    struct sl_sink *sink = add(SL_SINK_WHOLE_POOL);
    struct sl_frame *frame[SLOTS];
    static const unsigned order[SLOTS] = {3, 0, 5, 1, 7, 4, 2, 6};

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
    struct sl_sink *large = add(SL_SINK_WHOLE_POOL);
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
    for (unsigned i = 0; i < 6; i++)
        sl_sink_release(large, sl_sink_take(large));
    ck_assert_uint_eq(sl_fanout_collect(fanout), 6);
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
    struct sl_sink *awake = add(SL_SINK_WHOLE_POOL);
    struct sl_sink *asleep = add(SL_SINK_WHOLE_POOL);
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
    struct sl_sink *sink = add(SL_SINK_WHOLE_POOL);
    struct sl_error err;

    add(2);
    for (unsigned i = 0; i < 4; i++)
        sl_fanout_publish(fanout, filled());
    sl_sink_release(sink, sl_sink_take(sink));
    leave_all();
    ck_assert_int_eq(sl_fanout_close(fanout, &err), 0);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    ck_assert_int_eq(sl_fanout_close(NULL, NULL), 0);
    sink_count = 0;
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 0, &err), 0); /* for teardown */
}
END_TEST

static int try_add(unsigned limit, struct sl_error *err)
{
    const struct sl_sink_cfg cfg = {.name = "more", .limit = limit};
    struct sl_sink *sink = NULL;
    int ret = sl_fanout_add(fanout, &cfg, &sink, err);

    ck_assert_int_eq(sink != NULL, ret == 0);
    if (sink)
        sinks[sink_count++] = sink;
    return ret;
}

START_TEST(sinks_are_limited_in_number_and_need_a_limit)
{
    struct sl_error err = {""};

    ck_assert_int_eq(try_add(0, &err), -EINVAL);
    for (unsigned i = 0; i < SL_MAX_SINKS; i++)
        add(SL_SINK_WHOLE_POOL);
    ck_assert_int_eq(try_add(1, &err), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(err.text, "more"));
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), SL_MAX_SINKS);
}
END_TEST

/* 8 slots, 2 of them the device's. */
START_TEST(limits_and_reserve_fit_into_the_pool)
{
    struct sl_error err = {""};

    ck_assert_int_eq(sl_fanout_close(fanout, &err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, SLOTS, &err), -EINVAL);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 2, &err), 0);
    ck_assert_int_eq(try_add(7, &err), -ENOBUFS);
    add(4);
    ck_assert_int_eq(try_add(3, &err), -ENOBUFS);
    ck_assert_str_eq(err.text,
                     "sink more: it may hold 3 frames, and of the ring's 8 slots 2 are left beside the sensor's and the other sinks'");
    ck_assert_int_eq(try_add(1, &err), 0);
    ck_assert_int_eq(try_add(SL_SINK_WHOLE_POOL, &err), 0); /* counts as one */
    ck_assert_int_eq(try_add(1, &err), -ENOBUFS);
}
END_TEST

/* The device has its reserve and the other sink its limit, whatever the stuck one does. */
START_TEST(stuck_sink_costs_its_own_limit_only)
{
    struct sl_frame *stuck_with[3], *held[3];
    struct sl_error err;

    ck_assert_int_eq(sl_fanout_close(fanout, &err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 2, &err), 0);
    struct sl_sink *good = add(3), *stuck = add(3);

    for (unsigned i = 0; i < 3; i++) { /* so that each holds other frames than the other */
        sl_fanout_publish(fanout, filled());
        sl_sink_release(good, sl_sink_take(good));
        stuck_with[i] = sl_sink_take(stuck);
    }
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_uint_eq(sl_pool_free(pool), SLOTS - 3);
        for (unsigned j = 0; j < 3; j++) {
            ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
            held[j] = sl_sink_take(good);
        }
        ck_assert_uint_eq(sl_pool_free(pool), 2);
        for (unsigned j = 0; j < 3; j++)
            sl_sink_release(good, held[j]);
        ck_assert_uint_eq(sl_fanout_collect(fanout), 3);
    }
    check_counters(good, 303, 303, 0);
    check_counters(stuck, 303, 3, 300);
    for (unsigned i = 0; i < 3; i++)
        sl_sink_release(stuck, stuck_with[i]);
}
END_TEST

START_TEST(newest_takes_the_place_of_the_one_that_waits)
{
    struct sl_sink *sink = add_with(2, SL_SINK_NEWEST);
    struct sl_frame *in_hand, *second;

    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
    in_hand = sl_sink_take(sink);
    for (unsigned i = 0; i < 10; i++) { /* one in hand, one waits: the limit is reached and nothing is refused */
        struct sl_frame *frame = filled();

        frame->number = i;
        ck_assert_uint_eq(sl_fanout_publish(fanout, frame), 1);
        ck_assert_uint_eq(sl_sink_waiting(sink), 1);
        ck_assert_uint_eq(sl_sink_held(sink), 2);
        ck_assert_uint_eq(sl_pool_free(pool), SLOTS - 2);
    }
    second = sl_sink_take(sink);
    ck_assert_uint_eq(second->number, 9);
    ck_assert_ptr_null(sl_sink_take(sink));
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 0); /* both in hand */
    check_counters(sink, 12, 11, 1);
    ck_assert_uint_eq(sl_sink_counter(sink, SL_SINK_UNSEEN), 9);
    sl_sink_release(sink, second);
    sl_sink_release(sink, in_hand);
    ck_assert_uint_eq(sl_sink_held(sink), 0);
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
}
END_TEST

/* The frame that is replaced may be in the hands of another sink. */
START_TEST(replaced_frame_stays_with_the_others)
{
    struct sl_sink *newest = add_with(2, SL_SINK_NEWEST), *other = add(4);
    struct sl_frame *first = filled();

    sl_fanout_publish(fanout, first);
    ck_assert_ptr_eq(sl_sink_take(other), first);
    sl_fanout_publish(fanout, filled());
    ck_assert_uint_eq(atomic_load(&first->references), 1);
    sl_sink_release(other, first);
    ck_assert_uint_eq(sl_fanout_collect(fanout), 1);
    ck_assert_uint_eq(sl_sink_counter(newest, SL_SINK_UNSEEN), 1);
}
END_TEST

START_TEST(who_left_misses_frames_until_it_joins)
{
    struct sl_sink *stays = add(4), *leaves = add(3);
    struct sl_frame *in_hand;

    sl_fanout_publish(fanout, filled());
    sl_fanout_publish(fanout, filled());
    in_hand = sl_sink_take(leaves);
    sl_sink_leave(leaves);
    ck_assert_uint_eq(sl_sink_waiting(leaves), 0);
    ck_assert_uint_eq(sl_sink_held(leaves), 1); /* what it has in its hands is its own */
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 1);
    sl_sink_release(leaves, in_hand);
    ck_assert_uint_eq(sl_sink_held(leaves), 0);
    sl_sink_join(leaves);
    ck_assert_uint_eq(sl_fanout_publish(fanout, filled()), 2);
    check_counters(leaves, 4, 3, 0);
    ck_assert_uint_eq(sl_sink_counter(leaves, SL_SINK_MISSED), 1);
    check_counters(stays, 4, 4, 0);
}
END_TEST

START_TEST(close_waits_for_nobody_and_frees_nothing_in_use)
{
    struct sl_sink *sink = add(3);
    struct sl_frame *in_hand;
    struct sl_error err;

    ck_assert_int_eq(sl_fanout_close(fanout, &err), -EBUSY); /* it has not left: its thread may yet take */
    sl_fanout_publish(fanout, filled());
    sl_fanout_publish(fanout, filled());
    in_hand = sl_sink_take(sink);
    sl_sink_leave(sink);
    ck_assert_int_eq(sl_fanout_close(fanout, &err), -EBUSY);
    ck_assert_str_eq(err.text, "sink sink still holds 1 frames");
    memset(in_hand->slot->data, 7, in_hand->slot->data_bytes); /* still there */
    sl_sink_release(sink, in_hand);
    ck_assert_int_eq(sl_fanout_close(fanout, &err), 0);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    sink_count = 0;
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 0, &err), 0); /* for teardown */
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
    struct sl_sink *a = add(SL_SINK_WHOLE_POOL);
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

    add(SL_SINK_WHOLE_POOL);
    sl_fanout_publish(fanout, frame);
    sl_fanout_publish(fanout, frame);
}
END_TEST

START_TEST(giving_back_a_shared_frame_aborts)
{
    struct sl_frame *frame = filled();

    add(SL_SINK_WHOLE_POOL);
    sl_fanout_publish(fanout, frame);
    sl_pool_give_back(pool, frame);
}
END_TEST

START_TEST(releasing_twice_aborts)
{
    struct sl_sink *sink = add(SL_SINK_WHOLE_POOL);
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
    struct sl_sink *sink = add(SL_SINK_WHOLE_POOL);
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
    struct sl_sink *sink = add(SL_SINK_WHOLE_POOL);
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
    struct sl_sink *sink = add(SL_SINK_WHOLE_POOL);

    sl_fanout_publish(fanout, filled());
    sl_sink_take(sink);
    sl_sink_leave(sink);
    sl_fanout_close(fanout, NULL);
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
    tcase_add_test(tcase, limits_and_reserve_fit_into_the_pool);
    tcase_add_test(tcase, stuck_sink_costs_its_own_limit_only);
    tcase_add_test(tcase, newest_takes_the_place_of_the_one_that_waits);
    tcase_add_test(tcase, replaced_frame_stays_with_the_others);
    tcase_add_test(tcase, who_left_misses_frames_until_it_joins);
    tcase_add_test(tcase, close_waits_for_nobody_and_frees_nothing_in_use);
    tcase_add_test(tcase, counters_have_names);
    tcase_add_test(tcase, the_hot_path_neither_allocates_nor_locks);
    return sl_run_suite(suite);
}
