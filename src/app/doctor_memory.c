/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is not huge pages: is there enough, may it be locked, is it swapped, and what the driver's own buffers come out of. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

#define MB 1000000.0

static double ring_mb(const struct sl_doctor *doctor)
{
    return (double)sl_need_ring_bytes(&doctor->need) / MB;
}

/* A huge page that is reserved is no longer in what the kernel calls available. */
static bool ring_is_reserved(const struct sl_doctor *doctor)
{
    return doctor->config->ring.hugepages != SL_HUGEPAGES_NO && sl_need_pages_there(&doctor->need, &doctor->host);
}

void sl_doctor_memory(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    double available = (double)doctor->host.memory_available / MB;

    if (!doctor->host.memory_available) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "the kernel does not say what is available");
    } else if (ring_is_reserved(doctor)) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "the ring's %.0f MB are reserved as huge pages, and %.0f MB more are available",
                        ring_mb(doctor), available);
    } else if ((double)sl_need_ring_bytes(&doctor->need) > (double)doctor->host.memory_available) {
        sl_doctor_found(finding, SL_DOCTOR_PROBLEM, "%.0f MB available, and the ring takes %.0f MB", available, ring_mb(doctor));
        sl_doctor_why(finding, "the start will fail, and every frame is lost");
        sl_doctor_cure(finding, "a smaller ring.depth or record.prerecord: %.2f MB a frame", (double)doctor->need.slot_bytes / MB);
    } else {
        sl_doctor_found(finding, SL_DOCTOR_OK, "%.0f MB available, and the ring takes %.0f MB", available, ring_mb(doctor));
    }
}

void sl_doctor_memory_lock(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    uint64_t limit = doctor->host.memlock_bytes, bytes = sl_need_ring_bytes(&doctor->need);
    bool locked = doctor->config->realtime.lock_memory;

    if (limit == UINT64_MAX || limit >= bytes) {
        if (limit == UINT64_MAX)
            sl_doctor_found(finding, SL_DOCTOR_OK, "no limit for this user");
        else
            sl_doctor_found(finding, SL_DOCTOR_OK, "%.0f MB, and the ring takes %.0f MB", (double)limit / MB, ring_mb(doctor));
        return;
    }
    sl_doctor_found(finding, locked ? SL_DOCTOR_PROBLEM : SL_DOCTOR_WARNING, "this user may lock %.1f MB, and the ring takes %.0f MB",
                    (double)limit / MB, ring_mb(doctor));
    if (locked)
        sl_doctor_why(finding, "realtime.lock_memory = yes: the start will fail, and every frame is lost");
    else
        sl_doctor_why(finding,
                      "buffers cannot be registered with the kernel, which then pins the memory of each frame anew: %.0f MB/s of it",
                      doctor->need.bytes_per_s / MB);
    sl_doctor_cure(finding, "LimitMEMLOCK=infinity in the systemd unit; in a shell: ulimit -l unlimited; or setcap cap_ipc_lock+ep on the "
                            "program");
}

/* -- Swap ----------------------------------------------------------------------------------------------------------------- */

/* Swap that is no compressed memory, in KiB. */
static uint64_t swap_on_disks(const char *text, char *first, size_t bytes)
{
    uint64_t sum = 0;
    const char *line = text ? strchr(text, '\n') : NULL; /* a heading comes first */

    first[0] = '\0';
    for (; line && line[1]; line = strchr(line + 1, '\n')) {
        char name[128], type[32];
        uint64_t kib;

        if (sscanf(line + 1, "%127s %31s %" SCNu64, name, type, &kib) != 3)
            break;
        if (!strncmp(name, "/dev/zram", 9))
            continue;
        if (!first[0])
            snprintf(first, bytes, "%s", name);
        sum += kib;
    }
    return sum;
}

void sl_doctor_swap(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    char *text = sl_host_text(doctor->root, "/proc/swaps"), first[128];
    uint64_t kib = swap_on_disks(text, first, sizeof first);

    if (!text)
        sl_doctor_found(finding, SL_DOCTOR_OK, "this kernel has none");
    else if (!kib)
        sl_doctor_found(finding, SL_DOCTOR_OK, "none on a disk");
    else if (doctor->config->realtime.lock_memory)
        sl_doctor_found(finding, SL_DOCTOR_OK, "%.0f MB, %s first, and realtime.lock_memory keeps the program out of it",
                        (double)kib * 1024 / MB, first);
    else {
        sl_doctor_found(finding, SL_DOCTOR_WARNING, "%.0f MB, %s first", (double)kib * 1024 / MB, first);
        sl_doctor_why(finding,
                      "a page of the program that is swapped out is read back from a disk that may be the recording's: 50 ms are %.0f "
                      "frames",
                      0.05 * doctor->need.frames_per_s);
        sl_doctor_cure(finding, "realtime.lock_memory = yes in the config; or swapoff -a");
    }
    free(text);
}

/* -- Contiguous memory ---------------------------------------------------------------------------------------------------- */

void sl_doctor_cma(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    char *text = sl_host_text(doctor->root, "/proc/meminfo");
    uint64_t total = 0, spare = 0, bytes = doctor->need.frame_bytes * (uint64_t)doctor->config->sensor.buffers;
    bool known = sl_host_number_of(text, "CmaTotal", 10, &total) && sl_host_number_of(text, "CmaFree", 10, &spare);

    free(text);
    total *= 1024;
    spare *= 1024;
    if (doctor->config->sensor.source != SL_SOURCE_V4L2) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "not used: this source has no driver");
        return;
    }
    if (!known || !total) {
        sl_doctor_found(finding, SL_DOCTOR_NOTE, "none reserved");
        sl_doctor_why(finding,
                      "a receiver without an IOMMU takes its own buffers from there: %.0f MB for %" PRId64
                      " of them (memory = mmap); USB cameras, and memory of ours, need none",
                      (double)bytes / MB, doctor->config->sensor.buffers);
        sl_doctor_cure(finding, "on the kernel's command line: cma=%" PRIu64 "M", (bytes >> 20) + 32);
        return;
    }
    if (spare >= bytes) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "%.0f of %.0f MB free, and the driver's %" PRId64 " buffers take %.0f MB",
                        (double)spare / MB, (double)total / MB, doctor->config->sensor.buffers, (double)bytes / MB);
        return;
    }
    sl_doctor_found(finding, doctor->need.own_memory ? SL_DOCTOR_NOTE : SL_DOCTOR_WARNING,
                    "%.0f of %.0f MB free, and the driver's %" PRId64 " buffers take %.0f MB", (double)spare / MB, (double)total / MB,
                    doctor->config->sensor.buffers, (double)bytes / MB);
    sl_doctor_why(finding, "a receiver without an IOMMU takes its own buffers from there, and grants fewer then: each is %.1f ms of ring",
                  1000 / doctor->need.frames_per_s);
    sl_doctor_cure(finding, "on the kernel's command line: cma=%" PRIu64 "M", (bytes >> 20) + ((total - spare) >> 20) + 32);
}
