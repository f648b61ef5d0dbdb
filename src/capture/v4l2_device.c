/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a device, and what every v4l2_*.c file says when an ioctl fails. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "capture/v4l2_device.h"

enum { INTERRUPTIONS_MAX = 64 }; /* of one ioctl: our threads take no signals, so more is the driver's doing */

/* Length of the UTF-8 character at `text`; 0: it is none, or one that does not print. */
static size_t character(const uint8_t *text, size_t bytes)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = *text < 0x80 ? 1 : *text >> 5 == 6 ? 2 : *text >> 4 == 14 ? 3 : *text >> 3 == 30 ? 4 : 0;
    uint32_t code = length > 1 ? *text & (0x7fu >> length) : *text;

    if (!length || length > bytes)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if (text[i] >> 6 != 2)
            return 0;
        code = code << 6 | (text[i] & 0x3f);
    }
    if (length == 1)
        return isprint((int)code) ? 1 : 0;
    return code < smallest[length] || code < 0xa0 || code >> 11 == 0x1b || code > 0x10ffff ? 0 : length;
}

void sl_v4l2_clean(uint8_t *text, size_t bytes)
{
    size_t length, at;

    text[bytes - 1] = '\0';
    length = strlen((const char *)text);
    for (at = 0; at < length;) {
        size_t good = character(text + at, length - at);

        if (!good)
            text[at] = '?';
        at += good ? good : 1;
    }
}

struct sl_v4l2_fourcc sl_v4l2_fourcc_text(uint32_t fourcc)
{
    struct sl_v4l2_fourcc out = {{0}};

    for (unsigned i = 0; i < 4; i++) {
        uint8_t c = (uint8_t)(fourcc >> 8 * i);

        out.text[i] = (char)(c >= ' ' && c < 127 ? c : '?');
    }
    return out;
}

static const char *usual_hint(int code)
{
    switch (code) {
    case -EBUSY:
        return "another program is streaming; stop it";
    case -ENODEV:
    case -ENXIO:
        return "the device is gone; is it still plugged in and powered?";
    case -ENOENT:
        return "there is no such device; `sluice probe` lists those there are";
    case -EACCES:
    case -EPERM:
        return "not allowed; add the user to the group that owns the device (mostly `video`)";
    case -ENOMEM:
        return "no memory for buffers; ask for fewer, or raise `cma=` on the kernel command line";
    case -ENOTTY:
        return "the driver does not have this";
    case -ENOLINK:
        return "no signal at this input; check cable and source";
    case -ENOLCK:
        return "there is a signal, but the receiver cannot lock to it; check the cable";
    case -ERANGE:
        return "the signal is outside what the receiver takes; set the source to another mode";
    case -EINVAL:
        return "the driver does not take these values";
    case -EPIPE:
        return "the parts of the pipeline to the sensor do not fit together, or one has failed; `media-ctl -p` shows them, and the kernel "
               "log may say more";
    case -EIO:
        return "the hardware failed; the kernel log may say why";
    default:
        return NULL;
    }
}

int sl_v4l2_fail(const struct sl_v4l2 *dev, struct sl_error *err, int code, const char *hint, const char *what, ...)
{
    char text[256];
    va_list args;

    va_start(args, what);
    vsnprintf(text, sizeof(text), what, args);
    va_end(args);
    if (!hint)
        hint = usual_hint(code);
    return sl_fail(err, code, "v4l2 %s: %s: %s%s%s", dev->path, text, strerror(-code), hint ? ": " : "", hint ? hint : "");
}

void sl_v4l2_append(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, bytes - used, format, args);
    va_end(args);
}

void sl_v4l2_note(struct sl_v4l2 *dev, const char *format, ...)
{
    char text[192];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    sl_v4l2_append(dev->granted, sizeof(dev->granted), "%s%s", dev->granted[0] ? "; " : "", text);
}

int sl_v4l2_ioctl(const struct sl_v4l2 *dev, unsigned long request, void *arg)
{
    int ret = -EINTR;

    for (int i = 0; i < INTERRUPTIONS_MAX && ret == -EINTR; i++)
        ret = dev->ops->ioctl(dev->ops->self, dev->fd, request, arg);
    return ret;
}

bool sl_v4l2_multiplanar(const struct sl_v4l2 *dev)
{
    return dev->type == V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
}

