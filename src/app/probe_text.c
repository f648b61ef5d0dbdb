/* SPDX-License-Identifier: Apache-2.0 */
/* What a probe found, as text and as JSON. */
#include <inttypes.h>
#include <string.h>

#include "app/probe_text.h"

enum { RATE_TEXT = 32 };

static const char *rate_text(struct sl_rational rate, char text[RATE_TEXT])
{
    if (rate.den == 1)
        snprintf(text, RATE_TEXT, "%u", rate.num);
    else
        snprintf(text, RATE_TEXT, "%u/%u", rate.num, rate.den);
    return text;
}

static void print_rates(FILE *to, const struct sl_probe_rates *rates)
{
    char text[RATE_TEXT];

    if (!rates->count)
        return;
    fputs(" at ", to);
    for (unsigned i = 0; i < rates->count; i++)
        fprintf(to, "%s%s", !i ? "" : rates->range ? " to " : ", ", rate_text(rates->rate[i], text));
    fputs(" fps", to);
}

static void print_formats(FILE *to, const struct sl_probe_report *report)
{
    for (unsigned i = 0; i < report->formats; i++) {
        const struct sl_probe_format *format = &report->format[i];

        fprintf(to, "format    %s (%s)%s\n", format->fourcc, format->description, format->pixel ? "" : ": cannot be recorded");
        for (unsigned k = 0; format->pixel && k < format->sizes; k++) {
            const struct sl_probe_size *size = &format->size[k];

            fprintf(to, "          %ux%u", size->width, size->height);
            if (size->range)
                fprintf(to, " to %ux%u in steps of %ux%u", size->max_width, size->max_height, size->step_width, size->step_height);
            print_rates(to, &size->rates);
            fputc('\n', to);
        }
    }
}

static void print_timings(FILE *to, const struct sl_probe_report *report)
{
    if (!report->has_timings)
        return;
    fprintf(to, "signal    %s\n", report->signal[0] ? report->signal : report->signal_error);
    fputs("timings  ", to);
    for (unsigned i = 0; i < report->timings; i++)
        fprintf(to, " %s", report->timing[i]);
    fputs(report->timings ? "\n" : " the driver lists none\n", to);
}

static void print_controls(FILE *to, const struct sl_probe_report *report)
{
    for (unsigned i = 0; i < report->controls; i++) {
        const struct sl_probe_control *control = &report->control[i];

        fprintf(to, "control   %s: %s", control->name, control->type);
        if (!strcmp(control->type, "integer"))
            fprintf(to, " %" PRId64 " to %" PRId64, control->minimum, control->maximum);
        for (unsigned k = 0; k < control->entries; k++)
            fprintf(to, "%s%s", k ? ", " : " ", control->entry[k]);
        if (control->has_value)
            fprintf(to, "; now %" PRId64, control->value);
        fputs(control->read_only ? "; read-only\n" : "\n", to);
    }
}

void sl_probe_print(FILE *to, const struct sl_probe_report *report)
{
    char text[RATE_TEXT];

    fprintf(to, "device    %s: %s, driver %s, %s%s\n", report->path, report->card, report->driver, report->bus,
            report->multiplanar ? ", multi-planar" : "");
    for (unsigned i = 0; i < report->inputs; i++)
        fprintf(to, "input     %u %s%s%s%s\n", report->input[i].index, report->input[i].name,
                report->input[i].dv_timings ? ", has DV timings" : "", report->input[i].no_signal ? ", no signal" : "",
                report->input[i].current ? " (selected)" : "");
    print_timings(to, report);
    fprintf(to, "present   %s %ux%u", report->present_fourcc, report->present_width, report->present_height);
    if (report->present_rate.num)
        fprintf(to, " at %s fps", rate_text(report->present_rate, text));
    fputc('\n', to);
    print_formats(to, report);
    for (unsigned i = 0; i < SL_PROBE_MEMORIES; i++)
        fprintf(to, "memory    %-7s %s: %s\n", report->memory[i].kind, report->memory[i].works ? "yes" : "no", report->memory[i].reason);
    if (report->min_buffers > 1)
        fprintf(to, "buffers   the driver needs %u of them queued\n", report->min_buffers);
    print_controls(to, report);
}

