/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs whose sensor fails and comes back, as a user sees them: files, ledger, summary and exit code. The pattern sensor is paced here,
 * so that an outage costs what it lasts; its strip has the number of the frame on the run's grid, which verify compares.
 */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/commands.h"
#include "support/holds.h"
#include "support/run_rig.h"
#include "support/scratch.h"
#include "support/suite.h"

enum { FPS = 200, UNPLUGS = 20, MADE = 210 };

static int run(const char *sensor, const char *faults, const char *limit)
{
    char lines[2048], set[1024];

    snprintf(lines, sizeof lines,
             "[sensor]\nname = cam\nsource = pattern\nsize = 64x48\nfps = %d\nbuffers = 32\n%s\n[ring]\ndepth = 64\nhugepages = no\n"
             "[record]\ndir = %s\nkeep_free = 0\nsync = segment\n",
             FPS, sensor, scratch_path("."));
    snprintf(set, sizeof set, "--set=fault.sensor=%s", faults);
    return run_config(lines, set, limit);
}

static const char *file(unsigned index)
{
    return json_string_value(json_array_get(run_at(run_summary, "record.files"), index));
}

static unsigned files(void)
{
    return (unsigned)json_array_size(run_at(run_summary, "record.files"));
}

static long long lost(const char *cause)
{
    char path[64];

    snprintf(path, sizeof path, "frames.lost.%s", cause);
    return run_number(run_summary, path);
}

/* Every frame of every file is whole and shows the number the books gave it, and the books go on from file to file. */
static void verify_files(void)
{
    const char *arguments[40] = {"--pattern"};
    unsigned count = files();

    ck_assert_uint_le(count, 38);
    for (unsigned i = 0; i < count; i++)
        arguments[1 + i] = file(i);
    ck_assert_msg(run_command(sl_cmd_verify, arguments, 1 + count) == 0, "%s%s", run_out, run_err);
}

static long long sum_of(const char *event, const char *field)
{
    long long sum = 0;

    for (unsigned i = 0; run_line(event, i); i++)
        sum += run_number(run_line(event, i), field);
    return sum;
}

/* What holds for every run in which all losses are the device's: gaps, losses and books say the same. */
static void check_books(unsigned outages)
{
    ck_assert(json_is_true(run_at(run_summary, "frames.balanced")));
    ck_assert_int_eq(run_number(run_summary, "frames.recorded"), run_number(run_summary, "frames.captured"));
    ck_assert_int_eq(run_number(run_summary, "frames.expected"), run_number(run_summary, "frames.recorded") + lost("device_gone"));
    ck_assert_uint_eq(run_lines("loss"), outages);
    ck_assert_int_eq(sum_of("loss", "count"), lost("device_gone"));
    for (unsigned i = 0; run_line("gap", i); i++) {
        ck_assert_uint_gt(strlen(run_text(run_line("gap", i), "detail")), strlen("pattern: ")); /* device and why */
        ck_assert_int_eq(run_number(run_line("gap", i), "first"), run_number(run_line("loss", i), "first"));
        ck_assert_int_eq(run_number(run_line("gap", i), "count"), run_number(run_line("loss", i), "count"));
    }
    ck_assert_uint_eq(run_lines("segment_open"), files());
    for (unsigned i = 0; i < files(); i++) {
        ck_assert_int_eq(run_number(run_line("segment_open", i), "segment"), i + 1);
        ck_assert_str_eq(run_text(run_line("segment_open", i), "file"), file(i));
    }
}

