/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks across options. Pure: what depends on this machine (CPUs, memory, the disk) is a warning of `sluice check`, since a config
 * may be checked elsewhere than it runs. Each check leaves out options that failed already, so that one mistake is one error.
 * Where a key has no meaning for the source it is an error, not silence: who wrote it expects something of it.
 */
#include "app/config_check.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/units.h"

struct check {
    const struct sl_config *config;
    const struct sl_option_origins *origins;
    struct sl_option_errors *errors;
};

#define DIGITS               "0123456789"
#define complain(check, ...) sl_option_complain((check)->errors, &sl_config_options, (check)->origins, __VA_ARGS__)

static const struct sl_option_origin *origin_of(const struct check *check, const char *section, const char *key)
{
    int found = sl_option_find(&sl_config_options, section, key);

    return found < 0 ? NULL : &check->origins->option[found];
}

static bool given(const struct check *check, const char *section, const char *key)
{
    const struct sl_option_origin *origin = origin_of(check, section, key);

    return origin && origin->source != SL_OPTION_DEFAULT;
}

/* No error has been told about any of the section's keys, NULL-terminated. */
static bool sound(const struct check *check, const char *section, ...)
{
    const char *key;
    bool good = true;
    va_list keys;

    va_start(keys, section);
    while ((key = va_arg(keys, const char *)) != NULL) {
        const struct sl_option_origin *origin = origin_of(check, section, key);

        good = good && origin && !origin->bad;
    }
    va_end(keys);
    return good;
}

/* Which sources a key means something to. */
enum { V4L2 = 1 << SL_SOURCE_V4L2, PATTERN = 1 << SL_SOURCE_PATTERN, REPLAY = 1 << SL_SOURCE_REPLAY };

static const struct {
    const char *key;
    unsigned sources;
    const char *nothing; /* the value that asks for nothing: fine with any source */
    const char *why;
} source_keys[] = {
    {"device", V4L2, "", "only source = v4l2 has a device"},
    {"input", V4L2, "leave", "only source = v4l2 has inputs"},
    {"dv_timings", V4L2, "leave", "only source = v4l2 has timings"},
    {"controls", V4L2, "", "only source = v4l2 has controls"},
    {"file", REPLAY, "", "only source = replay reads a file"},
    {"loop", REPLAY, "no", "only source = replay can begin again"},
    {"paced", PATTERN | REPLAY, "yes", "a device sets its own pace"},
    {"format", V4L2 | PATTERN, "auto", "source = replay has the recording's format"},
    {"size", V4L2 | PATTERN, "auto", "source = replay has the recording's size"},
    {"fps", V4L2 | PATTERN, "auto", "source = replay has the recording's rate"},
};

/* The key is given, with another value than `nothing`. */
static bool asks(const struct check *check, const char *key, const char *nothing)
{
    int found = sl_option_find(&sl_config_options, "sensor", key);
    char value[SL_OPTION_VALUE_BYTES];

    if (found < 0 || !given(check, "sensor", key))
        return false;
    sl_option_format(&sl_config_options.option[found], check->config, value, sizeof value);
    return strcmp(value, nothing) != 0;
}

static void check_source(const struct check *check)
{
    const struct sl_config *config = check->config;

    if (!sound(check, "sensor", "source", NULL))
        return;
    for (size_t i = 0; i < sizeof source_keys / sizeof *source_keys; i++)
        if (!(source_keys[i].sources & 1u << config->sensor.source) && asks(check, source_keys[i].key, source_keys[i].nothing))
            complain(check, "sensor", source_keys[i].key, "%s; take one of the two out", source_keys[i].why);
    if (config->sensor.source == SL_SOURCE_V4L2 && !config->sensor.device && sound(check, "sensor", "device", NULL))
        complain(check, "sensor", "device", "not set, and source = v4l2 needs it: write device = /dev/videoN");
    if (config->sensor.source == SL_SOURCE_REPLAY && !config->sensor.file && sound(check, "sensor", "file", NULL))
        complain(check, "sensor", "file", "not set, and source = replay needs it: write file = RECORDING.mkv");
    if (config->sensor.source != SL_SOURCE_V4L2 && config->sensor.memory == SL_MEMORY_MMAP)
        complain(check, "sensor", "memory", "mmap means the driver's buffers, and only source = v4l2 has a driver");
    if (config->sensor.source != SL_SOURCE_PATTERN)
        return;
    if (!config->sensor.format)
        complain(check, "sensor", "format", "auto asks the device, and source = pattern has none: name a format");
    if (config->sensor.width == 0)
        complain(check, "sensor", "size", "auto asks the device, and source = pattern has none: write a size");
    if (config->sensor.fps.num == 0)
        complain(check, "sensor", "fps", "auto asks the device, and source = pattern has none: write a rate");
}

