/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_COUNTER_H
#define SL_CORE_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * Counters of one module: an enum, a table of names tied to it by a static assert, and a block of words.
 * One thread writes a word, any thread reads it; hence relaxed order and no locked instruction.
 */

struct sl_counter_def {
    const char *name; /* snake_case, as in JSON and docs */
    const char *unit; /* "frames", "bytes", "ns", "calls" */
    const char *help; /* one sentence for docs/counters.md */
};

typedef _Atomic uint64_t sl_counter; /* the one typedef: C has no other way to name an atomic word */

static inline void sl_count(sl_counter *counter, uint64_t by)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + by, memory_order_relaxed);
}

static inline uint64_t sl_counter_read(const sl_counter *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
