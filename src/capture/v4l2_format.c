/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Format negotiation: ask, read back, compare. A driver may answer S_FMT with anything it likes; a pixel format or size that was
 * not asked for is an error that says what the device has, never a surprise in the recording.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/v4l2_device.h"

enum { MAX_ENUM = 256, MAX_PADDING_LINES = 64 };
/* A buffer larger than this by far for its picture is a driver's mistake, and the ring would be made of such. */
#define LARGEST_BUFFER(need) (4 * (uint64_t)(need) + (UINT64_C(64) << 20))

/* The same few fields out of both shapes of struct v4l2_format. */
struct granted {
    uint32_t fourcc, width, height, field;
    uint32_t colorspace, ycbcr_enc, quantization, xfer_func;
    unsigned planes;
    uint32_t bytesperline[VIDEO_MAX_PLANES];
    uint32_t sizeimage[VIDEO_MAX_PLANES];
};

static void list_sizes(const struct sl_v4l2 *dev, uint32_t fourcc, char *text, size_t bytes)
{
    for (uint32_t i = 0; i < MAX_ENUM; i++) {
        struct v4l2_frmsizeenum size = {.index = i, .pixel_format = fourcc};

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_FRAMESIZES, &size) < 0)
            return;
        if (size.type != V4L2_FRMSIZE_TYPE_DISCRETE) {
            sl_v4l2_append(text, bytes, " %ux%u…%ux%u", size.stepwise.min_width, size.stepwise.min_height, size.stepwise.max_width,
                           size.stepwise.max_height);
            return;
        }
        sl_v4l2_append(text, bytes, " %ux%u", size.discrete.width, size.discrete.height);
    }
}

void sl_v4l2_offers(const struct sl_v4l2 *dev, char *text, size_t bytes)
{
    unsigned listed = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < MAX_ENUM; i++) {
        struct v4l2_fmtdesc desc = {.index = i, .type = dev->type};

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_FMT, &desc) < 0)
            break;
        sl_v4l2_append(text, bytes, "%s%s", listed++ ? ", " : "", sl_v4l2_fourcc_text(desc.pixelformat).text);
        list_sizes(dev, desc.pixelformat, text, bytes);
    }
    if (!listed)
        sl_v4l2_append(text, bytes, "nothing");
}

/* The fourcc to ask for: by name, or the first both sides know. 0: none. */
static uint32_t choose_fourcc(const struct sl_v4l2 *dev, const char *name)
{
    uint32_t split = 0;

    for (uint32_t i = 0; i < MAX_ENUM; i++) {
        struct v4l2_fmtdesc desc = {.index = i, .type = dev->type};
        const struct sl_pixel_format *pixel;

        if (sl_v4l2_ioctl(dev, VIDIOC_ENUM_FMT, &desc) < 0)
            break;
        pixel = sl_pixel_format_by_v4l2(desc.pixelformat);
        if (!pixel || (name && strcmp(pixel->name, name)))
            continue;
        if (desc.pixelformat == pixel->v4l2_fourcc)
            return desc.pixelformat; /* one buffer a frame: nothing to gather later */
        if (!split)
            split = desc.pixelformat;
    }
    return split;
}

static void read_granted(const struct sl_v4l2 *dev, const struct v4l2_format *fmt, struct granted *out)
{
    const struct v4l2_pix_format *pix = &fmt->fmt.pix;
    const struct v4l2_pix_format_mplane *mp = &fmt->fmt.pix_mp;

    if (!sl_v4l2_multiplanar(dev)) {
        *out = (struct granted){pix->pixelformat,  pix->width,     pix->height, pix->field,          pix->colorspace, pix->ycbcr_enc,
                                pix->quantization, pix->xfer_func, 1,           {pix->bytesperline}, {pix->sizeimage}};
        return;
    }
    *out = (struct granted){mp->pixelformat, mp->width, mp->height, mp->field, mp->colorspace, mp->ycbcr_enc, mp->quantization,
                            mp->xfer_func,   0,         {0},        {0}};
    out->planes = mp->num_planes <= VIDEO_MAX_PLANES ? mp->num_planes : 0;
    for (unsigned i = 0; i < out->planes; i++) {
        out->bytesperline[i] = mp->plane_fmt[i].bytesperline;
        out->sizeimage[i] = mp->plane_fmt[i].sizeimage;
    }
}

