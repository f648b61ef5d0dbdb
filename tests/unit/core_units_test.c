/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/units.h"
#include "support/suite.h"

struct number_case {
    const char *text;
    int64_t value;
    const char *shortest;
};

static const struct number_case sizes[] = {
    {"0", 0, "0"},
    {"0B", 0, "0"},
    {"1B", 1, "1B"},
    {"2MiB", 2097152, "2MiB"},
    {"512KiB", 524288, "512KiB"},
    {"1GiB", 1073741824, "1GiB"},
    {"4kB", 4000, "4kB"},
    {"1 MB", 1000000, "1MB"},
    {"1.5GiB", 1610612736, "1.5GiB"},
    {"1.50GiB", 1610612736, "1.5GiB"},
    {"4147200B", 4147200, "4050KiB"},
    {"1024KiB", 1048576, "1MiB"},
    {"0.5KiB", 512, "512B"},
    {"8388607TiB", INT64_C(8388607) << 40, "8388607TiB"},
    {"9223372036854775807B", INT64_MAX, "9223372036854775807B"},
};

static const struct number_case times[] = {
    {"0", 0, "0s"},
    {"0s", 0, "0s"},
    {"7ns", 7, "7ns"},
    {"100us", 100000, "100us"},
    {"50ms", 50000000, "50ms"},
    {"500ms", 500000000, "500ms"},
    {"1500ms", 1500000000, "1.5s"},
    {"1.5s", 1500000000, "1.5s"},
    {"2s", 2000000000, "2s"},
    {"60s", 60000000000, "1m"},
    {"90s", 90000000000, "90s"},
    {"10m", 600000000000, "10m"},
    {"1h", 3600000000000, "1h"},
    {"1.000000001s", 1000000001, "1.000000001s"},
    {"9223372036854775807ns", INT64_MAX, "9223372036.854775807s"},
};

START_TEST(sizes_parse_and_come_back)
{
    const struct number_case *c = &sizes[_i];
    char text[SL_UNITS_TEXT_BYTES];
    int64_t value = -1;

    ck_assert_int_eq(sl_units_parse_bytes(c->text, &value, NULL), 0);
    ck_assert_int_eq(value, c->value);
    sl_units_format_bytes(value, text, sizeof text);
    ck_assert_str_eq(text, c->shortest);
}
END_TEST

START_TEST(times_parse_and_come_back)
{
    const struct number_case *c = &times[_i];
    char text[SL_UNITS_TEXT_BYTES];
    int64_t value = -1;

    ck_assert_int_eq(sl_units_parse_duration(c->text, &value, NULL), 0);
    ck_assert_int_eq(value, c->value);
    sl_units_format_duration(value, text, sizeof text);
    ck_assert_str_eq(text, c->shortest);
}
END_TEST

enum kind { BYTES, TIME, INTEGER, RATE, SIZE };

struct bad_case {
    enum kind kind;
    const char *text;
    int rc;
    const char *says;
};

