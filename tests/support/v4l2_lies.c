/* SPDX-License-Identifier: Apache-2.0 */
#include "support/v4l2_lies.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>

#define BIT(anomaly) (UINT32_C(1) << SL_ANOMALY_##anomaly)

/* A lie about what one call has answered: `a` is its argument. */
#define TELLS(name, type, ...)                                                                                                             \
    static int name(struct fake_v4l2 *fake, unsigned long request, void *arg, int ret)                                                     \
    {                                                                                                                                      \
        struct type *a = arg;                                                                                                              \
        (void)fake, (void)request, (void)a;                                                                                                \
        __VA_ARGS__;                                                                                                                       \
        return ret;                                                                                                                        \
    }

static bool planar(const struct fake_v4l2 *fake)
{
    return fake->capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE;
}

/* --- a dequeued buffer ------------------------------------------------------------------------------------------------------- */

static void set_used(struct fake_v4l2 *fake, struct v4l2_buffer *buffer, uint32_t used)
{
    buffer->bytesused = used;
    for (unsigned p = 0; planar(fake) && p < fake->format.fmt.pix_mp.num_planes; p++)
        buffer->m.planes[p].bytesused = used;
}

static void set_offset(struct fake_v4l2 *fake, struct v4l2_buffer *buffer, uint32_t offset)
{
    for (unsigned p = 0; p < fake->format.fmt.pix_mp.num_planes; p++)
        buffer->m.planes[p].data_offset = offset;
}

TELLS(used_nothing, v4l2_buffer, set_used(fake, a, 0))
TELLS(used_too_much, v4l2_buffer, set_used(fake, a, fake->buffer[0].length[0] + 1))
TELLS(used_4g, v4l2_buffer, set_used(fake, a, UINT32_MAX))
TELLS(offset_behind, v4l2_buffer, set_offset(fake, a, fake->buffer[0].length[0] + 1))
TELLS(offset_4g, v4l2_buffer, set_offset(fake, a, UINT32_MAX))
TELLS(index_beyond, v4l2_buffer, a->index = fake->buffers)
TELLS(index_4g, v4l2_buffer, a->index = UINT32_MAX)
TELLS(index_of_another, v4l2_buffer, a->index = (a->index + 1) % fake->buffers)
TELLS(index_always_0, v4l2_buffer, a->index = 0)
TELLS(other_type, v4l2_buffer, a->type = V4L2_BUF_TYPE_VBI_CAPTURE)
TELLS(other_memory, v4l2_buffer, a->memory = V4L2_MEMORY_OVERLAY)
TELLS(no_planes, v4l2_buffer, a->length = 0)
TELLS(many_planes, v4l2_buffer, a->length = UINT32_MAX)
TELLS(planes_nowhere, v4l2_buffer, a->m.planes = NULL)
TELLS(field_garbage, v4l2_buffer, a->field = UINT32_MAX)
TELLS(flags_garbage, v4l2_buffer, a->flags = UINT32_MAX)
TELLS(time_is_0, v4l2_buffer, a->timestamp = (struct timeval){0, 0})
TELLS(time_frozen, v4l2_buffer, a->timestamp = (struct timeval){1001, 0})
TELLS(time_backward, v4l2_buffer, a->timestamp = ((struct timeval){1000, 999999 - (long)(fake->told * 10 % 999999)}))
TELLS(time_of_day, v4l2_buffer, a->timestamp.tv_sec += 1750000000)
TELLS(time_endless, v4l2_buffer, a->timestamp.tv_sec = LONG_MAX)
TELLS(time_before_all, v4l2_buffer, a->timestamp.tv_sec = LONG_MIN)
TELLS(time_in_parts, v4l2_buffer, a->timestamp.tv_usec = LONG_MAX)
TELLS(sequence_is_0, v4l2_buffer, a->sequence = 0)
TELLS(sequence_down, v4l2_buffer, a->sequence = UINT32_MAX - a->sequence)
TELLS(sequence_wild, v4l2_buffer, a->sequence *= 2654435761u)

