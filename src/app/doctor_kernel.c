/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder and the diagnosis need of the kernel itself. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

void sl_doctor_io_uring(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    int rc = doctor->ops->io_uring(doctor->ops->self);
    unsigned major = 0, minor = 0;
    char release[96];
    int64_t disabled = 0;

    (void)sl_host_word(doctor->root, "/proc/sys/kernel/osrelease", release, sizeof release);
    (void)sl_host_number(doctor->root, "/proc/sys/kernel/io_uring_disabled", &disabled);
    if (rc == 0) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "there, Linux %s", release);
        if (sscanf(release, "%u.%u", &major, &minor) == 2 && (major < 6 || (major == 6 && minor < 1))) {
            finding->state = SL_DOCTOR_PROBLEM;
            sl_doctor_why(finding, "the recorder needs what io_uring has since Linux 6.1: no recording starts, and every frame is lost");
            sl_doctor_cure(finding, "a kernel from 6.1 on");
        }
        return;
    }
    sl_doctor_found(finding, SL_DOCTOR_PROBLEM, "io_uring cannot be used: %s; kernel.io_uring_disabled is %" PRId64, strerror(-rc),
                    disabled);
    sl_doctor_why(finding, "the recorder writes with it: no recording starts, and every frame is lost");
    if (rc == -ENOSYS)
        sl_doctor_cure(finding, "a kernel with CONFIG_IO_URING, from 6.1 on");
    else if (disabled)
        sl_doctor_cure(finding, "sysctl -w kernel.io_uring_disabled=%s",
                       disabled == 1 ? "0; or kernel.io_uring_group= a group of this user" : "0");
    else
        sl_doctor_cure(finding,
                       "a seccomp filter forbids it: allow io_uring_setup, io_uring_enter and io_uring_register (container, systemd's "
                       "SystemCallFilter=)");
}

void sl_doctor_perf_events(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    int64_t level;

    if (!sl_host_number(doctor->root, "/proc/sys/kernel/perf_event_paranoid", &level)) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "this kernel has no perf events");
        return;
    }
    sl_doctor_found(finding, level <= 0 ? SL_DOCTOR_OK : SL_DOCTOR_NOTE, "kernel.perf_event_paranoid is %" PRId64, level);
    if (level <= 0)
        return;
    sl_doctor_why(finding,
                  "only root may count what the bus and the memory controller do: when frames are lost there, nobody sees why; no frame "
                  "is lost by it");
    sl_doctor_cure(finding, "sysctl -w kernel.perf_event_paranoid=0, for any user; or setcap cap_perfmon+ep on the program that counts");
}
