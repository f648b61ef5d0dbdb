/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"
#include "core/log.h"
#include "support/suite.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

START_TEST(an_error_has_a_code_and_a_text)
{
    struct sl_error err = {"old"};

    ck_assert_int_eq(sl_fail(&err, -ENODEV, "open %s: %d", "/dev/video9", 3), -ENODEV);
    ck_assert_str_eq(err.text, "open /dev/video9: 3");
    ck_assert_int_eq(sl_fail_context(&err, -ENODEV, "sensor %s", "front"), -ENODEV);
    ck_assert_str_eq(err.text, "sensor front: open /dev/video9: 3");
    ck_assert_int_eq(sl_fail_context(&err, -EIO, "run"), -EIO);
    ck_assert_str_eq(err.text, "run: sensor front: open /dev/video9: 3");
}
END_TEST

START_TEST(nobody_needs_to_listen)
{
    ck_assert_int_eq(sl_fail(NULL, -EIO, "text"), -EIO);
    ck_assert_int_eq(sl_fail_context(NULL, -EINVAL, "text"), -EINVAL);
}
END_TEST

START_TEST(an_error_may_be_made_from_itself)
{
    struct sl_error err = {"no space"};

    sl_fail(&err, -1, "again: %s", err.text);
    ck_assert_str_eq(err.text, "again: no space");
    sl_fail_context(&err, -1, "<%s>", err.text);
    ck_assert_str_eq(err.text, "<again: no space>: again: no space");
}
END_TEST

START_TEST(long_texts_are_cut_within_the_buffer)
{
    struct {
        struct sl_error err;
        char guard[16];
    } box;
    char longest[2 * sizeof(struct sl_error)];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    memset(&box, 'g', sizeof(box));
    sl_fail(&box.err, -1, "%s", longest);
    ck_assert_uint_eq(strlen(box.err.text), sizeof(box.err.text) - 1);
    sl_fail(&box.err, -1, "inner %s", longest);
    sl_fail_context(&box.err, -1, "outer");
    ck_assert_uint_eq(strlen(box.err.text), sizeof(box.err.text) - 1);
    ck_assert_int_eq(strncmp(box.err.text, "outer: inner xxx", 16), 0);
    ck_assert_int_eq(box.err.text[sizeof(box.err.text) - 2], '~');
    sl_fail(&box.err, -1, "inner");
    sl_fail_context(&box.err, -1, "%s", longest);
    ck_assert_uint_eq(strlen(box.err.text), sizeof(box.err.text) - 1);
    for (size_t i = 0; i < sizeof(box.guard); i++)
        ck_assert_int_eq(box.guard[i], 'g');
}
END_TEST

/* What one call of sl_log writes to stderr, as text. */
static void logged(char *out, size_t bytes, enum sl_log_level level, const char *text)
{
    int saved = dup(STDERR_FILENO);
    ssize_t n;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    sl_log(level, "%s", text);
    dup2(saved, STDERR_FILENO); /* closes the last writer, so that read ends */
    close(saved);
    n = read(ends[0], out, bytes - 1);
    close(ends[0]);
    ck_assert_int_ge(n, 0);
    out[n] = 0;
}

START_TEST(a_log_line_has_name_level_and_end)
{
    char line[256];

    logged(line, sizeof(line), SL_LOG_ERROR, "disk on fire");
    ck_assert_str_eq(line, "sluice: error: disk on fire\n");
    logged(line, sizeof(line), SL_LOG_WARNING, "w");
    ck_assert_str_eq(line, "sluice: warning: w\n");
    logged(line, sizeof(line), SL_LOG_INFO, "");
    ck_assert_str_eq(line, "sluice: info: \n");
}
END_TEST

START_TEST(levels_are_kept)
{
    char line[256];

    logged(line, sizeof(line), SL_LOG_DEBUG, "detail");
    ck_assert_str_eq(line, "");
    sl_log_set_level(SL_LOG_DEBUG);
    logged(line, sizeof(line), SL_LOG_DEBUG, "detail");
    ck_assert_str_eq(line, "sluice: debug: detail\n");
    sl_log_set_level(SL_LOG_ERROR);
    logged(line, sizeof(line), SL_LOG_WARNING, "w");
    ck_assert_str_eq(line, "");
    sl_log_set_level(SL_LOG_INFO);
}
END_TEST

START_TEST(a_long_line_is_cut_at_1000_bytes)
{
    char longest[3000];
    char line[4000];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    logged(line, sizeof(line), SL_LOG_INFO, longest);
    ck_assert_uint_eq(strlen(line), 1000);
    ck_assert_int_eq(line[999], '\n');
    longest[1000 - 1 - strlen("sluice: info: ")] = 0; /* just fits */
    logged(line, sizeof(line), SL_LOG_INFO, longest);
    ck_assert_uint_eq(strlen(line), 1000);
    ck_assert_int_eq(line[998], 'x');
    ck_assert_int_eq(line[999], '\n');
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_text");
    TCase *tcase = tcase_create("text");

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, an_error_has_a_code_and_a_text);
    tcase_add_test(tcase, nobody_needs_to_listen);
    tcase_add_test(tcase, an_error_may_be_made_from_itself);
    tcase_add_test(tcase, long_texts_are_cut_within_the_buffer);
    tcase_add_test(tcase, a_log_line_has_name_level_and_end);
    tcase_add_test(tcase, levels_are_kept);
    tcase_add_test(tcase, a_long_line_is_cut_at_1000_bytes);
    return sl_run_suite(suite);
}
