/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values that have a grammar of their own: ring.depth, record.sync and the fault lists. Stateless, except that the
 * lists are assembled beside the config and copied in when all of a list is right.
 */
#include "app/option_values.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/config.h"
#include "core/units.h"

#define MIN_DEPTH_NS     (10 * SL_NS_PER_MS)
#define MAX_DEPTH_NS     (600 * SL_NS_PER_S)
#define MIN_SYNC_NS      (10 * SL_NS_PER_MS)
#define MAX_SYNC_NS      (3600 * SL_NS_PER_S)
#define MAX_FAULT_NS     (600 * SL_NS_PER_S)
#define MAX_FAULT_NUMBER INT64_C(1000000000000)
#define MAX_FAULT_COUNT  INT64_C(1000000000)
#define MAX_FAULT_SIZE   16384
#define COUNT(array)     (sizeof(array) / sizeof *(array))

enum { MIN_DEPTH_SLOTS = 2, MAX_DEPTH_SLOTS = 65536, ITEM_BYTES = 64 };

int sl_option_parse_depth(void *config, const char *text, struct sl_error *err)
{
    struct sl_config *out = config;
    int64_t value;
    int rc;

    if (strspn(text, "-0123456789") == strlen(text)) {
        rc = sl_units_parse_integer(text, &value, err);
        if (rc == -EINVAL)
            return rc;
        if (rc < 0 || value < MIN_DEPTH_SLOTS || value > MAX_DEPTH_SLOTS)
            return sl_fail(err, -EINVAL, "out of range: %d to %d frames", MIN_DEPTH_SLOTS, MAX_DEPTH_SLOTS);
        out->ring.depth_slots = value;
        out->ring.depth_ns = 0;
        return 0;
    }
    rc = sl_units_parse_duration(text, &value, err);
    if (rc == -EINVAL)
        return sl_fail_context(err, rc, "frames as a number, or a time");
    if (rc < 0 || value < MIN_DEPTH_NS || value > MAX_DEPTH_NS)
        return sl_fail(err, -EINVAL, "out of range: 10ms to 10m");
    out->ring.depth_ns = value;
    out->ring.depth_slots = 0;
    return 0;
}

void sl_option_format_depth(const void *config, char *buf, size_t bytes)
{
    const struct sl_config *in = config;

    if (in->ring.depth_slots)
        snprintf(buf, bytes, "%" PRId64, in->ring.depth_slots);
    else
        sl_units_format_duration(in->ring.depth_ns, buf, bytes);
}

int sl_option_parse_sync(void *config, const char *text, struct sl_error *err)
{
    struct sl_config *out = config;
    int64_t value = 0;
    int sync = SL_SYNC_INTERVAL;

    if (!strcmp(text, "none")) {
        sync = SL_SYNC_NONE;
    } else if (!strcmp(text, "segment")) {
        sync = SL_SYNC_SEGMENT;
    } else {
        int rc = sl_units_parse_duration(text, &value, err);

        if (rc == -EINVAL)
            return sl_fail_context(err, rc, "none, segment, or a time");
        if (rc < 0 || value < MIN_SYNC_NS || value > MAX_SYNC_NS)
            return sl_fail(err, -EINVAL, "out of range: 10ms to 1h, or none, or segment");
    }
    out->record.sync = sync;
    out->record.sync_interval = value;
    return 0;
}

void sl_option_format_sync(const void *config, char *buf, size_t bytes)
{
    const struct sl_config *in = config;

    if (in->record.sync == SL_SYNC_INTERVAL)
        sl_units_format_duration(in->record.sync_interval, buf, bytes);
    else
        snprintf(buf, bytes, "%s", in->record.sync == SL_SYNC_NONE ? "none" : "segment");
}

/* NAME@AT[:AMOUNT]. A timed fault lasts for AMOUNT, which it needs; a sized one leads to the size AMOUNT, kept as width << 32 | height, or
 * to the same as before; others hit AMOUNT frames or writes, 1 unless given. */
enum amount { COUNTED, TIMED, SIZED };

struct fault_word {
    const char *name;
    int kind;
    bool at_time;
    enum amount amount;
};

