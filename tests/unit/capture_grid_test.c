/* SPDX-License-Identifier: Apache-2.0 */
/* The time grid against every way a driver is known to lie. */
#include <check.h>
#include <stdlib.h>

#include "capture/grid.h"
#include "support/suite.h"

#define FPS60     ((struct sl_rational){60, 1})
#define INTERVAL  16666667
#define START     (1000 * SL_NS_PER_S)
#define HAS(s, a) (((s).anomalies >> (a)) & 1)

static struct sl_grid g_grid;
static struct sl_grid_step g_step;
static int64_t g_time;
static uint32_t g_sequence;
static bool g_starved;

static void setup(void)
{
    sl_grid_init(&g_grid, FPS60, false);
    g_time = START;
    g_sequence = 100;
    g_starved = false;
}

static void place_raw(int64_t time_ns, int64_t now_ns, uint32_t sequence)
{
    struct sl_grid_input input = {.time_ns = time_ns, .dequeued_ns = now_ns, .sequence = sequence, .starved = g_starved};

    sl_grid_place(&g_grid, &input, &g_step);
}

/* The next frame, `intervals` later and `advance` in sequence. */
static void place(double intervals, uint32_t advance)
{
    g_time += (int64_t)(intervals * INTERVAL);
    g_sequence += advance;
    place_raw(g_time, g_time + 1000000, g_sequence);
}

static void steady(unsigned frames)
{
    for (unsigned i = 0; i < frames; i++) {
        uint64_t number = g_step.number;

        place(1, 1);
        ck_assert_uint_eq(g_step.missing, 0);
        ck_assert_uint_eq(g_step.number, number + 1);
        ck_assert_uint_eq(g_step.anomalies, 0);
    }
}

static void begin(void)
{
    place(0, 0);
    ck_assert_uint_eq(g_step.number, 0);
    ck_assert_uint_eq(g_step.missing, 0);
    ck_assert_uint_eq(g_step.anomalies, 0);
    steady(100);
}

START_TEST(first_frame_is_zero_whatever_its_sequence)
{
    place_raw(START, START, 4000000000u);
    ck_assert_uint_eq(g_step.number, 0);
    ck_assert_uint_eq(g_step.missing, 0);
    ck_assert_int_eq(g_step.time_ns, START);
}
END_TEST

START_TEST(gap_seen_by_both)
{
    begin();
    place(4, 4);
    ck_assert_uint_eq(g_step.missing, 3);
    ck_assert_uint_eq(g_step.number, 104);
    ck_assert_int_eq(g_step.cause, SL_LOSS_SENSOR_GAP);
    ck_assert_uint_eq(g_step.anomalies, 0);
    steady(50);
}
END_TEST

START_TEST(gap_while_starved_is_no_slot)
{
    begin();
    g_starved = true;
    place(31, 31);
    ck_assert_uint_eq(g_step.missing, 30);
    ck_assert_int_eq(g_step.cause, SL_LOSS_NO_SLOT);
    g_starved = false;
    steady(50);
}
END_TEST

START_TEST(driver_that_does_not_count_without_buffers)
{
    begin();
    g_starved = true;
    place(31, 1);
    ck_assert_uint_eq(g_step.missing, 30);
    ck_assert_int_eq(g_step.cause, SL_LOSS_NO_SLOT);
    g_starved = false;
    steady(50);
}
END_TEST

START_TEST(uncounted_gap_is_found_one_frame_later)
{
    begin();
    place(4, 1);
    ck_assert_uint_eq(g_step.missing, 0);
    place(1, 1);
    ck_assert_uint_eq(g_step.missing, 3);
    ck_assert_uint_eq(g_step.number, 105);
    ck_assert_int_eq(g_step.cause, SL_LOSS_SENSOR_GAP);
    steady(50);
}
END_TEST

START_TEST(late_stamp_is_no_gap)
{
    begin();
    place(3.2, 1);
    ck_assert_uint_eq(g_step.missing, 0);
    place(0.1, 1);
    ck_assert_uint_eq(g_step.missing, 0);
    place(0.1, 1);
    ck_assert_uint_eq(g_step.missing, 0);
    place(0.6, 1);
    ck_assert_uint_eq(g_step.missing, 0);
    ck_assert_uint_eq(g_step.number, 104);
    steady(50);
}
END_TEST

START_TEST(device_that_runs_at_half_the_rate)
{
    place(0, 0);
    for (int i = 0; i < 100; i++)
        place(2, 1);
    /* one of the losses is still only suspected */
    ck_assert_uint_eq(g_step.number, 199);
    ck_assert_uint_eq(sl_grid_due(&g_grid, g_time), 1);
}
END_TEST

START_TEST(sequence_that_jumps_is_not_believed)
{
    begin();
    place(1, 5000);
    ck_assert_uint_eq(g_step.missing, 0);
    ck_assert(HAS(g_step, SL_ANOMALY_SEQUENCE_JUMP));
    steady(50);
    place(3, 5000);
    ck_assert_uint_eq(g_step.missing, 2);
    ck_assert(HAS(g_step, SL_ANOMALY_SEQUENCE_JUMP));
    steady(50);
}
END_TEST

