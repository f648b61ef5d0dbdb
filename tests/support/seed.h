/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SEED_H
#define SL_TESTS_SEED_H

#include <stdint.h>

/* The seed of a torture test: $SLUICE_SEED, else of the clock. Printed, so that a failure can be repeated. */
uint64_t sl_test_seed(void);

/* Next number of a sequence. One state per thread. */
uint64_t sl_test_random(uint64_t *state);

#endif
