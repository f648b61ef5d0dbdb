/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_LEDGER_H
#define SL_APP_LEDGER_H

#include <jansson.h>

#include "core/clock.h"
#include "core/error.h"

/*
 * The ledger of a run: one JSON object a line, appended and synced as it happens, so that it survives what the run does not.
 * Supervisor thread only.
 */

struct sl_ledger;

int sl_ledger_open(struct sl_ledger **out, const char *path, const struct sl_clock *clock, struct sl_error *err);

/* Adds "t" (UTC, ISO 8601 with nanoseconds) and "event" to `fields` (taken, also on failure; NULL: none) and appends the line.
 * A ledger that cannot be written is reported once and does not stop the run. */
void sl_ledger_write(struct sl_ledger *ledger, const char *event, json_t *fields);

/* Makes what was written durable (fdatasync), if anything was. */
void sl_ledger_sync(struct sl_ledger *ledger);
void sl_ledger_close(struct sl_ledger *ledger);
void sl_ledger_discard(struct sl_ledger *ledger, const char *path); /* of a run that never began: closes and removes it */

#endif
