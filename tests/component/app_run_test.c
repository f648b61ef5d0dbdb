/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice run` as a user calls it, over the pattern sensor with scripted faults: what summary, ledger and text say of it. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/counters.h"
#include "support/run_rig.h"
#include "support/scratch.h"
#include "support/suite.h"

static int call(int (*command)(int, char **), const char *a, const char *b)
{
    return run_command(command, (const char *[]){a, b}, 2);
}

#define UNPACED "fps = 60\npaced = no\n"

/* Records small pattern frames; `sensor`, `record` and `rest` are lines of the config. The exit code. */
static int run(const char *frames, const char *sensor, const char *record, const char *rest)
{
    char argument[64], lines[4096];

    snprintf(argument, sizeof argument, "--frames=%s", frames);
    snprintf(lines, sizeof lines,
             "[sensor]\nname = cam\nsource = pattern\nsize = 64x48\n%s\nbuffers = 8\n[ring]\ndepth = 16\n"
             "hugepages = no\n[record]\ndir = %s\nkeep_free = 0\n%s\n%s\n",
             sensor, scratch_path("."), record, rest);
    return run_config(lines, argument, NULL);
}

static const char *recording(void)
{
    return json_string_value(json_array_get(run_at(run_summary, "record.files"), 0));
}

static void setup(void)
{
    scratch_open();
}

static void teardown(void)
{
    run_forget();
    scratch_close();
}

#define expect_text(text, part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text)

static void expect_kept(const char *kind, unsigned index, long long first, long long last, long long count)
{
    json_t *told = run_line("bad_kept", index);

    ck_assert_msg(told != NULL, "no line bad_kept %u", index);
    ck_assert_str_eq(run_text(told, "kind"), kind);
    ck_assert_int_eq(run_number(told, "first"), first);
    ck_assert_int_eq(run_number(told, "last"), last);
    ck_assert_int_eq(run_number(told, "count"), count);
}

#define BAD_FRAMES "[fault]\nsensor = error@20:3, short@40"

START_TEST(bad_frames_that_are_kept_are_told_of)
{
    ck_assert_int_eq(run("100", UNPACED "bad_frames = keep", "", BAD_FRAMES), 0);
    ck_assert_int_eq(run_number(run_summary, "frames.recorded"), 100);
    ck_assert_int_eq(run_number(run_summary, "frames.bad_kept"), 4);
    ck_assert_int_eq(run_number(run_summary, "frames.lost.bad_frame"), 0);
    ck_assert_int_eq(run_number(run_line("stop", 0), "frames.bad_kept"), 4);
    expect_kept("error", 0, 20, 22, 3);
    expect_kept("short", 1, 40, 40, 1);
    ck_assert_ptr_null(run_line("bad_kept", 2));
    expect_text(run_out, "bad      4 frames");

    char file[512];

    snprintf(file, sizeof file, "%s", recording());
    ck_assert_int_eq(call(sl_cmd_show, file, NULL), 0);
    expect_text(run_out, "marked    error 3, short 1: frames 20, 21, 22, 40 (bad, and kept)");
    ck_assert_int_eq(call(sl_cmd_show, file, "--json"), 0);
    json_t *shown = json_loads(run_out, 0, NULL);

    ck_assert_int_eq(run_number(shown, "marked.frames"), 4);
    ck_assert_int_eq(run_number(shown, "marked.error"), 3);
    ck_assert_int_eq(run_number(shown, "marked.short"), 1);
    ck_assert_int_eq(json_integer_value(json_array_get(run_at(shown, "marked.numbers"), 3)), 40);
    json_decref(shown);
    ck_assert_int_eq(call(sl_cmd_verify, file, NULL), 0);
    expect_text(run_out, "kept though bad: error 3, short 1: frames 20, 21, 22, 40\n");
    ck_assert_int_eq(call(sl_cmd_verify, file, "--json"), 0);
    shown = json_loads(run_out, 0, NULL);
    ck_assert_int_eq(run_number(json_array_get(run_at(shown, "files"), 0), "marked.frames"), 4);
    ck_assert(json_is_true(run_at(shown, "whole")));
    json_decref(shown);
}
END_TEST

START_TEST(bad_frames_that_are_dropped_are_lost)
{
    ck_assert_int_eq(run("100", UNPACED "bad_frames = drop", "", BAD_FRAMES), 3);
    ck_assert_int_eq(run_number(run_summary, "frames.recorded"), 96);
    ck_assert_int_eq(run_number(run_summary, "frames.bad_kept"), 0);
    ck_assert_int_eq(run_number(run_summary, "frames.lost.bad_frame"), 4);
    ck_assert(json_is_true(run_at(run_summary, "frames.balanced")));
    ck_assert_ptr_null(run_line("bad_kept", 0));
    ck_assert_int_eq(run_number(run_line("loss", 0), "first"), 20);
    ck_assert_int_eq(run_number(run_line("loss", 0), "count"), 3);
    ck_assert_str_eq(run_text(run_line("loss", 0), "cause"), "bad_frame");
    ck_assert_int_eq(run_number(run_line("loss", 1), "first"), 40);
    ck_assert_int_eq(run_number(run_line("loss", 1), "count"), 1);
    ck_assert_int_eq(call(sl_cmd_show, recording(), NULL), 0);
    ck_assert_ptr_null(strstr(run_out, "marked"));
}
END_TEST

START_TEST(every_counter_is_in_the_summary)
{
    json_t *counters;

    ck_assert_int_eq(run("50", UNPACED, "", "[fault]\nstore = short@10"), 0);
    counters = run_at(run_summary, "counters");
    ck_assert_uint_eq(json_object_size(counters), SL_COUNTER_GROUPS);
    for (unsigned i = 0; i < SL_COUNTER_GROUPS; i++) {
        const struct sl_counter_group *group = &sl_counter_groups[i];
        json_t *object = run_at(counters, group->key);

        ck_assert_uint_eq(json_object_size(object), group->count);
        for (unsigned which = 0; which < group->count; which++)
            run_number(object, group->defs[which].name);
    }
    ck_assert_int_eq(run_number(counters, "capture.captured"), 50);
    ck_assert_int_eq(run_number(counters, "record_sink.offered"), 50);
    ck_assert_int_eq(run_number(counters, "record_sink.accepted"), 50);
    ck_assert_int_eq(run_number(counters, "recorder.taken"), 50);
    ck_assert_int_eq(run_number(counters, "recorder.short_writes"), 1);
    ck_assert_int_eq(run_number(counters, "capture_events.dropped"), 0);
}
END_TEST

static json_t *line_of_segment(const char *event, long long segment)
{
    for (unsigned i = 0; run_line(event, i); i++)
        if (run_number(run_line(event, i), "segment") == segment)
            return run_line(event, i);
    return NULL;
}

START_TEST(segments_open_and_close_in_pairs)
{
    unsigned with_frames = 0;

    ck_assert_int_eq(run("120", "paced = yes\nfps = 200", "", "[fault]\nstore = eio@50:3"), 3);
    ck_assert_int_eq(run_number(run_summary, "frames.lost.disk_error"), 3);
    ck_assert_uint_ge(run_lines("segment_open"), 2);
    ck_assert_uint_eq(run_lines("segment_open"), run_lines("segment_close"));
    for (unsigned i = 0; i < run_lines("segment_close"); i++) {
        json_t *close = run_line("segment_close", i);
        long long segment = run_number(close, "segment");

        ck_assert_ptr_nonnull(line_of_segment("segment_open", segment));
        ck_assert_int_eq(line_of_segment("segment_removed", segment) != NULL, run_number(close, "frames") == 0);
        ck_assert_int_eq(access(run_text(close, "file"), F_OK) == 0, run_number(close, "frames") > 0);
        with_frames += run_number(close, "frames") > 0;
    }
    ck_assert_int_eq(run_number(run_summary, "record.segments"), with_frames);
    ck_assert_uint_eq(json_array_size(run_at(run_summary, "record.files")), with_frames);
}
END_TEST

START_TEST(what_nothing_triggered_is_in_no_books)
{
    ck_assert_int_eq(run("100", UNPACED, "prerecord = 100ms", "[fault]\nsensor = gap@30:2"), 3);
    long long untriggered = run_number(run_summary, "record.untriggered");

    ck_assert_int_eq(untriggered, 98);
    ck_assert_int_eq(run_number(run_summary, "frames.captured"), 0);
    ck_assert_int_eq(run_number(run_summary, "frames.expected"), 2);
    ck_assert_int_eq(run_number(run_summary, "frames.lost.sensor_gap"), 2);
    ck_assert(json_is_true(run_at(run_summary, "frames.balanced")));
    ck_assert_int_eq(run_number(run_summary, "counters.capture.captured"), untriggered);
    ck_assert_ptr_null(run_line("segment_open", 0));
}
END_TEST

/* It did deliver frames, although nobody wanted to keep them. */
START_TEST(a_sensor_that_fails_before_any_trigger)
{
    ck_assert_int_eq(run("100", UNPACED "reopen = no\n", "prerecord = 100ms", "[fault]\nsensor = eio@50"), 3);
    ck_assert_str_eq(run_text(run_summary, "reason"), "sensor");
    ck_assert_int_eq(run_number(run_summary, "frames.captured"), 0);
    ck_assert_int_eq(run_number(run_summary, "counters.capture.captured"), 50);
}
END_TEST

START_TEST(states_and_steps_have_names)
{
    ck_assert_int_eq(run("1000000", UNPACED, "", "[fault]\nstore = enospc@50"), 3);
    json_t *state = run_line("state", 0);

    for (unsigned i = 1; !strcmp(run_text(state, "of"), "sensor"); i++)
        state = run_line("state", i);
    ck_assert_int_eq(run_number(state, "state"), 2);
    ck_assert_str_eq(run_text(state, "name"), "full");
    ck_assert_str_eq(run_text(run_line("stop", 0), "reason"), "disk_full");
    ck_assert_int_eq(run_number(run_summary, "frames.lost.disk_late"), 0);
    ck_assert_ptr_null(sl_recorder_state_name(4));
    for (unsigned step = 0; step < SL_STEP_COUNT; step++)
        ck_assert_ptr_nonnull(sl_recorder_step_name((enum sl_recorder_step)step));
}
END_TEST

/* _i: a CPU that there is not, for the thread that starts last; a FIFO that cannot be made; a CPU, for the one that starts early. */
START_TEST(a_start_that_fails_is_told_and_leaves_nothing)
{
    static const struct {
        const char *record, *rest, *words;
    } refused[] = {
        {"", "[realtime]\ncapture_cpu = 1023", "pin to CPU 1023"},
        {"prerecord = 100ms\ntrigger = /nowhere/trigger", "", "mkfifo /nowhere/trigger"},
        {"", "[realtime]\nwriter_cpu = 1023", "pin to CPU 1023"},
    };

    ck_assert_int_eq(run("20", UNPACED, refused[_i].record, refused[_i].rest), 1);
    expect_text(run_err, refused[_i].words);
    ck_assert_int_eq(run_number(run_summary, "exit"), 1);
    ck_assert_str_eq(run_text(run_summary, "reason"), "start_failed");
    expect_text(run_text(run_summary, "error"), refused[_i].words);
    ck_assert_str_eq(run_text(run_summary, "config"), scratch_path("cam.ini"));
    ck_assert_uint_eq(scratch_count(".ledger") + scratch_count(".mkv") + scratch_count(".next"), 0);
}
END_TEST

START_TEST(a_run_says_why_it_ended)
{
    ck_assert_int_eq(run("100", UNPACED "reopen = no\n", "", _i ? "[fault]\nsensor = eio@50" : ""), _i ? 3 : 0);
    ck_assert_str_eq(run_text(run_summary, "reason"), _i ? "sensor" : "limit");
    ck_assert_str_eq(run_text(run_line("stop", 0), "reason"), _i ? "sensor" : "limit");
    if (_i)
        ck_assert_str_eq(run_text(run_summary, "error"), "pattern: Input/output error");
    else
        ck_assert(json_is_null(run_at(run_summary, "error")));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_run");
    TCase *tests = tcase_create("run");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, bad_frames_that_are_kept_are_told_of);
    tcase_add_test(tests, bad_frames_that_are_dropped_are_lost);
    tcase_add_test(tests, every_counter_is_in_the_summary);
    tcase_add_test(tests, segments_open_and_close_in_pairs);
    tcase_add_test(tests, what_nothing_triggered_is_in_no_books);
    tcase_add_loop_test(tests, a_start_that_fails_is_told_and_leaves_nothing, 0, 3);
    tcase_add_loop_test(tests, a_run_says_why_it_ended, 0, 2);
    tcase_add_test(tests, a_sensor_that_fails_before_any_trigger);
    tcase_add_test(tests, states_and_steps_have_names);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
