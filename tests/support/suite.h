/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SUITE_H
#define SL_TESTS_SUITE_H

#include <check.h>

/* Runs one suite with Check's usual output; the value for main to return. Takes the suite. */
int sl_run_suite(Suite *suite);

#endif
