/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_CONFIG_DOCS_H
#define SL_APP_CONFIG_DOCS_H

#include <stdio.h>

/* Pages made from tables. The repository keeps what they print, and a test compares. */

void sl_config_print_reference(FILE *to); /* configs/reference.ini */
void sl_config_print_docs(FILE *to);      /* docs/config.md */
void sl_config_print_counters(FILE *to);  /* docs/counters.md */

#endif
