/* SPDX-License-Identifier: Apache-2.0 */
/* Which CPU serves the devices' interrupts, and whether one of ours is pinned to it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

enum { MAX_CPUS = 64, FEW = 10000 };

struct interrupts {
    unsigned cpus;
    unsigned number[MAX_CPUS]; /* of each column */
    uint64_t sum[MAX_CPUS];
    uint64_t total;
    struct {
        unsigned irq;
        uint64_t count;
        char name[64];
    } busiest[MAX_CPUS];
};

static void read_heading(struct interrupts *in, const char *line)
{
    unsigned number;

    while ((line = strstr(line, "CPU")) != NULL && in->cpus < MAX_CPUS && sscanf(line, "CPU%u", &number) == 1) {
        in->number[in->cpus++] = number;
        line += 3;
    }
}

/* " 36:  0  326952  PCI-MSIX-0000:00:02.0  1-edge  virtio1-req.0"; the timers' belong to each CPU and are left out. */
static void read_line(struct interrupts *in, char *line)
{
    uint64_t count[MAX_CPUS] = {0};
    char *at, *name = strrchr(line, ' ');
    unsigned long irq = strtoul(line, &at, 10);

    if (at == line || *at++ != ':' || strstr(line, "timer"))
        return;
    for (unsigned i = 0; i < in->cpus; i++)
        count[i] = strtoull(at, &at, 10);
    for (unsigned i = 0; i < in->cpus; i++) {
        in->sum[i] += count[i];
        in->total += count[i];
        if (count[i] <= in->busiest[i].count)
            continue;
        in->busiest[i].irq = (unsigned)irq;
        in->busiest[i].count = count[i];
        snprintf(in->busiest[i].name, sizeof in->busiest[i].name, "%s", name ? name + 1 : "");
    }
}

static bool read_interrupts(const struct sl_doctor *doctor, struct interrupts *in)
{
    char *text = sl_host_text(doctor->root, "/proc/interrupts"), *save = NULL;
    char *line = text ? strtok_r(text, "\n", &save) : NULL;

    memset(in, 0, sizeof *in);
    if (line)
        read_heading(in, line);
    while (in->cpus && (line = strtok_r(NULL, "\n", &save)) != NULL)
        read_line(in, line);
    free(text);
    return in->cpus > 0;
}

/* A CPU that none of our threads is pinned to; -1: none. */
static int other_cpu(const struct sl_doctor *doctor, const struct interrupts *in)
{
    for (unsigned i = 0; i < in->cpus; i++)
        if (in->number[i] != doctor->config->realtime.capture_cpu && in->number[i] != doctor->config->realtime.writer_cpu)
            return (int)in->number[i];
    return -1;
}

void sl_doctor_interrupts(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    struct interrupts in;
    unsigned most = 0;
    double share;
    int other;

    if (!read_interrupts(doctor, &in)) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "the kernel does not show them");
        return;
    }
    for (unsigned i = 1; i < in.cpus; i++)
        if (in.sum[i] > in.sum[most])
            most = i;
    share = in.total ? 100.0 * (double)in.sum[most] / (double)in.total : 0;
    sl_doctor_found(finding, SL_DOCTOR_OK, "%" PRIu64 " of devices since the boot, %.0f %% of them on CPU %u, mostly %u (%s)", in.total,
                    share, in.number[most], in.busiest[most].irq, in.busiest[most].name);
    other = other_cpu(doctor, &in);
    if (in.cpus < 2 || in.total < FEW || share < 50 || other < 0 || (unsigned)other == in.number[most])
        return;
    if (in.number[most] != doctor->config->realtime.capture_cpu && in.number[most] != doctor->config->realtime.writer_cpu)
        return;
    finding->state = SL_DOCTOR_WARNING;
    sl_doctor_why(finding,
                  "a thread of the recorder is pinned to that CPU and waits while they are served, whatever its priority; each frame has "
                  "%.1f ms",
                  1000 / doctor->need.frames_per_s);
    sl_doctor_cure(finding, "echo %d >/proc/irq/%u/smp_affinity_list; or another realtime.%s", other, in.busiest[most].irq,
                   in.number[most] == doctor->config->realtime.capture_cpu ? "capture_cpu" : "writer_cpu");
}
