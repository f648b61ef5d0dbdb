/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_PROBE_TEXT_H
#define SL_APP_PROBE_TEXT_H

#include <jansson.h>
#include <stdio.h>

#include "capture/probe.h"

/* A probe's report for people, for programs, and as a config file that is ready to use. */
void sl_probe_print(FILE *to, const struct sl_probe_report *report);
json_t *sl_probe_json(const struct sl_probe_report *report); /* returned; NULL when the driver's names are no UTF-8 */
/* -ENOTSUP: the device offers nothing that can be recorded; nothing is written then. */
int sl_probe_print_config(FILE *to, const struct sl_probe_report *report, struct sl_error *err);

#endif
