/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_HISTOGRAM_H
#define SL_CORE_HISTOGRAM_H

#include <stdint.h>

#include "core/counter.h"

/*
 * Latency histogram with a bounded relative error (1/32): 32 linear steps in each power of two. Fixed size, no allocation.
 * One thread adds, any thread reads.
 */

#define SL_HISTOGRAM_STEPS   32
#define SL_HISTOGRAM_BUCKETS ((64 - 5 + 1) * SL_HISTOGRAM_STEPS)

struct sl_histogram {
    sl_counter bucket[SL_HISTOGRAM_BUCKETS];
    sl_counter count;
    sl_counter max; /* exact */
};

void sl_histogram_add(struct sl_histogram *histogram, uint64_t value);

/* `to` has no other reader yet. */
void sl_histogram_copy(struct sl_histogram *to, const struct sl_histogram *from);

/* Upper edge of the bucket that holds the given share (0.5, 0.99, 0.999) of the values, never above the exact maximum;
 * 0 when empty. */
uint64_t sl_histogram_quantile(const struct sl_histogram *histogram, double share);

#endif
