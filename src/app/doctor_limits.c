/* SPDX-License-Identifier: Apache-2.0 */
/* What this user may do, and what a service would. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

void sl_doctor_realtime(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    int64_t priority = doctor->config->realtime.priority;

    if (priority > doctor->host.rt_priority) {
        sl_doctor_found(finding, SL_DOCTOR_PROBLEM, "realtime.priority = %" PRId64 ", and this user may ask for %u at most", priority,
                        doctor->host.rt_priority);
        sl_doctor_why(finding, "the start will fail, and every frame is lost");
        sl_doctor_cure(finding,
                       "LimitRTPRIO=%" PRId64 " in the systemd unit; in a shell: ulimit -r %" PRId64 "; or setcap cap_sys_nice+ep on the "
                       "program",
                       priority, priority);
    } else if (priority) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "realtime.priority = %" PRId64 ", and this user may ask for %u", priority,
                        doctor->host.rt_priority);
    } else {
        sl_doctor_found(finding, SL_DOCTOR_NOTE, "realtime.priority = 0: the normal scheduler; this user may ask for up to %u",
                        doctor->host.rt_priority);
        sl_doctor_why(finding,
                      "other programs take turns with the capture thread; one that waits longer than %" PRId64
                      " frames (%.0f ms) for a CPU leaves the driver without buffers",
                      doctor->config->sensor.buffers, 1000.0 * (double)doctor->config->sensor.buffers / doctor->need.frames_per_s);
        sl_doctor_cure(finding, "realtime.priority = 10 in the config%s",
                       doctor->host.rt_priority >= 10 ? "" : ", with LimitRTPRIO=10 in the systemd unit");
    }
}

/* "Max open files            1024                 524288               files" */
static bool soft_limit(const struct sl_doctor *doctor, const char *name, uint64_t *out)
{
    char *text = sl_host_text(doctor->root, "/proc/self/limits"), *line = text ? strstr(text, name) : NULL;
    bool good = line && sscanf(line + strlen(name), " %" SCNu64, out) == 1;

    free(text);
    return good;
}

void sl_doctor_open_files(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    enum { OTHERS = 64 }; /* segments, device, eventfds, standard streams, with room to spare */
    uint64_t limit, needed = doctor->need.slots + OTHERS;

    if (!soft_limit(doctor, "Max open files", &limit)) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "the kernel shows no limit");
        return;
    }
    sl_doctor_found(finding, SL_DOCTOR_OK, "this process may have %" PRIu64 "; a ring shared as dmabufs takes %" PRIu64, limit, needed);
    if (limit >= needed)
        return;
    finding->state = SL_DOCTOR_WARNING;
    sl_doctor_why(finding,
                  "each slot that the receiver imports as a dmabuf is a descriptor: the ring of %" PRIu64
                  " cannot be shared, and each frame is copied, %.0f MB/s through the CPU",
                  doctor->need.slots, doctor->need.bytes_per_s / 1e6);
    sl_doctor_cure(finding, "LimitNOFILE=%" PRIu64 " in the systemd unit; in a shell: ulimit -n %" PRIu64, needed, needed);
}

/* -- The installed unit --------------------------------------------------------------------------------------------------- */

static const char unit[] = "sluice@.service";
/* As systemd has them: the first one that is there counts. */
static const char *const unit_dirs[] = {"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system",
                                        "/usr/lib/systemd/system", "/lib/systemd/system"};

/* The last "KEY=value" line; a drop-in read later replaces it. */
static void take_setting(const char *text, const char *key, char *value, size_t bytes)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (!strncmp(line, key, length) && line[length] == '=')
            snprintf(value, bytes, "%.*s", (int)strcspn(line + length + 1, "\n"), line + length + 1);
}

struct service_limits {
    char memlock[32], rtprio[32], nofile[32];
};

static void take_limits(const struct sl_doctor *doctor, const char *path, struct service_limits *limits)
{
    char *text = sl_host_text(doctor->root, path);

    if (!text)
        return;
    take_setting(text, "LimitMEMLOCK", limits->memlock, sizeof limits->memlock);
    take_setting(text, "LimitRTPRIO", limits->rtprio, sizeof limits->rtprio);
    take_setting(text, "LimitNOFILE", limits->nofile, sizeof limits->nofile);
    free(text);
}

static void take_drop_ins(const struct sl_doctor *doctor, struct service_limits *limits)
{
    char path[PATH_MAX], dir[128], **file;
    unsigned count;

    snprintf(dir, sizeof dir, "/etc/systemd/system/%s.d", unit);
    count = sl_host_list(doctor->root, dir, "", &file);
    for (unsigned i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, file[i]);
        take_limits(doctor, path, limits);
    }
    sl_host_list_free(file, count);
}

void sl_doctor_service(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    struct service_limits limits = {"", "", ""};
    char path[PATH_MAX], *text = NULL;
    int64_t priority = doctor->config->realtime.priority;

    for (unsigned i = 0; i < sizeof unit_dirs / sizeof *unit_dirs && !text; i++) {
        snprintf(path, sizeof path, "%s/%s", unit_dirs[i], unit);
        text = sl_host_text(doctor->root, path);
    }
    if (!text) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "%s is not installed: the limits above are those of this shell", unit);
        return;
    }
    free(text);
    take_limits(doctor, path, &limits);
    take_drop_ins(doctor, &limits);
    sl_doctor_found(finding, SL_DOCTOR_OK, "%s: LimitMEMLOCK=%s LimitRTPRIO=%s LimitNOFILE=%s", path, limits.memlock, limits.rtprio,
                    limits.nofile);
    if (!strcmp(limits.memlock, "infinity") && (!strcmp(limits.rtprio, "infinity") || strtoll(limits.rtprio, NULL, 10) >= priority))
        return;
    finding->state =
        strtoll(limits.rtprio, NULL, 10) < priority && strcmp(limits.rtprio, "infinity") != 0 ? SL_DOCTOR_PROBLEM : SL_DOCTOR_WARNING;
    sl_doctor_why(finding, finding->state == SL_DOCTOR_PROBLEM
                               ? "a service is refused the priority of this config: its start fails, and every "
                                 "frame is lost"
                               : "a service may lock less memory than the ring may take: its buffers are not "
                                 "registered with the kernel");
    sl_doctor_cure(finding, "systemctl edit %s: in [Service], LimitMEMLOCK=infinity and LimitRTPRIO=99", unit);
}
