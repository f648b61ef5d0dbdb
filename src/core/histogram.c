/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values below 32 have a bucket each. Above, the bucket is the exponent and the five bits after the leading one, so a
 * bucket that starts at v is at most v/32 wide.
 *
 * Any thread may read while one adds: bucket, count and max are then of slightly different moments, which moves a quantile
 * by the few values in flight and never out of [0, max].
 */
#include "core/histogram.h"

enum { STEP_BITS = 5 };
_Static_assert(1 << STEP_BITS == SL_HISTOGRAM_STEPS, "the steps in a power of two");

static unsigned bucket_of(uint64_t value)
{
    unsigned shift;

    if (value < SL_HISTOGRAM_STEPS)
        return (unsigned)value;
    shift = 63u - (unsigned)__builtin_clzll(value) - STEP_BITS;
    return shift * SL_HISTOGRAM_STEPS + (unsigned)(value >> shift);
}

static uint64_t upper_edge(unsigned bucket)
{
    unsigned shift;

    if (bucket < 2 * SL_HISTOGRAM_STEPS)
        return bucket;
    shift = bucket / SL_HISTOGRAM_STEPS - 1;
    return ((uint64_t)(bucket % SL_HISTOGRAM_STEPS + SL_HISTOGRAM_STEPS) << shift) + ((1ULL << shift) - 1);
}

void sl_histogram_add(struct sl_histogram *histogram, uint64_t value)
{
    sl_count(&histogram->bucket[bucket_of(value)], 1);
    sl_count(&histogram->count, 1);
    if (value > sl_counter_read(&histogram->max))
        atomic_store_explicit(&histogram->max, value, memory_order_relaxed);
}

static void copy_word(sl_counter *to, const sl_counter *from)
{
    atomic_store_explicit(to, sl_counter_read(from), memory_order_relaxed);
}

void sl_histogram_copy(struct sl_histogram *to, const struct sl_histogram *from)
{
    for (unsigned i = 0; i < SL_HISTOGRAM_BUCKETS; i++)
        copy_word(&to->bucket[i], &from->bucket[i]);
    copy_word(&to->count, &from->count);
    copy_word(&to->max, &from->max);
}

/* The place, from 1, of the value that is asked for among `count` sorted ones. */
static uint64_t rank_of(double share, uint64_t count)
{
    double exact = share * (double)count;
    uint64_t rank;

    if (!(exact > 1))
        return 1;
    if (exact >= (double)count)
        return count;
    rank = (uint64_t)exact;
    return (double)rank < exact ? rank + 1 : rank;
}

uint64_t sl_histogram_quantile(const struct sl_histogram *histogram, double share)
{
    uint64_t count = sl_counter_read(&histogram->count);
    uint64_t max = sl_counter_read(&histogram->max);
    uint64_t rank;
    uint64_t seen = 0;

    if (!count)
        return 0;
    rank = rank_of(share, count);
    for (unsigned i = 0; i < SL_HISTOGRAM_BUCKETS; i++) {
        seen += sl_counter_read(&histogram->bucket[i]);
        if (seen >= rank)
            return upper_edge(i) < max ? upper_edge(i) : max;
    }
    return max;
}
