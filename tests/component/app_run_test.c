/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice run` as a user calls it, over the pattern sensor with scripted faults: what summary, ledger and text say of it. */
#include <check.h>
#include <getopt.h>
#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/counters.h"
#include "support/scratch.h"
#include "support/suite.h"

static char g_out[65536], g_err[65536];
static json_t *g_summary; /* of the last run; NULL: it wrote none */
static json_t *g_ledger;  /* array of its lines; NULL: there is none */

static void read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(text, 1, bytes - 1, file) : 0;

    text[got] = '\0';
    if (file)
        fclose(file);
}

/* Runs a command with up to three arguments (the rest NULL); its output is in g_out and g_err then. */
static int call(int (*command)(int, char **), const char *a, const char *b, const char *c)
{
    char name[] = "command";
    char *argv[] = {name, (char *)a, (char *)b, (char *)c, NULL};
    int saved_out = dup(1), saved_err = dup(2), argc = 0, rc;

    while (argv[argc])
        argc++;
    fflush(NULL);
    ck_assert_ptr_nonnull(freopen(scratch_path("stdout"), "wb", stdout));
    ck_assert_ptr_nonnull(freopen(scratch_path("stderr"), "wb", stderr));
    optind = 0; /* glibc: forget the call before */
    rc = command(argc, argv);
    fflush(NULL);
    dup2(saved_out, 1);
    dup2(saved_err, 2);
    close(saved_out);
    close(saved_err);
    read_text(scratch_path("stdout"), g_out, sizeof g_out);
    read_text(scratch_path("stderr"), g_err, sizeof g_err);
    return rc;
}

static void read_ledger(void)
{
    glob_t found;
    char line[8192];

    g_ledger = NULL;
    if (glob(scratch_path("*.ledger"), 0, NULL, &found) != 0)
        return;
    ck_assert_uint_eq(found.gl_pathc, 1);
    FILE *file = fopen(found.gl_pathv[0], "r");

    globfree(&found);
    ck_assert_ptr_nonnull(file);
    g_ledger = json_array();
    while (fgets(line, sizeof line, file)) {
        json_t *object = json_loads(line, 0, NULL);

        ck_assert_msg(object != NULL, "no JSON: %s", line);
        json_array_append_new(g_ledger, object);
    }
    fclose(file);
}

#define UNPACED "fps = 60\npaced = no\n"

/* Records small pattern frames; `sensor`, `record` and `rest` are lines of the config. The exit code. */
static int run(const char *frames, const char *sensor, const char *record, const char *rest)
{
    static char argument[64];
    FILE *file = fopen(scratch_path("cam.ini"), "w");
    int rc;

    snprintf(argument, sizeof argument, "--frames=%s", frames);
    fprintf(file,
            "[sensor]\nname = cam\nsource = pattern\nsize = 64x48\n%s\nbuffers = 8\n[ring]\ndepth = 16\n"
            "hugepages = no\n[record]\ndir = %s\nkeep_free = 0\n%s\n%s\n",
            sensor, scratch_path("."), record, rest);
    fclose(file);
    char summary[512];

    snprintf(summary, sizeof summary, "--summary=%s", scratch_path("summary.json"));
    rc = call(sl_cmd_run, scratch_path("cam.ini"), argument, summary);
    g_summary = json_load_file(scratch_path("summary.json"), 0, NULL);
    read_ledger();
    return rc;
}

/* The value at a path of keys, "frames.lost.no_slot"; NULL: there is none. */
static json_t *at(json_t *object, const char *path)
{
    char copy[128], *rest = copy, *key;

    snprintf(copy, sizeof copy, "%s", path);
    while (object && (key = strsep(&rest, ".")))
        object = json_object_get(object, key);
    return object;
}

static long long number(json_t *object, const char *path)
{
    json_t *value = at(object, path);

    ck_assert_msg(json_is_integer(value), "no number %s", path);
    return json_integer_value(value);
}

static const char *text(json_t *object, const char *path)
{
    json_t *value = at(object, path);

    ck_assert_msg(json_is_string(value), "no text %s", path);
    return json_string_value(value);
}

/* The ledger's line number `index` among those of this event; NULL: there are not so many. */
static json_t *line(const char *event, unsigned index)
{
    size_t i;
    json_t *object;

    json_array_foreach(g_ledger, i, object)
    {
        if (!strcmp(text(object, "event"), event) && index-- == 0)
            return object;
    }
    return NULL;
}

static const char *recording(void)
{
    return json_string_value(json_array_get(at(g_summary, "record.files"), 0));
}

static void setup(void)
{
    scratch_open();
}

static void teardown(void)
{
    json_decref(g_summary);
    json_decref(g_ledger);
    scratch_close();
}

#define expect_text(text, part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text)

static void expect_kept(const char *kind, unsigned index, long long first, long long last, long long count)
{
    json_t *told = line("bad_kept", index);

    ck_assert_msg(told != NULL, "no line bad_kept %u", index);
    ck_assert_str_eq(text(told, "kind"), kind);
    ck_assert_int_eq(number(told, "first"), first);
    ck_assert_int_eq(number(told, "last"), last);
    ck_assert_int_eq(number(told, "count"), count);
}

#define BAD_FRAMES "[fault]\nsensor = error@20:3, short@40"

START_TEST(bad_frames_that_are_kept_are_told_of)
{
    ck_assert_int_eq(run("100", UNPACED "bad_frames = keep", "", BAD_FRAMES), 0);
    ck_assert_int_eq(number(g_summary, "frames.recorded"), 100);
    ck_assert_int_eq(number(g_summary, "frames.bad_kept"), 4);
    ck_assert_int_eq(number(g_summary, "frames.lost.bad_frame"), 0);
    ck_assert_int_eq(number(line("stop", 0), "frames.bad_kept"), 4);
    expect_kept("error", 0, 20, 22, 3);
    expect_kept("short", 1, 40, 40, 1);
    ck_assert_ptr_null(line("bad_kept", 2));
    expect_text(g_out, "bad      4 frames");

    char file[512];

    snprintf(file, sizeof file, "%s", recording());
    ck_assert_int_eq(call(sl_cmd_show, file, NULL, NULL), 0);
    expect_text(g_out, "marked    error 3, short 1: frames 20, 21, 22, 40 (bad, and kept)");
    ck_assert_int_eq(call(sl_cmd_show, file, "--json", NULL), 0);
    json_t *shown = json_loads(g_out, 0, NULL);

    ck_assert_int_eq(number(shown, "marked.frames"), 4);
    ck_assert_int_eq(number(shown, "marked.error"), 3);
    ck_assert_int_eq(number(shown, "marked.short"), 1);
    ck_assert_int_eq(json_integer_value(json_array_get(at(shown, "marked.numbers"), 3)), 40);
    json_decref(shown);
    ck_assert_int_eq(call(sl_cmd_verify, file, NULL, NULL), 0);
    expect_text(g_out, "kept though bad: error 3, short 1: frames 20, 21, 22, 40\n");
    ck_assert_int_eq(call(sl_cmd_verify, file, "--json", NULL), 0);
    shown = json_loads(g_out, 0, NULL);
    ck_assert_int_eq(number(json_array_get(at(shown, "files"), 0), "marked.frames"), 4);
    ck_assert(json_is_true(at(shown, "whole")));
    json_decref(shown);
}
END_TEST

START_TEST(bad_frames_that_are_dropped_are_lost)
{
    ck_assert_int_eq(run("100", UNPACED "bad_frames = drop", "", BAD_FRAMES), 3);
    ck_assert_int_eq(number(g_summary, "frames.recorded"), 96);
    ck_assert_int_eq(number(g_summary, "frames.bad_kept"), 0);
    ck_assert_int_eq(number(g_summary, "frames.lost.bad_frame"), 4);
    ck_assert(json_is_true(at(g_summary, "frames.balanced")));
    ck_assert_ptr_null(line("bad_kept", 0));
    ck_assert_int_eq(number(line("loss", 0), "first"), 20);
    ck_assert_int_eq(number(line("loss", 0), "count"), 3);
    ck_assert_str_eq(text(line("loss", 0), "cause"), "bad_frame");
    ck_assert_int_eq(number(line("loss", 1), "first"), 40);
    ck_assert_int_eq(number(line("loss", 1), "count"), 1);
    ck_assert_int_eq(call(sl_cmd_show, recording(), NULL, NULL), 0);
    ck_assert_ptr_null(strstr(g_out, "marked"));
}
END_TEST

START_TEST(every_counter_is_in_the_summary)
{
    json_t *counters;

    ck_assert_int_eq(run("50", UNPACED, "", "[fault]\nstore = short@10"), 0);
    counters = at(g_summary, "counters");
    ck_assert_uint_eq(json_object_size(counters), SL_COUNTER_GROUPS);
    for (unsigned i = 0; i < SL_COUNTER_GROUPS; i++) {
        const struct sl_counter_group *group = &sl_counter_groups[i];
        json_t *object = at(counters, group->key);

        ck_assert_uint_eq(json_object_size(object), group->count);
        for (unsigned which = 0; which < group->count; which++)
            number(object, group->defs[which].name);
    }
    ck_assert_int_eq(number(counters, "capture.captured"), 50);
    ck_assert_int_eq(number(counters, "record_sink.offered"), 50);
    ck_assert_int_eq(number(counters, "record_sink.accepted"), 50);
    ck_assert_int_eq(number(counters, "recorder.taken"), 50);
    ck_assert_int_eq(number(counters, "recorder.short_writes"), 1);
    ck_assert_int_eq(number(counters, "capture_events.dropped"), 0);
}
END_TEST

static unsigned lines(const char *event)
{
    unsigned count = 0;

    while (line(event, count))
        count++;
    return count;
}

static json_t *line_of_segment(const char *event, long long segment)
{
    for (unsigned i = 0; line(event, i); i++)
        if (number(line(event, i), "segment") == segment)
            return line(event, i);
    return NULL;
}

START_TEST(segments_open_and_close_in_pairs)
{
    unsigned with_frames = 0;

    ck_assert_int_eq(run("120", "paced = yes\nfps = 200", "", "[fault]\nstore = eio@50:3"), 3);
    ck_assert_int_eq(number(g_summary, "frames.lost.disk_error"), 3);
    ck_assert_uint_ge(lines("segment_open"), 2);
    ck_assert_uint_eq(lines("segment_open"), lines("segment_close"));
    for (unsigned i = 0; i < lines("segment_close"); i++) {
        json_t *close = line("segment_close", i);
        long long segment = number(close, "segment");

        ck_assert_ptr_nonnull(line_of_segment("segment_open", segment));
        ck_assert_int_eq(line_of_segment("segment_removed", segment) != NULL, number(close, "frames") == 0);
        ck_assert_int_eq(access(text(close, "file"), F_OK) == 0, number(close, "frames") > 0);
        with_frames += number(close, "frames") > 0;
    }
    ck_assert_int_eq(number(g_summary, "record.segments"), with_frames);
    ck_assert_uint_eq(json_array_size(at(g_summary, "record.files")), with_frames);
}
END_TEST

START_TEST(what_nothing_triggered_is_in_no_books)
{
    ck_assert_int_eq(run("100", UNPACED, "prerecord = 100ms", "[fault]\nsensor = gap@30:2"), 3);
    long long untriggered = number(g_summary, "record.untriggered");

    ck_assert_int_eq(untriggered, 98);
    ck_assert_int_eq(number(g_summary, "frames.captured"), 0);
    ck_assert_int_eq(number(g_summary, "frames.expected"), 2);
    ck_assert_int_eq(number(g_summary, "frames.lost.sensor_gap"), 2);
    ck_assert(json_is_true(at(g_summary, "frames.balanced")));
    ck_assert_int_eq(number(g_summary, "counters.capture.captured"), untriggered);
    ck_assert_ptr_null(line("segment_open", 0));
}
END_TEST

/* It did deliver frames, although nobody wanted to keep them. */
START_TEST(a_sensor_that_fails_before_any_trigger)
{
    ck_assert_int_eq(run("100", UNPACED, "prerecord = 100ms", "[fault]\nsensor = eio@50"), 3);
    ck_assert_str_eq(text(g_summary, "reason"), "sensor");
    ck_assert_int_eq(number(g_summary, "frames.captured"), 0);
    ck_assert_int_eq(number(g_summary, "counters.capture.captured"), 50);
}
END_TEST

START_TEST(states_and_steps_have_names)
{
    ck_assert_int_eq(run("1000000", UNPACED, "", "[fault]\nstore = enospc@50"), 3);
    ck_assert_str_eq(text(line("state", 0), "of"), "recorder");
    ck_assert_int_eq(number(line("state", 0), "state"), 2);
    ck_assert_str_eq(text(line("state", 0), "name"), "full");
    ck_assert_str_eq(text(line("stop", 0), "reason"), "disk_full");
    ck_assert_int_eq(number(g_summary, "frames.lost.disk_late"), 0);
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
    expect_text(g_err, refused[_i].words);
    ck_assert_int_eq(number(g_summary, "exit"), 1);
    ck_assert_str_eq(text(g_summary, "reason"), "start_failed");
    expect_text(text(g_summary, "error"), refused[_i].words);
    ck_assert_str_eq(text(g_summary, "config"), scratch_path("cam.ini"));
    ck_assert_uint_eq(scratch_count(".ledger") + scratch_count(".mkv") + scratch_count(".next"), 0);
}
END_TEST

START_TEST(a_run_says_why_it_ended)
{
    ck_assert_int_eq(run("100", UNPACED, "", _i ? "[fault]\nsensor = eio@50" : ""), _i ? 3 : 0);
    ck_assert_str_eq(text(g_summary, "reason"), _i ? "sensor" : "limit");
    ck_assert_str_eq(text(line("stop", 0), "reason"), _i ? "sensor" : "limit");
    if (_i)
        ck_assert_str_eq(text(g_summary, "error"), "Input/output error");
    else
        ck_assert(json_is_null(at(g_summary, "error")));
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