static const struct fault_word store_words[] = {
    {"stall", SL_STORE_FAULT_STALL, true, TIMED},    {"late", SL_STORE_FAULT_LATE, false, TIMED},
    {"eio", SL_STORE_FAULT_EIO, false, COUNTED},     {"enospc", SL_STORE_FAULT_ENOSPC, false, COUNTED},
    {"short", SL_STORE_FAULT_SHORT, false, COUNTED}, {"eagain", SL_STORE_FAULT_EAGAIN, false, COUNTED},
    {"jitter", SL_STORE_FAULT_JITTER, false, TIMED},
};

static const struct fault_word sensor_words[] = {
    {"gap", SL_SENSOR_FAULT_GAP, false, COUNTED},
    {"error", SL_SENSOR_FAULT_ERROR_FLAG, false, COUNTED},
    {"short", SL_SENSOR_FAULT_SHORT, false, COUNTED},
    {"eio", SL_SENSOR_FAULT_EIO, false, COUNTED},
    {"stall", SL_SENSOR_FAULT_STALL, false, COUNTED},
    {"streamon", SL_SENSOR_FAULT_STREAMON, false, COUNTED},
    {"unplug", SL_SENSOR_FAULT_UNPLUG, false, TIMED},
    {"nosignal", SL_SENSOR_FAULT_NO_SIGNAL, false, TIMED},
    {"source_change", SL_SENSOR_FAULT_SOURCE_CHANGE, false, SIZED},
};

struct fault {
    int kind;
    uint64_t at, amount;
};

static int parse_place(const char *text, bool time, int64_t max, int64_t *out, struct sl_error *err)
{
    int rc = time ? sl_units_parse_duration(text, out, err) : sl_units_parse_integer(text, out, err);

    if (rc == -EINVAL)
        return rc;
    if (rc < 0 || *out < 0 || *out > max)
        return sl_fail(err, -EINVAL, time ? "at most 10m" : "out of range");
    return 0;
}

static int parse_amount(const char *text, enum amount amount, int64_t *out, struct sl_error *err)
{
    uint32_t size[2];
    int rc;

    if (amount != SIZED)
        return parse_place(text, amount == TIMED, amount == TIMED ? MAX_FAULT_NS : MAX_FAULT_COUNT, out, err);
    rc = sl_units_parse_size(text, size, err);
    if (rc < 0)
        return rc;
    if (!size[0] || !size[1] || size[0] > MAX_FAULT_SIZE || size[1] > MAX_FAULT_SIZE)
        return sl_fail(err, -EINVAL, "out of range");
    *out = (int64_t)size[0] << 32 | size[1];
    return 0;
}

static const struct fault_word *find_word(const struct fault_word *words, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (!strcmp(words[i].name, name))
            return &words[i];
    return NULL;
}

static int parse_fault(const struct fault_word *words, size_t count, char *item, struct fault *out, struct sl_error *err)
{
    char *when = strchr(item, '@'), *much = when ? strchr(when, ':') : NULL;
    const struct fault_word *word;
    int64_t at = 0, amount = 1;
    int rc;

    if (!when)
        return sl_fail(err, -EINVAL, "write FAULT@WHEN or FAULT@WHEN:AMOUNT");
    *when++ = '\0';
    if (much)
        *much++ = '\0';
    word = find_word(words, count, item);
    if (!word)
        return sl_fail(err, -EINVAL, "no fault of this name here");
    amount = word->amount == SIZED ? 0 : 1;
    rc = parse_place(when, word->at_time, word->at_time ? MAX_FAULT_NS : MAX_FAULT_NUMBER, &at, err);
    if (rc < 0)
        return sl_fail_context(err, rc, "when");
    if (much)
        rc = parse_amount(much, word->amount, &amount, err);
    if (rc < 0)
        return sl_fail_context(err, rc, word->amount == TIMED ? "how long" : word->amount == SIZED ? "to what size" : "how many");
    if (word->amount == TIMED && !much)
        return sl_fail(err, -EINVAL, "how long? write %s@WHEN:500ms", word->name);
    if (amount == 0 && word->amount != SIZED)
        return sl_fail(err, -EINVAL, "0 is no fault at all");
    *out = (struct fault){.kind = word->kind, .at = (uint64_t)at, .amount = (uint64_t)amount};
    return 0;
}

