/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which memory a device takes, found by trying: buffers of the present format are requested, one is queued, all are given back.
 * A device that streams for somebody else says so and is not disturbed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capture/v4l2_probe.h"

enum { TRY_BUFFERS = 4 };

static bool line_has_range(const char *line, uintptr_t address)
{
    uintptr_t from, to;

    return sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2 && address >= from && address < to;
}

bool sl_mapping_pinnable(const void *start)
{
    FILE *maps = fopen("/proc/self/smaps", "re");
    bool inside = false, pinnable = false;
    char line[512];

    if (!maps)
        return false;
    while (fgets(line, sizeof(line), maps)) {
        if (!inside) {
            inside = line_has_range(line, (uintptr_t)start);
        } else if (!strncmp(line, "VmFlags:", 8)) {
            /* io: VM_IO, pf: VM_PFNMAP; get_user_pages() answers EFAULT to both */
            pinnable = !strstr(line, " io") && !strstr(line, " pf");
            break;
        }
    }
    fclose(maps);
    return pinnable;
}

static void try_mmap(struct sl_v4l2 *dev, struct sl_probe_memory *verdict)
{
    struct sl_memory *memory;
    struct sl_error why;
    unsigned count = TRY_BUFFERS;

    if (sl_v4l2_map(dev, &count, &memory, &why) < 0) {
        snprintf(verdict->reason, sizeof(verdict->reason), "%.319s", why.text);
        return;
    }
    verdict->works = true;
    verdict->buffers = count;
    verdict->cached = memory->cached;
    verdict->pinnable = sl_mapping_pinnable(memory->slot[0].data);
    snprintf(verdict->reason, sizeof(verdict->reason), "%s; %s",
             verdict->pinnable ? "the disk can read these pages: nothing is copied"
                               : "the disk cannot read these pages: each frame is copied once",
             verdict->cached ? "the CPU reads them at full speed" : "the CPU reads them slowly (uncached): no payload checksums");
    sl_memory_close(memory);
}

static void try_userptr(const struct sl_v4l2 *dev, struct sl_probe_memory *verdict)
{
    struct sl_memory *memory;
    struct sl_error why;
    size_t bytes = dev->memory_planes > 1 ? dev->format.frame_bytes : dev->sizeimage[0];

    if (sl_memory_host(&memory, 1, bytes, SL_HUGEPAGES_AUTO, &why) < 0) {
        snprintf(verdict->reason, sizeof(verdict->reason), "%.319s", why.text);
        return;
    }
    verdict->works = sl_v4l2_try_memory(dev, memory, &why) >= 0;
    verdict->pinnable = verdict->cached = verdict->works;
    if (verdict->works)
        snprintf(verdict->reason, sizeof(verdict->reason),
                 "tried with pages of %s: nothing is copied, and the ring may be as long as wanted", memory->pages);
    else
        snprintf(verdict->reason, sizeof(verdict->reason), "%.319s", why.text);
    sl_memory_close(memory);
}

static void try_dmabuf(const struct sl_v4l2 *dev, struct sl_probe_memory *verdict)
{
    struct sl_error why;
    uint32_t caps;

    if (sl_v4l2_buffer_caps(dev, &caps, &why) < 0)
        snprintf(verdict->reason, sizeof(verdict->reason), "%.319s", why.text);
    else if (caps & V4L2_BUF_CAP_SUPPORTS_DMABUF)
        snprintf(verdict->reason, sizeof(verdict->reason), "the driver takes it, but sluice does not make such memory");
    else
        snprintf(verdict->reason, sizeof(verdict->reason), "the driver does not take it");
}

void sl_v4l2_probe_memories(struct sl_v4l2 *dev, struct sl_probe_memory memory[SL_PROBE_MEMORIES])
{
    memory[0].kind = "userptr";
    memory[1].kind = "mmap";
    memory[2].kind = "dmabuf";
    if (!dev->memory_planes) {
        for (unsigned i = 0; i < SL_PROBE_MEMORIES; i++)
            snprintf(memory[i].reason, sizeof(memory[i].reason), "not tried: the device says no format that a buffer could have");
        return;
    }
    try_userptr(dev, &memory[0]);
    try_mmap(dev, &memory[1]);
    try_dmabuf(dev, &memory[2]);
}