int sl_v4l2_present_format(struct sl_v4l2 *dev, uint32_t *fourcc, uint32_t *width, uint32_t *height)
{
    struct v4l2_format fmt = {.type = dev->type};
    struct granted got;
    int ret = sl_v4l2_ioctl(dev, VIDIOC_G_FMT, &fmt);

    if (ret < 0)
        return ret;
    read_granted(dev, &fmt, &got);
    *fourcc = got.fourcc;
    *width = got.width;
    *height = got.height;
    dev->memory_planes = got.planes <= SL_MAX_PLANES ? got.planes : 0;
    dev->format.frame_bytes = 0;
    for (unsigned p = 0; p < dev->memory_planes; p++) {
        if (!got.sizeimage[p] || got.sizeimage[p] > UINT32_MAX - dev->format.frame_bytes) {
            dev->memory_planes = 0;
            break;
        }
        dev->sizeimage[p] = dev->format.bytesperline[p] = got.sizeimage[p];
        dev->format.lines[p] = 1;
        dev->format.offset[p] = dev->format.frame_bytes;
        dev->format.frame_bytes += got.sizeimage[p];
    }
    return 0;
}

static int ask(struct sl_v4l2 *dev, uint32_t fourcc, const struct sl_capture_cfg *cfg, struct granted *out, struct sl_error *err)
{
    struct v4l2_format fmt = {.type = dev->type};
    int ret = sl_v4l2_ioctl(dev, VIDIOC_G_FMT, &fmt);
    uint32_t width, height;

    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_G_FMT");
    read_granted(dev, &fmt, out);
    width = cfg->width ? cfg->width : dev->has_timings ? dev->timings.bt.width : out->width;
    height = cfg->height ? cfg->height : dev->has_timings ? dev->timings.bt.height : out->height;

    fmt = (struct v4l2_format){.type = dev->type};
    if (sl_v4l2_multiplanar(dev)) {
        fmt.fmt.pix_mp = (struct v4l2_pix_format_mplane){
            .width = width, .height = height, .pixelformat = fourcc, .field = V4L2_FIELD_ANY, .colorspace = out->colorspace};
    } else {
        fmt.fmt.pix = (struct v4l2_pix_format){
            .width = width, .height = height, .pixelformat = fourcc, .field = V4L2_FIELD_ANY, .colorspace = out->colorspace};
    }
    ret = sl_v4l2_ioctl(dev, VIDIOC_S_FMT, &fmt);
    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_S_FMT(%s %ux%u)", sl_v4l2_fourcc_text(fourcc).text, width, height);
    read_granted(dev, &fmt, out);
    if (out->fourcc == fourcc && out->width == width && out->height == height)
        return 0;
    char offers[600];
    sl_v4l2_offers(dev, offers, sizeof(offers));
    return sl_fail(err, -EINVAL, "v4l2 %s: VIDIOC_S_FMT(%s %ux%u): the device gives %s %ux%u instead; it offers: %s", dev->path,
                   sl_v4l2_fourcc_text(fourcc).text, width, height, sl_v4l2_fourcc_text(out->fourcc).text, out->width, out->height, offers);
}

static int check_field(struct sl_v4l2 *dev, const struct granted *got, struct sl_error *err)
{
    switch (got->field) {
    case V4L2_FIELD_NONE:
    case V4L2_FIELD_ANY: /* a driver that does not care to say */
        dev->format.interlaced = false;
        return 0;
    case V4L2_FIELD_INTERLACED:
    case V4L2_FIELD_INTERLACED_TB:
    case V4L2_FIELD_INTERLACED_BT:
        dev->format.interlaced = true;
        return 0;
    default:
        return sl_fail(
            err, -ENOTSUP,
            "v4l2 %s: the device delivers single fields (V4L2 field order %u), and sluice records whole frames; set the source to a "
            "progressive mode",
            dev->path, got->field);
    }
}

/* Lines stored in plane 0: those of the picture, or as many as sizeimage says when all planes agree. */
static uint32_t stored_lines(const struct sl_pixel_format *pixel, const struct granted *got, uint32_t bytesperline)
{
    uint32_t lines = got->sizeimage[0] / bytesperline;

    if (got->sizeimage[0] % bytesperline || lines <= got->height || lines > got->height + MAX_PADDING_LINES || lines % pixel->vertical)
        return got->height;
    for (unsigned p = 1; p < pixel->planes; p++) {
        uint32_t line = pixel->layout == SL_LAYOUT_PLANAR ? bytesperline / pixel->horizontal : bytesperline;

        if (got->sizeimage[p] != line * (lines / pixel->vertical))
            return got->height;
    }
    return lines;
}

