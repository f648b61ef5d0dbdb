/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device can do. A driver may enumerate without end or in circles: every list is bounded, and what is beyond is not there.
 *
 * Ownership: everything in a report hangs on the report; it is built in place, so that a failure half way frees what there is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/v4l2_probe.h"

enum { MAX_FORMATS = 256, MAX_SIZES = 64, MAX_RATES = 32, MAX_INPUTS = 32, MAX_TIMINGS = 256, MAX_CONTROLS = 256, MAX_ENTRIES = 64 };

/* One more element at the end of an array, of which `array` is the address; NULL and no change when there is no memory. */
static void *grow(void *array, unsigned *count, size_t bytes)
{
    char *elements;

    memcpy(&elements, array, sizeof(elements)); /* a pointer of any type */
    elements = realloc(elements, (*count + 1) * bytes);
    if (!elements)
        return NULL;
    memcpy(array, &elements, sizeof(elements));
    memset(elements + *count * bytes, 0, bytes);
    return elements + (*count)++ * bytes;
}

static void add_rate(struct sl_probe_rates *rates, struct v4l2_fract interval)
{
    struct sl_rational value = sl_v4l2_interval_rate(interval);
    struct sl_rational *rate = value.num ? grow(&rates->rate, &rates->count, sizeof(*rate)) : NULL;

    if (rate)
        *rate = value;
}

static void probe_rates(const struct sl_v4l2 *dev, uint32_t fourcc, struct sl_probe_size *size)
{
    for (uint32_t i = 0; i < MAX_RATES; i++) {
        struct v4l2_frmivalenum entry = {.index = i, .pixel_format = fourcc, .width = size->max_width, .height = size->max_height};

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_FRAMEINTERVALS, &entry) < 0)
            return;
        if (entry.type == V4L2_FRMIVAL_TYPE_DISCRETE) {
            add_rate(&size->rates, entry.discrete);
            continue;
        }
        size->rates.range = true;
        add_rate(&size->rates, entry.stepwise.max); /* the longest interval is the slowest rate */
        add_rate(&size->rates, entry.stepwise.min);
        return;
    }
}

static void probe_sizes(const struct sl_v4l2 *dev, uint32_t fourcc, struct sl_probe_format *format)
{
    for (uint32_t i = 0; i < MAX_SIZES; i++) {
        struct v4l2_frmsizeenum entry = {.index = i, .pixel_format = fourcc};
        struct sl_probe_size *size;

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_FRAMESIZES, &entry) < 0)
            return;
        size = grow(&format->size, &format->sizes, sizeof(*size));
        if (!size)
            return;
        if (entry.type == V4L2_FRMSIZE_TYPE_DISCRETE) {
            size->width = size->max_width = entry.discrete.width;
            size->height = size->max_height = entry.discrete.height;
        } else {
            const struct v4l2_frmsize_stepwise *range = &entry.stepwise;

            *size = (struct sl_probe_size){
                range->min_width, range->min_height, range->max_width, range->max_height, range->step_width, range->step_height, true, {0}};
        }
        probe_rates(dev, fourcc, size);
        if (size->range)
            return;
    }
}

static void probe_formats(const struct sl_v4l2 *dev, struct sl_probe_report *report)
{
    for (uint32_t i = 0; i < MAX_FORMATS; i++) {
        struct v4l2_fmtdesc desc = {.index = i, .type = dev->type};
        struct sl_probe_format *format;

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_FMT, &desc) < 0)
            return;
        format = grow(&report->format, &report->formats, sizeof(*format));
        if (!format)
            return;
        memcpy(format->fourcc, sl_v4l2_fourcc_text(desc.pixelformat).text, sizeof(format->fourcc));
        sl_v4l2_clean(desc.description, sizeof(desc.description));
        snprintf(format->description, sizeof(format->description), "%.32s", (const char *)desc.description);
        format->pixel = sl_pixel_format_by_v4l2(desc.pixelformat);
        probe_sizes(dev, desc.pixelformat, format);
    }
}