static int query_capabilities(struct sl_v4l2 *dev, struct sl_error *err)
{
    uint32_t caps;
    int ret = sl_v4l2_ioctl(dev, VIDIOC_QUERYCAP, &dev->cap);

    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, ret == -ENOTTY ? "this is no V4L2 device" : NULL, "VIDIOC_QUERYCAP");
    sl_v4l2_clean(dev->cap.driver, sizeof(dev->cap.driver));
    sl_v4l2_clean(dev->cap.card, sizeof(dev->cap.card));
    sl_v4l2_clean(dev->cap.bus_info, sizeof(dev->cap.bus_info));
    caps = dev->cap.capabilities & V4L2_CAP_DEVICE_CAPS ? dev->cap.device_caps : dev->cap.capabilities;
    if (caps & V4L2_CAP_VIDEO_CAPTURE_MPLANE)
        dev->type = V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE;
    else if (caps & V4L2_CAP_VIDEO_CAPTURE)
        dev->type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
    else
        return sl_fail(err, -ENOTSUP, "v4l2 %s: %.31s does not capture video (capabilities 0x%08x); another node of it may", dev->path,
                       (const char *)dev->cap.card, caps);
    if (!(caps & V4L2_CAP_STREAMING))
        return sl_fail(err, -ENOTSUP, "v4l2 %s: %.31s cannot stream into buffers (capabilities 0x%08x), and read() copies every frame",
                       dev->path, (const char *)dev->cap.card, caps);
    return 0;
}

int sl_v4l2_open(struct sl_v4l2 *dev, const struct sl_v4l2_ops *ops, const char *path, struct sl_error *err)
{
    int ret;

    *dev = (struct sl_v4l2){.ops = ops, .fd = -1};
    if (!path || strlen(path) >= sizeof(dev->path))
        return sl_fail(err, -EINVAL, "v4l2: %s", path ? "the path of the device is too long" : "no device given; set device=/dev/videoN");
    memcpy(dev->path, path, strlen(path) + 1);
    dev->fd = ops->open(ops->self, path);
    if (dev->fd < 0)
        return sl_v4l2_fail(dev, err, dev->fd, NULL, "open");
    ret = query_capabilities(dev, err);
    if (ret < 0)
        sl_v4l2_close(dev);
    return ret;
}

void sl_v4l2_close(struct sl_v4l2 *dev)
{
    if (dev->fd >= 0)
        dev->ops->close(dev->ops->self, dev->fd);
    dev->fd = -1;
}

static int fail_input(const struct sl_v4l2 *dev, int code, int input, struct sl_error *err)
{
    char list[400] = "";

    for (uint32_t i = 0; i < 64; i++) {
        struct v4l2_input entry = {.index = i};

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUMINPUT, &entry) < 0)
            break;
        sl_v4l2_clean(entry.name, sizeof(entry.name));
        sl_v4l2_append(list, sizeof(list), "%s%u %.31s", i ? ", " : "it has ", i, (const char *)entry.name);
    }
    return sl_v4l2_fail(dev, err, code, list[0] ? list : NULL, "VIDIOC_S_INPUT(%d)", input);
}

int sl_v4l2_select_input(struct sl_v4l2 *dev, int input, struct sl_error *err)
{
    struct v4l2_input entry = {0};
    int current = 0;
    int ret;

    if (input >= 0) {
        int wish = input;

        ret = sl_v4l2_ioctl(dev, VIDIOC_S_INPUT, &wish);
        if (ret < 0)
            return fail_input(dev, ret, input, err);
    }
    if (sl_v4l2_ioctl(dev, VIDIOC_G_INPUT, &current) < 0) { /* a receiver without inputs may have timings all the same */
        dev->no_inputs = true;
        dev->has_timings = dev->tv_input = sl_v4l2_ioctl(dev, VIDIOC_G_DV_TIMINGS, &dev->timings) >= 0;
        return 0;
    }
    entry.index = dev->input = (uint32_t)current;
    if (sl_v4l2_ioctl(dev, VIDIOC_ENUMINPUT, &entry) < 0)
        return 0;
    dev->has_timings = entry.capabilities & V4L2_IN_CAP_DV_TIMINGS;
    dev->tv_input = entry.capabilities & (V4L2_IN_CAP_DV_TIMINGS | V4L2_IN_CAP_STD);
    return 0;
}
