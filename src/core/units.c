/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers with units. All arithmetic is in integers: a decimal such as 1.5s is a mantissa and a count of fraction digits, and is
 * accepted only when it is a whole number of the base unit, so that what is printed back is exactly what was meant.
 * Rejected: strtod and strtoll, which take the locale's decimal point, hexadecimal, leading white space and "inf".
 */
#include "core/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { MAX_FRACTION_DIGITS = 12 };

struct unit {
    const char *name;
    int64_t factor;
};

/* Largest first; of two texts of the same length the earlier unit's is used. */
static const struct unit byte_units[] = {
    {"TiB", INT64_C(1) << 40}, {"GiB", INT64_C(1) << 30},      {"MiB", INT64_C(1) << 20},
    {"KiB", INT64_C(1) << 10}, {"TB", INT64_C(1000000000000)}, {"GB", INT64_C(1000000000)},
    {"MB", INT64_C(1000000)},  {"kB", INT64_C(1000)},          {"B", INT64_C(1)},
};

static const struct unit time_units[] = {
    {"h", 3600 * SL_NS_PER_S}, {"m", 60 * SL_NS_PER_S}, {"s", SL_NS_PER_S}, {"ms", SL_NS_PER_MS}, {"us", SL_NS_PER_US}, {"ns", 1},
};

struct unit_family {
    const struct unit *unit;
    size_t units;
    const char *wanted; /* for messages */
    const char *whole;  /* "a whole number of bytes" */
};

static const struct unit_family byte_family = {byte_units, sizeof byte_units / sizeof *byte_units,
                                               "B, KiB, MiB, GiB, TiB, kB, MB, GB or TB", "bytes"};