static void list_formats(char *buf, size_t bytes)
{
    const struct sl_pixel_format *format;
    size_t used = 0;

    buf[0] = '\0';
    for (size_t i = 0; (format = sl_pixel_format_at(i)) != NULL && used < bytes; i++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s", i ? ", " : "", format->name);
}

/* The shape that is asked for; false when it is the device's, the recording's or wrong. */
static bool asked_format(const struct check *check, struct sl_video_format *format)
{
    const struct sl_config *config = check->config;
    const struct sl_pixel_format *pixel = config->sensor.format ? sl_pixel_format_by_name(config->sensor.format) : NULL;

    return config->sensor.source != SL_SOURCE_REPLAY && pixel &&
           sl_video_format_tight(format, pixel, config->sensor.width, config->sensor.height) == 0;
}

static void check_format(const struct check *check)
{
    const struct sl_config *config = check->config;
    struct sl_video_format format;
    char names[256];

    if (!config->sensor.format || !sound(check, "sensor", "format", "size", "source", NULL))
        return;

    const struct sl_pixel_format *pixel = sl_pixel_format_by_name(config->sensor.format);

    if (!pixel) {
        list_formats(names, sizeof names);
        complain(check, "sensor", "format", "%.40s is not known here; write one of %s", config->sensor.format, names);
    } else if (config->sensor.width && config->sensor.source != SL_SOURCE_REPLAY && !asked_format(check, &format)) {
        complain(check, "sensor", given(check, "sensor", "size") ? "size" : "format",
                 "%" PRIu32 "x%" PRIu32 " cannot be %s: the width must be a multiple of %u and the height of %u", config->sensor.width,
                 config->sensor.height, pixel->name, pixel->horizontal, pixel->vertical);
    }
}

static void check_name(const struct check *check)
{
    const char *name = check->config->sensor.name;

    if (!name || !sound(check, "sensor", "name", NULL))
        return;
    for (const char *c = name; *c; c++) {
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && !strchr("._-", *c))) {
            complain(check, "sensor", "name", "it becomes part of file names: letters, digits, \".\", \"-\" and \"_\" only");
            return;
        }
    }
    if (name[0] == '.' || name[0] == '-')
        complain(check, "sensor", "name", "it becomes part of file names and may not begin with \"%c\"", name[0]);
}

/* "1920x1080p60", "1920x1080i59.94": size, scan, and the rate as standards name it. */
static bool timings_well_formed(const char *text)
{
    size_t length = strcspn(text, "pi"), digits;
    uint32_t size[2];
    char head[32];

    if (!text[length] || length >= sizeof head)
        return false;
    snprintf(head, sizeof head, "%.*s", (int)length, text);
    text += length + 1;
    digits = strspn(text, DIGITS);
    if (sl_units_parse_size(head, size, NULL) < 0 || digits == 0 || digits > 3)
        return false;
    text += digits;
    if (*text == '.')
        text += 1 + strspn(text + 1, DIGITS);
    return !*text && text[-1] != '.';
}

static void check_timings(const struct check *check)
{
    const char *timings = check->config->sensor.dv_timings;

    if (timings && strcmp(timings, "auto") != 0 && !timings_well_formed(timings))
        complain(check, "sensor", "dv_timings", "write auto, or size, scan and rate: 1920x1080p60, 1920x1080i59.94");
}

/* NAME=V,NAME=V; what names and values there are the device knows. */
static bool controls_well_formed(const char *text)
{
    for (;;) {
        size_t length = strcspn(text, ","), name = strcspn(text, "=,");

        if (name == 0 || name + 1 >= length)
            return false;
        if (!text[length])
            return true;
        text += length + 1;
    }
}

static void check_controls(const struct check *check)
{
    if (check->config->sensor.controls && !controls_well_formed(check->config->sensor.controls))
        complain(check, "sensor", "controls", "write NAME=VALUE,NAME=VALUE with names as v4l2-ctl -l prints them");
}

static int64_t frame_period_ns(const struct sl_config *config)
{
    return config->sensor.fps.num && config->sensor.source != SL_SOURCE_REPLAY ? sl_frame_time_ns(config->sensor.fps, 1) : 0;
}