START_TEST(sequence_that_counts_fields_is_not_believed)
{
    place(0, 0);
    for (int i = 0; i < 100; i++) {
        place(1, 2);
        ck_assert_uint_eq(g_step.missing, 0);
        ck_assert(HAS(g_step, SL_ANOMALY_SEQUENCE_JUMP));
    }
    ck_assert_uint_eq(g_step.number, 100);
}
END_TEST

START_TEST(sequence_reset_falls_back_to_time)
{
    begin();
    g_sequence = 0;
    place(1, 0);
    ck_assert_uint_eq(g_step.missing, 0);
    ck_assert(HAS(g_step, SL_ANOMALY_SEQUENCE_RESET));
    steady(50);
    g_sequence = 3;
    place(6, 0);
    ck_assert_uint_eq(g_step.missing, 5);
    ck_assert(HAS(g_step, SL_ANOMALY_SEQUENCE_RESET));
    steady(50);
}
END_TEST

START_TEST(frozen_sequence_leaves_time)
{
    place(0, 0);
    for (int i = 0; i < 1000; i++) {
        place(i == 500 ? 8 : 1, 0);
        ck_assert_uint_eq(g_step.missing, i == 500 ? 7 : 0);
        ck_assert(HAS(g_step, SL_ANOMALY_SEQUENCE_FROZEN));
    }
    ck_assert_uint_eq(g_step.number, 1007);
}
END_TEST

START_TEST(sequence_wraps)
{
    g_sequence = UINT32_MAX - 50;
    begin();
    g_sequence = UINT32_MAX;
    sl_grid_init(&g_grid, FPS60, false);
    place(0, 0);
    place(3, 3);
    ck_assert_uint_eq(g_step.missing, 2);
    ck_assert_uint_eq(g_step.anomalies, 0);
}
END_TEST

START_TEST(frozen_time_leaves_the_sequence)
{
    begin();
    for (int i = 0; i < 20; i++) {
        place_raw(g_time, g_time + (i + 1) * INTERVAL, ++g_sequence);
        ck_assert(HAS(g_step, SL_ANOMALY_TIME_FROZEN));
        ck_assert(g_step.time_guessed);
        ck_assert_int_eq(g_step.time_ns, g_time + (i + 1) * INTERVAL);
        ck_assert_uint_eq(g_step.missing, 0);
    }
    g_sequence += 3;
    place_raw(g_time, g_time + 23 * INTERVAL, g_sequence);
    ck_assert_uint_eq(g_step.missing, 2);
}
END_TEST

START_TEST(time_that_runs_backwards_is_replaced)
{
    begin();
    place_raw(g_time - 5 * INTERVAL, g_time + INTERVAL, ++g_sequence);
    ck_assert(HAS(g_step, SL_ANOMALY_TIME_BACKWARD));
    ck_assert(g_step.time_guessed);
    ck_assert_int_eq(g_step.time_ns, g_time + INTERVAL);
    ck_assert_uint_eq(g_step.missing, 0);
    g_time += INTERVAL;
    steady(50);
}
END_TEST

START_TEST(foreign_clock_from_the_first_frame)
{
    int64_t utc = INT64_C(1750000000) * SL_NS_PER_S;

    for (int i = 0; i < 100; i++) {
        place_raw(utc + i * INT64_C(16666667), START + i * INT64_C(16666667), g_sequence++);
        ck_assert(HAS(g_step, SL_ANOMALY_TIME_FOREIGN_CLOCK));
        ck_assert_int_eq(g_step.time_ns, START + i * INT64_C(16666667));
        ck_assert_uint_eq(g_step.number, i);
    }
}
END_TEST

START_TEST(stamps_of_zero_with_a_frozen_sequence)
{
    for (int i = 0; i < 200; i++) {
        place_raw(0, START + (i + (i > 150 ? 4 : 0)) * INT64_C(16666667), 0);
        ck_assert(HAS(g_step, SL_ANOMALY_TIME_FOREIGN_CLOCK));
        ck_assert_uint_eq(g_step.missing, i == 151 ? 4 : 0);
    }
    ck_assert_uint_eq(g_step.number, 203);
}
END_TEST

START_TEST(guessed_times_of_a_burst_believe_the_sequence)
{
    struct sl_grid_input input = {.time_unusable = true, .dequeued_ns = START};

    for (int i = 0; i < 64; i++) {
        /* the thread slept for eight frames, then took all eight at once; two frames fell between */
        input.sequence = (uint32_t)i + (i > 32 ? 2 : 0);
        input.dequeued_ns = START + (i / 8 * 8) * INT64_C(16666667);
        sl_grid_place(&g_grid, &input, &g_step);
        ck_assert_uint_eq(g_step.missing, i == 33 ? 2 : 0);
        ck_assert_uint_eq(g_step.anomalies, 0);
        ck_assert(g_step.time_guessed);
    }
}
END_TEST

