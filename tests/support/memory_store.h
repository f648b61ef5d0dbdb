/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MEMORY_STORE_H
#define SL_TESTS_MEMORY_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "writer/store.h"

/*
 * A store without io_uring, on a manual clock. A write is queued in memory and reaches the file only when it completes, latency_ns
 * after it was submitted: bytes that somebody changed or freed meanwhile end up wrong in the file, as with a real disk.
 * Each wait lets 1 ms pass. Close it through its ops.
 */
struct memory_store_cfg {
    struct sl_manual_clock *clock;
    int64_t latency_ns;
    uint64_t shuffle; /* not 0: completions come in an order that follows from this number */
    /* NULL, or asked before each write and sync (those have no bytes) is performed: 0, or what to complete it with instead. */
    int64_t (*judge)(void *self, const struct sl_store_write *write);
    void *self;
};

struct memory_store_stats {
    uint64_t writes, syncs, bytes;
    unsigned in_flight_max;
};

void memory_store_open(struct sl_store **out, const struct memory_store_cfg *cfg);
const struct memory_store_stats *memory_store_stats(const struct sl_store *store);

#endif
