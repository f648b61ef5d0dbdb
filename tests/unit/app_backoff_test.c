/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>

#include "app/backoff.h"
#include "support/suite.h"

START_TEST(doubles_up_to_its_cap)
{
    struct sl_backoff backoff = {0};
    int64_t wait_ns = SL_BACKOFF_FIRST_NS;

    for (unsigned i = 0; i < 6; i++, wait_ns *= 2)
        ck_assert_int_eq(sl_backoff_failed(&backoff, 0), wait_ns < SL_BACKOFF_LAST_NS ? wait_ns : SL_BACKOFF_LAST_NS);
    for (unsigned i = 0; i < 100; i++)
        ck_assert_int_eq(sl_backoff_failed(&backoff, 0), SL_BACKOFF_LAST_NS);
}
END_TEST

START_TEST(trusts_only_a_device_that_streamed_for_long)
{
    struct sl_backoff backoff = {0};

    ck_assert_int_eq(sl_backoff_failed(&backoff, SL_BACKOFF_STEADY_NS), 0);
    ck_assert_int_eq(sl_backoff_failed(&backoff, 0), SL_BACKOFF_FIRST_NS);
    ck_assert_int_eq(sl_backoff_failed(&backoff, SL_BACKOFF_STEADY_NS - 1), 2 * SL_BACKOFF_FIRST_NS);
    ck_assert_int_eq(sl_backoff_failed(&backoff, SL_BACKOFF_STEADY_NS), 0);
    ck_assert_int_eq(sl_backoff_failed(&backoff, 0), SL_BACKOFF_FIRST_NS);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_backoff");
    TCase *tests = tcase_create("backoff");

    tcase_add_test(tests, doubles_up_to_its_cap);
    tcase_add_test(tests, trusts_only_a_device_that_streamed_for_long);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