/* --- calls that do not do what they are for ---------------------------------------------------------------------------------- */

static int interrupted(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake, (void)request, (void)arg;
    return -EINTR;
}

static int interrupted_often(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)request, (void)arg;
    return fake->told % 8 ? -EINTR : 1;
}

static int nothing_ready(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake, (void)request, (void)arg;
    return -EAGAIN;
}

static int fails_io(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake, (void)request, (void)arg;
    return -EIO;
}

static int fails_invalid(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake, (void)request, (void)arg;
    return -EINVAL;
}

static int fails_pipe(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake, (void)request, (void)arg;
    return -EPIPE;
}

static int hangs_up(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)arg;
    shutdown(fake->bell[1], SHUT_RDWR);
    return request == VIDIOC_DQBUF ? -EAGAIN : 1;
}

/* There is always one more event, of no matter. */
static int events_for_ever(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    if (request == VIDIOC_QBUF && !fake->event.type) {
        fake->event.type = V4L2_EVENT_CTRL;
        send(fake->bell[1], "", 1, MSG_OOB | MSG_NOSIGNAL);
    }
    if (request != VIDIOC_DQEVENT)
        return 1;
    *(struct v4l2_event *)arg = (struct v4l2_event){.type = V4L2_EVENT_CTRL};
    return 0;
}

/* --- buffers ----------------------------------------------------------------------------------------------------------------- */

#define IF_ASKED(a, value) ((a)->count ? (value) : 0)
TELLS(grants_none, v4l2_requestbuffers, a->count = 0)
TELLS(grants_one, v4l2_requestbuffers, a->count = IF_ASKED(a, 1))
TELLS(grants_more, v4l2_requestbuffers, a->count = IF_ASKED(a, a->count + 8))
TELLS(grants_4g, v4l2_requestbuffers, a->count = IF_ASKED(a, UINT32_MAX))
TELLS(capabilities_wild, v4l2_requestbuffers, a->capabilities = UINT32_MAX)

static int buffer_lengths(struct fake_v4l2 *fake, struct v4l2_buffer *buffer, uint32_t length)
{
    buffer->length = planar(fake) ? buffer->length : length;
    for (unsigned p = 0; planar(fake) && p < fake->format.fmt.pix_mp.num_planes; p++)
        buffer->m.planes[p].length = length;
    return 0;
}

static int buffer_offsets(struct fake_v4l2 *fake, struct v4l2_buffer *buffer, uint32_t offset)
{
    if (planar(fake))
        buffer->m.planes[0].m.mem_offset = offset;
    else
        buffer->m.offset = offset;
    return 0;
}

TELLS(length_0, v4l2_buffer, buffer_lengths(fake, a, 0))
TELLS(length_short, v4l2_buffer, buffer_lengths(fake, a, 4096))
TELLS(length_4g, v4l2_buffer, buffer_lengths(fake, a, UINT32_MAX))
TELLS(offset_wild, v4l2_buffer, buffer_offsets(fake, a, UINT32_MAX))

/* --- formats ----------------------------------------------------------------------------------------------------------------- */

static void image_size(struct fake_v4l2 *fake, struct v4l2_format *format, uint32_t bytes)
{
    if (planar(fake))
        format->fmt.pix_mp.plane_fmt[0].sizeimage = bytes;
    else
        format->fmt.pix.sizeimage = bytes;
}

static void line_size(struct fake_v4l2 *fake, struct v4l2_format *format, uint32_t bytes)
{
    if (planar(fake))
        format->fmt.pix_mp.plane_fmt[0].bytesperline = bytes;
    else
        format->fmt.pix.bytesperline = bytes;
}

