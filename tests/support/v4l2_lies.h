/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_V4L2_LIES_H
#define SL_TESTS_V4L2_LIES_H

/* What a V4L2 driver may say that is not so, as a table: one row a lie, with what has to come of it. */

#include "support/fake_v4l2.h"

enum lie_verdict {
    LIE_HARMLESS, /* nothing depends on it */
    LIE_REFUSED,  /* the opening fails with a sentence; while it streams nobody asks */
    LIE_ANOMALY,  /* it goes on, and one of the anomalies is counted */
    LIE_BAD_FRAME,
    LIE_ENDS /* the opening ends with the error */
};

enum lie_ways { LIE_USERPTR = 1, LIE_MMAP = 2, LIE_USERPTR_PLANES = 4, LIE_MMAP_PLANES = 8 };
#define LIE_MAPPED (LIE_MMAP | LIE_MMAP_PLANES)
#define LIE_OURS   (LIE_USERPTR | LIE_USERPTR_PLANES)
#define LIE_PLANES (LIE_USERPTR_PLANES | LIE_MMAP_PLANES)
#define LIE_ANY    (LIE_MAPPED | LIE_OURS)

struct v4l2_lie {
    const char *name;
    struct fake_lie lie;
    unsigned ways; /* of enum lie_ways: where it makes sense */
    enum lie_verdict verdict;
    const char *sentence; /* part of the refusal, whatever the verdict is once it streams; NULL: it opens */
    uint32_t anomalies;   /* bits: at least one of these */
    int error;            /* the opening ends, or may end, with it */
};

extern const struct v4l2_lie v4l2_lies[];
extern const unsigned v4l2_lie_count;

/* An integer control `gain`, from 0 to 100, which sensor.controls asks for where lies about controls are told. */
void fake_add_gain(struct fake_v4l2 *fake);

#endif