static void probe_inputs(const struct sl_v4l2 *dev, struct sl_probe_report *report)
{
    int current = -1;

    if (sl_v4l2_ioctl(dev, VIDIOC_G_INPUT, &current) < 0)
        return;
    for (uint32_t i = 0; i < MAX_INPUTS; i++) {
        struct v4l2_input entry = {.index = i};
        struct sl_probe_input *input;

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUMINPUT, &entry) < 0)
            return;
        input = grow(&report->input, &report->inputs, sizeof(*input));
        if (!input)
            return;
        input->index = i;
        sl_v4l2_clean(entry.name, sizeof(entry.name));
        snprintf(input->name, sizeof(input->name), "%.31s", (const char *)entry.name);
        input->current = (int)i == current;
        input->dv_timings = entry.capabilities & V4L2_IN_CAP_DV_TIMINGS;
        input->no_signal = entry.status & (V4L2_IN_ST_NO_POWER | V4L2_IN_ST_NO_SIGNAL | V4L2_IN_ST_NO_SYNC);
    }
}

static void probe_signal(struct sl_v4l2 *dev, struct sl_probe_report *report)
{
    struct v4l2_dv_timings timings = {0};
    struct sl_error why;
    int ret = sl_v4l2_ioctl(dev, VIDIOC_QUERY_DV_TIMINGS, &timings);

    if (ret < 0) {
        sl_v4l2_fail(dev, &why, ret, NULL, "VIDIOC_QUERY_DV_TIMINGS");
        snprintf(report->signal_error, sizeof(report->signal_error), "%.255s", why.text);
        return;
    }
    sl_v4l2_timings_name(&timings, report->signal, sizeof(report->signal));
    report->signal_rate = sl_v4l2_timings_rate(&timings);
    report->signal_width = timings.bt.width;
    report->signal_height = timings.bt.height;
}

static void probe_timings(struct sl_v4l2 *dev, struct sl_probe_report *report)
{
    sl_v4l2_select_input(dev, -1, NULL); /* selects nothing: learns what the present one is */
    report->has_timings = dev->has_timings;
    if (!dev->has_timings)
        return;
    probe_signal(dev, report);
    for (uint32_t i = 0; i < MAX_TIMINGS; i++) {
        struct v4l2_enum_dv_timings entry = {.index = i};
        char(*name)[48];

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_DV_TIMINGS, &entry) < 0)
            return;
        name = grow(&report->timing, &report->timings, sizeof(*name));
        if (!name)
            return;
        sl_v4l2_timings_name(&entry.timings, *name, sizeof(*name));
    }
}

static void probe_present(struct sl_v4l2 *dev, struct sl_probe_report *report)
{
    struct v4l2_streamparm parm = {.type = dev->type};
    uint32_t fourcc, width, height;

    report->present_rate = (struct sl_rational){0, 1};
    if (sl_v4l2_present_format(dev, &fourcc, &width, &height) < 0)
        return;
    memcpy(report->present_fourcc, sl_v4l2_fourcc_text(fourcc).text, sizeof(report->present_fourcc));
    report->present_width = width;
    report->present_height = height;
    if (sl_v4l2_ioctl(dev, VIDIOC_G_PARM, &parm) >= 0)
        report->present_rate = sl_v4l2_interval_rate(parm.parm.capture.timeperframe);
}

static const char *control_type(uint32_t type)
{
    switch (type) {
    case V4L2_CTRL_TYPE_INTEGER:
    case V4L2_CTRL_TYPE_INTEGER64:
        return "integer";
    case V4L2_CTRL_TYPE_BOOLEAN:
        return "yes/no";
    case V4L2_CTRL_TYPE_MENU:
    case V4L2_CTRL_TYPE_INTEGER_MENU:
        return "menu";
    case V4L2_CTRL_TYPE_BUTTON:
        return "button";
    case V4L2_CTRL_TYPE_BITMASK:
        return "bits";
    default:
        return NULL; /* cannot be set from a line of text */
    }
}

