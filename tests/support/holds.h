/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_HOLDS_H
#define SL_TESTS_HOLDS_H

#include <stddef.h>

/* What this process holds of the system, for tests that look for leaks. */

struct holds {
    unsigned fds;
    size_t heap_bytes;            /* in use; the C library counts what its caches keep. 0 under a sanitizer, which has a heap of its own */
    long mapped_kib, present_kib; /* memory */
};

struct holds holds_now(void);
/* Each value becomes the larger of the two. */
void holds_most(struct holds *most, const struct holds *now);

#endif
