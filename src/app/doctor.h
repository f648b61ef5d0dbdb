/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_DOCTOR_H
#define SL_APP_DOCTOR_H

#include <jansson.h>
#include <stdio.h>

#include "app/doctor_check.h"

/* All checks of one machine against one config, in the order of the table. Control thread. */

struct sl_doctor_result {
    struct sl_doctor_finding finding; /* after the repair, where there was one */
    bool tried;                       /* to repair it */
    struct sl_doctor_repair repair;
};

struct sl_doctor_report {
    struct sl_doctor doctor;
    struct sl_doctor_result *result; /* by place in the table */
    unsigned count[SL_DOCTOR_STATES];
    unsigned steps; /* changes that were made */
};

/* Looks; with `fix` repairs what it can and looks again. `config`, `root` and `ops` are borrowed while the report lives. -ENOMEM. */
int sl_doctor_examine(struct sl_doctor_report *report, const struct sl_config *config, const char *root, const struct sl_doctor_ops *ops,
                      bool fix);
void sl_doctor_report_fini(struct sl_doctor_report *report);

/* 0: nothing costs frames; 3: something does. */
int sl_doctor_exit(const struct sl_doctor_report *report);

/* `path` is the config's, NULL: none was given. */
void sl_doctor_print(FILE *to, const struct sl_doctor_report *report, const char *path);
json_t *sl_doctor_json(const struct sl_doctor_report *report, const char *path); /* returned */

#endif