static void probe_menu(const struct sl_v4l2 *dev, const struct v4l2_query_ext_ctrl *query, struct sl_probe_control *control)
{
    uint64_t entries = sl_v4l2_menu_entries(query, MAX_ENTRIES);

    for (uint64_t n = 0; n < entries; n++) {
        int64_t i = query->minimum + (int64_t)n;
        struct v4l2_querymenu menu = {.id = query->id, .index = (uint32_t)i};
        char(*entry)[48];

        if (sl_v4l2_ioctl(dev, VIDIOC_QUERYMENU, &menu) < 0)
            continue;
        entry = grow(&control->entry, &control->entries, sizeof(*entry));
        if (!entry)
            return;
        sl_v4l2_menu_clean(query, &menu);
        if (query->type == V4L2_CTRL_TYPE_INTEGER_MENU)
            snprintf(*entry, sizeof(*entry), "%lld=%lld", (long long)i, (long long)menu.value);
        else
            snprintf(*entry, sizeof(*entry), "%lld=%.32s", (long long)i, (const char *)menu.name);
    }
}

static void probe_control(const struct sl_v4l2 *dev, const struct v4l2_query_ext_ctrl *query, struct sl_probe_report *report)
{
    const char *type = control_type(query->type);
    struct v4l2_control value = {.id = query->id};
    struct sl_probe_control *control = type ? grow(&report->control, &report->controls, sizeof(*control)) : NULL;

    if (!control)
        return;
    sl_v4l2_control_name(query->name, sizeof(query->name), control->name);
    snprintf(control->type, sizeof(control->type), "%s", type);
    control->minimum = query->minimum;
    control->maximum = query->maximum;
    control->step = (int64_t)query->step;
    control->read_only = query->flags & V4L2_CTRL_FLAG_READ_ONLY;
    if (query->type != V4L2_CTRL_TYPE_BUTTON && query->type != V4L2_CTRL_TYPE_INTEGER64 && sl_v4l2_ioctl(dev, VIDIOC_G_CTRL, &value) >= 0) {
        control->value = value.value;
        control->has_value = true;
    }
    if (query->type == V4L2_CTRL_TYPE_MENU || query->type == V4L2_CTRL_TYPE_INTEGER_MENU)
        probe_menu(dev, query, control);
}

static void probe_controls(const struct sl_v4l2 *dev, struct sl_probe_report *report)
{
    struct v4l2_query_ext_ctrl query = {0};

    for (int i = 0; i < MAX_CONTROLS && sl_v4l2_next_control(dev, &query); i++)
        if (query.type != V4L2_CTRL_TYPE_CTRL_CLASS && !(query.flags & V4L2_CTRL_FLAG_DISABLED))
            probe_control(dev, &query, report);
}

int sl_probe_device_ops(struct sl_probe_report **out, const struct sl_v4l2_ops *ops, const char *path, struct sl_error *err)
{
    struct sl_probe_report *report;
    struct sl_v4l2 dev;
    int ret = sl_v4l2_open(&dev, ops, path, err);

    if (ret < 0)
        return ret;
    report = calloc(1, sizeof(*report));
    if (!report) {
        sl_v4l2_close(&dev);
        return sl_fail(err, -ENOMEM, "probe: out of memory");
    }
    snprintf(report->path, sizeof(report->path), "%s", dev.path);
    snprintf(report->driver, sizeof(report->driver), "%.16s", (const char *)dev.cap.driver);
    snprintf(report->card, sizeof(report->card), "%.32s", (const char *)dev.cap.card);
    snprintf(report->bus, sizeof(report->bus), "%.32s", (const char *)dev.cap.bus_info);
    report->multiplanar = sl_v4l2_multiplanar(&dev);
    probe_inputs(&dev, report);
    probe_formats(&dev, report);
    probe_timings(&dev, report);
    probe_present(&dev, report);
    probe_controls(&dev, report);
    report->min_buffers = sl_v4l2_min_buffers(&dev);
    sl_v4l2_probe_memories(&dev, report->memory);
    sl_v4l2_close(&dev);
    *out = report;
    return 0;
}

int sl_probe_device(struct sl_probe_report **out, const char *path, struct sl_error *err)
{
    return sl_probe_device_ops(out, &sl_v4l2_kernel, path, err);
}

void sl_probe_free(struct sl_probe_report *report)
{
    if (!report)
        return;
    for (unsigned i = 0; i < report->formats; i++) {
        for (unsigned k = 0; k < report->format[i].sizes; k++)
            free(report->format[i].size[k].rates.rate);
        free(report->format[i].size);
    }
    for (unsigned i = 0; i < report->controls; i++)
        free(report->control[i].entry);
    free(report->format);
    free(report->input);
    free(report->timing);
    free(report->control);
    free(report);
}
