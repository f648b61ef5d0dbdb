/* SPDX-License-Identifier: Apache-2.0 */
#include "core/histogram.h"
#include "support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES = 20000 };

static struct sl_histogram histogram;
static uint64_t values[VALUES];
static uint64_t random_state = 88172645463325252ULL;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Never below the true value, and above it by 1/32 at most. */
static void check_against_sorted(unsigned count)
{
    static const double shares[] = {0.0001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};

    qsort(values, count, sizeof(values[0]), by_value);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
        size_t rank = (size_t)ceil(shares[i] * count);
        uint64_t exact = values[rank ? rank - 1 : 0];
        uint64_t got = sl_histogram_quantile(&histogram, shares[i]);

        ck_assert_uint_ge(got, exact);
        ck_assert_uint_le(got - exact, exact / 32);
        ck_assert_uint_le(got, values[count - 1]);
    }
}

START_TEST(empty_is_zero)
{
    ck_assert_uint_eq(sl_histogram_quantile(&histogram, 0.5), 0);
    ck_assert_uint_eq(sl_histogram_quantile(&histogram, 1), 0);
}
END_TEST

START_TEST(small_values_are_exact)
{
    for (uint64_t v = 0; v < 64; v++)
        sl_histogram_add(&histogram, v);
    for (uint64_t v = 0; v < 64; v++)
        ck_assert_uint_eq(sl_histogram_quantile(&histogram, ((double)v + 1) / 64), v);
    ck_assert_uint_eq(sl_histogram_quantile(&histogram, 0), 0);
    ck_assert_uint_eq(sl_histogram_quantile(&histogram, -1), 0);
    ck_assert_uint_eq(sl_histogram_quantile(&histogram, 2), 63);
    ck_assert_uint_eq(sl_histogram_quantile(&histogram, NAN), 0);
}
END_TEST

START_TEST(edges_of_every_power_of_two)
{
    for (unsigned bit = 0; bit < 64; bit++) {
        uint64_t edges[] = {(1ULL << bit) - 1, 1ULL << bit, (1ULL << bit) + 1};

        for (unsigned i = 0; i < 3; i++) {
            memset(&histogram, 0, sizeof(histogram));
            sl_histogram_add(&histogram, edges[i]);
            sl_histogram_add(&histogram, UINT64_MAX); /* so that the maximum does not hide the edge */
            ck_assert_uint_ge(sl_histogram_quantile(&histogram, 0.5), edges[i]);
            ck_assert_uint_le(sl_histogram_quantile(&histogram, 0.5) - edges[i], edges[i] / 32);
            ck_assert_uint_eq(sl_histogram_quantile(&histogram, 1), UINT64_MAX);
        }
    }
}
END_TEST

START_TEST(bounded_error_over_all_magnitudes)
{
    for (unsigned i = 0; i < VALUES; i++) {
        values[i] = next_random() >> (next_random() % 64);
        sl_histogram_add(&histogram, values[i]);
    }
    check_against_sorted(VALUES);
}
END_TEST

START_TEST(bounded_error_of_latencies)
{
    for (unsigned i = 0; i < VALUES; i++) {
        values[i] = 1000 + next_random() % 500;
        if (i % 500 == 0)
            values[i] += next_random() % 200000;
        sl_histogram_add(&histogram, values[i]);
    }
    check_against_sorted(VALUES);
}
END_TEST

START_TEST(never_above_the_maximum)
{
    sl_histogram_add(&histogram, 1000001);
    ck_assert_uint_eq(sl_histogram_quantile(&histogram, 0.5), 1000001);
    ck_assert_uint_eq(sl_counter_read(&histogram.max), 1000001);
    ck_assert_uint_eq(sl_counter_read(&histogram.count), 1);
}
END_TEST

static void clear(void)
{
    memset(&histogram, 0, sizeof(histogram));
}

int main(void)
{
    Suite *suite = suite_create("core_histogram");
    TCase *tcase = tcase_create("histogram");

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, clear, NULL);
    tcase_add_test(tcase, empty_is_zero);
    tcase_add_test(tcase, small_values_are_exact);
    tcase_add_test(tcase, edges_of_every_power_of_two);
    tcase_add_test(tcase, bounded_error_over_all_magnitudes);
    tcase_add_test(tcase, bounded_error_of_latencies);
    tcase_add_test(tcase, never_above_the_maximum);
    return sl_run_suite(suite);
}
