/* SPDX-License-Identifier: Apache-2.0 */
#include "support/fake_v4l2.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { FAKE_FD = 4711, PAGE = 4096 };

static bool is_mp(const struct fake_v4l2 *fake)
{
    return fake->capabilities & V4L2_CAP_VIDEO_CAPTURE_MPLANE;
}

static uint32_t buf_type(const struct fake_v4l2 *fake)
{
    return is_mp(fake) ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE;
}

static unsigned memory_planes(const struct fake_v4l2 *fake)
{
    return is_mp(fake) ? fake->format.fmt.pix_mp.num_planes : 1;
}

static uint32_t sizeimage(const struct fake_v4l2 *fake, unsigned p)
{
    return is_mp(fake) ? fake->format.fmt.pix_mp.plane_fmt[p].sizeimage : fake->format.fmt.pix.sizeimage;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static bool offers(const struct fake_v4l2 *fake, uint32_t fourcc)
{
    for (unsigned i = 0; i < FAKE_MAX_FORMATS; i++)
        if (fake->fourcc[i] && fake->fourcc[i] == fourcc)
            return true;
    return false;
}

/* The nearest the device has, as a driver's try_fmt does it. */
static void adjust(struct fake_v4l2 *fake, uint32_t *fourcc, uint32_t *width, uint32_t *height)
{
    bool known = fake->stepwise;

    if (!offers(fake, *fourcc))
        *fourcc = fake->fourcc[0];
    for (unsigned i = 0; i < FAKE_MAX_SIZES && fake->width[i]; i++)
        known |= fake->width[i] == *width && fake->height[i] == *height;
    if (!known) {
        *width = fake->width[0];
        *height = fake->height[0];
    }
}

static void set_format(struct fake_v4l2 *fake, struct v4l2_format *format)
{
    struct v4l2_pix_format_mplane *mp = &format->fmt.pix_mp;
    struct v4l2_pix_format *pix = &format->fmt.pix;
    uint32_t fourcc = is_mp(fake) ? mp->pixelformat : pix->pixelformat;
    uint32_t width = is_mp(fake) ? mp->width : pix->width;
    uint32_t height = is_mp(fake) ? mp->height : pix->height;
    const struct sl_pixel_format *pixel;
    struct sl_video_format shape = {0};

    adjust(fake, &fourcc, &width, &height);
    pixel = sl_pixel_format_by_v4l2(fourcc);
    if (sl_video_format_tight(&shape, pixel, width, height) < 0 ||
        sl_video_format_padded(&shape, pixel, width, height, shape.bytesperline[0] + fake->padding, height) < 0)
        ck_abort_msg("a test gave the fake an impossible format");
    memset(&format->fmt, 0, sizeof(format->fmt));
    if (!is_mp(fake)) {
        pix->width = width;
        pix->height = height;
        pix->pixelformat = fourcc;
        pix->field = fake->field;
        pix->bytesperline = shape.bytesperline[0];
        pix->sizeimage = shape.frame_bytes;
        pix->colorspace = V4L2_COLORSPACE_REC709;
    } else {
        bool split = fourcc != pixel->v4l2_fourcc;

        mp->width = width;
        mp->height = height;
        mp->pixelformat = fourcc;
        mp->field = fake->field;
        mp->colorspace = V4L2_COLORSPACE_SRGB;
        mp->num_planes = split ? pixel->planes : 1;
        for (unsigned p = 0; p < mp->num_planes; p++) {
            mp->plane_fmt[p].bytesperline = shape.bytesperline[p];
            mp->plane_fmt[p].sizeimage = split ? shape.bytesperline[p] * shape.lines[p] : shape.frame_bytes;
        }
    }
    fake->format = *format;
}

static int enum_format(struct fake_v4l2 *fake, struct v4l2_fmtdesc *desc)
{
    if (desc->type != buf_type(fake) || desc->index >= FAKE_MAX_FORMATS || !fake->fourcc[desc->index])
        return -EINVAL;
    desc->pixelformat = fake->fourcc[desc->index];
    strcpy((char *)desc->description, "a format");
    return 0;
}

static int enum_size(struct fake_v4l2 *fake, struct v4l2_frmsizeenum *size)
{
    if (!offers(fake, size->pixel_format) || size->index >= FAKE_MAX_SIZES || !fake->width[size->index])
        return -EINVAL;
    if (fake->stepwise) {
        if (size->index)
            return -EINVAL;
        size->type = V4L2_FRMSIZE_TYPE_STEPWISE;
        size->stepwise = (struct v4l2_frmsize_stepwise){16, 4096, 2, 16, 2160, 2};
        return 0;
    }
    size->type = V4L2_FRMSIZE_TYPE_DISCRETE;
    size->discrete.width = fake->width[size->index];
    size->discrete.height = fake->height[size->index];
    return 0;
}

static int enum_interval(struct fake_v4l2 *fake, struct v4l2_frmivalenum *interval)
{
    if (!fake->has_parm || interval->index > 1)
        return -EINVAL;
    interval->type = V4L2_FRMIVAL_TYPE_DISCRETE;
    interval->discrete = interval->index ? (struct v4l2_fract){1, 30} : fake->interval;
    return 0;
}

static int parm(struct fake_v4l2 *fake, struct v4l2_streamparm *p, bool set)
{
    const struct v4l2_fract *wish = &p->parm.capture.timeperframe;

    if (!fake->has_parm)
        return -ENOTTY;
    if (p->type != buf_type(fake))
        return -EINVAL;
    if (set && fake->can_set_parm && wish->denominator == 30u * wish->numerator)
        fake->interval = (struct v4l2_fract){1, 30};
    p->parm.capture.capability = fake->can_set_parm ? V4L2_CAP_TIMEPERFRAME : 0;
    p->parm.capture.timeperframe = fake->interval;
    return 0;
}

static int enum_input(struct fake_v4l2 *fake, struct v4l2_input *input)
{
    static const char *const names[] = {"Camera", "HDMI", "S-Video", "Tuner"};

    if (input->index >= fake->inputs)
        return -EINVAL;
    strcpy((char *)input->name, names[input->index]);
    input->capabilities = fake->input_capabilities[input->index];
    return 0;
}

static int set_input(struct fake_v4l2 *fake, const uint32_t *input)
{
    if (*input >= fake->inputs)
        return -EINVAL;
    fake->input = *input;
    return 0;
}

static void free_buffers(struct fake_v4l2 *fake)
{
    for (unsigned i = 0; i < fake->buffers; i++)
        for (unsigned p = 0; p < SL_MAX_PLANES; p++)
            if (fake->buffer[i].own[p])
                munmap(fake->buffer[i].own[p], whole_pages(fake->buffer[i].length[p]));
    memset(fake->buffer, 0, sizeof(fake->buffer));
    fake->buffers = fake->memory = fake->fifo_count = fake->done_count = 0;
}

static void make_buffers(struct fake_v4l2 *fake)
{
    for (unsigned i = 0; i < fake->buffers; i++)
        for (unsigned p = 0; p < memory_planes(fake); p++) {
            struct fake_buffer *buffer = &fake->buffer[i];

            buffer->length[p] = sizeimage(fake, p);
            if (fake->memory == V4L2_MEMORY_MMAP)
                buffer->own[p] = buffer->target[p] =
                    mmap(NULL, whole_pages(buffer->length[p]), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        }
}

static int request_buffers(struct fake_v4l2 *fake, struct v4l2_requestbuffers *req)
{
    if (req->type != buf_type(fake) || req->memory > V4L2_MEMORY_DMABUF || !(fake->memories >> req->memory & 1))
        return -EINVAL;
    if (!fake->old_kernel) {
        req->capabilities = fake->memories >> V4L2_MEMORY_MMAP & 1 ? V4L2_BUF_CAP_SUPPORTS_MMAP : 0;
        req->capabilities |= fake->memories >> V4L2_MEMORY_USERPTR & 1 ? V4L2_BUF_CAP_SUPPORTS_USERPTR : 0;
        req->capabilities |= fake->memories >> V4L2_MEMORY_DMABUF & 1 ? V4L2_BUF_CAP_SUPPORTS_DMABUF : 0;
    }
    if (fake->streaming || fake->mapped)
        return -EBUSY;
    free_buffers(fake);
    if (!req->count)
        return 0;
    req->count = req->count < fake->grant_max ? req->count : fake->grant_max;
    fake->buffers = req->count;
    fake->memory = req->memory;
    make_buffers(fake);
    return 0;
}

static bool good_buffer(struct fake_v4l2 *fake, const struct v4l2_buffer *buffer)
{
    return buffer->type == buf_type(fake) && buffer->index < fake->buffers &&
           (!is_mp(fake) || (buffer->m.planes && buffer->length >= memory_planes(fake)));
}

static int query_buffer(struct fake_v4l2 *fake, struct v4l2_buffer *buffer)
{
    if (!good_buffer(fake, buffer))
        return -EINVAL;
    buffer->flags = fake->timestamp_flags;
    if (!is_mp(fake)) {
        buffer->length = fake->buffer[buffer->index].length[0];
        buffer->m.offset = buffer->index * 16 + 1;
        return 0;
    }
    for (unsigned p = 0; p < memory_planes(fake); p++) {
        buffer->m.planes[p].length = fake->buffer[buffer->index].length[p];
        buffer->m.planes[p].m.mem_offset = buffer->index * 16 + p + 1;
    }
    return 0;
}

static int take_plane(struct fake_v4l2 *fake, struct fake_buffer *mine, unsigned p, uint32_t length, unsigned long userptr, int fd)
{
    if (fake->memory == V4L2_MEMORY_MMAP)
        return 0;
    if (length < mine->length[p])
        return -EINVAL;
    if (fake->contiguous_only)
        return -EFAULT;
    if (fake->memory == V4L2_MEMORY_DMABUF) {
        mine->dmabuf_fd = fd;
        return fd < 0 ? -EBADF : 0;
    }
    mine->target[p] = (uint8_t *)userptr;
    return p == 0 && userptr % PAGE ? -EINVAL : 0;
}

static int queue_buffer(struct fake_v4l2 *fake, struct v4l2_buffer *buffer)
{
    struct fake_buffer *mine;
    int ret = 0;

    if (!good_buffer(fake, buffer) || buffer->memory != fake->memory)
        return -EINVAL;
    mine = &fake->buffer[buffer->index];
    if (mine->queued)
        return -EINVAL;
    for (unsigned p = 0; p < memory_planes(fake) && !ret; p++)
        ret = is_mp(fake) ? take_plane(fake, mine, p, buffer->m.planes[p].length, buffer->m.planes[p].m.userptr, buffer->m.planes[p].m.fd)
                          : take_plane(fake, mine, p, buffer->length, buffer->m.userptr, buffer->m.fd);
    if (ret)
        return ret;
    mine->queued = true;
    fake->fifo[fake->fifo_count++] = buffer->index;
    return 0;
}

static void quiet(struct fake_v4l2 *fake)
{
    char bytes[FAKE_MAX_BUFFERS];

    while (recv(fake->bell[0], bytes, sizeof(bytes), 0) > 0)
        ;
    if (fake->event.type) /* its byte went with the others */
        send(fake->bell[1], "", 1, MSG_OOB | MSG_NOSIGNAL);
}

static void answer(struct fake_v4l2 *fake, const struct fake_done *done, struct v4l2_buffer *buffer)
{
    buffer->index = done->index;
    buffer->sequence = done->sequence;
    buffer->flags = done->flags | fake->timestamp_flags;
    buffer->timestamp.tv_sec = done->time_ns / SL_NS_PER_S;
    buffer->timestamp.tv_usec = done->time_ns % SL_NS_PER_S / 1000;
    buffer->bytesused = is_mp(fake) ? 0 : done->bytesused[0];
    for (unsigned p = 0; is_mp(fake) && p < memory_planes(fake); p++) {
        buffer->m.planes[p].bytesused = done->bytesused[p];
        buffer->m.planes[p].data_offset = done->data_offset[p];
    }
}

static int dequeue_buffer(struct fake_v4l2 *fake, struct v4l2_buffer *buffer)
{
    struct fake_done done;

    if (buffer->type != buf_type(fake) || buffer->memory != fake->memory || !fake->streaming)
        return -EINVAL;
    if (is_mp(fake) && (!buffer->m.planes || buffer->length < memory_planes(fake)))
        return -EINVAL;
    if (!fake->done_count)
        return -EAGAIN;
    done = fake->done[0];
    memmove(fake->done, fake->done + 1, --fake->done_count * sizeof(done));
    if (!fake->done_count)
        quiet(fake);
    if (done.index < fake->buffers)
        fake->buffer[done.index].queued = false;
    answer(fake, &done, buffer);
    return 0;
}

static int stream(struct fake_v4l2 *fake, bool on)
{
    if (on && !fake->buffers)
        return -EINVAL;
    fake->streaming = on;
    if (on)
        return 0;
    quiet(fake);
    fake->fifo_count = fake->done_count = 0;
    for (unsigned i = 0; i < fake->buffers; i++)
        fake->buffer[i].queued = false;
    return 0;
}

static int take_event(struct fake_v4l2 *fake, struct v4l2_event *event)
{
    char urgent;

    if (!fake->event.type)
        return -ENOENT;
    *event = fake->event;
    fake->event.type = 0;
    recv(fake->bell[0], &urgent, 1, MSG_OOB);
    if (!fake->done_count)
        quiet(fake);
    /* One that nobody subscribed to is not even queued. */
    return event->type == V4L2_EVENT_SOURCE_CHANGE && event->id != fake->subscribed.id ? -ENOENT : 0;
}

static int query_capabilities(struct fake_v4l2 *fake, struct v4l2_capability *cap)
{
    strcpy((char *)cap->driver, "fake");
    strcpy((char *)cap->card, "Fake camera");
    snprintf((char *)cap->bus_info, sizeof(cap->bus_info), "%s", fake->bus);
    cap->device_caps = fake->capabilities;
    cap->capabilities = fake->capabilities | V4L2_CAP_DEVICE_CAPS;
    return 0;
}

static int dv_timings(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    struct v4l2_enum_dv_timings *entry = arg;

    if (fake->input >= fake->inputs || !(fake->input_capabilities[fake->input] & V4L2_IN_CAP_DV_TIMINGS))
        return -ENODATA;
    switch (request) {
    case VIDIOC_QUERY_DV_TIMINGS:
        *(struct v4l2_dv_timings *)arg = fake->signal;
        return 0;
    case VIDIOC_S_DV_TIMINGS:
        fake->current_timings = *(struct v4l2_dv_timings *)arg;
        fake->width[0] = fake->current_timings.bt.width;
        fake->height[0] = fake->current_timings.bt.height;
        fake->width[1] = 0;
        return 0;
    case VIDIOC_G_DV_TIMINGS:
        *(struct v4l2_dv_timings *)arg = fake->current_timings;
        return 0;
    default:
        if (entry->index >= fake->timings_count)
            return -EINVAL;
        entry->timings = fake->timings[entry->index];
        return 0;
    }
}

static int set_fmt(struct fake_v4l2 *fake, struct v4l2_format *format)
{
    if (format->type != buf_type(fake))
        return -EINVAL;
    if (fake->memory)
        return -EBUSY;
    set_format(fake, format);
    return 0;
}

static int negotiate(struct fake_v4l2 *fake, unsigned long req, void *arg)
{
    switch (req) {
    case VIDIOC_QUERYCAP:
        return query_capabilities(fake, arg);
    case VIDIOC_ENUM_FMT:
        return enum_format(fake, arg);
    case VIDIOC_ENUM_FRAMESIZES:
        return enum_size(fake, arg);
    case VIDIOC_ENUM_FRAMEINTERVALS:
        return enum_interval(fake, arg);
    case VIDIOC_G_FMT:
        *(struct v4l2_format *)arg = fake->format;
        return 0;
    case VIDIOC_S_FMT:
        return set_fmt(fake, arg);
    case VIDIOC_G_PARM:
    case VIDIOC_S_PARM:
        return parm(fake, arg, req == VIDIOC_S_PARM);
    case VIDIOC_ENUMINPUT:
        return enum_input(fake, arg);
    case VIDIOC_G_INPUT:
        *(uint32_t *)arg = fake->input;
        return fake->inputs ? 0 : -ENOTTY;
    case VIDIOC_S_INPUT:
        return set_input(fake, arg);
    case VIDIOC_QUERY_DV_TIMINGS:
    case VIDIOC_S_DV_TIMINGS:
    case VIDIOC_G_DV_TIMINGS:
    case VIDIOC_ENUM_DV_TIMINGS:
        return dv_timings(fake, req, arg);
    default:
        return fake_control_ioctl(fake, req, arg);
    }
}

static int dispatch(struct fake_v4l2 *fake, unsigned long req, void *arg)
{
    switch (req) {
    case VIDIOC_REQBUFS:
        return request_buffers(fake, arg);
    case VIDIOC_QUERYBUF:
        return query_buffer(fake, arg);
    case VIDIOC_QBUF:
        return queue_buffer(fake, arg);
    case VIDIOC_DQBUF:
        return dequeue_buffer(fake, arg);
    case VIDIOC_STREAMON:
    case VIDIOC_STREAMOFF:
        return stream(fake, req == VIDIOC_STREAMON);
    case VIDIOC_SUBSCRIBE_EVENT:
        fake->subscribed = *(struct v4l2_event_subscription *)arg;
        return 0;
    case VIDIOC_DQEVENT:
        return take_event(fake, arg);
    default:
        return negotiate(fake, req, arg);
    }
}

static int scripted_failure(struct fake_v4l2 *fake, unsigned long req)
{
    for (unsigned i = 0; i < FAKE_MAX_FAILS; i++) {
        struct fake_fail *fail = &fake->fail[i];

        if (fail->request != req || !fail->times)
            continue;
        if (fail->skip) {
            fail->skip--;
            continue;
        }
        fail->times--;
        return -fail->error;
    }
    return 0;
}

static void lock(struct fake_v4l2 *fake)
{
    if (fake->guard)
        pthread_mutex_lock(fake->guard);
}

static void unlock(struct fake_v4l2 *fake)
{
    if (fake->guard)
        pthread_mutex_unlock(fake->guard);
}

static int honest_ioctl(struct fake_v4l2 *fake, unsigned long req, void *arg)
{
    int ret = scripted_failure(fake, req);

    if (fake->streaming) {
        fake->calls_qbuf += req == VIDIOC_QBUF;
        fake->calls_dqbuf += req == VIDIOC_DQBUF;
        fake->calls_other += req != VIDIOC_QBUF && req != VIDIOC_DQBUF;
    }
    if (!ret)
        ret = dispatch(fake, req, arg);
    if (!ret && fake->hook)
        fake->hook(fake, req, arg);
    return ret;
}

static int told_ioctl(struct fake_v4l2 *fake, unsigned long req, void *arg)
{
    const struct fake_lie *lie = fake->lie && (!fake->lie->request || fake->lie->request == req) ? fake->lie : NULL;
    int ret = 1;

    if (lie) {
        fake->told++;
        ret = lie->instead ? lie->instead(fake, req, arg) : 1;
    }
    if (ret == 1)
        ret = honest_ioctl(fake, req, arg);
    return lie && lie->tell ? lie->tell(fake, req, arg, ret) : ret;
}

static int fake_ioctl(void *self, int fd, unsigned long req, void *arg)
{
    struct fake_v4l2 *fake = self;
    int ret;

    if (fd != FAKE_FD)
        return -EBADF;
    lock(fake);
    ret = told_ioctl(fake, req, arg);
    unlock(fake);
    return ret;
}

static int fake_open(void *self, const char *path)
{
    struct fake_v4l2 *fake = self;

    if (strcmp(path, fake->node))
        return -ENOENT;
    fake->open_count++;
    return FAKE_FD;
}

static void fake_close(void *self, int fd)
{
    struct fake_v4l2 *fake = self;

    if (fd == FAKE_FD)
        fake->open_count--;
}

static int fake_mmap(void *self, int fd, size_t bytes, uint32_t offset, void **out)
{
    struct fake_v4l2 *fake = self;
    unsigned index = (offset - 1) / 16, p = (offset - 1) % 16;
    int ret = scripted_failure(fake, 0);

    if (ret < 0)
        return ret;
    if (fd != FAKE_FD || index >= fake->buffers || p >= memory_planes(fake) || !fake->buffer[index].own[p] ||
        bytes > whole_pages(fake->buffer[index].length[p]))
        return -EINVAL;
    fake->mapped++;
    *out = fake->buffer[index].own[p];
    return 0;
}

static void fake_munmap(void *self, void *start, size_t bytes)
{
    struct fake_v4l2 *fake = self;

    if (start && bytes)
        fake->mapped--;
}

static int fake_node(void *self, unsigned n, char *path, size_t bytes)
{
    const struct fake_v4l2 *fake = self;

    if (n > 0)
        return -ENOENT;
    snprintf(path, bytes, "%s", fake->node);
    return 0;
}

static int fake_node_index(void *self, const char *path)
{
    (void)self;
    (void)path;
    return -ENOENT;
}

static int fake_poll_fd(void *self, int fd)
{
    return fd == FAKE_FD ? ((struct fake_v4l2 *)self)->bell[0] : -1;
}

void fake_init(struct fake_v4l2 *fake)
{
    static const uint32_t fourcc[] = {V4L2_PIX_FMT_YUYV, V4L2_PIX_FMT_UYVY, V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_GREY};
    static const uint32_t width[] = {640, 1280, 1920}, height[] = {480, 720, 1080};

    memset(fake, 0, sizeof(*fake));
    fake->ops = (struct sl_v4l2_ops){.self = fake,
                                     .open = fake_open,
                                     .ioctl = fake_ioctl,
                                     .mmap = fake_mmap,
                                     .munmap = fake_munmap,
                                     .poll_fd = fake_poll_fd,
                                     .close = fake_close,
                                     .node = fake_node,
                                     .node_index = fake_node_index};
    strcpy(fake->node, "/dev/fake");
    strcpy(fake->bus, "platform:fake.0");
    fake->capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
    fake->memories = 1 << V4L2_MEMORY_MMAP | 1 << V4L2_MEMORY_USERPTR | 1 << V4L2_MEMORY_DMABUF;
    memcpy(fake->fourcc, fourcc, sizeof(fourcc));
    memcpy(fake->width, width, sizeof(width));
    memcpy(fake->height, height, sizeof(height));
    fake->field = V4L2_FIELD_NONE;
    fake->has_parm = fake->can_set_parm = true;
    fake->interval = (struct v4l2_fract){1, 60};
    fake->grant_max = 8;
    fake->timestamp_flags = V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fake->bell), 0);
    fake->format.type = buf_type(fake);
    set_format(fake, &fake->format);
}

