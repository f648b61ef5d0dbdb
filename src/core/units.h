/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_UNITS_H
#define SL_CORE_UNITS_H

#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/error.h"

/*
 * Values with units, from text and back. Pure, any thread, no locale.
 *
 * Every parse function takes the whole text or nothing: 0 with *out written, or -EINVAL / -ERANGE (does not fit) with a
 * sentence in err that says what to write instead. Every format function writes the shortest text that parses to the
 * same value, NUL-terminated and cut at `bytes`; SL_UNITS_TEXT_BYTES is always enough.
 */

enum { SL_UNITS_TEXT_BYTES = 48 };

/* "-12": decimal digits, optional minus. */
int sl_units_parse_integer(const char *text, int64_t *out, struct sl_error *err);
/* "2MiB", "4kB", "1.5GiB", "0"; a bare number other than 0 has no unit and is refused, as is a fraction of a byte. Never negative. */
int sl_units_parse_bytes(const char *text, int64_t *out, struct sl_error *err);
/* "50ms", "1.5s", "10m", "1h", "100us", "7ns", "0"; in nanoseconds, otherwise as for bytes. */
int sl_units_parse_duration(const char *text, int64_t *out_ns, struct sl_error *err);
/* "60", "60000/1001", brought to lowest terms. A decimal is refused: 59.94 is not what any video device runs at. */
int sl_units_parse_rational(const char *text, struct sl_rational *out, struct sl_error *err);
/* "1920x1080" */
int sl_units_parse_size(const char *text, uint32_t out[2], struct sl_error *err);

void sl_units_format_bytes(int64_t value, char *buf, size_t bytes);
void sl_units_format_duration(int64_t ns, char *buf, size_t bytes);
void sl_units_format_rational(struct sl_rational value, char *buf, size_t bytes);

#endif
