/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_CONFIG_CHECK_H
#define SL_APP_CONFIG_CHECK_H

#include "app/config.h"

/* Checks across options: contradictions, and what no run could do. Adds a line per error; options marked bad are left out. Pure. */
void sl_config_check(const struct sl_config *config, const struct sl_option_origins *origins, struct sl_option_errors *errors);

#endif
