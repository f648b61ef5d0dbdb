/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_EVENT_TEXT_H
#define SL_APP_EVENT_TEXT_H

#include "app/ledger.h"
#include "app/pipeline.h"
#include "core/event.h"

/* Turns an agent's event into a ledger line and, where a person should know at once, a log line. Supervisor thread. */

enum sl_event_origin { SL_FROM_CAPTURE, SL_FROM_RECORDER };

void sl_event_report(const struct sl_pipeline *pipeline, struct sl_ledger *ledger, enum sl_event_origin origin,
                     const struct sl_event *event);

/* Reports every event that waits, then how many found the queue full since the last call: *dropped is the total told so far, from 0. */
void sl_events_report(const struct sl_pipeline *pipeline, struct sl_ledger *ledger, enum sl_event_origin origin, struct sl_events *events,
                      uint64_t *dropped);

#endif
