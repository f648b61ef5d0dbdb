/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_DOCTOR_RIG_H
#define TESTS_SUPPORT_DOCTOR_RIG_H

#include "app/doctor.h"
#include "support/machine.h"

/* `sluice doctor` on a machine of files (support/machine.h), whose kernel takes what is written as `kernel` says. */

struct doctor_rig {
    int io_uring, direct_io; /* what trying it gives: 0 or negative errno */
    uint32_t memory_align, offset_align;
    int refuse; /* what writing a setting gives, after `taken` of them */
    unsigned taken;
    uint64_t most_2m, most_32m; /* huge pages that the kernel has to give; UINT64_MAX: as many as asked for */
    unsigned writes;
};
extern struct doctor_rig doctor_rig;

void doctor_rig_init(void); /* also the machine */
void doctor_rig_fini(void);

/* Examines the machine with a config of source = pattern on the machine's disk, with these lines in it ("" for none; they begin in
 * [sensor], and a [record] comes last). The report is the rig's, until the next one. */
struct sl_doctor_report *doctor_examine(const char *lines, bool fix);
const struct sl_doctor_result *doctor_result(const char *name);

/* The check of this name is in this state, and says this somewhere in what it found, why, or the cure; NULL: whatever. */
void doctor_expect(const char *lines, const char *name, enum sl_doctor_state state, const char *says);

#endif