/* width, height and pixelformat are the first members of both shapes */
TELLS(image_0, v4l2_format, image_size(fake, a, 0))
TELLS(image_short, v4l2_format, image_size(fake, a, 4096))
TELLS(image_4g, v4l2_format, image_size(fake, a, UINT32_MAX))
TELLS(line_short, v4l2_format, line_size(fake, a, 2))
TELLS(line_4g, v4l2_format, line_size(fake, a, UINT32_MAX))
TELLS(line_128k, v4l2_format, line_size(fake, a, 1 << 17))
TELLS(planes_0, v4l2_format, a->fmt.pix_mp.num_planes = 0)
TELLS(planes_255, v4l2_format, a->fmt.pix_mp.num_planes = 255)
TELLS(size_0, v4l2_format, a->fmt.pix.width = a->fmt.pix.height = 0)
TELLS(size_4g, v4l2_format, a->fmt.pix.width = a->fmt.pix.height = UINT32_MAX)
TELLS(size_other, v4l2_format, a->fmt.pix.width = 320)
TELLS(other_format, v4l2_format, a->fmt.pix.pixelformat = V4L2_PIX_FMT_MJPEG)
TELLS(other_fields, v4l2_format, a->fmt.pix.field = UINT32_MAX)

/* --- lists and texts --------------------------------------------------------------------------------------------------------- */

/* Every list goes on for ever, with entries that say nothing that is known. */
static int lists_for_ever(struct fake_v4l2 *fake, unsigned long request, void *arg, int ret)
{
    (void)fake;
    switch (request) {
    case VIDIOC_ENUM_FMT:
        ((struct v4l2_fmtdesc *)arg)->pixelformat = UINT32_MAX;
        memset(((struct v4l2_fmtdesc *)arg)->description, 0xff, 32);
        return 0;
    case VIDIOC_ENUM_FRAMESIZES:
        ((struct v4l2_frmsizeenum *)arg)->type = V4L2_FRMSIZE_TYPE_DISCRETE;
        return 0;
    case VIDIOC_ENUM_FRAMEINTERVALS:
        ((struct v4l2_frmivalenum *)arg)->type = V4L2_FRMIVAL_TYPE_DISCRETE;
        ((struct v4l2_frmivalenum *)arg)->discrete = (struct v4l2_fract){0, 0};
        return 0;
    case VIDIOC_ENUMINPUT:
        memset(((struct v4l2_input *)arg)->name, 0xff, 32);
        return 0;
    case VIDIOC_G_INPUT:
    case VIDIOC_ENUM_DV_TIMINGS:
        return 0;
    default:
        return ret;
    }
}

TELLS(names_wild, v4l2_capability, memset(a->driver, 0xff, 16); memset(a->card, 0xc3, 32); memset(a->bus_info, '\n', 32))
TELLS(captures_nothing, v4l2_capability, a->capabilities = a->device_caps = 0)

static int input_wild(struct fake_v4l2 *fake, unsigned long request, void *arg, int ret)
{
    (void)fake, (void)request, (void)ret;
    *(uint32_t *)arg = UINT32_MAX;
    return 0;
}

/* --- rates and controls ------------------------------------------------------------------------------------------------------ */

static int rate_is(unsigned long request, void *arg, int ret, struct v4l2_fract interval)
{
    if (request == VIDIOC_G_PARM || request == VIDIOC_S_PARM)
        ((struct v4l2_streamparm *)arg)->parm.capture.timeperframe = interval;
    return ret;
}

TELLS(rate_0_0, v4l2_streamparm, rate_is(request, a, ret, (struct v4l2_fract){0, 0}))
TELLS(rate_n_0, v4l2_streamparm, rate_is(request, a, ret, (struct v4l2_fract){1, 0}))
TELLS(rate_4g, v4l2_streamparm, rate_is(request, a, ret, (struct v4l2_fract){1, UINT32_MAX}))
TELLS(rate_never, v4l2_streamparm, rate_is(request, a, ret, (struct v4l2_fract){UINT32_MAX, 1}))

