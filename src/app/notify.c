/* SPDX-License-Identifier: Apache-2.0 */
#include "app/notify.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WATCHDOG_US (INT64_C(1000000) * 3600 * 24 * 365)

/* A path, or "@name" for a name that no file system has. */
static int parse_address(struct sl_notify *notify, const char *text, struct sl_error *err)
{
    size_t bytes = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || bytes < 2)
        return sl_fail(err, -EINVAL, "NOTIFY_SOCKET=%.100s: neither a path nor an abstract name", text);
    if (bytes >= sizeof notify->to.sun_path)
        return sl_fail(err, -EINVAL, "NOTIFY_SOCKET=%.100s…: %zu bytes, and a socket's name has at most %zu", text, bytes,
                       sizeof notify->to.sun_path - 1);
    notify->to.sun_family = AF_UNIX;
    memcpy(notify->to.sun_path, text, bytes);
    notify->to_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    if (text[0] == '@')
        notify->to.sun_path[0] = '\0';
    return 0;
}

static int parse_number(const char *name, const char *text, int64_t max, int64_t *out, struct sl_error *err)
{
    char *end;

    errno = 0;
    long long value = strtoll(text, &end, 10);

    if (errno || end == text || *end || value <= 0 || value > max)
        return sl_fail(err, -EINVAL, "%s=%.100s: no number from 1 to %lld", name, text, (long long)max);
    *out = value;
    return 0;
}

static int parse_watchdog(struct sl_notify *notify, struct sl_error *err)
{
    const char *us_text = getenv("WATCHDOG_USEC"), *pid_text = getenv("WATCHDOG_PID");
    int64_t us, pid = getpid();
    int rc = 0;

    if (!us_text)
        return 0;
    rc = parse_number("WATCHDOG_USEC", us_text, MAX_WATCHDOG_US, &us, err);
    if (rc == 0 && pid_text)
        rc = parse_number("WATCHDOG_PID", pid_text, INT32_MAX, &pid, err);
    if (rc == 0 && pid == getpid()) /* else it is another process that is watched */
        notify->watchdog_ns = us * 1000;
    return rc;
}

int sl_notify_open(struct sl_notify *notify, struct sl_error *err)
{
    const char *address = getenv("NOTIFY_SOCKET");
    int rc = 0;

    *notify = (struct sl_notify){.fd = -1};
    if (address && (rc = parse_address(notify, address, err)) == 0)
        rc = parse_watchdog(notify, err);
    if (address && rc == 0) {
        notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (notify->fd < 0) {
            rc = -errno;
            sl_fail(err, rc, "NOTIFY_SOCKET: socket: %s", strerror(-rc));
        }
    }
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    return rc;
}

bool sl_notify_send(const struct sl_notify *notify, const char *text)
{
    const struct sockaddr *to = (const struct sockaddr *)&notify->to;
    size_t bytes = strlen(text);

    return sendto(notify->fd, text, bytes, MSG_NOSIGNAL, to, notify->to_bytes) == (ssize_t)bytes;
}

void sl_notify_close(struct sl_notify *notify)
{
    if (notify->fd >= 0)
        close(notify->fd);
    notify->fd = -1;
}
