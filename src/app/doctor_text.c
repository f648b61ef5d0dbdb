/* SPDX-License-Identifier: Apache-2.0 */
/* A doctor's report for people and for programs. */
#include <inttypes.h>
#include <string.h>

#include "app/doctor.h"

#define MB 1000000.0

static const char *const state_names[SL_DOCTOR_STATES] = {"ok", "note", "warning", "problem", "unknown"};

static void print_need(FILE *to, const struct sl_doctor *doctor, const char *path)
{
    const struct sl_need *need = &doctor->need;

    fprintf(to, "config    %s: %.1f MB/s at %.2f frames a second%s; ring of %u frames (%.3f s) and %" PRId64 " of the sensor's, %.0f MB\n",
            path ? path : "none given", need->bytes_per_s / MB, need->frames_per_s,
            doctor->assumed ? ", as if the device gave 1080p of two bytes a pixel" : "", need->ring_frames,
            need->ring_frames / need->frames_per_s, doctor->config->sensor.buffers, (double)sl_need_ring_bytes(need) / MB);
}

static void print_line(FILE *to, const char *label, const char *text)
{
    if (text[0])
        fprintf(to, "          %s: %s\n", label, text);
}

static void print_result(FILE *to, const struct sl_doctor_check *check, const struct sl_doctor_result *result)
{
    const struct sl_doctor_finding *finding = &result->finding;

    fprintf(to, "%-9s %s: %s\n", state_names[finding->state], check->name, finding->found);
    for (unsigned i = 0; i < result->repair.steps; i++) {
        print_line(to, "did", result->repair.step[i].did);
        print_line(to, "undo", result->repair.step[i].undo);
    }
    print_line(to, "not done", result->repair.failed);
    print_line(to, "why", finding->why);
    print_line(to, "cure", finding->cure);
}

void sl_doctor_print(FILE *to, const struct sl_doctor_report *report, const char *path)
{
    const char *theme = "";

    print_need(to, &report->doctor, path);
    for (unsigned i = 0; i < sl_doctor_check_count; i++) {
        const struct sl_doctor_check *check = &sl_doctor_checks[i];

        if (strcmp(theme, check->theme) != 0)
            fprintf(to, "\n%s\n", theme = check->theme);
        print_result(to, check, &report->result[i]);
    }
    fprintf(to, "\n%u checks: %u cost frames, %u cost speed or margin, %u notes, %u not known here", sl_doctor_check_count,
            report->count[SL_DOCTOR_PROBLEM], report->count[SL_DOCTOR_WARNING], report->count[SL_DOCTOR_NOTE],
            report->count[SL_DOCTOR_UNKNOWN]);
    if (report->steps)
        fprintf(to, "; %u change%s made, which a restart forgets", report->steps, report->steps == 1 ? "" : "s");
    fputc('\n', to);
}

static json_t *need_json(const struct sl_doctor *doctor)
{
    const struct sl_need *need = &doctor->need;

    return json_pack("{s:b, s:I, s:I, s:f, s:f, s:i, s:I, s:I}", "assumed", doctor->assumed, "frame_bytes", (json_int_t)need->frame_bytes,
                     "slot_bytes", (json_int_t)need->slot_bytes, "fps", need->frames_per_s, "mb_per_s", need->bytes_per_s / MB,
                     "ring_frames", (int)need->ring_frames, "slots", (json_int_t)need->slots, "ring_bytes",
                     (json_int_t)sl_need_ring_bytes(need));
}

static json_t *repair_json(const struct sl_doctor_repair *repair)
{
    json_t *steps = json_array();

    for (unsigned i = 0; i < repair->steps; i++)
        json_array_append_new(steps, json_pack("{s:s, s:s}", "did", repair->step[i].did, "undo", repair->step[i].undo));
    return json_pack("{s:o, s:s*}", "steps", steps, "not_done", repair->failed[0] ? repair->failed : NULL);
}

static json_t *result_json(const struct sl_doctor_check *check, const struct sl_doctor_result *result)
{
    const struct sl_doctor_finding *finding = &result->finding;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s*}", "name", check->name, "theme", check->theme, "state", state_names[finding->state],
                  "found", finding->found, "why", finding->why[0] ? finding->why : NULL, "cure", finding->cure[0] ? finding->cure : NULL);

    if (object && finding->detail)
        json_object_set(object, "detail", finding->detail);
    if (object && result->tried)
        json_object_set_new(object, "fix", repair_json(&result->repair));
    return object;
}

json_t *sl_doctor_json(const struct sl_doctor_report *report, const char *path)
{
    json_t *checks = json_array(), *counts = json_object();

    for (unsigned i = 0; i < sl_doctor_check_count; i++)
        json_array_append_new(checks, result_json(&sl_doctor_checks[i], &report->result[i]));
    for (unsigned i = 0; i < SL_DOCTOR_STATES; i++)
        json_object_set_new(counts, state_names[i], json_integer(report->count[i]));
    return json_pack("{s:s, s:s?, s:i, s:o, s:o, s:i, s:o}", "version", SLUICE_VERSION, "config", path, "exit", sl_doctor_exit(report),
                     "need", need_json(&report->doctor), "counts", counts, "changes", (int)report->steps, "checks", checks);
}