/* The states the device went through, joined by spaces. */
static const char *states(void)
{
    static char text[1024];

    text[0] = '\0';
    for (unsigned i = 0; run_line("state", i); i++)
        if (!strcmp(run_text(run_line("state", i), "of"), "sensor"))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", text[0] ? " " : "", run_text(run_line("state", i), "name"));
    return text;
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

/* --- many outages in one run --------------------------------------------------------------------------------------------- */

static atomic_bool g_stop;
static struct holds g_early, g_late; /* the most that was seen in the first seconds, and after them */

static void *watch_process(void *unused)
{
    for (unsigned i = 0; !atomic_load(&g_stop); i++) {
        struct holds now = holds_now();

        holds_most(i < 1000 ? &g_early : &g_late, &now);
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    }
    return unused;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void print_recovery(void)
{
    double seconds[UNPLUGS];

    for (unsigned i = 0; i < UNPLUGS; i++)
        seconds[i] = json_number_value(run_at(run_line("gap", i), "seconds"));
    qsort(seconds, UNPLUGS, sizeof *seconds, by_size);
    printf("100 ms unplugged, streaming after: p50 %.0f ms, max %.0f ms; descriptors %u, %u; memory %ld, %ld KiB\n",
           seconds[UNPLUGS / 2] * 1e3, seconds[UNPLUGS - 1] * 1e3, g_early.fds, g_late.fds, g_early.present_kib, g_late.present_kib);
}

START_TEST(twenty_unplugs_are_twenty_gaps)
{
    char faults[1024] = "";
    pthread_t watcher;

    for (unsigned i = 1; i <= UNPLUGS; i++)
        snprintf(faults + strlen(faults), sizeof faults - strlen(faults), "%sunplug@%u:100ms", i > 1 ? "," : "", i * MADE);
    ck_assert_int_eq(pthread_create(&watcher, NULL, watch_process, NULL), 0);
    ck_assert_int_eq(run("", faults, "--frames=6000"), 3);
    atomic_store(&g_stop, true);
    pthread_join(watcher, NULL);

    ck_assert_uint_eq(run_lines("gap"), UNPLUGS);
    ck_assert_uint_eq(files(), UNPLUGS + 1);
    ck_assert_int_eq(run_number(run_summary, "frames.expected"), 6000);
    for (unsigned i = 0; i < UNPLUGS; i++)
        ck_assert_int_eq(run_number(run_line("segment_close", i), "frames"), MADE);
    check_books(UNPLUGS);
    print_recovery();
    ck_assert_uint_le(g_late.fds, g_early.fds + 2); /* a file may be open in one moment and not in the other; a leak is one an outage */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* these keep what was freed; the first looks for leaks itself */
    ck_assert_int_le(g_late.present_kib, g_early.present_kib + 4096);
#endif
    verify_files();
}
END_TEST

/* --- what fails, one by one ---------------------------------------------------------------------------------------------- */

START_TEST(silence_is_a_stall)
{
    ck_assert_int_eq(run("stall_timeout = 100ms", "stall@60:2", "--frames=300"), 3);
    ck_assert_str_eq(states(), "opening streaming stalled reopening streaming");
    ck_assert_int_eq(run_number(run_line("gap", 0), "first"), 60);
    ck_assert_int_eq(run_number(run_line("gap", 0), "attempts"), 2);
    ck_assert_int_ge(run_number(run_line("gap", 0), "count"), 2 * FPS / 10);
    ck_assert_uint_eq(files(), 2);
    check_books(1);
    verify_files();
}
END_TEST

START_TEST(start_that_is_refused_is_tried_again)
{
    ck_assert_int_eq(run("", "streamon@60:3", "--frames=400"), 3);
    ck_assert_str_eq(states(), "opening streaming device_gone reopening streaming");
    ck_assert_int_eq(run_number(run_line("gap", 0), "attempts"), 4);
    ck_assert_uint_eq(files(), 2);
    check_books(1);
    verify_files();
}
END_TEST

START_TEST(first_start_that_is_refused_is_tried_again)
{
    ck_assert_int_eq(run("", "streamon@0:2", "--frames=200"), 3);
    ck_assert_str_eq(states(), "opening device_gone reopening streaming");
    ck_assert_int_eq(run_number(run_line("gap", 0), "first"), 0);
    ck_assert_uint_eq(files(), 1);
    check_books(1);
    verify_files();
}
END_TEST

START_TEST(start_that_is_always_refused_fails_in_the_end)
{
    ck_assert_int_eq(run("", "streamon@0:1000", "--frames=100"), 1);
    ck_assert_str_eq(run_text(run_line("stop", 0), "reason"), "limit");
    ck_assert_int_eq(lost("device_gone"), 100);
    ck_assert_uint_eq(files(), 0);
    check_books(1);
}
END_TEST

START_TEST(lost_signal_is_waited_for)
{
    ck_assert_int_eq(run("", "nosignal@60:150ms", "--frames=200"), 3);
    ck_assert_str_eq(states(), "opening streaming signal_lost reopening streaming");
    ck_assert_int_ge(lost("device_gone"), FPS * 150 / 1000);
    check_books(1);
    verify_files();
}
END_TEST

START_TEST(other_mode_is_another_file)
{
    ck_assert_int_eq(run("", "source_change@60:128x96,source_change@120", "--frames=300"), 3);
    ck_assert_str_eq(states(), "opening streaming signal_lost reopening streaming signal_lost reopening streaming");
    ck_assert_uint_eq(files(), 3);
    ck_assert_int_eq(run_number(run_line("gap", 0), "width"), 128);
    ck_assert_int_eq(run_number(run_line("gap", 1), "width"), 64);
    for (unsigned i = 0; i < 3; i++) {
        json_t *shown;

        ck_assert_int_eq(run_command(sl_cmd_show, (const char *[]){file(i), "--json"}, 2), 0);
        shown = json_loads(run_out, 0, NULL);
        ck_assert_int_eq(run_number(shown, "format.width"), i == 1 ? 128 : 64);
        ck_assert_int_eq(run_number(shown, "segment"), i + 1);
        json_decref(shown);
    }
    check_books(2);
    verify_files();
}
END_TEST

/* Three failures of other kinds, and a store that has faults of its own, which count over the whole run. */
START_TEST(failures_of_sensor_and_disk_add_up)
{
    char lines[1024];

    snprintf(lines, sizeof lines,
             "[sensor]\nname = cam\nsource = pattern\nsize = 64x48\nfps = %d\nbuffers = 32\n[ring]\ndepth = 64\nhugepages = no\n[record]\n"
             "dir = %s\nkeep_free = 0\n[fault]\nsensor = gap@20:3,eio@50:2,error@80:2\nstore = eio@30,eio@90:2\n",
             FPS, scratch_path("."));
    ck_assert_int_eq(run_config(lines, "--frames=400", NULL), 3);
    ck_assert(json_is_true(run_at(run_summary, "frames.balanced")));
    ck_assert_int_eq(run_number(run_summary, "frames.expected"), 400);
    ck_assert_int_eq(lost("sensor_gap"), 3);
    ck_assert_int_eq(lost("disk_error"), 3);
    ck_assert_int_eq(run_number(run_summary, "frames.bad_kept"), 2);
    ck_assert_uint_eq(run_lines("gap"), 1); /* the second failure came before a frame did */
    verify_files();
}
END_TEST

/* --- how it ends --------------------------------------------------------------------------------------------------------- */

START_TEST(limit_ends_an_outage)
{
    ck_assert_int_eq(run("", "unplug@60:60s", "--frames=200"), 3);
    ck_assert_str_eq(run_text(run_line("stop", 0), "reason"), "limit");
    ck_assert_str_eq(states(), "opening streaming device_gone reopening");
    ck_assert_int_eq(run_number(run_summary, "frames.expected"), 200);
    ck_assert_int_eq(lost("device_gone"), 140);
    ck_assert_uint_eq(run_lines("gap"), 0);
    check_books(1);
    verify_files();
}
END_TEST

static void *terminate_later(void *unused)
{
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    kill(getpid(), SIGTERM);
    return unused;
}

START_TEST(signal_ends_an_outage)
{
    pthread_t killer;
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* before there is a thread that could take it */
    ck_assert_int_eq(pthread_create(&killer, NULL, terminate_later, NULL), 0);
    ck_assert_int_eq(run("", "unplug@60:60s", NULL), 3);
    pthread_join(killer, NULL);
    ck_assert_str_eq(run_text(run_line("stop", 0), "reason"), "signal");
    ck_assert_uint_eq(files(), 1);
    /* every frame of the second that the run lasted is accounted for */
    ck_assert_int_ge(run_number(run_summary, "frames.expected"), FPS * 9 / 10);
    ck_assert_int_le(run_number(run_summary, "frames.expected"), (long long)(json_number_value(run_at(run_summary, "seconds")) * FPS) + 1);
    ck_assert_int_eq(run_number(run_summary, "frames.recorded"), 60);
    check_books(1);
    verify_files();
}
END_TEST

START_TEST(without_reopen_the_run_ends)
{
    ck_assert_int_eq(run("reopen = no", "unplug@60:100ms", "--frames=300"), 3);
    ck_assert_str_eq(run_text(run_line("stop", 0), "reason"), "sensor");
    ck_assert_str_eq(states(), "opening streaming device_gone");
    ck_assert_int_eq(run_number(run_summary, "frames.recorded"), 60);
    ck_assert_uint_eq(files(), 1);
    ck_assert(json_is_true(run_at(run_summary, "frames.balanced")));
    verify_files();
}
END_TEST

START_TEST(without_reopen_a_refused_start_fails)
{
    ck_assert_int_eq(run("reopen = no", "streamon@0", "--frames=300"), 1);
    ck_assert_str_eq(run_text(run_summary, "reason"), "start_failed");
    ck_assert_ptr_null(run_ledger);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_reopen");
    TCase *tests = tcase_create("reopen");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, twenty_unplugs_are_twenty_gaps);
    tcase_add_test(tests, silence_is_a_stall);
    tcase_add_test(tests, start_that_is_refused_is_tried_again);
    tcase_add_test(tests, first_start_that_is_refused_is_tried_again);
    tcase_add_test(tests, start_that_is_always_refused_fails_in_the_end);
    tcase_add_test(tests, lost_signal_is_waited_for);
    tcase_add_test(tests, other_mode_is_another_file);
    tcase_add_test(tests, failures_of_sensor_and_disk_add_up);
    tcase_add_test(tests, limit_ends_an_outage);
    tcase_add_test(tests, signal_ends_an_outage);
    tcase_add_test(tests, without_reopen_the_run_ends);
    tcase_add_test(tests, without_reopen_a_refused_start_fails);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
