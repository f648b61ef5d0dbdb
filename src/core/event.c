/* SPDX-License-Identifier: Apache-2.0 */
#include "core/event.h"

int sl_events_init(struct sl_events *events, size_t capacity)
{
    int ret = sl_spsc_init(&events->ring, capacity, sizeof(struct sl_event));

    if (!ret)
        atomic_init(&events->dropped, 0);
    return ret;
}

void sl_events_fini(struct sl_events *events)
{
    sl_spsc_fini(&events->ring);
}

void sl_events_post(struct sl_events *events, const struct sl_event *event)
{
    uint64_t dropped;

    if (sl_spsc_push(&events->ring, event))
        return;
    /* only the poster writes this word: load and store need not be one operation */
    dropped = atomic_load_explicit(&events->dropped, memory_order_relaxed);
    atomic_store_explicit(&events->dropped, dropped + 1, memory_order_relaxed);
}

bool sl_events_take(struct sl_events *events, struct sl_event *event)
{
    return sl_spsc_pop(&events->ring, event);
}
