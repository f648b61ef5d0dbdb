/* SPDX-License-Identifier: Apache-2.0 */
#include "dma/dma.h"
#include "support/suite.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLOTS = 4 };

static struct sl_memory *memory;
static struct sl_pool *pool;

static void setup(void)
{
    struct sl_error err = {""};

    ck_assert_int_eq(sl_memory_host(&memory, SLOTS, 4096, SL_HUGEPAGES_NO, &err), 0);
    ck_assert_int_eq(sl_pool_open(&pool, memory, &err), 0);
}

static void teardown(void)
{
    sl_pool_close(pool);
    sl_memory_close(memory);
}

static uint32_t state(const struct sl_frame *frame)
{
    return atomic_load(&frame->state);
}

START_TEST(all_frames_are_free_at_first)
{
    ck_assert_uint_eq(sl_pool_slots(pool), SLOTS);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    for (unsigned i = 0; i < SLOTS; i++) {
        struct sl_frame *frame = sl_pool_frame(pool, i);

        ck_assert_uint_eq(frame->index, i);
        ck_assert_ptr_eq(frame->slot, &memory->slot[i]);
        ck_assert_uint_eq(state(frame), SL_FRAME_FREE);
    }
    ck_assert_ptr_null(sl_pool_frame(pool, SLOTS));
    ck_assert_ptr_null(sl_pool_frame(pool, UINT32_MAX));
    sl_pool_close(NULL);
}
END_TEST

START_TEST(each_frame_is_acquired_once)
{
    bool seen[SLOTS] = {false};

    for (unsigned i = 0; i < SLOTS; i++) {
        struct sl_frame *frame = sl_pool_acquire(pool);

        ck_assert_uint_eq(state(frame), SL_FRAME_QUEUED);
        ck_assert(!seen[frame->index]);
        seen[frame->index] = true;
        ck_assert_uint_eq(sl_pool_free(pool), SLOTS - 1 - i);
    }
    ck_assert_ptr_null(sl_pool_acquire(pool));
    ck_assert_uint_eq(sl_pool_free(pool), 0);
}
END_TEST

START_TEST(given_back_frames_come_first)
{
    struct sl_frame *first = sl_pool_acquire(pool);
    struct sl_frame *second = sl_pool_acquire(pool);

    sl_pool_give_back(pool, first); /* still QUEUED: the device never filled it */
    ck_assert_uint_eq(state(first), SL_FRAME_FREE);
    sl_frame_filled(second);
    ck_assert_uint_eq(state(second), SL_FRAME_FILLED);
    sl_pool_give_back(pool, second);
    ck_assert_uint_eq(state(second), SL_FRAME_FREE);
    ck_assert_uint_eq(sl_pool_free(pool), SLOTS);
    ck_assert_ptr_eq(sl_pool_acquire(pool), second);
    ck_assert_ptr_eq(sl_pool_acquire(pool), first);
}
END_TEST

START_TEST(a_pool_needs_slots)
{
    const struct sl_memory none = {.slots = 0};
    struct sl_pool *other = NULL;
    struct sl_error err;

    ck_assert_int_eq(sl_pool_open(&other, &none, &err), -EINVAL);
    ck_assert_ptr_null(other);
}
END_TEST

START_TEST(filling_a_free_frame_aborts)
{
    sl_frame_filled(sl_pool_frame(pool, 1));
}
END_TEST

START_TEST(filling_twice_aborts)
{
    struct sl_frame *frame = sl_pool_acquire(pool);

    sl_frame_filled(frame);
    sl_frame_filled(frame);
}
END_TEST

START_TEST(giving_back_a_free_frame_aborts)
{
    struct sl_frame *frame = sl_pool_acquire(pool);

    sl_pool_give_back(pool, frame);
    sl_pool_give_back(pool, frame);
}
END_TEST

START_TEST(giving_back_to_another_pool_aborts)
{
    struct sl_pool *other;
    struct sl_error err;

    ck_assert_int_eq(sl_pool_open(&other, memory, &err), 0);
    sl_pool_give_back(other, sl_pool_acquire(pool));
}
END_TEST

/* What is written to stderr when frame 2 is filled although it is free. */
START_TEST(the_last_words_name_frame_and_states)
{
    char text[512] = "";
    int status = 0;
    int ends[2];
    pid_t child;

    ck_assert_int_eq(pipe(ends), 0);
    child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        dup2(ends[1], STDERR_FILENO);
        sl_frame_filled(sl_pool_frame(pool, 2));
        _exit(0);
    }
    close(ends[1]);
    ck_assert_int_gt(read(ends[0], text, sizeof(text) - 1), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status));
    ck_assert_int_eq(WTERMSIG(status), SIGABRT);
    ck_assert_ptr_eq(strstr(text, "sluice: bug: frame 2 is FREE, so it cannot go from QUEUED to FILLED\n"), text);
    close(ends[0]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dma_pool");
    TCase *tcase = tcase_create("pool");

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, all_frames_are_free_at_first);
    tcase_add_test(tcase, each_frame_is_acquired_once);
    tcase_add_test(tcase, given_back_frames_come_first);
    tcase_add_test(tcase, a_pool_needs_slots);
    tcase_add_test(tcase, the_last_words_name_frame_and_states);
    tcase_add_test_raise_signal(tcase, filling_a_free_frame_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, filling_twice_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, giving_back_a_free_frame_aborts, SIGABRT);
    tcase_add_test_raise_signal(tcase, giving_back_to_another_pool_aborts, SIGABRT);
    return sl_run_suite(suite);
}
