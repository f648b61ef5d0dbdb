/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_NOTIFY_H
#define SL_APP_NOTIFY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/error.h"

/*
 * The way to the service manager that started this process: sd_notify(3)'s protocol, datagrams to the socket that the environment
 * names. Without libsystemd, which would be one more library on every board for these few lines. Supervisor thread only.
 */

struct sl_notify {
    int fd; /* -1: there is no manager */
    struct sockaddr_un to;
    socklen_t to_bytes;
    int64_t watchdog_ns; /* the manager ends this process when it hears nothing for so long; 0: it does not */
};

/* Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment, so that no child answers for this process. Without
 * NOTIFY_SOCKET it succeeds, with fd -1. -EINVAL: a variable makes no sense. */
int sl_notify_open(struct sl_notify *notify, struct sl_error *err);

/* "READY=1", "STATUS=…" and the like, one a line. Never waits. False: the manager does not have it, try again later. */
bool sl_notify_send(const struct sl_notify *notify, const char *text);

void sl_notify_close(struct sl_notify *notify);

#endif
