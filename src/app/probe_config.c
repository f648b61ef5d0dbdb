/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config file out of a probe: the first YUV 4:2:2 format (or the first that can be recorded at all), 1920x1080 or else the
 * largest size, at its highest rate. What the device does not say is left open in words.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "app/probe_text.h"

struct choice {
    const struct sl_probe_format *format;
    uint32_t width, height;
    struct sl_rational rate; /* {0, 1}: not known */
};

static const struct sl_probe_format *choose_format(const struct sl_probe_report *report)
{
    const struct sl_probe_format *any = NULL;

    for (unsigned i = 0; i < report->formats; i++) {
        const struct sl_probe_format *format = &report->format[i];

        if (format->pixel && format->pixel->horizontal == 2 && format->pixel->vertical == 1)
            return format;
        if (format->pixel && !any)
            any = format;
    }
    return any;
}

static bool covers(const struct sl_probe_size *size, uint32_t width, uint32_t height)
{
    return width >= size->width && width <= size->max_width && height >= size->height && height <= size->max_height;
}

static struct sl_rational fastest(const struct sl_probe_rates *rates)
{
    struct sl_rational best = {0, 1};

    for (unsigned i = 0; i < rates->count; i++)
        if ((uint64_t)rates->rate[i].num * best.den > (uint64_t)best.num * rates->rate[i].den)
            best = rates->rate[i];
    return best;
}

static void choose_size(const struct sl_probe_report *report, struct choice *choice)
{
    const struct sl_probe_size *best = NULL;

    for (unsigned i = 0; i < choice->format->sizes; i++) {
        const struct sl_probe_size *size = &choice->format->size[i];
        uint64_t area = (uint64_t)size->max_width * size->max_height;

        if (covers(size, 1920, 1080)) {
            *choice = (struct choice){choice->format, 1920, 1080, fastest(&size->rates)};
            return;
        }
        if (!best || area > (uint64_t)best->max_width * best->max_height)
            best = size;
    }
    choice->width = best ? best->max_width : report->present_width;
    choice->height = best ? best->max_height : report->present_height;
    choice->rate = best ? fastest(&best->rates) : (struct sl_rational){0, 1};
}

static void choose(const struct sl_probe_report *report, struct choice *choice)
{
    if (report->signal[0]) {
        choice->width = report->signal_width;
        choice->height = report->signal_height;
        choice->rate = report->signal_rate;
        return;
    }
    choose_size(report, choice);
    if (!choice->rate.num)
        choice->rate = report->present_rate;
}

static void print_name(FILE *to, const char *card)
{
    bool any = false, gap = false;

    fputs("name = ", to);
    for (; *card; card++) {
        if (!isalnum((unsigned char)*card)) {
            gap = true;
            continue;
        }
        if (gap && any)
            fputc('-', to);
        gap = false;
        any = true;
        fputc(tolower((unsigned char)*card), to);
    }
    fputs(any ? "\n" : "camera\n", to);
}

static void print_rate(FILE *to, const struct choice *choice)
{
    if (!choice->rate.num)
        fputs("# The device does not say its frame rate: this must be what the sensor is set to.\nfps = 60\n", to);
    else if (choice->rate.den == 1)
        fprintf(to, "fps = %u\n", choice->rate.num);
    else
        fprintf(to, "fps = %u/%u\n", choice->rate.num, choice->rate.den);
}

static void print_input(FILE *to, const struct sl_probe_report *report)
{
    for (unsigned i = 0; report->inputs > 1 && i < report->inputs; i++)
        if (report->input[i].current)
            fprintf(to, "input = %u\n", report->input[i].index);
    if (report->has_timings && !report->signal[0])
        fputs("# No signal arrived when this was written; size and fps below are what was set then.\n", to);
    if (report->has_timings)
        fputs("dv_timings = auto\n", to);
}

int sl_probe_print_config(FILE *to, const struct sl_probe_report *report, struct sl_error *err)
{
    struct choice choice = {.format = choose_format(report)};

    if (!choice.format)
        return sl_fail(err, -ENOTSUP, "%s: %s offers no format that can be recorded", report->path, report->card);
    choose(report, &choice);
    fprintf(to, "# %s, driver %s, %s; written by sluice probe --config. Every option: docs/config.md\n[sensor]\n", report->card,
            report->driver, report->bus);
    print_name(to, report->card);
    fprintf(to, "source = v4l2\ndevice = %s\n", report->path);
    print_input(to, report);
    fprintf(to, "format = %s\nsize = %ux%u\n", choice.format->pixel->name, choice.width, choice.height);
    print_rate(to, &choice);
    fprintf(to, "buffers = %u\n", report->min_buffers > 8 ? report->min_buffers : 8);
    fprintf(to, "memory = auto\n\n[ring]\ndepth = 1s\n\n[record]\ndir = /data\nsegment_time = 1m\n");
    return 0;
}
