/* SPDX-License-Identifier: Apache-2.0 */
/* What gives out memory that the sensor's driver can import. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

static const char size_file[] = "/sys/module/udmabuf/parameters/size_limit_mb";
static const char list_file[] = "/sys/module/udmabuf/parameters/list_limit";

static bool there(const struct sl_doctor *doctor, const char *path, int mode)
{
    char name[PATH_MAX];

    return snprintf(name, sizeof name, "%s%s", doctor->root, path) < (int)sizeof name && access(name, mode) == 0;
}

/* One dmabuf is one slot. */
static uint64_t slot_mib(const struct sl_doctor *doctor)
{
    return (doctor->need.slot_bytes + (1 << 20) - 1) >> 20;
}

static void say_absent(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    sl_doctor_found(finding, doctor->config->sensor.source == SL_SOURCE_V4L2 ? SL_DOCTOR_NOTE : SL_DOCTOR_OK,
                    "this kernel has no /dev/udmabuf");
    if (doctor->config->sensor.source != SL_SOURCE_V4L2)
        return;
    sl_doctor_why(finding,
                  "receivers that do not take user pointers can use the ring without a copy only through it; a copy is %.0f MB/s "
                  "through the CPU",
                  doctor->need.bytes_per_s / 1e6);
    sl_doctor_cure(
        finding,
        "a kernel with CONFIG_UDMABUF=y (it is no module), from 6.12 on, which shares huge pages; Debian's 6.12 has it, its 6.1 has not");
}

void sl_doctor_udmabuf(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    int64_t size_limit = 0, list_limit = 0;
    bool known = sl_host_number(doctor->root, size_file, &size_limit);

    if (!there(doctor, "/dev/udmabuf", F_OK)) {
        say_absent(doctor, finding);
        return;
    }
    (void)sl_host_number(doctor->root, list_file, &list_limit);
    sl_doctor_found(finding, SL_DOCTOR_OK, "/dev/udmabuf");
    if (known)
        sl_doctor_add(finding->found, sizeof finding->found,
                      ", size_limit_mb %" PRId64 " (a slot takes %" PRIu64 "), list_limit %" PRId64 " (a slot takes 1)", size_limit,
                      slot_mib(doctor), list_limit);
    if (known && size_limit >= 0 && (uint64_t)size_limit < slot_mib(doctor)) {
        finding->state = SL_DOCTOR_WARNING;
        sl_doctor_why(finding, "no slot can be shared with the receiver: each frame is copied, %.0f MB/s through the CPU",
                      doctor->need.bytes_per_s / 1e6);
        sl_doctor_cure(finding, "echo %" PRIu64 " >%s; at boot: udmabuf.size_limit_mb=%" PRIu64, slot_mib(doctor), size_file,
                       slot_mib(doctor));
    } else if (!there(doctor, "/dev/udmabuf", R_OK | W_OK)) {
        finding->state = SL_DOCTOR_WARNING;
        sl_doctor_add(finding->found, sizeof finding->found, "; this user may not open it");
        sl_doctor_why(finding, "the receiver cannot be given the ring: each frame is copied, %.0f MB/s through the CPU",
                      doctor->need.bytes_per_s / 1e6);
        sl_doctor_cure(finding, "a udev rule: KERNEL==\"udmabuf\", GROUP=\"video\", MODE=\"0660\"");
    }
}

void sl_doctor_fix_udmabuf(const struct sl_doctor *doctor, struct sl_doctor_repair *repair)
{
    int64_t size_limit;
    char value[24];

    if (!sl_host_number(doctor->root, size_file, &size_limit) || size_limit < 0 || (uint64_t)size_limit >= slot_mib(doctor))
        return;
    snprintf(value, sizeof value, "%" PRIu64, slot_mib(doctor));
    (void)sl_doctor_set(doctor, repair, size_file, value);
}

void sl_doctor_dma_heap(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    char **heaps;
    unsigned count = sl_host_list(doctor->root, "/dev/dma_heap", "", &heaps);

    if (!count)
        sl_doctor_found(finding, SL_DOCTOR_OK, "none; nothing here needs one");
    else
        sl_doctor_found(finding, SL_DOCTOR_OK, "/dev/dma_heap:");
    for (unsigned i = 0; i < count; i++)
        sl_doctor_add(finding->found, sizeof finding->found, " %s", heaps[i]);
    sl_host_list_free(heaps, count);
}