/* The number of faults in the list, or -EINVAL. */
static int parse_faults(const struct fault_word *words, size_t count, const char *text, struct fault *out, struct sl_error *err)
{
    for (int n = 0;; n++) {
        size_t length = strcspn(text, ","), lead = strspn(text, " ");
        char item[ITEM_BYTES];

        lead = lead > length ? length : lead;

        size_t kept = length - lead;

        while (kept && text[lead + kept - 1] == ' ')
            kept--;
        if (n == SL_CONFIG_MAX_FAULTS)
            return sl_fail(err, -EINVAL, "more than %d faults", SL_CONFIG_MAX_FAULTS);
        if (kept == 0 || kept >= sizeof item)
            return sl_fail(err, -EINVAL, kept ? "a fault is too long" : "an empty place in the list");
        snprintf(item, sizeof item, "%.*s", (int)kept, text + lead);

        int rc = parse_fault(words, count, item, &out[n], err);

        if (rc < 0)
            return sl_fail_context(err, rc, "%.*s", (int)kept, text + lead);
        if (!text[length])
            return n + 1;
        text += length + 1;
    }
}

static size_t format_fault(const struct fault_word *word, uint64_t at, uint64_t amount, char *buf, size_t bytes)
{
    char when[SL_UNITS_TEXT_BYTES], much[SL_UNITS_TEXT_BYTES] = "";

    if (word->at_time)
        sl_units_format_duration((int64_t)at, when, sizeof when);
    else
        snprintf(when, sizeof when, "%" PRIu64, at);
    if (word->amount == TIMED)
        sl_units_format_duration((int64_t)amount, much, sizeof much);
    else if (word->amount == SIZED && amount)
        snprintf(much, sizeof much, "%" PRIu64 "x%" PRIu64, amount >> 32, amount & UINT32_MAX);
    else if (word->amount == COUNTED && amount != 1)
        snprintf(much, sizeof much, "%" PRIu64, amount);
    return (size_t)snprintf(buf, bytes, "%s@%s%s%s", word->name, when, much[0] ? ":" : "", much);
}

static const struct fault_word *word_of(const struct fault_word *words, int kind)
{
    while (words->kind != kind)
        words++;
    return words;
}

int sl_option_parse_store_faults(void *config, const char *text, struct sl_error *err)
{
    struct sl_config *out = config;
    struct fault faults[SL_CONFIG_MAX_FAULTS] = {{0}};
    int n = parse_faults(store_words, COUNT(store_words), text, faults, err);

    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        out->fault.store[i] =
            (struct sl_store_fault){.kind = (enum sl_store_fault_kind)faults[i].kind, .at = faults[i].at, .count = faults[i].amount};
    out->fault.stores = (unsigned)n;
    return 0;
}

void sl_option_format_store_faults(const void *config, char *buf, size_t bytes)
{
    const struct sl_config *in = config;
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < in->fault.stores && used + 1 < bytes; i++) {
        const struct sl_store_fault *fault = &in->fault.store[i];

        if (i)
            buf[used++] = ',';
        used += format_fault(word_of(store_words, (int)fault->kind), fault->at, fault->count, buf + used, bytes - used);
    }
}

int sl_option_parse_sensor_faults(void *config, const char *text, struct sl_error *err)
{
    struct sl_config *out = config;
    struct fault faults[SL_CONFIG_MAX_FAULTS] = {{0}};
    int n = parse_faults(sensor_words, COUNT(sensor_words), text, faults, err);

    if (n < 0)
        return n;
    for (int i = 0; i < n; i++)
        out->fault.sensor[i] =
            (struct sl_sensor_fault){.kind = (enum sl_sensor_fault_kind)faults[i].kind, .frame = faults[i].at, .count = faults[i].amount};
    out->fault.sensors = (unsigned)n;
    return 0;
}

void sl_option_format_sensor_faults(const void *config, char *buf, size_t bytes)
{
    const struct sl_config *in = config;
    size_t used = 0;

    buf[0] = '\0';
    for (unsigned i = 0; i < in->fault.sensors && used + 1 < bytes; i++) {
        const struct sl_sensor_fault *fault = &in->fault.sensor[i];

        if (i)
            buf[used++] = ',';
        used += format_fault(word_of(sensor_words, (int)fault->kind), fault->frame, fault->count, buf + used, bytes - used);
    }
}