static int check_planes(const struct sl_v4l2 *dev, const struct granted *got, struct sl_error *err)
{
    const struct sl_video_format *format = &dev->format;
    unsigned expected = got->fourcc == format->pixel->v4l2_fourcc ? 1 : format->pixel->planes;

    if (got->planes != expected)
        return sl_fail(err, -EPROTO, "v4l2 %s: the driver stores %s in %u buffers instead of %u", dev->path,
                       sl_v4l2_fourcc_text(got->fourcc).text, got->planes, expected);
    for (unsigned p = 0; p < expected; p++) {
        uint32_t need = expected == 1 ? format->frame_bytes : format->bytesperline[p] * format->lines[p];

        if (got->sizeimage[p] < need)
            return sl_fail(err, -EPROTO, "v4l2 %s: the driver says plane %u takes %u bytes, but %ux%u %s needs %u", dev->path, p,
                           got->sizeimage[p], got->width, got->height, format->pixel->name, need);
        if (got->sizeimage[p] > LARGEST_BUFFER(need))
            return sl_fail(err, -EPROTO, "v4l2 %s: the driver says plane %u takes %u bytes, far more than the %u of %ux%u %s", dev->path, p,
                           got->sizeimage[p], need, got->width, got->height, format->pixel->name);
        if (p && got->bytesperline[p] && got->bytesperline[p] != format->bytesperline[p])
            return sl_fail(err, -ENOTSUP, "v4l2 %s: plane %u has lines of %u bytes; with %u in plane 0 they must have %u", dev->path, p,
                           got->bytesperline[p], format->bytesperline[0], format->bytesperline[p]);
    }
    return 0;
}

static int take_shape(struct sl_v4l2 *dev, const struct granted *got, struct sl_error *err)
{
    const struct sl_pixel_format *pixel = sl_pixel_format_by_v4l2(got->fourcc);
    struct sl_video_format tight = {0};
    uint32_t bytesperline = got->bytesperline[0];
    bool split = got->fourcc != pixel->v4l2_fourcc;
    int ret;

    if (sl_video_format_tight(&tight, pixel, got->width, got->height) < 0)
        return sl_fail(err, -EINVAL, "v4l2 %s: %s cannot be %ux%u", dev->path, pixel->name, got->width, got->height);
    if (!bytesperline)
        bytesperline = tight.bytesperline[0]; /* allowed for formats without lines; ours are tight then */
    if (sl_video_format_padded(&dev->format, pixel, got->width, got->height, bytesperline,
                               split ? stored_lines(pixel, got, bytesperline) : got->height) < 0)
        return sl_fail(err, -EPROTO, "v4l2 %s: the driver says a line of %u %s pixels takes %u bytes; it must be from %u to 64 KiB",
                       dev->path, got->width, pixel->name, bytesperline, tight.bytesperline[0]);
    ret = check_planes(dev, got, err);
    if (ret < 0)
        return ret;
    memcpy(dev->sizeimage, got->sizeimage, got->planes * sizeof(dev->sizeimage[0]));
    dev->memory_planes = got->planes;
    dev->fourcc = got->fourcc;
    return 0;
}

int sl_v4l2_check_format(struct sl_v4l2 *dev, struct sl_error *err)
{
    const struct sl_video_format *format = &dev->format;
    struct v4l2_format fmt = {.type = dev->type};
    struct granted got;
    int ret = sl_v4l2_ioctl(dev, VIDIOC_G_FMT, &fmt);

    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_G_FMT");
    read_granted(dev, &fmt, &got);
    if (got.fourcc != dev->fourcc || got.width != format->width || got.height != format->height ||
        (got.bytesperline[0] && got.bytesperline[0] != format->bytesperline[0]))
        return sl_fail(
            err, -EPROTO,
            "v4l2 %s: VIDIOC_G_FMT: the format is %s %ux%u with lines of %u bytes now, although %s %ux%u with %u was granted; does "
            "another program set it?",
            dev->path, sl_v4l2_fourcc_text(got.fourcc).text, got.width, got.height, got.bytesperline[0],
            sl_v4l2_fourcc_text(dev->fourcc).text, format->width, format->height, format->bytesperline[0]);
    return check_planes(dev, &got, err);
}

int sl_v4l2_set_format(struct sl_v4l2 *dev, const struct sl_capture_cfg *cfg, struct sl_error *err)
{
    uint32_t fourcc = choose_fourcc(dev, cfg->pixel_format);
    struct granted got;
    int ret;

    if (!fourcc) {
        char offers[600];

        sl_v4l2_offers(dev, offers, sizeof(offers));
        return sl_fail(err, -EINVAL, "v4l2 %s: the device does not offer %s; it offers: %s", dev->path,
                       cfg->pixel_format ? cfg->pixel_format : "any format sluice knows", offers);
    }
    ret = ask(dev, fourcc, cfg, &got, err);
    if (!ret)
        ret = check_field(dev, &got, err);
    if (!ret)
        ret = take_shape(dev, &got, err);
    if (ret)
        return ret;
    dev->format.colour =
        sl_v4l2_colour(got.colorspace, got.ycbcr_enc, got.quantization, got.xfer_func, dev->format.pixel->layout == SL_LAYOUT_BYTES,
                       dev->tv_input && got.height >= 720, dev->tv_input && got.height < 720);
    if (dev->format.bytesperline[0] != sl_video_format_line_bytes(&dev->format, 0))
        sl_v4l2_note(dev, "lines are padded from %u to %u bytes", sl_video_format_line_bytes(&dev->format, 0), dev->format.bytesperline[0]);
    return 0;
}
