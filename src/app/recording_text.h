/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_RECORDING_TEXT_H
#define SL_APP_RECORDING_TEXT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "writer/audit.h"
#include "writer/recording.h"

/* What `show` and `verify` both print about a recording. Text goes into the caller's buffer, JSON is the caller's to release. */

#define SL_LOSSES_TEXT 256
#define SL_UTC_TEXT    80
#define SL_COLOUR_TEXT 96

/* "sensor_gap 2, disk_late 10"; "none" when all are 0. */
void sl_losses_text(const uint64_t lost[SL_LOSS_COUNT], char text[SL_LOSSES_TEXT]);
json_t *sl_losses_json(const uint64_t lost[SL_LOSS_COUNT]);

/* ISO 8601 with nanoseconds and Z. */
void sl_utc_text(int64_t utc_ns, char text[SL_UTC_TEXT]);
/* "BT.709, broadcast range" */
void sl_colour_text(const struct sl_colour *colour, char text[SL_COLOUR_TEXT]);
void sl_session_text(const uint8_t session[16], char text[33]);

/* "error 3, short 1: frames 100, 101, 250 …"; "none". */
#define SL_MARKED_TEXT 320
void sl_marked_text(const struct sl_marked *marked, char text[SL_MARKED_TEXT]);
/* {"frames", "error", "short", "numbers": […]}: the numbers of the first few. */
json_t *sl_marked_json(const struct sl_marked *marked);

json_t *sl_gap_json(const struct sl_audit_gap *gap);
/* "frames 120…129 (10): disk_late 10" */
void sl_gap_text(const struct sl_audit_gap *gap, char *text, size_t bytes);

#endif
