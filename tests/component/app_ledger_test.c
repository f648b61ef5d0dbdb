/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's lines and the trigger's FIFO. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/event_text.h"
#include "app/ledger.h"
#include "app/trigger.h"
#include "core/log.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct sl_manual_clock g_clock;
static struct sl_error g_err;

static void setup(void)
{
    scratch_open();
    sl_manual_clock_init(&g_clock, 5 * SL_NS_PER_S);
    g_clock.utc_offset_ns = 1769860800LL * SL_NS_PER_S; /* 2026-01-31T12:00:00Z */
    sl_log_set_level(SL_LOG_ERROR);
}

static void teardown(void)
{
    scratch_close();
}

static json_t *line_of(const char *path, unsigned number)
{
    char text[4096];
    uint64_t bytes = scratch_size(path);
    char *line = text;

    ck_assert_uint_lt(bytes, sizeof text);
    scratch_read(path, 0, text, (size_t)bytes);
    text[bytes] = '\0';
    while (number--) {
        line = strchr(line, '\n');
        ck_assert_ptr_nonnull(line);
        line++;
    }
    *strchr(line, '\n') = '\0';
    json_t *object = json_loads(line, 0, NULL);

    ck_assert_ptr_nonnull(object);
    return object;
}

static const char *text_of(json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

START_TEST(a_line_an_event)
{
    const char *path = scratch_path("run.ledger");
    struct sl_ledger *ledger;

    ck_assert_int_eq(sl_ledger_open(&ledger, path, &g_clock.clock, &g_err), 0);
    sl_ledger_write(ledger, "start", json_pack("{s:s}", "device", "a \"quoted\"\nname"));
    sl_manual_clock_advance(&g_clock, 1234567);
    sl_ledger_write(ledger, "trigger_start", NULL);

    json_t *first = line_of(path, 0), *second = line_of(path, 1);

    ck_assert_str_eq(text_of(first, "t"), "2026-01-31T12:00:05.000000000Z");
    ck_assert_str_eq(text_of(first, "event"), "start");
    ck_assert_str_eq(text_of(first, "device"), "a \"quoted\"\nname");
    ck_assert_str_eq(text_of(second, "t"), "2026-01-31T12:00:05.001234567Z");
    ck_assert_str_eq(text_of(second, "event"), "trigger_start");
    json_decref(first);
    json_decref(second);
    sl_ledger_close(ledger);
}
END_TEST

START_TEST(what_is_there_stays)
{
    const char *path = scratch_path("run.ledger");
    struct sl_ledger *ledger;

    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(sl_ledger_open(&ledger, path, &g_clock.clock, &g_err), 0);
        sl_ledger_write(ledger, i ? "second" : "first", NULL);
        sl_ledger_close(ledger);
    }
    json_t *first = line_of(path, 0), *second = line_of(path, 1);

    ck_assert_str_eq(text_of(first, "event"), "first");
    ck_assert_str_eq(text_of(second, "event"), "second");
    json_decref(first);
    json_decref(second);
}
END_TEST

START_TEST(a_ledger_that_cannot_be_opened)
{
    struct sl_ledger *ledger = NULL;

    ck_assert_int_eq(sl_ledger_open(&ledger, "/nowhere/at/all/run.ledger", &g_clock.clock, &g_err), -ENOENT);
    ck_assert_ptr_null(ledger);
    ck_assert_ptr_nonnull(strstr(g_err.text, "/nowhere/at/all/run.ledger"));
}
END_TEST

START_TEST(lines_that_are_lacking_are_counted)
{
    const char *path = scratch_path("run.ledger");
    struct sl_event event = {.kind = SL_EVENT_LOSS, .code = SL_LOSS_SENSOR_GAP, .count = 1};
    struct sl_events events;
    struct sl_ledger *ledger;
    uint64_t dropped = 0;

    memset(&events, 0, sizeof events);
    ck_assert_int_eq(sl_events_init(&events, 2), 0);
    ck_assert_int_eq(sl_ledger_open(&ledger, path, &g_clock.clock, &g_err), 0);
    for (unsigned i = 0; i < 5; i++)
        sl_events_post(&events, &event);
    for (unsigned i = 0; i < 2; i++) /* once is enough */
        sl_events_report(NULL, ledger, SL_FROM_RECORDER, &events, &dropped);
    sl_events_post(&events, &event);
    sl_events_report(NULL, ledger, SL_FROM_RECORDER, &events, &dropped);

    json_t *line = line_of(path, 2), *next = line_of(path, 3);

    ck_assert_str_eq(text_of(line, "event"), "events_dropped");
    ck_assert_str_eq(text_of(line, "of"), "recorder");
    ck_assert_int_eq(json_integer_value(json_object_get(line, "count")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(line, "total")), 3);
    ck_assert_str_eq(text_of(next, "event"), "loss");
    json_decref(line);
    json_decref(next);
    sl_ledger_close(ledger);
    sl_events_fini(&events);
}
END_TEST

static void say(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq((int)write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
}

START_TEST(trigger_orders)
{
    const char *path = scratch_path("trigger");
    struct sl_trigger trigger;

    ck_assert_int_eq(sl_trigger_init(&trigger, path, &g_err), 0);
    ck_assert_int_eq(sl_trigger_read(&trigger), SL_TRIGGER_NONE);
    say(path, "start\n");
    ck_assert_int_eq(sl_trigger_read(&trigger), SL_TRIGGER_START);
    say(path, "start\nstop\n");
    ck_assert_int_eq(sl_trigger_read(&trigger), SL_TRIGGER_STOP);
    say(path, "sta");
    ck_assert_int_eq(sl_trigger_read(&trigger), SL_TRIGGER_NONE);
    say(path, "rt\n");
    ck_assert_int_eq(sl_trigger_read(&trigger), SL_TRIGGER_START);
    say(path, "a line that is longer than any order can be\nstop now\n\x01\n");
    ck_assert_int_eq(sl_trigger_read(&trigger), SL_TRIGGER_NONE);
    sl_trigger_fini(&trigger);
    ck_assert_int_eq(sl_trigger_init(&trigger, path, &g_err), 0); /* one that is there already is taken as it is */
    sl_trigger_fini(&trigger);
}
END_TEST

START_TEST(trigger_over_a_file)
{
    const char *path = scratch_path("trigger");
    struct sl_trigger trigger;

    scratch_write(path, 0, "x", 1);
    ck_assert_int_eq(sl_trigger_init(&trigger, path, &g_err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(g_err.text, "not a FIFO"));
    ck_assert_uint_eq(scratch_size(path), 1);
}
END_TEST

START_TEST(no_trigger)
{
    struct sl_trigger trigger;

    ck_assert_int_eq(sl_trigger_init(&trigger, NULL, &g_err), 0);
    ck_assert_int_eq(trigger.fd, -1);
    sl_trigger_fini(&trigger);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_ledger");
    TCase *tests = tcase_create("ledger and trigger");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, a_line_an_event);
    tcase_add_test(tests, what_is_there_stays);
    tcase_add_test(tests, a_ledger_that_cannot_be_opened);
    tcase_add_test(tests, lines_that_are_lacking_are_counted);
    tcase_add_test(tests, trigger_orders);
    tcase_add_test(tests, trigger_over_a_file);
    tcase_add_test(tests, no_trigger);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
