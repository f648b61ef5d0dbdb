/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One option's value: text to field, field to text, and its range in words. Stateless; any thread that owns the config.
 * Invariant: what sl_option_format writes, sl_option_set_value reads back to the same field (the tests go through the table).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/option_private.h"
#include "core/units.h"

static void *field(const struct sl_option *option, void *config)
{
    return (char *)config + option->offset;
}

static bool in_list(const char *const *list, const char *text)
{
    for (; list && *list; list++) {
        size_t length = strlen(*list);
        bool open = length && (*list)[length - 1] == '*';

        if (open ? !strncmp(*list, text, length - 1) : !strcmp(*list, text))
            return true;
    }
    return false;
}

/* "a, b or c" */
static void join(const char *const *names, char *buf, size_t bytes)
{
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; names[i] && used < bytes; i++) {
        const char *lead = i == 0 ? "" : names[i + 1] ? ", " : " or ";

        used += (size_t)snprintf(buf + used, bytes - used, "%s%s", lead, names[i]);
    }
}

static int refuse_absent(const struct sl_option *option, const char *text, struct sl_error *err)
{
    char choices[256] = "";

    if (option->names) {
        join(option->names, choices, sizeof choices);
        return sl_fail(err, -EINVAL, "this build does not have it; write %s", choices);
    }
    return sl_fail(err, -EINVAL, "this build does not have %.40s", text);
}

static int refuse_range(const struct sl_option *option, struct sl_error *err)
{
    char range[128], word[64] = "";

    sl_option_format_range(option, range, sizeof range);
    if (option->word)
        snprintf(word, sizeof word, ", or %s", option->word);
    return sl_fail(err, -EINVAL, "out of range: %s%s", range, word);
}

static int set_text(const struct sl_option *option, char **out, const char *text, struct sl_error *err)
{
    char *copy = NULL;

    if (!option->word || strcmp(text, option->word) != 0) {
        size_t length = strlen(text);

        if (option->max && length > (size_t)option->max)
            return sl_fail(err, -EINVAL, "%zu characters are too long: at most %" PRId64, length, option->max);
        copy = strdup(text);
        if (!copy)
            return sl_fail(err, -ENOMEM, "out of memory");
    }
    free(*out);
    *out = copy;
    return 0;
}

static int set_bool(bool *out, const char *text, struct sl_error *err)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return sl_fail(err, -EINVAL, "write yes or no");
    *out = text[0] == 'y';
    return 0;
}

static int set_enum(const struct sl_option *option, int *out, const char *text, struct sl_error *err)
{
    char choices[256];

    for (int i = 0; option->names[i]; i++) {
        if (!strcmp(option->names[i], text)) {
            *out = i;
            return 0;
        }
    }
    join(option->names, choices, sizeof choices);
    return sl_fail(err, -EINVAL, "not a choice; write %s", choices);
}

static int set_number(const struct sl_option *option, int64_t *out, const char *text, struct sl_error *err)
{
    int64_t value;
    int rc;

    if (option->word && !strcmp(text, option->word)) {
        *out = option->word_value;
        return 0;
    }
    if (option->type == SL_OPTION_INTEGER)
        rc = sl_units_parse_integer(text, &value, err);
    else if (option->type == SL_OPTION_BYTES)
        rc = sl_units_parse_bytes(text, &value, err);
    else
        rc = sl_units_parse_duration(text, &value, err);
    if (rc == -ERANGE)
        return refuse_range(option, err);
    if (rc < 0)
        return rc;
    if ((value < option->min || value > option->max) && !(option->word && value == option->word_value))
        return refuse_range(option, err);
    *out = value;
    return 0;
}

static int set_rate(const struct sl_option *option, struct sl_rational *out, const char *text, struct sl_error *err)
{
    struct sl_rational value;

    if (option->word && !strcmp(text, option->word)) {
        *out = (struct sl_rational){0, 1};
        return 0;
    }

    int rc = sl_units_parse_rational(text, &value, err);

    if (rc == -ERANGE)
        return refuse_range(option, err);
    if (rc < 0)
        return rc;
    /* max < 2^31 thousandths, so neither product can overflow */
    if ((uint64_t)value.num * 1000 < (uint64_t)option->min * value.den || (uint64_t)value.num * 1000 > (uint64_t)option->max * value.den)
        return refuse_range(option, err);
    *out = value;
    return 0;
}

static int set_size(const struct sl_option *option, uint32_t *out, const char *text, struct sl_error *err)
{
    uint32_t value[2];

    if (option->word && !strcmp(text, option->word)) {
        out[0] = out[1] = 0;
        return 0;
    }

    int rc = sl_units_parse_size(text, value, err);

    if (rc == -ERANGE)
        return refuse_range(option, err);
    if (rc < 0)
        return rc;
    for (unsigned i = 0; i < 2; i++)
        if (value[i] < option->min || value[i] > option->max)
            return refuse_range(option, err);
    memcpy(out, value, sizeof value);
    return 0;
}

