/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame rate, which the time grid stands on. HDMI and SDI: from the timings. Cameras: S_PARM and what it answers. Receivers
 * behind a media controller say nothing: then the rate that was asked for is taken at its word, and the grid's own
 * measurement corrects it within 1 %.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/v4l2_device.h"

enum { MAX_RATES = 64, FASTEST = 100000, SLOWEST = 3600 }; /* frames a second, seconds a frame */

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

struct sl_rational sl_v4l2_rational(uint64_t num, uint64_t den)
{
    uint64_t divisor;

    if (!num || !den)
        return (struct sl_rational){0, 1};
    divisor = greatest_divisor(num, den);
    num /= divisor;
    den /= divisor;
    while (num > UINT32_MAX || den > UINT32_MAX) { /* only a measured clock has so many digits */
        num = (num + 1) / 2;
        den = (den + 1) / 2;
    }
    return (struct sl_rational){(uint32_t)num, (uint32_t)den};
}

struct sl_rational sl_v4l2_interval_rate(struct v4l2_fract interval)
{
    return sl_v4l2_rational(interval.denominator, interval.numerator);
}

bool sl_v4l2_same_rate(struct sl_rational a, struct sl_rational b)
{
    double x = (double)a.num * b.den, y = (double)b.num * a.den;
    double off = x > y ? x - y : y - x;

    return off <= 0.002 * y; /* 60 and 60000/1001 are the same wish */
}

/* What no sensor does is as good as not told. */
static bool known(struct sl_rational rate)
{
    return rate.num && rate.den && rate.num / FASTEST <= rate.den && rate.den / SLOWEST <= rate.num;
}

static void add_rate(char *text, size_t bytes, const char *before, struct v4l2_fract interval)
{
    struct sl_rational rate = sl_v4l2_interval_rate(interval);

    sl_v4l2_append(text, bytes, "%s%u/%u", before, rate.num, rate.den);
}

static void list_rates(const struct sl_v4l2 *dev, char *text, size_t bytes)
{
    text[0] = '\0';
    for (uint32_t i = 0; i < MAX_RATES; i++) {
        struct v4l2_frmivalenum interval = {
            .index = i, .pixel_format = dev->format.pixel->v4l2_fourcc, .width = dev->format.width, .height = dev->format.height};

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_FRAMEINTERVALS, &interval) < 0)
            return;
        if (interval.type != V4L2_FRMIVAL_TYPE_DISCRETE) {
            add_rate(text, bytes, " ", interval.stepwise.max); /* the longest interval is the slowest rate */
            add_rate(text, bytes, " to ", interval.stepwise.min);
            return;
        }
        add_rate(text, bytes, " ", interval.discrete);
    }
}

static int refuse_camera(const struct sl_v4l2 *dev, struct sl_rational wish, struct sl_rational got, struct sl_error *err)
{
    char rates[300];

    list_rates(dev, rates, sizeof(rates));
    return sl_fail(err, -EINVAL, "v4l2 %s: VIDIOC_S_PARM(%u/%u frames a second): the device gives %u/%u%s%s", dev->path, wish.num, wish.den,
                   got.num, got.den, rates[0] ? "; at this size it offers:" : "", rates);
}

static int refuse_signal(const struct sl_v4l2 *dev, struct sl_rational wish, struct sl_rational got, struct sl_error *err)
{
    return sl_fail(err, -EINVAL,
                   "v4l2 %s: VIDIOC_G_DV_TIMINGS: the incoming signal has %u/%u frames a second, not the %u/%u asked for; set fps, or the "
                   "source",
                   dev->path, got.num, got.den, wish.num, wish.den);
}

/* The rate of a camera. -ENOTTY: this device has no notion of it. */
static int parm_rate(const struct sl_v4l2 *dev, struct sl_rational wish, struct sl_rational *rate, struct sl_error *err)
{
    struct v4l2_streamparm parm = {.type = dev->type};
    int ret = sl_v4l2_ioctl(dev, VIDIOC_G_PARM, &parm);

    if (ret < 0)
        return -ENOTTY;
    if (known(wish) && parm.parm.capture.capability & V4L2_CAP_TIMEPERFRAME) {
        parm = (struct v4l2_streamparm){.type = dev->type};
        parm.parm.capture.timeperframe = (struct v4l2_fract){wish.den, wish.num};
        ret = sl_v4l2_ioctl(dev, VIDIOC_S_PARM, &parm);
        if (ret < 0)
            return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_S_PARM(%u/%u)", wish.num, wish.den);
    }
    *rate = sl_v4l2_interval_rate(parm.parm.capture.timeperframe);
    return known(*rate) ? 0 : -ENOTTY;
}

int sl_v4l2_set_rate(struct sl_v4l2 *dev, struct sl_rational wish, struct sl_error *err)
{
    struct sl_rational rate = dev->has_timings ? sl_v4l2_timings_rate(&dev->timings) : (struct sl_rational){0, 1};
    bool from_signal = known(rate);
    int ret = from_signal ? 0 : parm_rate(dev, wish, &rate, err);

    if (ret == -ENOTTY) {
        if (!known(wish))
            return sl_fail(err, -EINVAL, "v4l2 %s: the device does not say its frame rate, and the time grid needs one: set fps",
                           dev->path);
        sl_v4l2_note(dev, "the device does not say its frame rate: %u/%u taken as asked", wish.num, wish.den);
        rate = wish;
    } else if (ret < 0) {
        return ret;
    }
    if (known(wish) && !sl_v4l2_same_rate(rate, wish))
        return from_signal ? refuse_signal(dev, wish, rate, err) : refuse_camera(dev, wish, rate, err);
    if (known(wish) && (uint64_t)rate.num * wish.den != (uint64_t)wish.num * rate.den)
        sl_v4l2_note(dev, "fps %u/%u asked, %u/%u granted", wish.num, wish.den, rate.num, rate.den);
    dev->format.fps = rate;
    return 0;
}
