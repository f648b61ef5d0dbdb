/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_CHECK_HOST_H
#define SL_APP_CHECK_HOST_H

#include <stdio.h>

#include "app/config.h"
#include "app/host.h"

/* Prints what the config comes to on this machine: "note: …" lines (rates, memory) and "warning: …" lines, each with its cure.
 * Opens nothing and creates nothing. `root` as in app/host.h. Returns the number of warnings. */
unsigned sl_check_host(const struct sl_config *config, const struct sl_host *host, const char *root, FILE *to);

#endif
