/* SPDX-License-Identifier: Apache-2.0 */
#include "support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

uint64_t sl_test_seed(void)
{
    const char *given = getenv("SLUICE_SEED");
    struct timespec now;
    uint64_t seed;

    clock_gettime(CLOCK_REALTIME, &now);
    seed = given ? strtoull(given, NULL, 0) : (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    printf("SLUICE_SEED=%" PRIu64 "\n", seed);
    fflush(stdout);
    return seed;
}

uint64_t sl_test_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u; /* splitmix64: good from any start, so threads may use seed + n */

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