static void gain_range(struct v4l2_query_ext_ctrl *control, uint32_t type, int64_t minimum, int64_t maximum, uint64_t step)
{
    control->type = type;
    control->minimum = minimum;
    control->maximum = maximum;
    control->step = step;
}

TELLS(range_inverted, v4l2_query_ext_ctrl, gain_range(a, V4L2_CTRL_TYPE_INTEGER, 100, -100, 1))
TELLS(step_0, v4l2_query_ext_ctrl, gain_range(a, V4L2_CTRL_TYPE_INTEGER, 0, 100, 0))
TELLS(range_endless, v4l2_query_ext_ctrl, gain_range(a, V4L2_CTRL_TYPE_INTEGER, INT64_MIN, INT64_MAX, UINT64_MAX))
TELLS(menu_endless, v4l2_query_ext_ctrl, gain_range(a, V4L2_CTRL_TYPE_MENU, INT64_MIN, INT64_MAX, 1))
TELLS(menu_at_the_end, v4l2_query_ext_ctrl, gain_range(a, V4L2_CTRL_TYPE_MENU, INT64_MAX - 1, INT64_MAX, 1))
TELLS(control_wild, v4l2_query_ext_ctrl, memset(a->name, 'x', sizeof(a->name)); a->type = UINT32_MAX)

static int controls_in_circles(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    struct v4l2_query_ext_ctrl *control = arg;

    (void)fake, (void)request;
    *control = (struct v4l2_query_ext_ctrl){.id = V4L2_CID_BRIGHTNESS, .type = V4L2_CTRL_TYPE_INTEGER, .name = "Brightness"};
    return 0;
}

static int minimum_wild(struct fake_v4l2 *fake, unsigned long request, void *arg, int ret)
{
    (void)fake, (void)request, (void)ret;
    ((struct v4l2_control *)arg)->value = INT_MAX;
    return 0;
}

void fake_add_gain(struct fake_v4l2 *fake)
{
    fake->control[fake->controls++] =
        (struct fake_control){.id = V4L2_CID_GAIN, .name = "Gain", .type = V4L2_CTRL_TYPE_INTEGER, .maximum = 100, .step = 1};
}

#define SIZE_BITS BIT(BAD_SIZE)
#define TIME_BITS (BIT(TIME_FOREIGN_CLOCK) | BIT(TIME_BACKWARD) | BIT(TIME_FROZEN))
#define WILD_BITS (BIT(SEQUENCE_JUMP) | BIT(SEQUENCE_RESET))
#define LOST_BITS (BIT(BAD_INDEX) | BIT(QUEUE_REFUSED))

