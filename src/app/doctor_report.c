/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/doctor.h"

/* What this project is made for, where the config leaves the shape to the device: two bytes a pixel. */
static const uint64_t assumed_frame = UINT64_C(1920) * 1080 * 2;
static const struct sl_rational assumed_fps = {60, 1};

static void look_around(struct sl_doctor *doctor)
{
    sl_host_read(&doctor->host, doctor->root);
    sl_host_read_dir(&doctor->dir, doctor->root, doctor->config->record.dir);
}

static void look(const struct sl_doctor *doctor, const struct sl_doctor_check *check, struct sl_doctor_finding *finding)
{
    json_decref(finding->detail);
    memset(finding, 0, sizeof *finding);
    check->look(doctor, finding);
}

static bool worse_than_a_note(enum sl_doctor_state state)
{
    return state == SL_DOCTOR_WARNING || state == SL_DOCTOR_PROBLEM;
}

int sl_doctor_examine(struct sl_doctor_report *report, const struct sl_config *config, const char *root, const struct sl_doctor_ops *ops,
                      bool fix)
{
    struct sl_doctor *doctor = &report->doctor;

    memset(report, 0, sizeof *report);
    report->result = calloc(sl_doctor_check_count, sizeof *report->result);
    if (!report->result)
        return -ENOMEM;
    *doctor = (struct sl_doctor){.config = config, .root = root, .ops = ops};
    doctor->assumed = !sl_need_of(&doctor->need, config);
    if (doctor->assumed)
        sl_need_assume(&doctor->need, config, assumed_frame, config->sensor.fps.num ? config->sensor.fps : assumed_fps);
    look_around(doctor);
    for (unsigned i = 0; i < sl_doctor_check_count; i++) {
        const struct sl_doctor_check *check = &sl_doctor_checks[i];
        struct sl_doctor_result *result = &report->result[i];

        look(doctor, check, &result->finding);
        if (fix && check->fix && worse_than_a_note(result->finding.state)) {
            result->tried = true;
            check->fix(doctor, &result->repair);
            look_around(doctor);
            look(doctor, check, &result->finding);
            report->steps += result->repair.steps;
        }
        report->count[result->finding.state]++;
    }
    return 0;
}

void sl_doctor_report_fini(struct sl_doctor_report *report)
{
    for (unsigned i = 0; report->result && i < sl_doctor_check_count; i++)
        json_decref(report->result[i].finding.detail);
    free(report->result);
    report->result = NULL;
}

int sl_doctor_exit(const struct sl_doctor_report *report)
{
    return report->count[SL_DOCTOR_PROBLEM] ? SL_EXIT_LOST : SL_EXIT_OK;
}
