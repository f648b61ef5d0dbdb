/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run stands between two openings, and the grid that goes on from there. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "capture/grid.h"
#include "capture/place.h"
#include "support/suite.h"

#define T0       INT64_C(1000000000000)
#define INTERVAL 16666666.666666666

static const struct sl_rational fps60 = {60, 1};

static struct sl_capture_place standing(uint64_t expected, int64_t due_ns)
{
    return (struct sl_capture_place){.counter[SL_CAPTURE_EXPECTED] = expected,
                                     .lost[SL_LOSS_SENSOR_GAP] = 3,
                                     .fps = fps60,
                                     .interval_ns = INTERVAL,
                                     .due_ns = due_ns,
                                     .error = -ENODEV};
}

START_TEST(counts_what_falls_due)
{
    struct sl_capture_place place = standing(100, T0);

    ck_assert_uint_eq(sl_capture_place_miss(&place, T0 - 1), 0);
    ck_assert_uint_eq(sl_capture_place_miss(&place, T0), 1);
    ck_assert_uint_eq(sl_capture_place_miss(&place, T0 + (int64_t)(0.9 * INTERVAL)), 0);
    ck_assert_uint_eq(sl_capture_place_miss(&place, T0 + (int64_t)(10.5 * INTERVAL)), 10);
    ck_assert_uint_eq(place.counter[SL_CAPTURE_EXPECTED], 111);
    ck_assert_uint_eq(place.lost[SL_LOSS_DEVICE_GONE], 11);
    ck_assert_uint_eq(place.lost[SL_LOSS_SENSOR_GAP], 3);
    ck_assert_int_le(llabs(place.due_ns - T0 - (int64_t)(11 * INTERVAL)), 2);
    ck_assert_int_eq((int64_t)(place.elapsed_ns / INTERVAL + 0.5), 11);
}
END_TEST

START_TEST(many_small_steps_count_as_one_large_one)
{
    struct sl_capture_place place = standing(0, T0), at_once = place;
    uint64_t missed = 0;

    for (int64_t t = T0; t <= T0 + 3600 * SL_NS_PER_S; t += 7 * SL_NS_PER_MS)
        missed += sl_capture_place_miss(&place, t);
    missed += sl_capture_place_miss(&place, T0 + 3600 * SL_NS_PER_S);
    sl_capture_place_miss(&at_once, T0 + 3600 * SL_NS_PER_S);
    ck_assert_uint_le(missed - 3600 * 60, 1);
    ck_assert_uint_le(at_once.untold - 3600 * 60, 1);
}
END_TEST

START_TEST(never_goes_beyond_the_limit)
{
    struct sl_capture_place place = standing(100, T0);

    place.frame_limit = 130;
    ck_assert(!sl_capture_place_at_limit(&place));
    ck_assert_uint_eq(sl_capture_place_miss(&place, T0 + 3600 * SL_NS_PER_S), 30);
    ck_assert(sl_capture_place_at_limit(&place));
    ck_assert_uint_eq(sl_capture_place_miss(&place, T0 + 7200 * SL_NS_PER_S), 0);
}
END_TEST

START_TEST(tells_of_an_outage_once)
{
    struct sl_capture_place place = standing(100, T0);
    struct sl_event event;

    ck_assert(!sl_capture_place_tell(&place, T0, &event));
    sl_capture_place_miss(&place, T0 + (int64_t)(4.5 * INTERVAL));
    ck_assert(sl_capture_place_tell(&place, T0, &event));
    ck_assert(event.kind == SL_EVENT_LOSS && event.code == SL_LOSS_DEVICE_GONE && event.error == -ENODEV);
    ck_assert_uint_eq(event.first, 100);
    ck_assert_uint_eq(event.count, 5);
    ck_assert(!sl_capture_place_tell(&place, T0, &event));
}
END_TEST

static struct sl_grid_step put(struct sl_grid *grid, int64_t time_ns, uint32_t sequence)
{
    struct sl_grid_input input = {.time_ns = time_ns, .dequeued_ns = time_ns + SL_NS_PER_MS, .sequence = sequence};
    struct sl_grid_step step;

    sl_grid_place(grid, &input, &step);
    return step;
}

START_TEST(first_frame_is_placed_by_its_time)
{
    struct sl_grid grid;
    struct sl_grid_step step;

    sl_grid_init(&grid, fps60, false);
    sl_grid_go_on(&grid, 100, T0);
    step = put(&grid, T0 + (int64_t)(7.3 * INTERVAL), 0);
    ck_assert_uint_eq(step.number, 107);
    ck_assert_uint_eq(step.missing, 7);
    ck_assert_int_eq(step.cause, SL_LOSS_DEVICE_GONE);
    ck_assert_uint_eq(step.anomalies, 0);
    step = put(&grid, T0 + (int64_t)(8.3 * INTERVAL), 1);
    ck_assert_uint_eq(step.number, 108);
    ck_assert_uint_eq(step.missing, 0);
}
END_TEST

/* A driver that hands out a frame of before the outage at first. */
START_TEST(stale_first_stamp_is_not_believed)
{
    struct sl_grid grid;
    struct sl_grid_step step;

    sl_grid_init(&grid, fps60, false);
    sl_grid_go_on(&grid, 100, T0);
    step = put(&grid, T0 - 2 * SL_NS_PER_S, 0);
    ck_assert(step.anomalies & 1U << SL_ANOMALY_TIME_BACKWARD);
    ck_assert(step.time_guessed);
    ck_assert_uint_eq(step.number, 100);
    ck_assert_int_ge(step.time_ns, T0 - (int64_t)INTERVAL);
}
END_TEST

/* Each opening starts at another phase. The frame's number stays the nearest of the grid that the first one began. */
START_TEST(outages_do_not_add_up_to_a_drift)
{
    int64_t due_ns = 0, t = T0;
    uint64_t next = 0;

    srand(7);
    for (unsigned opening = 0; opening < 200; opening++) {
        struct sl_grid grid;
        double off;

        sl_grid_init(&grid, fps60, false);
        if (opening > 0)
            sl_grid_go_on(&grid, next, due_ns);
        for (uint32_t i = 0; i < 50; i++, t += (int64_t)INTERVAL) {
            struct sl_grid_step step = put(&grid, t, i);

            off = (double)(t - T0) / INTERVAL - (double)step.number;
            ck_assert_msg(off > -0.51 && off < 0.51, "opening %u, frame %u: %f off", opening, i, off);
        }
        next = grid.next;
        due_ns = sl_grid_next_due_ns(&grid);
        t += (int64_t)(INTERVAL * (1 + rand() % 1000 / 17.0));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_place");
    TCase *tests = tcase_create("place");

    tcase_add_test(tests, counts_what_falls_due);
    tcase_add_test(tests, many_small_steps_count_as_one_large_one);
    tcase_add_test(tests, never_goes_beyond_the_limit);
    tcase_add_test(tests, tells_of_an_outage_once);
    tcase_add_test(tests, first_frame_is_placed_by_its_time);
    tcase_add_test(tests, stale_first_stamp_is_not_believed);
    tcase_add_test(tests, outages_do_not_add_up_to_a_drift);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
