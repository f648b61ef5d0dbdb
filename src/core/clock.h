/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_CLOCK_H
#define SL_CORE_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * The one clock: CLOCK_MONOTONIC in nanoseconds, as V4L2 drivers stamp buffers, and its relation to UTC.
 * It is passed to whoever needs time, so that a test can hold it still. Any thread.
 */

#define SL_NS_PER_S  1000000000LL
#define SL_NS_PER_MS 1000000LL
#define SL_NS_PER_US 1000LL

struct sl_clock {
    int64_t (*now_ns)(const struct sl_clock *clock); /* CLOCK_MONOTONIC */
    int64_t (*utc_ns)(const struct sl_clock *clock); /* CLOCK_REALTIME, read at the same moment as nearly as can be */
};

extern const struct sl_clock sl_clock_system;

/* A clock that stands still until it is told to move. `clock` must stay the first member. */
struct sl_manual_clock {
    struct sl_clock clock;
    _Atomic int64_t now_ns;
    int64_t utc_offset_ns; /* utc = now + offset */
};

void sl_manual_clock_init(struct sl_manual_clock *manual, int64_t now_ns);
void sl_manual_clock_advance(struct sl_manual_clock *manual, int64_t by_ns);

static inline int64_t sl_now_ns(const struct sl_clock *clock)
{
    return clock->now_ns(clock);
}

static inline int64_t sl_utc_ns(const struct sl_clock *clock)
{
    return clock->utc_ns(clock);
}

/* A ratio such as 60000/1001 frames a second. den is never 0 in a checked value. */
struct sl_rational {
    uint32_t num;
    uint32_t den;
};

/* Time of frame `number` from frame 0 at `fps`, rounded down to the nanosecond; exact for any hour count (128-bit product).
 * fps.num must not be 0. */
static inline int64_t sl_frame_time_ns(struct sl_rational fps, uint64_t number)
{
    return (int64_t)((unsigned __int128)number * fps.den * SL_NS_PER_S / fps.num);
}

#endif
