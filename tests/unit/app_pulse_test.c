/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>

#include "app/pulse.h"
#include "support/suite.h"

enum { SECOND = 1000000000 };

static struct sl_pulse_watch watch;
static struct sl_vitals run;
static int64_t now_ns;

static void setup(void)
{
    watch = (struct sl_pulse_watch){0};
    run = (struct sl_vitals){.has_device = true, .captures = true, .quiet_ns = 3LL * SECOND};
    now_ns = 1000LL * SECOND;
}

/* The next look, ten seconds on, after each thread made so many turns and the recorder moved so many frames. */
static enum sl_pulse look(unsigned capture_turns, unsigned recorder_turns, unsigned captured, unsigned moved)
{
    run.capture_turns += capture_turns;
    run.recorder_turns += recorder_turns;
    run.captured += captured;
    run.moved += moved;
    now_ns += 10LL * SECOND;
    return sl_pulse_judge(&watch, &run, now_ns, 10LL * SECOND);
}

START_TEST(frames_that_move_are_life)
{
    ck_assert_int_eq(look(0, 0, 0, 0), SL_PULSE_QUIET);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(look(600, 600, 600, 1200), SL_PULSE_MOVING);
}
END_TEST

START_TEST(thread_without_a_turn_stands_still)
{
    look(1, 1, 1, 1);
    ck_assert_int_eq(look(0, 5, 0, 0), SL_PULSE_CAPTURE_STANDS);
    ck_assert_int_eq(look(1, 5, 1, 0), SL_PULSE_QUIET);
    ck_assert_int_eq(look(5, 0, 5, 0), SL_PULSE_RECORDER_STANDS); /* however many frames the sensor delivers */
    run.waiting = 60;
    ck_assert_int_eq(look(5, 0, 5, 0), SL_PULSE_RECORDER_STANDS);
    ck_assert_int_eq(look(0, 5, 0, 0), SL_PULSE_CAPTURE_STANDS);
    run.captures = false; /* a drain, and the thread that is to do it stands */
    ck_assert_int_eq(look(0, 0, 0, 0), SL_PULSE_RECORDER_STANDS);
    ck_assert_int_eq(look(0, 1, 0, 0), SL_PULSE_DRAINING);
}
END_TEST

START_TEST(disk_that_does_not_answer_is_a_reason_for_ever)
{
    look(1, 1, 1, 1);
    run.waiting = 60;
    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(look(600, 10, i < 1 ? 600 : 0, 0), SL_PULSE_DISK);
}
END_TEST

START_TEST(silent_sensor_is_a_reason_until_its_time_out_has_passed)
{
    look(1, 1, 1, 1);
    ck_assert_int_eq(look(1, 1, 1, 1), SL_PULSE_MOVING);
    ck_assert_int_eq(look(1, 1, 0, 0), SL_PULSE_QUIET); /* the frame may have come just after the last look */
    ck_assert_int_eq(look(1, 1, 0, 0), SL_PULSE_UNEXPLAINED);
    ck_assert_int_eq(look(1, 1, 1, 1), SL_PULSE_MOVING);
}
END_TEST

START_TEST(slow_sensor_is_not_dead_between_two_frames)
{
    run.quiet_ns = 200LL * SECOND;
    look(1, 1, 1, 2);
    for (int frame = 0; frame < 3; frame++) {
        for (int i = 0; i < 9; i++)
            ck_assert_int_eq(look(1, 1, 0, 0), SL_PULSE_QUIET);
        ck_assert_int_eq(look(1, 1, 1, 2), SL_PULSE_MOVING);
    }
}
END_TEST

START_TEST(opening_again_is_a_reason_for_ever)
{
    look(1, 1, 1, 1);
    for (int i = 0; i < 100; i++) {
        run.openings++; /* one failed since the last look; the threads of this one have made as many turns as those had */
        ck_assert_int_eq(look(0, 0, 0, 0), SL_PULSE_QUIET);
    }
    run.has_device = false;
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(look(0, 0, 0, 0), SL_PULSE_NO_DEVICE);
    run.has_device = true; /* the first look at an opening: its threads were not asked yet */
    ck_assert_int_eq(look(0, 0, 0, 0), SL_PULSE_QUIET);
    ck_assert_int_eq(look(0, 1, 0, 0), SL_PULSE_CAPTURE_STANDS);
}
END_TEST

START_TEST(every_pulse_has_words)
{
    for (int i = SL_PULSE_MOVING + 1; i < SL_PULSE_COUNT; i++)
        ck_assert_int_gt(sl_pulse_text((enum sl_pulse)i)[0], 0);
    ck_assert_str_eq(sl_pulse_text(SL_PULSE_MOVING), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pulse");
    TCase *tcase = tcase_create("judge");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, frames_that_move_are_life);
    tcase_add_test(tcase, thread_without_a_turn_stands_still);
    tcase_add_test(tcase, disk_that_does_not_answer_is_a_reason_for_ever);
    tcase_add_test(tcase, silent_sensor_is_a_reason_until_its_time_out_has_passed);
    tcase_add_test(tcase, slow_sensor_is_not_dead_between_two_frames);
    tcase_add_test(tcase, opening_again_is_a_reason_for_ever);
    tcase_add_test(tcase, every_pulse_has_words);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
