/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_VERIFIED_H
#define SL_TESTS_VERIFIED_H

#include "writer/verify.h"

/* What sl_verify_file said of a file, for assertions. */
struct verified {
    int rc;
    struct sl_verify_result result;
    char text[8192]; /* damages, one a line, as far as they fit */
    char error[1024];
    uint64_t gaps;
    struct sl_audit_gap gap; /* the last */
    uint64_t frames;
};

/* Alone, as a run of its own. */
void verified_read(const char *path, struct verified *verified);
/* After other files of the same run. */
void verified_read_on(const char *path, struct sl_audit *audit, struct verified *verified);

#endif
