/* SPDX-License-Identifier: Apache-2.0 */
#include "support/alloc_trap.h"
#include "support/suite.h"

#include <string.h>

void *kept; /* visible outside, so that the compiler cannot leave the calls out */

static void *allocate_elsewhere(void *arg)
{
    (void)arg;
    kept = malloc(10);
    free(kept);
    return NULL;
}

START_TEST(counts_each_way_to_the_heap)
{
    void *memory = NULL;
    int ret;

    sl_trap_arm();
    kept = malloc(10);
    kept = realloc(kept, 2000);
    free(kept);
    kept = calloc(3, 5);
    free(kept);
    kept = aligned_alloc(64, 128);
    free(kept);
    sl_trap_disarm();
    ck_assert_uint_eq(sl_trap_allocations(), 7);

    sl_trap_arm();
    ret = posix_memalign(&memory, 4096, 100);
    sl_trap_disarm();
    ck_assert_int_eq(ret, 0);
    ck_assert_uint_eq(sl_trap_allocations(), 1);
    ck_assert_uint_eq((uintptr_t)memory % 4096, 0);
    free(memory);
}
END_TEST

START_TEST(sees_allocations_inside_the_c_library)
{
    sl_trap_arm();
    kept = strdup("text");
    sl_trap_disarm();
    ck_assert_uint_eq(sl_trap_allocations(), 1);
    ck_assert_ptr_nonnull(sl_trap_first_caller());
    free(kept);
}
END_TEST

START_TEST(counts_locks)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

    sl_trap_arm();
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_wrlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    sl_trap_disarm();
    ck_assert_uint_eq(sl_trap_locks(), 3);
}
END_TEST

START_TEST(counts_nothing_unless_armed_in_this_thread)
{
    pthread_t thread;
    int ret;

    ret = pthread_create(&thread, NULL, allocate_elsewhere, NULL);
    ck_assert_int_eq(ret, 0);
    sl_trap_arm();
    sl_trap_disarm();
    pthread_join(thread, NULL);
    kept = malloc(1);
    free(kept);
    ck_assert_uint_eq(sl_trap_allocations(), 0);
    ck_assert_uint_eq(sl_trap_locks(), 0);
    ck_assert_ptr_null(sl_trap_first_caller());
}
END_TEST

START_TEST(says_that_it_is_not_there)
{
    sl_trap_arm();
    allocate_elsewhere(NULL);
    sl_trap_disarm();
    ck_assert(!sl_trap_available());
    ck_assert_uint_eq(sl_trap_allocations(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("support_alloc_trap");
    TCase *tcase = tcase_create("trap");

    suite_add_tcase(suite, tcase);
    if (!sl_trap_available()) {
        tcase_add_test(tcase, says_that_it_is_not_there);
        return sl_run_suite(suite);
    }
    tcase_add_test(tcase, counts_each_way_to_the_heap);
    tcase_add_test(tcase, sees_allocations_inside_the_c_library);
    tcase_add_test(tcase, counts_locks);
    tcase_add_test(tcase, counts_nothing_unless_armed_in_this_thread);
    return sl_run_suite(suite);
}
