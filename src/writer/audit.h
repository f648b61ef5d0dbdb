/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_AUDIT_H
#define SL_WRITER_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "writer/recording.h"

/*
 * Whether the books of a recording close: every frame of the time grid is either there or lost for a cause. Fed slot by slot, file
 * by file of one run. Pure, nothing is allocated.
 *
 * What was lost before the disk is booked by the next frame's record. A write that fails after later frames were already on
 * their way leaves a slot without a frame (a hole) and is booked a few frames later, or never when the run was killed; so a hole
 * explains one missing frame by itself, and a booking that comes without a missing frame explains a hole. A hole that must have
 * held a frame, as later pages say, explains none.
 */

enum sl_audit_fault {
    SL_AUDIT_NUMBER = 1 << 0,   /* not above the number before */
    SL_AUDIT_TIME = 1 << 1,     /* not after the time before */
    SL_AUDIT_EXPECTED = 1 << 2, /* counts frames that the grid does not have */
    SL_AUDIT_BALANCE = 1 << 3,  /* expected is not recorded + lost */
    SL_AUDIT_BACKWARD = 1 << 4  /* a loss was taken back */
};

/* Numbers between two neighbouring frames. */
struct sl_audit_gap {
    uint64_t first, count; /* missing on the grid; count may be 0 when only the books moved */
    uint64_t booked[SL_LOSS_COUNT];
    uint64_t holes;       /* slots between the two that hold no frame */
    uint64_t paused;      /* of `count`: not expected, as nothing was to be recorded then */
    uint64_t unbooked;    /* of `count`: neither booked, nor paused, nor in a hole that explains it */
    int64_t monotonic_ns; /* of the frame after the gap */
};

/* Frames that were recorded although they were bad; one may be both. */
enum { SL_MARKED_NUMBERS = 8 };
struct sl_marked {
    uint64_t frames, error, too_short;
    uint64_t number[SL_MARKED_NUMBERS]; /* of the first ones */
};
void sl_marked_add(struct sl_marked *marked, const struct sl_frame_record *record);

struct sl_audit {
    bool started;
    struct sl_frame_record last;
    uint64_t pending_holes, pending_explaining;
    uint64_t frames;
    uint64_t missing;
    uint64_t holes;
    uint64_t lacking; /* Σ unbooked */
    uint64_t excess;  /* bookings without a missing frame beside them */
    uint64_t lost[SL_LOSS_COUNT];
};

/* `from_start`: the first frame fed is the first of the run, so that what its books hold was lost before it. */
void sl_audit_init(struct sl_audit *audit, bool from_start);
void sl_audit_hole(struct sl_audit *audit, bool must_hold);
/* Returns enum sl_audit_fault bits; *gap->count, booked and holes are all zero when the frame follows directly. */
unsigned sl_audit_frame(struct sl_audit *audit, const struct sl_frame_record *record, struct sl_audit_gap *gap);
/* After the last frame: frames missing without a trace, and bookings for which nothing is missing. */
uint64_t sl_audit_unexplained(const struct sl_audit *audit);
uint64_t sl_audit_overbooked(const struct sl_audit *audit);

#endif