const struct v4l2_lie v4l2_lies[] = {
    /* a dequeued buffer */
    {"bytesused 0", {VIDIOC_DQBUF, used_nothing, NULL}, LIE_ANY, LIE_BAD_FRAME, NULL, 0, 0},
    {"bytesused longer than the buffer", {VIDIOC_DQBUF, used_too_much, NULL}, LIE_ANY, LIE_ANOMALY, NULL, SIZE_BITS, 0},
    {"bytesused 2^32 - 1", {VIDIOC_DQBUF, used_4g, NULL}, LIE_ANY, LIE_ANOMALY, NULL, SIZE_BITS, 0},
    {"data_offset behind the payload", {VIDIOC_DQBUF, offset_behind, NULL}, LIE_PLANES, LIE_ANOMALY, NULL, SIZE_BITS, 0},
    {"data_offset 2^32 - 1", {VIDIOC_DQBUF, offset_4g, NULL}, LIE_PLANES, LIE_ANOMALY, NULL, SIZE_BITS, 0},
    {"index one too large", {VIDIOC_DQBUF, index_beyond, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(BAD_INDEX), 0},
    {"index 2^32 - 1", {VIDIOC_DQBUF, index_4g, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(BAD_INDEX), 0},
    {"index of another buffer", {VIDIOC_DQBUF, index_of_another, NULL}, LIE_ANY, LIE_ANOMALY, NULL, LOST_BITS, EINVAL},
    {"index always 0", {VIDIOC_DQBUF, index_always_0, NULL}, LIE_ANY, LIE_ANOMALY, NULL, LOST_BITS, EINVAL},
    {"another type", {VIDIOC_DQBUF, other_type, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(BAD_BUFFER), 0},
    {"another memory", {VIDIOC_DQBUF, other_memory, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(BAD_BUFFER), 0},
    {"0 planes dequeued", {VIDIOC_DQBUF, no_planes, NULL}, LIE_PLANES, LIE_ANOMALY, NULL, BIT(BAD_BUFFER), 0},
    {"2^32 - 1 planes dequeued", {VIDIOC_DQBUF, many_planes, NULL}, LIE_PLANES, LIE_ANOMALY, NULL, BIT(BAD_BUFFER), 0},
    {"planes nowhere", {VIDIOC_DQBUF, planes_nowhere, NULL}, LIE_PLANES, LIE_HARMLESS, NULL, 0, 0},
    {"field garbage", {VIDIOC_DQBUF, field_garbage, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"all flags", {VIDIOC_DQBUF, flags_garbage, NULL}, LIE_ANY, LIE_BAD_FRAME, NULL, 0, 0},
    {"timestamp 0", {VIDIOC_DQBUF, time_is_0, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(TIME_FOREIGN_CLOCK), 0},
    {"timestamp frozen", {VIDIOC_DQBUF, time_frozen, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(TIME_FROZEN), 0},
    {"timestamp backward", {VIDIOC_DQBUF, time_backward, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(TIME_BACKWARD), 0},
    {"timestamp of the day", {VIDIOC_DQBUF, time_of_day, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(TIME_FOREIGN_CLOCK), 0},
    {"seconds at the end", {VIDIOC_DQBUF, time_endless, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(TIME_FOREIGN_CLOCK), 0},
    {"seconds before all", {VIDIOC_DQBUF, time_before_all, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(TIME_FOREIGN_CLOCK), 0},
    {"microseconds of hours", {VIDIOC_DQBUF, time_in_parts, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(TIME_FOREIGN_CLOCK), 0},
    {"sequence 0", {VIDIOC_DQBUF, sequence_is_0, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(SEQUENCE_FROZEN), 0},
    {"sequence down", {VIDIOC_DQBUF, sequence_down, NULL}, LIE_ANY, LIE_ANOMALY, NULL, BIT(SEQUENCE_RESET), 0},
    {"sequence anywhere", {VIDIOC_DQBUF, sequence_wild, NULL}, LIE_ANY, LIE_ANOMALY, NULL, WILD_BITS, 0},
    /* calls that fail */
    {"EINTR for ever", {0, NULL, interrupted}, LIE_ANY, LIE_ENDS, "Interrupted system call", 0, EINTR},
    {"EINTR seven times of eight", {0, NULL, interrupted_often}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"ready and EAGAIN for ever", {VIDIOC_DQBUF, NULL, nothing_ready}, LIE_ANY, LIE_ANOMALY, NULL, BIT(FALSE_READY), ETIMEDOUT},
    {"DQBUF EIO", {VIDIOC_DQBUF, NULL, fails_io}, LIE_ANY, LIE_ENDS, NULL, 0, EIO},
    {"DQBUF EINVAL", {VIDIOC_DQBUF, NULL, fails_invalid}, LIE_ANY, LIE_ENDS, NULL, 0, EINVAL},
    {"DQBUF EPIPE", {VIDIOC_DQBUF, NULL, fails_pipe}, LIE_ANY, LIE_ENDS, NULL, 0, EPIPE},
    {"QBUF EINVAL", {VIDIOC_QBUF, NULL, fails_invalid}, LIE_OURS, LIE_ANOMALY, "VIDIOC_QBUF(", BIT(QUEUE_REFUSED), EINVAL},
    {"QBUF EINVAL, mapped", {VIDIOC_QBUF, NULL, fails_invalid}, LIE_MAPPED, LIE_ANOMALY, "takes no buffer", BIT(QUEUE_REFUSED), EINVAL},
    {"STREAMON EPIPE", {VIDIOC_STREAMON, NULL, fails_pipe}, LIE_ANY, LIE_REFUSED, "VIDIOC_STREAMON", 0, 0},
    {"poll hangs up", {0, NULL, hangs_up}, LIE_ANY, LIE_ENDS, NULL, 0, EIO},
    {"events without end", {0, NULL, events_for_ever}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"DQEVENT fails", {VIDIOC_DQEVENT, NULL, fails_io}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    /* buffers */
    {"0 buffers granted", {VIDIOC_REQBUFS, grants_none, NULL}, LIE_ANY, LIE_REFUSED, "granted 0 buffers", 0, 0},
    {"2^32 - 1 buffers granted", {VIDIOC_REQBUFS, grants_4g, NULL}, LIE_ANY, LIE_REFUSED, "granted 4294967295 buffers", 0, 0},
    {"1 buffer granted, there are more", {VIDIOC_REQBUFS, grants_one, NULL}, LIE_OURS, LIE_HARMLESS, NULL, 0, 0},
    {"more granted than there are, mapped", {VIDIOC_REQBUFS, grants_more, NULL}, LIE_MAPPED, LIE_REFUSED, "VIDIOC_QUERYBUF(4)", 0, 0},
    {"more granted than there are", {VIDIOC_REQBUFS, grants_more, NULL}, LIE_OURS, LIE_ANOMALY, NULL, BIT(QUEUE_REFUSED), EINVAL},
    {"all buffer capabilities", {VIDIOC_REQBUFS, capabilities_wild, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"buffer of 0 bytes", {VIDIOC_QUERYBUF, length_0, NULL}, LIE_MAPPED, LIE_REFUSED, "0 bytes, less than", 0, 0},
    {"buffer of a page", {VIDIOC_QUERYBUF, length_short, NULL}, LIE_MAPPED, LIE_REFUSED, "4096 bytes, less than", 0, 0},
    {"buffer of 4 GiB", {VIDIOC_QUERYBUF, length_4g, NULL}, LIE_MAPPED, LIE_REFUSED, "mmap of buffer 0, 4294967296 bytes", 0, 0},
    {"buffer at no offset", {VIDIOC_QUERYBUF, offset_wild, NULL}, LIE_MAPPED, LIE_REFUSED, "mmap of buffer 0", 0, 0},
    {"QUERYBUF fails", {VIDIOC_QUERYBUF, NULL, fails_invalid}, LIE_MAPPED, LIE_REFUSED, "VIDIOC_QUERYBUF(0)", 0, 0},
    /* formats */
    {"sizeimage 0", {VIDIOC_S_FMT, image_0, NULL}, LIE_ANY, LIE_REFUSED, "takes 0 bytes, but", 0, 0},
    {"sizeimage a page", {VIDIOC_S_FMT, image_short, NULL}, LIE_ANY, LIE_REFUSED, "takes 4096 bytes, but", 0, 0},
    {"sizeimage 2^32 - 1", {VIDIOC_S_FMT, image_4g, NULL}, LIE_ANY, LIE_REFUSED, "takes 4294967295 bytes, far more", 0, 0},
    {"bytesperline 2", {VIDIOC_S_FMT, line_short, NULL}, LIE_ANY, LIE_REFUSED, "takes 2 bytes; it must be", 0, 0},
    {"bytesperline 2^32 - 1", {VIDIOC_S_FMT, line_4g, NULL}, LIE_ANY, LIE_REFUSED, "takes 4294967295 bytes; it must", 0, 0},
    {"bytesperline 128 KiB", {VIDIOC_S_FMT, line_128k, NULL}, LIE_ANY, LIE_REFUSED, "takes 131072 bytes; it must", 0, 0},
    {"0 planes", {VIDIOC_S_FMT, planes_0, NULL}, LIE_PLANES, LIE_REFUSED, "in 0 buffers instead of", 0, 0},
    {"255 planes", {VIDIOC_S_FMT, planes_255, NULL}, LIE_PLANES, LIE_REFUSED, "in 0 buffers instead of", 0, 0},
    {"size 0x0", {VIDIOC_S_FMT, size_0, NULL}, LIE_ANY, LIE_REFUSED, "0x0 instead", 0, 0},
    {"size 2^32 - 1", {VIDIOC_S_FMT, size_4g, NULL}, LIE_ANY, LIE_REFUSED, "4294967295x4294967295 instead", 0, 0},
    {"another pixel format", {VIDIOC_S_FMT, other_format, NULL}, LIE_ANY, LIE_REFUSED, "instead; it offers", 0, 0},
    {"fields garbage", {VIDIOC_S_FMT, other_fields, NULL}, LIE_ANY, LIE_REFUSED, "single fields", 0, 0},
    {"size changed behind S_FMT", {VIDIOC_G_FMT, size_other, NULL}, LIE_ANY, LIE_REFUSED, "does another program set it", 0, 0},
    {"pixel format changed behind S_FMT", {VIDIOC_G_FMT, other_format, NULL}, LIE_ANY, LIE_REFUSED, "another program", 0, 0},
    {"sizeimage changed behind S_FMT", {VIDIOC_G_FMT, image_short, NULL}, LIE_ANY, LIE_REFUSED, "takes 4096 bytes, but", 0, 0},
    {"G_FMT fails", {VIDIOC_G_FMT, NULL, fails_io}, LIE_ANY, LIE_REFUSED, "VIDIOC_G_FMT", 0, 0},
    /* lists and texts */
    {"lists without end", {0, lists_for_ever, NULL}, LIE_ANY, LIE_REFUSED, "does not offer", 0, 0},
    {"names of any bytes", {VIDIOC_QUERYCAP, names_wild, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"captures nothing", {VIDIOC_QUERYCAP, captures_nothing, NULL}, LIE_ANY, LIE_REFUSED, "does not capture video", 0, 0},
    {"input 2^32 - 1", {VIDIOC_G_INPUT, input_wild, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    /* rates and controls */
    {"interval 0/0", {0, rate_0_0, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"interval 1/0", {0, rate_n_0, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"2^32 - 1 frames a second", {0, rate_4g, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"2^32 - 1 seconds a frame", {0, rate_never, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"range inverted", {VIDIOC_QUERY_EXT_CTRL, range_inverted, NULL}, LIE_ANY, LIE_REFUSED, "go from 100 to -100", 0, 0},
    {"step 0", {VIDIOC_QUERY_EXT_CTRL, step_0, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"range of all numbers", {VIDIOC_QUERY_EXT_CTRL, range_endless, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
    {"menu of all numbers", {VIDIOC_QUERY_EXT_CTRL, menu_endless, NULL}, LIE_ANY, LIE_REFUSED, "no such entry", 0, 0},
    {"menu at the end of numbers", {VIDIOC_QUERY_EXT_CTRL, menu_at_the_end, NULL}, LIE_ANY, LIE_REFUSED, "no such entry", 0, 0},
    {"control of any bytes", {VIDIOC_QUERY_EXT_CTRL, control_wild, NULL}, LIE_ANY, LIE_REFUSED, "no control gain", 0, 0},
    {"controls in circles", {VIDIOC_QUERY_EXT_CTRL, NULL, controls_in_circles}, LIE_ANY, LIE_REFUSED, "there are: brightness", 0, 0},
    {"minimum of 2^31 - 1 buffers", {VIDIOC_G_CTRL, minimum_wild, NULL}, LIE_ANY, LIE_HARMLESS, NULL, 0, 0},
};
const unsigned v4l2_lie_count = sizeof(v4l2_lies) / sizeof(v4l2_lies[0]);
