/* SPDX-License-Identifier: Apache-2.0 */
/* Socket buffers and links, for what is sent off the board. Notes only: a recording needs no network, except to a directory on one. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

void sl_doctor_socket_buffers(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    int64_t receive, send;

    if (!sl_host_number(doctor->root, "/proc/sys/net/core/rmem_max", &receive) ||
        !sl_host_number(doctor->root, "/proc/sys/net/core/wmem_max", &send)) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "the kernel does not show them");
        return;
    }
    sl_doctor_found(finding, SL_DOCTOR_OK, "net.core.rmem_max %" PRId64 ", wmem_max %" PRId64, receive, send);
    if ((uint64_t)receive >= doctor->need.frame_bytes && (uint64_t)send >= doctor->need.frame_bytes)
        return;
    finding->state = SL_DOCTOR_NOTE;
    sl_doctor_why(finding,
                  "a receiver of raw video on this machine that is late by one frame needs room for it (%.1f MB) and has %.1f MB; "
                  "recordings do not need it",
                  (double)doctor->need.frame_bytes / 1e6, (double)receive / 1e6);
    sl_doctor_cure(finding, "sysctl -w net.core.rmem_max=%" PRIu64 " net.core.wmem_max=%" PRIu64, 2 * doctor->need.frame_bytes,
                   2 * doctor->need.frame_bytes);
}

static bool on_the_network(const struct sl_host_dir *dir)
{
    static const char *const remote[] = {"nfs", "nfs4", "cifs", "smb3", "ceph", "9p"};

    for (unsigned i = 0; i < sizeof remote / sizeof *remote; i++)
        if (!strcmp(dir->fs, remote[i]))
            return true;
    return false;
}

void sl_doctor_links(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    static const char net[] = "/sys/class/net";
    enum { ETHERNET = 1 };
    char path[PATH_MAX], **name;
    unsigned count = sl_host_list(doctor->root, net, "", &name), shown = 0;
    double fastest = 0;

    for (unsigned i = 0; i < count; i++) {
        int64_t type = 0, speed = 0, mtu = 0;
        char state[32];

        snprintf(path, sizeof path, "%s/%s/type", net, name[i]);
        if (!sl_host_number(doctor->root, path, &type) || type != ETHERNET)
            continue;
        snprintf(path, sizeof path, "%s/%s/operstate", net, name[i]);
        if (!sl_host_word(doctor->root, path, state, sizeof state) || strcmp(state, "up") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s/mtu", net, name[i]);
        (void)sl_host_number(doctor->root, path, &mtu);
        snprintf(path, sizeof path, "%s/%s/speed", net, name[i]);
        sl_doctor_add(finding->found, sizeof finding->found, "%s%s MTU %" PRId64, shown++ ? "; " : "", name[i], mtu);
        if (!sl_host_number(doctor->root, path, &speed) || speed <= 0) {
            sl_doctor_add(finding->found, sizeof finding->found, ", speed not known");
            continue;
        }
        sl_doctor_add(finding->found, sizeof finding->found, ", %" PRId64 " Mb/s: at most %.0f of %.0f raw frames a second", speed,
                      (double)speed * 1e6 / 8 / (double)doctor->need.frame_bytes, doctor->need.frames_per_s);
        fastest = (double)speed > fastest ? (double)speed : fastest;
    }
    sl_host_list_free(name, count);
    if (!shown)
        sl_doctor_found(finding, SL_DOCTOR_OK, "no link is up");
    if (doctor->dir.error || !on_the_network(&doctor->dir))
        return;
    finding->state = fastest > 0 && fastest * 1e6 / 8 < doctor->need.bytes_per_s ? SL_DOCTOR_PROBLEM : SL_DOCTOR_WARNING;
    sl_doctor_why(
        finding,
        "record.dir is on a network (%s), and the recording is %.0f Mb/s; a network has stalls of seconds, and ring.depth covers %.1f s",
        doctor->dir.fs, doctor->need.bytes_per_s * 8 / 1e6, doctor->need.ring_frames / doctor->need.frames_per_s);
    sl_doctor_cure(finding, "record to a disk of this machine; or a faster link and a longer ring.depth");
}