/* Times that are shorter than a frame, sizes that are smaller. */
static void check_frame_limits(const struct check *check)
{
    const struct sl_config *config = check->config;
    struct sl_video_format format;
    char period[SL_UNITS_TEXT_BYTES], least_text[SL_UNITS_TEXT_BYTES];
    int64_t period_ns = frame_period_ns(config);

    if (sound(check, "sensor", "fps", "source", NULL)) {
        snprintf(period, sizeof period, "%.3fms", (double)period_ns / (double)SL_NS_PER_MS);
        if (config->sensor.stall_timeout < period_ns && sound(check, "sensor", "stall_timeout", NULL))
            complain(check, "sensor", given(check, "sensor", "stall_timeout") ? "stall_timeout" : "fps",
                     "stall_timeout is shorter than one frame (%s): every frame would be a stall", period);
        if (config->record.segment_time && config->record.segment_time < period_ns && sound(check, "record", "segment_time", NULL))
            complain(check, "record", "segment_time", "shorter than one frame (%s)", period);
    }
    if (!sound(check, "sensor", "format", "size", "source", NULL) || !sound(check, "record", "segment_size", NULL) ||
        !asked_format(check, &format))
        return;

    /* header page, payload in whole pages, and a page for the index */
    int64_t least = 2 * SL_PAGE_BYTES + ((int64_t)format.frame_bytes + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES;

    if (config->record.segment_size && config->record.segment_size < least) {
        sl_units_format_bytes(least, least_text, sizeof least_text);
        complain(check, "record", "segment_size", "smaller than a file of one frame (%s)", least_text);
    }
}

static void check_ring(const struct check *check)
{
    const struct sl_config *config = check->config;
    struct sl_rational fps = config->sensor.fps;

    if (config->ring.hugepages == SL_HUGEPAGES_REQUIRE && config->sensor.memory == SL_MEMORY_MMAP)
        complain(check, "ring", "hugepages", "require contradicts sensor.memory = mmap: the driver's buffers are not in huge pages");
    if (!sound(check, "ring", "depth", NULL) || !sound(check, "record", "queue_depth", "prerecord", NULL) ||
        !sound(check, "sensor", "fps", "buffers", "memory", NULL))
        return;
    if (config->sensor.memory != SL_MEMORY_MMAP && (fps.num || config->ring.depth_slots) &&
        (given(check, "ring", "depth") || given(check, "record", "queue_depth"))) {
        unsigned frames = sl_config_ring_frames(config, fps);

        if (frames < config->record.queue_depth)
            complain(check, given(check, "ring", "depth") ? "ring" : "record", given(check, "ring", "depth") ? "depth" : "queue_depth",
                     "the ring holds %u frames, fewer than record.queue_depth = %" PRId64 " writes", frames, config->record.queue_depth);
    }
    if (config->sensor.memory == SL_MEMORY_MMAP && fps.num && config->record.prerecord) {
        uint64_t per_second = (uint64_t)fps.den * SL_NS_PER_S;
        uint64_t frames =
            (uint64_t)((unsigned __int128)config->record.prerecord * fps.num / per_second) + (uint64_t)config->record.queue_depth;

        if (frames >= (uint64_t)config->sensor.buffers)
            complain(check, "record", "prerecord",
                     "needs more than %" PRIu64 " frames in memory, and with sensor.memory = mmap there are the driver's %" PRId64
                     " buffers",
                     frames, config->sensor.buffers);
    }
}

/* An oldest file can be removed only when there is more than one. */
static void check_overwrite(const struct check *check)
{
    const struct sl_config *config = check->config;

    if (config->record.when_full == SL_WHEN_FULL_OVERWRITE_OLDEST && !config->record.segment_time && !config->record.segment_size &&
        sound(check, "record", "segment_time", "segment_size", NULL))
        complain(check, "record", "when_full",
                 "overwrite-oldest removes whole files, and without segment_time or segment_size there is one");
}

static void check_record(const struct check *check)
{
    const struct sl_config *config = check->config;

    if (!sound(check, "record", "dir", NULL))
        return;
    if (!config->record.enabled)
        complain(check, "record", NULL, "the section is missing, and nothing would take the frames: write [record] and dir = DIRECTORY");
    else if (!config->record.dir)
        complain(check, "record", "dir", "not set: write dir = DIRECTORY");
    if (config->record.trigger && !config->record.prerecord && sound(check, "record", "trigger", "prerecord", NULL))
        complain(check, "record", "trigger", "needs prerecord above 0: with 0s recording begins at once and waits for nothing");
}

void sl_config_check(const struct sl_config *config, const struct sl_option_origins *origins, struct sl_option_errors *errors)
{
    const struct check check = {config, origins, errors};

    check_name(&check);
    check_source(&check);
    check_format(&check);
    check_timings(&check);
    check_controls(&check);
    check_frame_limits(&check);
    check_ring(&check);
    check_record(&check);
    check_overwrite(&check);
}
