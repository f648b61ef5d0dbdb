/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_SUMMARY_H
#define SL_APP_SUMMARY_H

#include <jansson.h>

#include "app/account.h"
#include "app/config.h"

/* The account of a run, as JSON (fields: docs/summary.md). Control thread, with every agent ended or at a quiet moment. */

struct sl_run_facts {
    const char *config_path;
    const char *source; /* "v4l2", "pattern", "replay" */
    int exit_code;
    const char *reason; /* why the run ended, as in the ledger's stop line */
    const char *error;  /* what went wrong, in words; NULL: nothing */
    double seconds;     /* from the first to the last moment of the run */
    double cpu_user_s, cpu_sys_s;
};

/* Returned reference is the caller's; NULL without memory. */
json_t *sl_summary_json(const struct sl_account *account, const struct sl_run_facts *facts);

/* The same of a run that could not start: config, exit_code, reason and error. */
json_t *sl_summary_failed_json(const struct sl_run_facts *facts);

/* The books alone: {"expected", "captured", "recorded", "lost": {…}, "balanced", "bad_kept"}. */
json_t *sl_frames_json(const struct sl_account *account);

/* True when the payload goes from the sensor's memory to the disk without the CPU touching it. */
bool sl_summary_zero_copy(const struct sl_account *account);

/* Writes the summary to `path` ("-": stdout). A file is written whole or not at all, a device or pipe as it is. */
int sl_summary_write(json_t *summary, const char *path, struct sl_error *err);
/* Whether that can be expected to work, before there is anything to write. 0 or a negative errno. */
int sl_summary_writable(const char *path, struct sl_error *err);

/* A few lines for a person. */
void sl_summary_print(const struct sl_account *account, const struct sl_run_facts *facts, FILE *to);

#endif
