/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a device again that went away and came back, perhaps under another number. Control thread.
 *
 * A name that udev keeps (/dev/v4l/by-path, by-id) says by itself which device is meant, as at the start. A name such as
 * /dev/video0 does not: after a replug another camera may have it. There the bus position counts, as the driver tells it, and which
 * of the device's nodes it was; it is looked for under the old name first, then among all nodes.
 *
 * Rejected: the serial number. Many devices have none, and a camera that was replaced in its socket is the one that is wanted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/v4l2_device.h"

#define KEPT_NAMES "/dev/v4l/"
enum { MAX_NODES = 1024 };

void sl_v4l2_identify(const struct sl_v4l2 *dev, struct sl_device_identity *identity)
{
    *identity = (struct sl_device_identity){.index = dev->ops->node_index(dev->ops->self, dev->path)};
    snprintf(identity->bus, sizeof(identity->bus), "%.31s", (const char *)dev->cap.bus_info);
}

static bool is_it(const struct sl_v4l2_ops *ops, const struct sl_device_identity *wanted, const char *path)
{
    struct sl_device_identity found;
    struct sl_v4l2 dev;

    if (sl_v4l2_open(&dev, ops, path, NULL) < 0)
        return false;
    sl_v4l2_identify(&dev, &found);
    sl_v4l2_close(&dev);
    return !strcmp(found.bus, wanted->bus) && (found.index < 0 || wanted->index < 0 || found.index == wanted->index);
}

static bool exists(const struct sl_v4l2_ops *ops, const char *path)
{
    struct sl_v4l2 dev;

    if (sl_v4l2_open(&dev, ops, path, NULL) < 0)
        return false;
    sl_v4l2_close(&dev);
    return true;
}

int sl_v4l2_find(const struct sl_v4l2_ops *ops, const struct sl_device_identity *wanted, char *path, struct sl_error *err)
{
    bool kept = !strncmp(path, KEPT_NAMES, strlen(KEPT_NAMES));
    char node[96];

    if (kept ? exists(ops, path) : is_it(ops, wanted, path))
        return 0;
    for (unsigned n = 0; n < MAX_NODES && ops->node(ops->self, n, node, sizeof(node)) == 0; n++) {
        if (!is_it(ops, wanted, node))
            continue;
        memcpy(path, node, strlen(node) + 1);
        return 0;
    }
    return sl_fail(err, -ENODEV, "v4l2 %s: the device is gone; nothing at %s", path, wanted->bus);
}