void fake_init_multiplanar(struct fake_v4l2 *fake)
{
    fake_init(fake);
    fake->capabilities = V4L2_CAP_VIDEO_CAPTURE_MPLANE | V4L2_CAP_STREAMING;
    fake->fourcc[3] = V4L2_PIX_FMT_NV12M;
    fake->fourcc[4] = V4L2_PIX_FMT_NV16M;
    fake->format = (struct v4l2_format){.type = buf_type(fake)};
    set_format(fake, &fake->format);
}

struct v4l2_dv_timings fake_timings(uint32_t width, uint32_t height, bool interlaced, uint32_t total_width, uint32_t total_height,
                                    uint64_t pixelclock, uint32_t standards, uint32_t flags)
{
    struct v4l2_dv_timings t = {.type = V4L2_DV_BT_656_1120};

    t.bt.width = width;
    t.bt.height = height;
    t.bt.interlaced = interlaced;
    t.bt.pixelclock = pixelclock;
    t.bt.hfrontporch = total_width - width;
    t.bt.vfrontporch = total_height - height;
    t.bt.standards = standards;
    t.bt.flags = flags;
    return t;
}

void fake_init_hdmi(struct fake_v4l2 *fake)
{
    fake_init(fake);
    fake->inputs = 2;
    fake->input_capabilities[1] = V4L2_IN_CAP_DV_TIMINGS;
    fake->timings[0] = fake_timings(640, 480, false, 800, 525, 25175000, V4L2_DV_BT_STD_DMT | V4L2_DV_BT_STD_CEA861, 0);
    fake->timings[1] = fake_timings(1920, 1080, false, 2000, 1111, 133320000, V4L2_DV_BT_STD_CVT, 0);
    fake->timings[2] = fake_timings(1920, 1080, false, 2200, 1125, 148500000, V4L2_DV_BT_STD_CEA861, V4L2_DV_FL_CAN_REDUCE_FPS);
    fake->timings[3] = fake_timings(1920, 1080, true, 2200, 1125, 74250000, V4L2_DV_BT_STD_CEA861, 0);
    fake->timings_count = 4;
    fake->signal = fake->timings[2];
    fake->current_timings = fake->timings[0];
}