int sl_option_set_value(const struct sl_option *option, void *config, const char *text, struct sl_error *err)
{
    if (in_list(option->absent, text))
        return refuse_absent(option, text, err);
    switch (option->type) {
    case SL_OPTION_TEXT:
        return set_text(option, field(option, config), text, err);
    case SL_OPTION_BOOL:
        return set_bool(field(option, config), text, err);
    case SL_OPTION_ENUM:
        return set_enum(option, field(option, config), text, err);
    case SL_OPTION_INTEGER:
    case SL_OPTION_BYTES:
    case SL_OPTION_DURATION:
        return set_number(option, field(option, config), text, err);
    case SL_OPTION_RATE:
        return set_rate(option, field(option, config), text, err);
    case SL_OPTION_SIZE:
        return set_size(option, field(option, config), text, err);
    case SL_OPTION_CUSTOM:
        return option->parse(config, text, err);
    }
    return sl_fail(err, -EINVAL, "an option of no known type");
}

static void format_number(const struct sl_option *option, int64_t value, char *buf, size_t bytes)
{
    if (option->type == SL_OPTION_BYTES)
        sl_units_format_bytes(value, buf, bytes);
    else if (option->type == SL_OPTION_DURATION)
        sl_units_format_duration(value, buf, bytes);
    else
        snprintf(buf, bytes, "%" PRId64, value);
}

static void format_rate(const struct sl_option *option, struct sl_rational value, char *buf, size_t bytes)
{
    if (value.num == 0 && option->word)
        snprintf(buf, bytes, "%s", option->word);
    else
        sl_units_format_rational(value, buf, bytes);
}

void sl_option_format(const struct sl_option *option, const void *config, char *buf, size_t bytes)
{
    const void *at = (const char *)config + option->offset;
    const char *text;
    const uint32_t *size;

    switch (option->type) {
    case SL_OPTION_TEXT:
        text = *(char *const *)at;
        snprintf(buf, bytes, "%s", text ? text : option->word ? option->word : "");
        break;
    case SL_OPTION_BOOL:
        snprintf(buf, bytes, "%s", *(const bool *)at ? "yes" : "no");
        break;
    case SL_OPTION_ENUM:
        snprintf(buf, bytes, "%s", option->names[*(const int *)at]);
        break;
    case SL_OPTION_INTEGER:
    case SL_OPTION_BYTES:
    case SL_OPTION_DURATION:
        if (option->word && *(const int64_t *)at == option->word_value)
            snprintf(buf, bytes, "%s", option->word);
        else
            format_number(option, *(const int64_t *)at, buf, bytes);
        break;
    case SL_OPTION_RATE:
        format_rate(option, *(const struct sl_rational *)at, buf, bytes);
        break;
    case SL_OPTION_SIZE:
        size = at;
        if (size[0] == 0 && option->word)
            snprintf(buf, bytes, "%s", option->word);
        else
            snprintf(buf, bytes, "%" PRIu32 "x%" PRIu32, size[0], size[1]);
        break;
    case SL_OPTION_CUSTOM:
        option->format(config, buf, bytes);
        break;
    }
}

/* Thousandths as the shortest ratio. */
static void format_thousandths(int64_t value, char *buf, size_t bytes)
{
    struct sl_rational ratio = {0, 1};
    char text[32];

    snprintf(text, sizeof text, "%" PRId64 "/1000", value);
    if (sl_units_parse_rational(text, &ratio, NULL) == 0)
        sl_units_format_rational(ratio, buf, bytes);
    else
        snprintf(buf, bytes, "%s", text);
}

void sl_option_format_range(const struct sl_option *option, char *buf, size_t bytes)
{
    char low[SL_UNITS_TEXT_BYTES], high[SL_UNITS_TEXT_BYTES];

    buf[0] = '\0';
    switch (option->type) {
    case SL_OPTION_INTEGER:
    case SL_OPTION_BYTES:
    case SL_OPTION_DURATION:
        format_number(option, option->min, low, sizeof low);
        format_number(option, option->max, high, sizeof high);
        break;
    case SL_OPTION_RATE:
        format_thousandths(option->min, low, sizeof low);
        format_thousandths(option->max, high, sizeof high);
        break;
    case SL_OPTION_SIZE:
        snprintf(low, sizeof low, "%" PRId64 "x%" PRId64, option->min, option->min);
        snprintf(high, sizeof high, "%" PRId64 "x%" PRId64, option->max, option->max);
        break;
    case SL_OPTION_TEXT:
        if (option->max)
            snprintf(buf, bytes, "at most %" PRId64 " characters", option->max);
        return;
    default:
        return;
    }
    snprintf(buf, bytes, "%s to %s", low, high);
}