static json_t *rates_json(const struct sl_probe_rates *rates)
{
    json_t *list = json_array();
    char text[RATE_TEXT];

    for (unsigned i = 0; i < rates->count; i++)
        json_array_append_new(list, json_string(rate_text(rates->rate[i], text)));
    return list;
}

static json_t *format_json(const struct sl_probe_format *format)
{
    json_t *sizes = json_array();

    for (unsigned i = 0; i < format->sizes; i++) {
        const struct sl_probe_size *size = &format->size[i];

        json_array_append_new(sizes, json_pack("{s:i, s:i, s:i, s:i, s:b, s:b, s:o}", "width", (int)size->width, "height",
                                               (int)size->height, "max_width", (int)size->max_width, "max_height", (int)size->max_height,
                                               "range", size->range, "rate_range", size->rates.range, "fps", rates_json(&size->rates)));
    }
    return json_pack("{s:s, s:s, s:b, s:o}", "fourcc", format->fourcc, "description", format->description, "recordable",
                     format->pixel != NULL, "sizes", sizes);
}

static json_t *control_json(const struct sl_probe_control *control)
{
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:I, s:I, s:b}", "name", control->name, "type", control->type, "minimum", (json_int_t)control->minimum,
                  "maximum", (json_int_t)control->maximum, "step", (json_int_t)control->step, "read_only", control->read_only);
    json_t *entries = json_array();

    for (unsigned i = 0; i < control->entries; i++)
        json_array_append_new(entries, json_string(control->entry[i]));
    json_object_set_new(object, "entries", entries);
    if (control->has_value)
        json_object_set_new(object, "value", json_integer((json_int_t)control->value));
    return object;
}

static json_t *timings_json(const struct sl_probe_report *report)
{
    json_t *known = json_array();
    char text[RATE_TEXT];

    if (!report->has_timings) {
        json_decref(known);
        return json_null();
    }
    for (unsigned i = 0; i < report->timings; i++)
        json_array_append_new(known, json_string(report->timing[i]));
    if (!report->signal[0])
        return json_pack("{s:n, s:s, s:o}", "signal", "error", report->signal_error, "known", known);
    return json_pack("{s:s, s:s, s:o}", "signal", report->signal, "fps", rate_text(report->signal_rate, text), "known", known);
}

json_t *sl_probe_json(const struct sl_probe_report *report)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:s, s:b, s:i}", "device", report->path, "driver", report->driver, "card", report->card,
                               "bus", report->bus, "multiplanar", report->multiplanar, "min_buffers", (int)report->min_buffers);
    json_t *inputs = json_array(), *formats = json_array(), *memory = json_array(), *controls = json_array();
    char text[RATE_TEXT];

    for (unsigned i = 0; i < report->inputs; i++)
        json_array_append_new(inputs, json_pack("{s:i, s:s, s:b, s:b, s:b}", "index", (int)report->input[i].index, "name",
                                                report->input[i].name, "selected", report->input[i].current, "dv_timings",
                                                report->input[i].dv_timings, "no_signal", report->input[i].no_signal));
    for (unsigned i = 0; i < report->formats; i++)
        json_array_append_new(formats, format_json(&report->format[i]));
    for (unsigned i = 0; i < SL_PROBE_MEMORIES; i++)
        json_array_append_new(memory,
                              json_pack("{s:s, s:b, s:s, s:i, s:b, s:b}", "kind", report->memory[i].kind, "works", report->memory[i].works,
                                        "reason", report->memory[i].reason, "buffers", (int)report->memory[i].buffers, "cached",
                                        report->memory[i].cached, "pinnable", report->memory[i].pinnable));
    for (unsigned i = 0; i < report->controls; i++)
        json_array_append_new(controls, control_json(&report->control[i]));
    json_object_set_new(object, "inputs", inputs);
    json_object_set_new(object, "dv_timings", timings_json(report));
    json_object_set_new(object, "present",
                        json_pack("{s:s, s:i, s:i, s:s}", "fourcc", report->present_fourcc, "width", (int)report->present_width, "height",
                                  (int)report->present_height, "fps",
                                  report->present_rate.num ? rate_text(report->present_rate, text) : "unknown"));
    json_object_set_new(object, "formats", formats);
    json_object_set_new(object, "memory", memory);
    json_object_set_new(object, "controls", controls);
    return object;
}
