/* SPDX-License-Identifier: Apache-2.0 */
#include "core/event.h"

const struct sl_counter_def sl_events_counter_defs[] = {
    [SL_EVENTS_DROPPED] = {"dropped", "events", "Events that found the queue full: lines that the ledger lacks."},
};
_Static_assert(sizeof(sl_events_counter_defs) / sizeof(sl_events_counter_defs[0]) == SL_EVENTS_COUNTERS, "one line per counter");

int sl_events_init(struct sl_events *events, size_t capacity)
{
    int ret = sl_spsc_init(&events->ring, capacity, sizeof(struct sl_event));

    for (unsigned i = 0; !ret && i < SL_EVENTS_COUNTERS; i++)
        atomic_init(&events->counter[i], 0);
    return ret;
}

void sl_events_fini(struct sl_events *events)
{
    sl_spsc_fini(&events->ring);
}

void sl_events_post(struct sl_events *events, const struct sl_event *event)
{
    if (!sl_spsc_push(&events->ring, event))
        sl_count(&events->counter[SL_EVENTS_DROPPED], 1);
}

bool sl_events_take(struct sl_events *events, struct sl_event *event)
{
    return sl_spsc_pop(&events->ring, event);
}

uint64_t sl_events_counter(const struct sl_events *events, enum sl_events_counter which)
{
    return (unsigned)which < SL_EVENTS_COUNTERS ? sl_counter_read(&events->counter[which]) : 0;
}
