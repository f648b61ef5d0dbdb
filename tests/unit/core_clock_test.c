/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"
#include "support/suite.h"

#include <stdbool.h>
#include <time.h>

static const struct sl_rational fps_25 = {25, 1};
static const struct sl_rational fps_5994 = {60000, 1001};
static const struct sl_rational fps_60 = {60, 1};

/* t is the time of frame n, rounded down, exactly when t × num ≤ n × den × 10⁹ < (t + 1) × num. */
static bool is_exact(struct sl_rational fps, uint64_t number)
{
    unsigned __int128 exact = (unsigned __int128)number * fps.den * 1000000000u;
    unsigned __int128 time = (unsigned __int128)sl_frame_time_ns(fps, number);

    return time * fps.num <= exact && exact < (time + 1) * fps.num;
}

START_TEST(frame_times_after_an_hour)
{
    ck_assert_int_eq(sl_frame_time_ns(fps_25, 25ULL * 3600), 3600 * SL_NS_PER_S);
    ck_assert_int_eq(sl_frame_time_ns(fps_60, 60ULL * 3600), 3600 * SL_NS_PER_S);
    ck_assert_int_eq(sl_frame_time_ns(fps_60, 60ULL * 3600 + 1), 3600 * SL_NS_PER_S + 16666666);
    ck_assert_int_eq(sl_frame_time_ns(fps_60, 60ULL * 3600 + 2), 3600 * SL_NS_PER_S + 33333333);
    /* 60,000 frames take 1001 s */
    ck_assert_int_eq(sl_frame_time_ns(fps_5994, 60000ULL * 4), 4004 * SL_NS_PER_S);
    ck_assert_int_eq(sl_frame_time_ns(fps_5994, 1), 16683333);
    ck_assert_int_eq(sl_frame_time_ns(fps_5994, 3), 50050000);
}
END_TEST

/* The product of frame number, denominator and 10⁹ is above 2⁶⁴ here. */
START_TEST(frame_times_after_a_thousand_hours)
{
    ck_assert_int_eq(sl_frame_time_ns(fps_25, 25ULL * 3600000), 3600000 * SL_NS_PER_S);
    ck_assert_int_eq(sl_frame_time_ns(fps_60, 60ULL * 3600000 + 1), 3600000 * SL_NS_PER_S + 16666666);
    ck_assert_int_eq(sl_frame_time_ns(fps_5994, 60000ULL * 3600), 3603600 * SL_NS_PER_S);
    ck_assert_int_eq(sl_frame_time_ns(fps_5994, 60000ULL * 3600 + 1), 3603600 * SL_NS_PER_S + 16683333);
}
END_TEST

START_TEST(frame_times_are_exact_and_never_drift)
{
    static const struct sl_rational rates[] = {{25, 1}, {60000, 1001}, {60, 1}, {24000, 1001}, {120, 1}, {1, 7}};

    for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
        for (uint64_t n = 0; n < 1000; n++) {
            bool exact = is_exact(rates[r], n) && is_exact(rates[r], 216000 + n) && is_exact(rates[r], 216000000 + n);

            ck_assert_msg(exact, "%u/%u, frame %u", rates[r].num, rates[r].den, (unsigned)n);
        }
    }
}
END_TEST

START_TEST(system_clock_is_the_monotonic_one)
{
    struct timespec before, after;
    int64_t now;

    clock_gettime(CLOCK_MONOTONIC, &before);
    now = sl_now_ns(&sl_clock_system);
    clock_gettime(CLOCK_MONOTONIC, &after);
    ck_assert_int_ge(now, before.tv_sec * SL_NS_PER_S + before.tv_nsec);
    ck_assert_int_le(now, after.tv_sec * SL_NS_PER_S + after.tv_nsec);
    clock_gettime(CLOCK_REALTIME, &before);
    now = sl_utc_ns(&sl_clock_system);
    ck_assert_int_ge(now / SL_NS_PER_S, before.tv_sec - 1);
    ck_assert_int_le(now / SL_NS_PER_S, before.tv_sec + 2);
}
END_TEST

START_TEST(manual_clock_moves_when_told)
{
    struct sl_manual_clock manual;

    sl_manual_clock_init(&manual, 1000);
    manual.utc_offset_ns = 5;
    ck_assert_int_eq(sl_now_ns(&manual.clock), 1000);
    ck_assert_int_eq(sl_now_ns(&manual.clock), 1000);
    ck_assert_int_eq(sl_utc_ns(&manual.clock), 1005);
    sl_manual_clock_advance(&manual, 24);
    ck_assert_int_eq(sl_now_ns(&manual.clock), 1024);
    sl_manual_clock_advance(&manual, -1024);
    ck_assert_int_eq(sl_now_ns(&manual.clock), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_clock");
    TCase *tcase = tcase_create("clock");

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, frame_times_after_an_hour);
    tcase_add_test(tcase, frame_times_after_a_thousand_hours);
    tcase_add_test(tcase, frame_times_are_exact_and_never_drift);
    tcase_add_test(tcase, system_clock_is_the_monotonic_one);
    tcase_add_test(tcase, manual_clock_moves_when_told);
    return sl_run_suite(suite);
}