static const struct bad_case bad[] = {
    {BYTES, "", -EINVAL, "a number and its unit"},
    {BYTES, "5", -EINVAL, "missing unit"},
    {BYTES, "1024", -EINVAL, "missing unit"},
    {BYTES, "2mib", -EINVAL, "\"mib\" is not a unit"},
    {BYTES, "2MB ", -EINVAL, "not a unit"},
    {BYTES, "-1B", -EINVAL, "a number"},
    {BYTES, "+1B", -EINVAL, "a number"},
    {BYTES, " 1B", -EINVAL, "a number"},
    {BYTES, "0x10B", -EINVAL, "not a unit"},
    {BYTES, "1e3B", -EINVAL, "not a unit"},
    {BYTES, "1,5GiB", -EINVAL, "not a unit"},
    {BYTES, ".5GiB", -EINVAL, "a number"},
    {BYTES, "1.GiB", -EINVAL, "a number"},
    {BYTES, "1.5B", -EINVAL, "not a whole number of bytes"},
    {BYTES, "0.3KiB", -EINVAL, "not a whole number of bytes"},
    {BYTES, "9223372036854775808B", -ERANGE, "too large"},
    {BYTES, "8388608TiB", -ERANGE, "too large"},
    {BYTES, "99999999999999999999B", -ERANGE, "digits"},
    {BYTES, "0.0000000000001TB", -ERANGE, "digits"},
    {TIME, "5", -EINVAL, "missing unit"},
    {TIME, "5 sec", -EINVAL, "\"sec\" is not a unit"},
    {TIME, "1S", -EINVAL, "not a unit"},
    {TIME, "1s1ms", -EINVAL, "not a unit"},
    {TIME, "0.5ns", -EINVAL, "not a whole number of nanoseconds"},
    {TIME, "2562048h", -ERANGE, "too large"},
    {TIME, "inf", -EINVAL, "a number"},
    {INTEGER, "", -EINVAL, "whole number"},
    {INTEGER, "-", -EINVAL, "whole number"},
    {INTEGER, "1.0", -EINVAL, "without a fraction"},
    {INTEGER, "8 buffers", -EINVAL, "without \" buffers\""},
    {INTEGER, "9223372036854775808", -ERANGE, "too large"},
    {INTEGER, "--1", -EINVAL, "whole number"},
    {RATE, "59.94", -EINVAL, "write 60000/1001"},
    {RATE, "29.97", -EINVAL, "write 30000/1001"},
    {RATE, "23.976", -EINVAL, "write 24000/1001"},
    {RATE, "23.98", -EINVAL, "write 24000/1001"},
    {RATE, "119.88", -EINVAL, "write 120000/1001"},
    {RATE, "12.5", -EINVAL, "write the ratio, 25/2"},
    {RATE, "60.0", -EINVAL, "write the ratio, 60/1"},
    {RATE, "60/0", -EINVAL, "denominator is 0"},
    {RATE, "60/", -EINVAL, "a ratio is needed"},
    {RATE, "/1001", -EINVAL, "a ratio is needed"},
    {RATE, "60/1/1", -EINVAL, "a ratio is needed"},
    {RATE, "60fps", -EINVAL, "a ratio is needed"},
    {RATE, "59.94/1", -EINVAL, "a ratio is needed"},
    {RATE, "4294967296", -ERANGE, "too large"},
    {SIZE, "1920", -EINVAL, "1920x1080"},
    {SIZE, "1920X1080", -EINVAL, "1920x1080"},
    {SIZE, "1920x", -EINVAL, "1920x1080"},
    {SIZE, "x1080", -EINVAL, "1920x1080"},
    {SIZE, "1920x1080x2", -EINVAL, "1920x1080"},
    {SIZE, "1920 x 1080", -EINVAL, "1920x1080"},
    {SIZE, "4294967296x1", -ERANGE, "too large"},
};

START_TEST(bad_text_is_refused_and_says_why)
{
    const struct bad_case *c = &bad[_i];
    struct sl_error err = {{0}};
    struct sl_rational rate = {7, 9};
    uint32_t size[2] = {7, 9};
    int64_t value = 77;
    int rc = 0;

    if (c->kind == BYTES)
        rc = sl_units_parse_bytes(c->text, &value, &err);
    else if (c->kind == TIME)
        rc = sl_units_parse_duration(c->text, &value, &err);
    else if (c->kind == INTEGER)
        rc = sl_units_parse_integer(c->text, &value, &err);
    else if (c->kind == RATE)
        rc = sl_units_parse_rational(c->text, &rate, &err);
    else
        rc = sl_units_parse_size(c->text, size, &err);
    ck_assert_msg(rc == c->rc, "%s: %d, %s", c->text, rc, err.text);
    ck_assert_msg(strstr(err.text, c->says) != NULL, "%s: %s", c->text, err.text);
    ck_assert(value == 77 && rate.num == 7 && rate.den == 9 && size[0] == 7 && size[1] == 9);
}
END_TEST

