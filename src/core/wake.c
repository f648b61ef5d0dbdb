/* SPDX-License-Identifier: Apache-2.0 */
#include "core/wake.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

int sl_wake_init(struct sl_wake *wake)
{
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

    if (fd < 0)
        return -errno;
    wake->fd = fd;
    atomic_init(&wake->armed, 0);
    return 0;
}

/* Zeroed memory is not a wake: descriptor 0 would be somebody else's. */
void sl_wake_fini(struct sl_wake *wake)
{
    if (wake->fd > 0)
        close(wake->fd);
    wake->fd = -1;
}

void sl_wake_signal(struct sl_wake *wake)
{
    uint64_t one = 1;

    while (write(wake->fd, &one, sizeof(one)) < 0 && errno == EINTR)
        ; /* EAGAIN: the count is at its end, so the descriptor is readable already */
}

void sl_wake_drain(struct sl_wake *wake)
{
    uint64_t count;

    while (read(wake->fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ; /* EAGAIN: nothing was pending */
}