START_TEST(an_hour_of_5994_on_a_nominal_60)
{
    struct sl_rational real = {60000, 1001};
    bool frozen = _i == 1;

    for (uint64_t i = 0; i < 215784; i++) {
        int64_t t = START + sl_frame_time_ns(real, i);

        place_raw(t, t + 3000000, frozen ? 7 : (uint32_t)i);
        ck_assert_msg(g_step.missing == 0, "frame %lu: %lu missing", (unsigned long)i, (unsigned long)g_step.missing);
    }
    ck_assert_uint_eq(g_step.number, 215783);
    /* and a real loss at the end of the hour is still found */
    int64_t t = START + sl_frame_time_ns(real, 215785);
    place_raw(t, t, frozen ? 7 : 215785);
    ck_assert_uint_eq(g_step.missing, 1);
}
END_TEST

/* Within 1 % the grid follows the device; beyond, a device that is slower than it says loses what it does not deliver. */
START_TEST(devices_that_miss_their_nominal_rate)
{
    static const double errors[] = {0.009, -0.009, 0.03, -0.03};
    double error = errors[_i / 2];
    bool frozen = _i % 2;

    for (uint64_t i = 0; i < 10000; i++) {
        int64_t t = START + (int64_t)((double)i * INTERVAL * (1 + error));

        place_raw(t, t + 1000000, frozen ? 7 : (uint32_t)i);
    }
    if (error < 0.01)
        ck_assert_uint_eq(g_step.number, 9999);
    else /* 10,000 frames took the time of 10,300; the tracked interval makes up for 1 % of it */
        ck_assert_msg(g_step.number > 9999 + 190 && g_step.number < 9999 + 300, "%lu", (unsigned long)g_step.number);
    /* and whatever the rate, a loss is a loss */
    uint64_t number = g_step.number;
    int64_t t = START + (int64_t)(10009 * (double)INTERVAL * (1 + error));
    place_raw(t, t + 1000000, frozen ? 7 : 10009);
    ck_assert_msg(g_step.number >= number + 9 && g_step.number <= number + 11, "%ld", (long)(g_step.number - number));
}
END_TEST

START_TEST(due_counts_what_should_have_come)
{
    ck_assert_uint_eq(sl_grid_due(&g_grid, START + SL_NS_PER_S), 0);
    begin();
    ck_assert_uint_eq(sl_grid_due(&g_grid, g_time), 0);
    ck_assert_uint_eq(sl_grid_due(&g_grid, g_time - INTERVAL), 0);
    ck_assert_uint_eq(sl_grid_due(&g_grid, g_time + INTERVAL / 2), 0);
    ck_assert_uint_eq(sl_grid_due(&g_grid, g_time + INTERVAL), 1);
    ck_assert_uint_eq(sl_grid_due(&g_grid, g_time + 10 * INTERVAL), 10);
}
END_TEST

START_TEST(own_times_need_no_clock)
{
    sl_grid_init(&g_grid, FPS60, true);
    for (int i = 0; i < 1000; i++) {
        /* an unpaced source: stamps run a hundred times faster than the clock */
        place_raw(START + sl_frame_time_ns(FPS60, (uint64_t)i), START + i * 1000, (uint32_t)i);
        ck_assert_uint_eq(g_step.missing, 0);
        ck_assert_uint_eq(g_step.anomalies, 0);
        ck_assert_int_eq(g_step.time_ns, START + sl_frame_time_ns(FPS60, (uint64_t)i));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_grid");
    TCase *tcase = tcase_create("grid");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, first_frame_is_zero_whatever_its_sequence);
    tcase_add_test(tcase, gap_seen_by_both);
    tcase_add_test(tcase, gap_while_starved_is_no_slot);
    tcase_add_test(tcase, driver_that_does_not_count_without_buffers);
    tcase_add_test(tcase, uncounted_gap_is_found_one_frame_later);
    tcase_add_test(tcase, late_stamp_is_no_gap);
    tcase_add_test(tcase, device_that_runs_at_half_the_rate);
    tcase_add_test(tcase, sequence_that_jumps_is_not_believed);
    tcase_add_test(tcase, sequence_that_counts_fields_is_not_believed);
    tcase_add_test(tcase, sequence_reset_falls_back_to_time);
    tcase_add_test(tcase, frozen_sequence_leaves_time);
    tcase_add_test(tcase, sequence_wraps);
    tcase_add_test(tcase, frozen_time_leaves_the_sequence);
    tcase_add_test(tcase, time_that_runs_backwards_is_replaced);
    tcase_add_test(tcase, foreign_clock_from_the_first_frame);
    tcase_add_test(tcase, stamps_of_zero_with_a_frozen_sequence);
    tcase_add_test(tcase, guessed_times_of_a_burst_believe_the_sequence);
    tcase_add_loop_test(tcase, an_hour_of_5994_on_a_nominal_60, 0, 2);
    tcase_add_loop_test(tcase, devices_that_miss_their_nominal_rate, 0, 8);
    tcase_add_test(tcase, due_counts_what_should_have_come);
    tcase_add_test(tcase, own_times_need_no_clock);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
