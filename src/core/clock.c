/* SPDX-License-Identifier: Apache-2.0 */
#include "core/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now); /* cannot fail for these two clocks */
    return now.tv_sec * SL_NS_PER_S + now.tv_nsec;
}

static int64_t system_now_ns(const struct sl_clock *clock)
{
    (void)clock;
    return read_ns(CLOCK_MONOTONIC);
}

static int64_t system_utc_ns(const struct sl_clock *clock)
{
    (void)clock;
    return read_ns(CLOCK_REALTIME);
}

const struct sl_clock sl_clock_system = {system_now_ns, system_utc_ns};

static int64_t manual_now_ns(const struct sl_clock *clock)
{
    return atomic_load_explicit(&((const struct sl_manual_clock *)clock)->now_ns, memory_order_relaxed);
}

static int64_t manual_utc_ns(const struct sl_clock *clock)
{
    return manual_now_ns(clock) + ((const struct sl_manual_clock *)clock)->utc_offset_ns;
}

void sl_manual_clock_init(struct sl_manual_clock *manual, int64_t now_ns)
{
    manual->clock = (struct sl_clock){manual_now_ns, manual_utc_ns};
    atomic_init(&manual->now_ns, now_ns);
    manual->utc_offset_ns = 0;
}

void sl_manual_clock_advance(struct sl_manual_clock *manual, int64_t by_ns)
{
    atomic_fetch_add_explicit(&manual->now_ns, by_ns, memory_order_relaxed);
}
