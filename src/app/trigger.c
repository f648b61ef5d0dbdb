/* SPDX-License-Identifier: Apache-2.0 */
#include "app/trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"

int sl_trigger_init(struct sl_trigger *trigger, const char *path, struct sl_error *err)
{
    struct stat st;

    *trigger = (struct sl_trigger){.fd = -1};
    if (!path)
        return 0;
    if (mkfifo(path, 0660) < 0 && errno != EEXIST) {
        int code = -errno;

        return sl_fail(err, code, "trigger: mkfifo %s: %s", path, strerror(-code));
    }
    /* Opened for writing too, so that the FIFO never reads as hung up between two writers. */
    int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &st) < 0) {
        int code = -errno;

        if (fd >= 0)
            close(fd);
        return sl_fail(err, code, "trigger: open %s: %s", path, strerror(-code));
    }
    if (!S_ISFIFO(st.st_mode)) {
        close(fd);
        return sl_fail(err, -EINVAL, "trigger: %s is there and is not a FIFO; name another path or remove it", path);
    }
    trigger->fd = fd;
    return 0;
}

static enum sl_trigger_order order_of(const char *line)
{
    if (!strcmp(line, "start"))
        return SL_TRIGGER_START;
    if (!strcmp(line, "stop"))
        return SL_TRIGGER_STOP;
    sl_log(SL_LOG_WARNING, "trigger: \"%s\" is neither start nor stop", line);
    return SL_TRIGGER_NONE;
}

enum sl_trigger_order sl_trigger_read(struct sl_trigger *trigger)
{
    enum sl_trigger_order last = SL_TRIGGER_NONE;
    char bytes[64];
    ssize_t n = read(trigger->fd, bytes, sizeof bytes);

    for (ssize_t i = 0; i < n; i++) {
        if (bytes[i] != '\n') {
            if (trigger->fill < sizeof trigger->line - 1)
                trigger->line[trigger->fill++] = (bytes[i] >= ' ' && bytes[i] < 127) ? bytes[i] : '?';
            continue;
        }
        trigger->line[trigger->fill] = '\0';
        trigger->fill = 0;
        enum sl_trigger_order order = order_of(trigger->line);

        if (order != SL_TRIGGER_NONE)
            last = order;
    }
    return last;
}

void sl_trigger_fini(struct sl_trigger *trigger)
{
    if (trigger->fd >= 0)
        close(trigger->fd);
    trigger->fd = -1;
}
