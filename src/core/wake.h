/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_WAKE_H
#define SL_CORE_WAKE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Wakes a thread that sleeps in poll(2) or io_uring, and costs no system call when it does not sleep.
 *
 * The sleeper: sl_wake_arm(); look at its rings once more; sleep on `fd` only if they are still empty; sl_wake_disarm().
 * The waker:   push to a ring; sl_wake_notify().
 * Both sides use a read-modify-write on `armed`, so one of them comes second and sees what the other did: either the waker
 * sees the sleeper armed and writes the eventfd, or the sleeper's second look sees the item.
 */

struct sl_wake {
    int fd; /* eventfd, non-blocking; readable while a wake-up is pending */
    _Atomic uint32_t armed;
};

int sl_wake_init(struct sl_wake *wake); /* negative errno of eventfd(2) */
void sl_wake_fini(struct sl_wake *wake);

void sl_wake_signal(struct sl_wake *wake); /* any thread: writes the eventfd whether armed or not */
void sl_wake_drain(struct sl_wake *wake);  /* sleeper: makes fd unreadable again */

/* Any thread, after its push. */
static inline void sl_wake_notify(struct sl_wake *wake)
{
    if (atomic_exchange_explicit(&wake->armed, 0, memory_order_acq_rel)) /* pairs with sl_wake_arm */
        sl_wake_signal(wake);
}

/* Sleeper only. */
static inline void sl_wake_arm(struct sl_wake *wake)
{
    atomic_exchange_explicit(&wake->armed, 1, memory_order_acq_rel); /* pairs with sl_wake_notify */
}

/* Sleeper only. True when a waker came meanwhile: fd is (or is about to be) readable. */
static inline bool sl_wake_disarm(struct sl_wake *wake)
{
    return !atomic_exchange_explicit(&wake->armed, 0, memory_order_acq_rel);
}

#endif
