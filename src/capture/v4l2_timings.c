/* SPDX-License-Identifier: Apache-2.0 */
/* Digital-video timings: what an HDMI or SDI receiver sees, and what it is told to take. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/v4l2_device.h"

enum { MAX_TIMINGS = 512 };

struct wish {
    uint32_t width, height;
    bool interlaced;
    double rate;
};

struct sl_rational sl_v4l2_timings_rate(const struct v4l2_dv_timings *timings)
{
    const struct v4l2_bt_timings *bt = &timings->bt;
    uint64_t num = bt->pixelclock;
    uint64_t den = (uint64_t)V4L2_DV_BT_FRAME_WIDTH(bt) * V4L2_DV_BT_FRAME_HEIGHT(bt);

    if (!num || !den || num > UINT64_C(100000000000))
        return (struct sl_rational){0, 1};
    if (bt->flags & V4L2_DV_FL_REDUCED_FPS) {
        num *= 1000;
        den *= 1001;
    }
    return sl_v4l2_rational(num, den);
}

void sl_v4l2_timings_name(const struct v4l2_dv_timings *timings, char *text, size_t bytes)
{
    struct sl_rational rate = sl_v4l2_timings_rate(timings);
    double hz = (double)rate.num / rate.den;
    double nearest = (double)(uint64_t)(hz + 0.5); /* a lying driver's rate may not fit 32 bits */
    bool whole = hz - nearest < 0.005 && nearest - hz < 0.005;

    snprintf(text, bytes, "%ux%u%c%.*f", timings->bt.width, timings->bt.height, timings->bt.interlaced ? 'i' : 'p', whole ? 0 : 2, hz);
}

/* "1920x1080p60", "1920x1080i59.94", "1280x720p60". */
static bool parse_wish(const char *text, struct wish *wish)
{
    char *end;
    unsigned long width = strtoul(text, &end, 10);

    if (end == text || *end != 'x' || !isdigit((unsigned char)end[1]))
        return false;
    text = end + 1;
    unsigned long height = strtoul(text, &end, 10);
    if ((*end != 'p' && *end != 'i') || !isdigit((unsigned char)end[1]))
        return false;
    *wish = (struct wish){.interlaced = *end == 'i'};
    text = end + 1;
    wish->rate = strtod(text, &end);
    if (*end || !width || !height || width > 65535 || height > 65535 || wish->rate <= 0)
        return false;
    wish->width = (uint32_t)width;
    wish->height = (uint32_t)height;
    return true;
}

static double off_by(double a, double b)
{
    return a > b ? a / b - 1 : b / a - 1;
}

/* Does the entry fit, as it is or with its rate reduced by 1000/1001? Sets the flag in *entry where needed. */
static bool fits(struct v4l2_dv_timings *entry, const struct wish *wish)
{
    struct sl_rational rate;

    if (entry->type != V4L2_DV_BT_656_1120 || entry->bt.width != wish->width || entry->bt.height != wish->height ||
        !entry->bt.interlaced == wish->interlaced)
        return false;
    rate = sl_v4l2_timings_rate(entry);
    if (!rate.num)
        return false;
    if (off_by((double)rate.num / rate.den, wish->rate) < 0.0004)
        return true;
    if (!(entry->bt.flags & V4L2_DV_FL_CAN_REDUCE_FPS) || off_by((double)rate.num / rate.den / 1.001, wish->rate) >= 0.0004)
        return false;
    entry->bt.flags |= V4L2_DV_FL_REDUCED_FPS;
    return true;
}

/* The one that fits, those of CEA-861 (television) before those of computer screens; what there is goes into `list`. */
static bool find_timings(const struct sl_v4l2 *dev, const struct wish *wish, struct v4l2_dv_timings *found, char *list, size_t bytes)
{
    bool any = false;

    list[0] = '\0';
    for (uint32_t i = 0; i < MAX_TIMINGS; i++) {
        struct v4l2_enum_dv_timings entry = {.index = i};
        char name[48];

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_DV_TIMINGS, &entry) < 0)
            break;
        sl_v4l2_timings_name(&entry.timings, name, sizeof(name));
        if (!strstr(list, name))
            sl_v4l2_append(list, bytes, "%s%s", list[0] ? " " : "it knows ", name);
        if (!fits(&entry.timings, wish))
            continue;
        if (!any || entry.timings.bt.standards & V4L2_DV_BT_STD_CEA861)
            *found = entry.timings;
        any = true;
        if (entry.timings.bt.standards & V4L2_DV_BT_STD_CEA861)
            return true;
    }
    return any;
}

static int apply(struct sl_v4l2 *dev, struct v4l2_dv_timings *timings, struct sl_error *err)
{
    char name[48];
    int ret = sl_v4l2_ioctl(dev, VIDIOC_S_DV_TIMINGS, timings);

    sl_v4l2_timings_name(timings, name, sizeof(name));
    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_S_DV_TIMINGS(%s)", name);
    return 0;
}

static int set_detected(struct sl_v4l2 *dev, struct sl_error *err)
{
    struct v4l2_dv_timings timings = {0};
    int ret = sl_v4l2_ioctl(dev, VIDIOC_QUERY_DV_TIMINGS, &timings);

    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_QUERY_DV_TIMINGS");
    return apply(dev, &timings, err);
}

static int set_named(struct sl_v4l2 *dev, const char *name, struct sl_error *err)
{
    struct v4l2_dv_timings timings = {0};
    char list[700];
    struct wish wish;

    if (!parse_wish(name, &wish))
        return sl_fail(err, -EINVAL, "v4l2 %s: dv_timings=%s: write `auto` or WIDTHxHEIGHT, p or i, RATE, such as 1920x1080p60", dev->path,
                       name);
    if (!find_timings(dev, &wish, &timings, list, sizeof(list)))
        return sl_fail(err, -EINVAL, "v4l2 %s: the receiver has no timings %s; %s", dev->path, name, list[0] ? list : "it lists none");
    return apply(dev, &timings, err);
}

int sl_v4l2_set_timings(struct sl_v4l2 *dev, const char *wish, struct sl_error *err)
{
    bool automatic = wish && !strcmp(wish, "auto");
    int ret = 0;

    if (automatic && !dev->has_timings && dev->no_inputs) { /* a subdevice of it may have them: then the format is all that is seen here */
        sl_v4l2_note(dev, "dv_timings=auto asked, and the device has neither inputs nor timings: its format is taken as it is");
        return 0;
    }
    if (wish && !dev->has_timings)
        return sl_fail(err, -ENOTSUP, "v4l2 %s: dv_timings=%s: this input has no DV timings (it is no HDMI or SDI receiver)", dev->path,
                       wish);
    if (!dev->has_timings)
        return 0;
    if (wish)
        ret = automatic ? set_detected(dev, err) : set_named(dev, wish, err);
    if (ret < 0)
        return ret;
    if (sl_v4l2_ioctl(dev, VIDIOC_G_DV_TIMINGS, &dev->timings) < 0 || dev->timings.type != V4L2_DV_BT_656_1120)
        dev->has_timings = false;
    return 0;
}