void fake_fail_at(struct fake_v4l2 *fake, unsigned long request, int error, unsigned skip, unsigned times)
{
    for (unsigned i = 0; i < FAKE_MAX_FAILS; i++)
        if (!fake->fail[i].times) {
            fake->fail[i] = (struct fake_fail){request, error, skip, times};
            return;
        }
    ck_abort_msg("too many scripted failures");
}

static struct fake_done *add_done(struct fake_v4l2 *fake, uint32_t index, int64_t time_ns)
{
    struct fake_done *done = &fake->done[fake->done_count];

    if (fake->done_count == FAKE_MAX_BUFFERS)
        ck_abort_msg("nobody takes the fake's buffers");
    *done = (struct fake_done){.index = index, .sequence = fake->sequence++, .time_ns = time_ns};
    for (unsigned p = 0; p < memory_planes(fake); p++)
        done->bytesused[p] = sizeimage(fake, p);
    if (!fake->done_count++)
        send(fake->bell[1], "", 1, MSG_NOSIGNAL);
    return done;
}

static struct fake_done *complete(struct fake_v4l2 *fake, int64_t time_ns)
{
    uint32_t index;

    if (!fake->fifo_count) {
        fake->sequence++;
        return NULL;
    }
    index = fake->fifo[0];
    memmove(fake->fifo, fake->fifo + 1, --fake->fifo_count * sizeof(fake->fifo[0]));
    for (unsigned p = 0; p < memory_planes(fake); p++)
        if (fake->buffer[index].target[p])
            memset(fake->buffer[index].target[p], (int)(fake->sequence + p), sizeimage(fake, p));
    return add_done(fake, index, time_ns);
}

struct fake_done *fake_complete(struct fake_v4l2 *fake, int64_t time_ns)
{
    struct fake_done *done;

    lock(fake);
    done = complete(fake, time_ns);
    unlock(fake);
    return done;
}

void fake_raise_event(struct fake_v4l2 *fake, const struct v4l2_event *event)
{
    lock(fake);
    fake->event = *event;
    send(fake->bell[1], "", 1, MSG_OOB | MSG_NOSIGNAL);
    unlock(fake);
}

void fake_complete_index(struct fake_v4l2 *fake, uint32_t index, int64_t time_ns)
{
    add_done(fake, index, time_ns);
}

void fake_check_clean(struct fake_v4l2 *fake)
{
    ck_assert_int_eq(fake->open_count, 0);
    ck_assert_int_eq(fake->mapped, 0);
    ck_assert_uint_eq(fake->buffers, 0);
    ck_assert(!fake->streaming);
}

void fake_fini(struct fake_v4l2 *fake)
{
    free_buffers(fake);
    close(fake->bell[0]);
    close(fake->bell[1]);
}