START_TEST(integers_and_ratios)
{
    struct sl_rational rate;
    char text[SL_UNITS_TEXT_BYTES];
    uint32_t size[2];
    int64_t value;

    ck_assert(sl_units_parse_integer("-12", &value, NULL) == 0 && value == -12);
    ck_assert(sl_units_parse_integer("9223372036854775807", &value, NULL) == 0 && value == INT64_MAX);
    ck_assert(sl_units_parse_integer("007", &value, NULL) == 0 && value == 7);
    ck_assert(sl_units_parse_rational("60", &rate, NULL) == 0 && rate.num == 60 && rate.den == 1);
    ck_assert(sl_units_parse_rational("120/2", &rate, NULL) == 0 && rate.num == 60 && rate.den == 1);
    ck_assert(sl_units_parse_rational("0", &rate, NULL) == 0 && rate.num == 0 && rate.den == 1);
    ck_assert(sl_units_parse_rational("60000/1001", &rate, NULL) == 0 && rate.num == 60000 && rate.den == 1001);
    sl_units_format_rational(rate, text, sizeof text);
    ck_assert_str_eq(text, "60000/1001");
    ck_assert(sl_units_parse_size("1920x1080", size, NULL) == 0 && size[0] == 1920 && size[1] == 1080);
}
END_TEST

/* Any value goes to text and back unchanged, and the text is no longer than the plain one. */
START_TEST(random_values_survive)
{
    const char *seed_text = getenv("SLUICE_SEED");
    uint64_t state = seed_text ? strtoull(seed_text, NULL, 0) : UINT64_C(0x9e3779b97f4a7c15);
    uint64_t seed = state;

    for (int i = 0; i < 200000; i++) {
        char text[SL_UNITS_TEXT_BYTES], plain[SL_UNITS_TEXT_BYTES];
        int64_t value, back;

        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        value = (int64_t)(state >> (1 + state % 63));
        if (state % 3 == 0)
            value = value / 1000000 * 1000000;
        else if (state % 3 == 1)
            value = value / 1048576 * 1048576;
        sl_units_format_bytes(value, text, sizeof text);
        snprintf(plain, sizeof plain, "%" PRId64 "B", value);
        ck_assert_msg(sl_units_parse_bytes(text, &back, NULL) == 0 && back == value && strlen(text) <= strlen(plain),
                      "seed %#" PRIx64 ": %" PRId64 " is printed %s", seed, value, text);
        sl_units_format_duration(value, text, sizeof text);
        ck_assert_msg(sl_units_parse_duration(text, &back, NULL) == 0 && back == value, "seed %#" PRIx64 ": %" PRId64 " is printed %s",
                      seed, value, text);
    }
}
END_TEST

/* A decimal comma in the environment changes nothing. */
START_TEST(locale_changes_nothing)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"};
    int64_t value;

    for (size_t i = 0; i < sizeof names / sizeof *names && !setlocale(LC_ALL, names[i]); i++)
        ;
    ck_assert(sl_units_parse_duration("1.5s", &value, NULL) == 0 && value == 1500000000);
    ck_assert_int_eq(sl_units_parse_duration("1,5s", &value, NULL), -EINVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core/units");
    TCase *tc = tcase_create("units");

    tcase_add_loop_test(tc, sizes_parse_and_come_back, 0, sizeof sizes / sizeof *sizes);
    tcase_add_loop_test(tc, times_parse_and_come_back, 0, sizeof times / sizeof *times);
    tcase_add_loop_test(tc, bad_text_is_refused_and_says_why, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, integers_and_ratios);
    tcase_add_test(tc, random_values_survive);
    tcase_add_test(tc, locale_changes_nothing);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
