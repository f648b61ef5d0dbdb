/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_OPTION_VALUES_H
#define SL_APP_OPTION_VALUES_H

#include <stddef.h>

#include "core/error.h"

/* Values of struct sl_config that no type of the option engine covers. `config` is a struct sl_config. As in core/units.h: 0 with the
 * fields written, or -EINVAL with a sentence; format writes what parse reads. */

int sl_option_parse_depth(void *config, const char *text, struct sl_error *err);
void sl_option_format_depth(const void *config, char *buf, size_t bytes);

int sl_option_parse_sync(void *config, const char *text, struct sl_error *err);
void sl_option_format_sync(const void *config, char *buf, size_t bytes);

int sl_option_parse_store_faults(void *config, const char *text, struct sl_error *err);
void sl_option_format_store_faults(const void *config, char *buf, size_t bytes);

int sl_option_parse_sensor_faults(void *config, const char *text, struct sl_error *err);
void sl_option_format_sensor_faults(const void *config, char *buf, size_t bytes);

#endif