static const struct unit_family time_family = {time_units, sizeof time_units / sizeof *time_units, "ns, us, ms, s, m or h", "nanoseconds"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A decimal number at *text: value = mantissa / 10^digits. *text is moved behind it. */
struct decimal {
    uint64_t mantissa;
    unsigned digits;
};

/* Appends one digit; false when it does not fit. */
static bool append_digit(uint64_t *value, char c)
{
    return !__builtin_mul_overflow(*value, (uint64_t)10, value) && !__builtin_add_overflow(*value, (uint64_t)(c - '0'), value);
}

static int scan_digits(const char **text, uint64_t *value)
{
    if (!is_digit(**text))
        return -EINVAL;
    for (*value = 0; is_digit(**text); ++*text)
        if (!append_digit(value, **text))
            return -ERANGE;
    return 0;
}

static int scan_decimal(const char **text, struct decimal *out)
{
    int rc = scan_digits(text, &out->mantissa);

    out->digits = 0;
    if (rc < 0 || **text != '.')
        return rc;
    ++*text;
    if (!is_digit(**text))
        return -EINVAL;
    for (; is_digit(**text); ++*text) {
        if (++out->digits > MAX_FRACTION_DIGITS || !append_digit(&out->mantissa, **text))
            return -ERANGE;
    }
    return 0;
}

static uint64_t power_of_ten(unsigned exponent)
{
    uint64_t value = 1;

    while (exponent--)
        value *= 10;
    return value;
}

static const struct unit *find_unit(const struct unit_family *family, const char *name)
{
    for (size_t i = 0; i < family->units; i++)
        if (!strcmp(family->unit[i].name, name))
            return &family->unit[i];
    return NULL;
}

static int parse_with_unit(const struct unit_family *family, const char *text, int64_t *out, struct sl_error *err)
{
    const char *end = text;
    struct decimal number;
    int rc = scan_decimal(&end, &number);

    if (rc == -ERANGE)
        return sl_fail(err, rc, "too many digits");
    if (rc < 0)
        return sl_fail(err, rc, "a number and its unit are needed: %s", family->wanted);
    while (*end == ' ')
        end++;
    if (!*end && number.mantissa == 0) {
        *out = 0;
        return 0;
    }
    if (!*end)
        return sl_fail(err, -EINVAL, "missing unit: %s", family->wanted);

    const struct unit *unit = find_unit(family, end);

    if (!unit)
        return sl_fail(err, -EINVAL, "\"%.24s\" is not a unit: %s", end, family->wanted);

    unsigned __int128 scaled = (unsigned __int128)number.mantissa * (uint64_t)unit->factor;
    uint64_t divisor = power_of_ten(number.digits);

    if (scaled % divisor)
        return sl_fail(err, -EINVAL, "not a whole number of %s", family->whole);
    if (scaled / divisor > INT64_MAX)
        return sl_fail(err, -ERANGE, "too large");
    *out = (int64_t)(scaled / divisor);
    return 0;
}

int sl_units_parse_bytes(const char *text, int64_t *out, struct sl_error *err)
{
    return parse_with_unit(&byte_family, text, out, err);
}

int sl_units_parse_duration(const char *text, int64_t *out_ns, struct sl_error *err)
{
    return parse_with_unit(&time_family, text, out_ns, err);
}

int sl_units_parse_integer(const char *text, int64_t *out, struct sl_error *err)
{
    const char *end = text + (*text == '-');
    uint64_t value;
    int rc = scan_digits(&end, &value);

    if (rc == -ERANGE || (rc == 0 && !*end && value > INT64_MAX))
        return sl_fail(err, -ERANGE, "too large");
    if (rc < 0)
        return sl_fail(err, -EINVAL, "a whole number is needed");
    if (*end == '.')
        return sl_fail(err, -EINVAL, "a whole number is needed, without a fraction");
    if (*end)
        return sl_fail(err, -EINVAL, "a whole number is needed, without \"%.24s\"", end);
    *out = *text == '-' ? -(int64_t)value : (int64_t)value;
    return 0;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* What to write for a decimal: the NTSC rate it abbreviates, or its exact ratio. */
static int refuse_decimal(const struct decimal *number, struct sl_error *err)
{
    static const unsigned families[] = {24, 30, 48, 60, 120, 240};
    uint64_t divisor = power_of_ten(number->digits);
    uint64_t common = common_divisor(number->mantissa, divisor);

    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        /* rounded to the digits that were written: 23.98 and 23.976 are both 24000/1001 */
        unsigned __int128 exact = (unsigned __int128)families[i] * 1000 * divisor;

        if (number->digits >= 2 && (uint64_t)((exact * 2 + 1001) / 2002) == number->mantissa)
            return sl_fail(err, -EINVAL, "a decimal is not exact: write %u000/1001", families[i]);
    }
    return sl_fail(err, -EINVAL, "a decimal is not taken: write the ratio, %" PRIu64 "/%" PRIu64, number->mantissa / common,
                   divisor / common);
}

int sl_units_parse_rational(const char *text, struct sl_rational *out, struct sl_error *err)
{
    const char *end = text;
    struct decimal number;
    uint64_t den = 1;
    int rc = scan_decimal(&end, &number);

    if (rc == 0 && number.digits && !*end)
        return refuse_decimal(&number, err);
    if (rc == 0 && number.digits == 0 && *end == '/') {
        end++;
        rc = scan_digits(&end, &den);
    }
    if (rc == -ERANGE)
        return sl_fail(err, rc, "too large");
    if (rc < 0 || *end || number.digits)
        return sl_fail(err, -EINVAL, "a number or a ratio is needed, such as 60 or 60000/1001");
    if (den == 0)
        return sl_fail(err, -EINVAL, "the denominator is 0");

    uint64_t common = common_divisor(number.mantissa, den);

    if (number.mantissa / common > UINT32_MAX || den / common > UINT32_MAX)
        return sl_fail(err, -ERANGE, "too large");
    *out = (struct sl_rational){(uint32_t)(number.mantissa / common), (uint32_t)(den / common)};
    return 0;
}

int sl_units_parse_size(const char *text, uint32_t out[2], struct sl_error *err)
{
    const char *end = text;
    uint64_t width = 0, height = 0;
    int rc = scan_digits(&end, &width);

    if (rc == 0 && *end == 'x') {
        end++;
        rc = scan_digits(&end, &height);
    } else if (rc == 0) {
        rc = -EINVAL;
    }
    if (rc == -ERANGE)
        return sl_fail(err, rc, "too large");
    if (rc || *end)
        return sl_fail(err, -EINVAL, "a width and a height are needed, such as 1920x1080");
    if (width > UINT32_MAX || height > UINT32_MAX)
        return sl_fail(err, -ERANGE, "too large");
    out[0] = (uint32_t)width;
    out[1] = (uint32_t)height;
    return 0;
}

/* `value` as a decimal number of `unit` at or above 1, if that is exact. */
static bool format_in_unit(int64_t value, const struct unit *unit, char *buf, size_t bytes)
{
    uint64_t whole = (uint64_t)(value / unit->factor);
    unsigned __int128 rest = (unsigned __int128)(value % unit->factor);
    char fraction[MAX_FRACTION_DIGITS + 2] = "";
    size_t digits = 0;

    if (whole == 0)
        return false;
    while (rest) {
        if (digits == MAX_FRACTION_DIGITS)
            return false;
        rest *= 10;
        fraction[++digits] = (char)('0' + (int)(rest / (uint64_t)unit->factor));
        rest %= (uint64_t)unit->factor;
    }
    if (digits)
        fraction[0] = '.';
    snprintf(buf, bytes, "%" PRIu64 "%s%s", whole, fraction, unit->name);
    return true;
}

static void format_shortest(const struct unit_family *family, int64_t value, char *buf, size_t bytes)
{
    char best[SL_UNITS_TEXT_BYTES] = "0", text[SL_UNITS_TEXT_BYTES];
    size_t best_length = sizeof best;

    for (size_t i = 0; value > 0 && i < family->units; i++) {
        if (!format_in_unit(value, &family->unit[i], text, sizeof text) || strlen(text) >= best_length)
            continue;
        best_length = strlen(text);
        memcpy(best, text, best_length + 1);
    }
    snprintf(buf, bytes, "%s", best);
}

void sl_units_format_bytes(int64_t value, char *buf, size_t bytes)
{
    format_shortest(&byte_family, value, buf, bytes);
}

void sl_units_format_duration(int64_t ns, char *buf, size_t bytes)
{
    if (ns == 0)
        snprintf(buf, bytes, "0s");
    else
        format_shortest(&time_family, ns, buf, bytes);
}

void sl_units_format_rational(struct sl_rational value, char *buf, size_t bytes)
{
    if (value.den == 1)
        snprintf(buf, bytes, "%" PRIu32, value.num);
    else
        snprintf(buf, bytes, "%" PRIu32 "/%" PRIu32, value.num, value.den);
}
