/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A V4L2 device as a source.
 *
 * Thread: open, memory, prepare, begin, stop, close: control thread; queue, next, ready: agent thread.
 * Ownership: an index belongs to the driver between QBUF and DQBUF; `held[index]` is the frame in it, NULL when the index is ours.
 * With memory of ours any idle index takes any frame (more slots than indices); with the driver's own, index and slot are one.
 * Invariant: indices = idle + held.
 *
 * DQBUF is tried only after poll(2) has said that something is there: per frame poll, DQBUF, QBUF. A second DQBUF that answers
 * EAGAIN would be a fourth call for nothing.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/v4l2_buffer.h"

enum { MAX_EVENTS = 64 }; /* at a time; a driver that has ever more does not keep the frames waiting */

struct v4l2_source {
    struct sl_source source;
    struct sl_v4l2 dev;
    unsigned wanted;                /* buffers asked for */
    const struct sl_memory *mapped; /* the driver's own buffers, as long as they are out; not ours */
    struct sl_memory *mapped_inner; /* what sl_v4l2_map made; closed by mapped_close */
    struct sl_memory handed_out;    /* copy with our close */
    uint32_t memory;                /* V4L2_MEMORY_* while buffers are requested, else 0 */
    unsigned indices;
    unsigned idle_count;
    uint32_t *idle; /* stack */
    struct sl_frame **held;
    bool streaming;
    bool readable;      /* poll said so */
    bool poll_failed;   /* with POLLERR, POLLHUP or POLLNVAL */
    bool event_pending; /* poll said so */
    struct {            /* the last call of the running stream that failed, put into words later */
        unsigned long request;
        uint32_t index;
        unsigned queued;
        int error;
    } failure;
};

/* Returns `error`. Agent thread. */
static int failed(struct v4l2_source *vs, unsigned long request, uint32_t index, int error)
{
    vs->failure.request = request;
    vs->failure.index = index;
    vs->failure.queued = vs->indices - vs->idle_count;
    vs->failure.error = error;
    return error;
}

static void learn_stamps(struct v4l2_source *vs, uint32_t flags)
{
    vs->source.info.time_monotonic = (flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) == V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC;
    vs->source.info.time_soe = (flags & V4L2_BUF_FLAG_TSTAMP_SRC_MASK) == V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
}

static void query_stamps(struct v4l2_source *vs, uint32_t memory)
{
    struct sl_v4l2_buffer buffer;

    sl_v4l2_buffer_init(&vs->dev, &buffer, memory);
    if (sl_v4l2_ioctl(&vs->dev, VIDIOC_QUERYBUF, &buffer.buffer) >= 0)
        learn_stamps(vs, buffer.buffer.flags);
}

static void granted_indices(struct v4l2_source *vs, unsigned count)
{
    if (count != vs->wanted && count != vs->source.info.indices)
        sl_v4l2_note(&vs->dev, "%u buffers asked, %u granted", vs->wanted, count);
    vs->source.info.indices = count;
    vs->source.low_water = count / 2 > vs->source.info.min_indices ? count / 2 : vs->source.info.min_indices;
    snprintf(vs->source.info.granted, sizeof(vs->source.info.granted), "%s", vs->dev.granted);
}

static void close_handed_out(struct sl_memory *memory)
{
    struct v4l2_source *vs = memory->owner;

    sl_memory_close(vs->mapped_inner);
    vs->mapped_inner = NULL;
    vs->mapped = NULL;
}

static int source_memory(struct sl_source *source, struct sl_memory **out, struct sl_error *err)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;
    unsigned count = vs->wanted;
    int ret;

    if (vs->mapped)
        return sl_fail(err, -EBUSY, "v4l2 %s: its buffers are mapped already", vs->dev.path);
    ret = sl_v4l2_map(&vs->dev, &count, &vs->mapped_inner, err);
    if (ret < 0)
        return ret;
    ret = sl_v4l2_check_format(&vs->dev, err);
    if (ret < 0) {
        sl_memory_close(vs->mapped_inner);
        vs->mapped_inner = NULL;
        return ret;
    }
    vs->handed_out = *vs->mapped_inner;
    vs->handed_out.owner = vs;
    vs->handed_out.close = close_handed_out;
    vs->mapped = &vs->handed_out;
    granted_indices(vs, count);
    query_stamps(vs, V4L2_MEMORY_MMAP);
    *out = &vs->handed_out;
    return 0;
}

static int source_try_memory(struct sl_source *source, const struct sl_memory *memory, struct sl_error *err)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;

    if (memory == vs->mapped)
        return 0;
    if (vs->mapped)
        return sl_fail(err, -EBUSY, "v4l2 %s: its own buffers are mapped; close them first", vs->dev.path);
    return sl_v4l2_try_memory(&vs->dev, memory, err);
}

static int import(struct v4l2_source *vs, struct sl_pool *pool, unsigned *count, struct sl_error *err)
{
    const struct sl_slot *slot = sl_pool_frame(pool, 0)->slot;
    uint32_t memory = sl_v4l2_memory_of(slot);
    int ret;

    if (slot->data_bytes < vs->source.info.slot_bytes)
        return sl_fail(err, -EINVAL, "v4l2 %s: a slot holds %zu bytes, the driver needs %u", vs->dev.path, slot->data_bytes,
                       vs->source.info.slot_bytes);
    *count = vs->wanted;
    ret = sl_v4l2_request(&vs->dev, memory, count, err);
    if (ret < 0)
        return ret;
    vs->memory = memory; /* from here on stop() gives the buffers back */
    granted_indices(vs, *count);
    query_stamps(vs, memory);
    return sl_v4l2_check_format(&vs->dev, err);
}

static int source_prepare(struct sl_source *source, struct sl_pool *pool, struct sl_error *err)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;
    unsigned count = vs->source.info.indices;
    int ret = 0;

    if (!vs->mapped)
        ret = import(vs, pool, &count, err);
    else if (sl_pool_slots(pool) != vs->mapped->slots || sl_pool_frame(pool, 0)->slot != vs->mapped->slot)
        ret = sl_fail(err, -EINVAL, "v4l2 %s: the pool is not on the driver's buffers although they are mapped", vs->dev.path);
    else
        vs->memory = V4L2_MEMORY_MMAP;
    if (ret < 0)
        return ret;
    vs->idle = calloc(count, sizeof(*vs->idle));
    vs->held = calloc(count, sizeof(struct sl_frame *));
    if (!vs->idle || !vs->held)
        return sl_fail(err, -ENOMEM, "v4l2 %s: out of memory", vs->dev.path);
    vs->indices = count;
    for (vs->idle_count = 0; vs->idle_count < count; vs->idle_count++)
        vs->idle[vs->idle_count] = count - 1 - vs->idle_count;
    return 0;
}

static int source_begin(struct sl_source *source, int64_t now_ns, struct sl_error *err)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;
    unsigned queued = vs->indices - vs->idle_count;
    int type = (int)vs->dev.type;
    int ret;

    (void)now_ns;
    ret = sl_v4l2_ioctl(&vs->dev, VIDIOC_STREAMON, &type);
    if (ret < 0)
        return sl_v4l2_fail(&vs->dev, err, ret, NULL, "VIDIOC_STREAMON with %u buffers queued", queued);
    vs->streaming = true;
    vs->readable = vs->event_pending = false;
    return 0;
}

static unsigned source_room(const struct sl_source *source)
{
    return ((const struct v4l2_source *)source)->idle_count;
}

static int source_queue(struct sl_source *source, struct sl_frame *frame, int64_t now_ns)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;
    struct sl_v4l2_buffer buffer;
    uint32_t index;
    int ret;

    (void)now_ns;
    if (!vs->idle_count)
        return -EAGAIN;
    if (vs->memory == V4L2_MEMORY_MMAP)
        index = (uint32_t)(frame->slot - vs->mapped->slot);
    else
        index = vs->idle[vs->idle_count - 1];
    if (index >= vs->indices || vs->held[index])
        return -EINVAL;
    sl_v4l2_buffer_fill(&vs->dev, &buffer, vs->memory, index, frame->slot);
    ret = sl_v4l2_ioctl(&vs->dev, VIDIOC_QBUF, &buffer.buffer);
    if (ret < 0)
        return failed(vs, VIDIOC_QBUF, index, ret);
    vs->held[index] = frame;
    vs->idle_count--;
    return 0;
}

/* 0: nothing that matters; -ENOLINK: the source has another mode now, so the format is void. */
static int read_events(struct v4l2_source *vs)
{
    struct v4l2_event event = {0};
    int result = 0, count = 0;

    vs->event_pending = false;
    for (; count < MAX_EVENTS && sl_v4l2_ioctl(&vs->dev, VIDIOC_DQEVENT, &event) >= 0; count++)
        if (event.type == V4L2_EVENT_SOURCE_CHANGE && event.u.src_change.changes & V4L2_EVENT_SRC_CH_RESOLUTION)
            result = failed(vs, VIDIOC_DQEVENT, 0, -ENOLINK);
    vs->source.false_ready = count == 0 || count == MAX_EVENTS;
    return result;
}

/* The frame that was in this index, or NULL when the driver names one it does not have. */
static struct sl_frame *take_index(struct v4l2_source *vs, uint32_t index)
{
    struct sl_frame *frame;

    if (index >= vs->indices || !vs->held[index])
        return NULL;
    frame = vs->held[index];
    vs->held[index] = NULL;
    vs->idle[vs->idle_count++] = index;
    return frame;
}

static int source_next(struct sl_source *source, int64_t now_ns, struct sl_delivery *delivery)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;
    struct sl_v4l2_buffer buffer;
    int ret;

    (void)now_ns;
    vs->source.false_ready = false;
    ret = vs->event_pending ? read_events(vs) : 0;
    if (ret < 0 || !vs->readable)
        return ret;
    vs->readable = false;
    sl_v4l2_buffer_init(&vs->dev, &buffer, vs->memory);
    ret = sl_v4l2_ioctl(&vs->dev, VIDIOC_DQBUF, &buffer.buffer);
    vs->source.false_ready = ret == -EAGAIN;
    if (ret == -EAGAIN) /* buffers are queued, so an error with nothing to fetch is the device's; waiting on would spin */
        return vs->poll_failed ? failed(vs, 0, 0, -EIO) : 0;
    if (ret < 0)
        return failed(vs, VIDIOC_DQBUF, 0, ret);
    *delivery = (struct sl_delivery){
        .frame = take_index(vs, buffer.buffer.index),
        .time_ns = sl_v4l2_stamp_ns(&buffer.buffer),
        .contradiction = sl_v4l2_contradicts(&vs->dev, &buffer.buffer, vs->memory),
        .sequence = buffer.buffer.sequence,
        .flags = buffer.buffer.flags & V4L2_BUF_FLAG_ERROR ? SL_FRAME_DEVICE_ERROR : 0,
        .time_unusable = (buffer.buffer.flags & V4L2_BUF_FLAG_TIMESTAMP_MASK) != V4L2_BUF_FLAG_TIMESTAMP_MONOTONIC,
    };
    if (delivery->frame)
        sl_v4l2_buffer_payload(&vs->dev, &buffer, delivery->frame->slot, delivery);
    return 1;
}

static int64_t source_deadline_ns(const struct sl_source *source)
{
    (void)source;
    return INT64_MAX;
}

static void source_ready(struct sl_source *source, short revents)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;

    vs->event_pending = revents & POLLPRI;
    vs->poll_failed = revents & (POLLERR | POLLHUP | POLLNVAL);
    vs->readable = vs->poll_failed || revents & POLLIN; /* DQBUF says which error it is */
}

static int source_explain(const struct sl_source *source, int result, struct sl_error *err)
{
    const struct v4l2_source *vs = (const struct v4l2_source *)source;
    const char *memory = sl_v4l2_memory_name(vs->memory);

    if (vs->failure.error != result)
        return 0;
    switch (vs->failure.request) {
    case VIDIOC_QBUF:
        return sl_v4l2_fail(&vs->dev, err, result,
                            result == -EINVAL ? "the driver does not take this buffer; `sluice probe` says which memory it takes" : NULL,
                            "VIDIOC_QBUF(%s, buffer %u), %u of %u queued", memory, vs->failure.index, vs->failure.queued, vs->indices);
    case VIDIOC_DQBUF:
        return sl_v4l2_fail(&vs->dev, err, result, result == -EINVAL ? "the driver no longer streams; the kernel log may say why" : NULL,
                            "VIDIOC_DQBUF(%s), %u of %u queued", memory, vs->failure.queued, vs->indices);
    case VIDIOC_DQEVENT:
        return sl_v4l2_fail(&vs->dev, err, result, "the source has another mode now, or none", "V4L2_EVENT_SOURCE_CHANGE of input %u",
                            vs->dev.input);
    default:
        return sl_v4l2_fail(&vs->dev, err, result, NULL, "poll(2) reports an error, and no buffer is done");
    }
}

static void source_stop(struct sl_source *source)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;
    int type = (int)vs->dev.type;
    unsigned none = 0;

    /* neither can fail in a way that matters: what the device had is ours again, or the device has gone */
    if (vs->streaming || vs->memory)
        sl_v4l2_ioctl(&vs->dev, VIDIOC_STREAMOFF, &type);
    if (vs->memory && vs->memory != V4L2_MEMORY_MMAP)
        sl_v4l2_request(&vs->dev, vs->memory, &none, NULL);
    vs->streaming = vs->readable = vs->event_pending = false;
    vs->memory = 0;
    vs->indices = vs->idle_count = 0;
    free(vs->idle);
    free(vs->held);
    vs->idle = NULL;
    vs->held = NULL;
}

static void source_close(struct sl_source *source)
{
    struct v4l2_source *vs = (struct v4l2_source *)source;

    sl_v4l2_close(&vs->dev);
    free(vs->idle);
    free(vs->held);
    free(vs);
}

static const struct sl_source_ops g_v4l2_ops = {
    .memory = source_memory,
    .try_memory = source_try_memory,
    .prepare = source_prepare,
    .begin = source_begin,
    .room = source_room,
    .queue = source_queue,
    .next = source_next,
    .deadline_ns = source_deadline_ns,
    .ready = source_ready,
    .explain = source_explain,
    .stop = source_stop,
    .close = source_close,
};

static int negotiate(struct v4l2_source *vs, const struct sl_capture_cfg *cfg, struct sl_error *err)
{
    struct sl_v4l2 *dev = &vs->dev;
    uint32_t caps;
    int ret = sl_v4l2_select_input(dev, cfg->input, err);

    if (!ret)
        ret = sl_v4l2_set_timings(dev, cfg->dv_timings, err);
    if (!ret)
        ret = sl_v4l2_set_format(dev, cfg, err);
    if (!ret)
        ret = sl_v4l2_set_rate(dev, cfg->fps, err);
    if (!ret)
        ret = sl_v4l2_set_controls(dev, cfg->controls, err);
    if (!ret)
        ret = sl_v4l2_buffer_caps(dev, &caps, err);
    if (ret)
        return ret;
    vs->source.info.offers_mmap = caps & V4L2_BUF_CAP_SUPPORTS_MMAP;
    vs->source.info.offers_userptr = caps & V4L2_BUF_CAP_SUPPORTS_USERPTR;
    vs->source.info.offers_dmabuf = caps & V4L2_BUF_CAP_SUPPORTS_DMABUF;
    return 0;
}

static void fill_info(struct v4l2_source *vs, unsigned buffers)
{
    struct sl_capture_info *info = &vs->source.info;
    struct sl_v4l2 *dev = &vs->dev;

    info->format = dev->format;
    info->slot_bytes = dev->memory_planes > 1 || dev->sizeimage[0] < dev->format.frame_bytes ? dev->format.frame_bytes : dev->sizeimage[0];
    info->min_indices = sl_v4l2_min_buffers(dev);
    vs->wanted = buffers ? buffers : 8;
    if (vs->wanted < info->min_indices) {
        sl_v4l2_note(dev, "%u buffers asked, the driver needs %u", vs->wanted, info->min_indices);
        vs->wanted = info->min_indices;
    }
    info->indices = vs->wanted;
    snprintf(info->device, sizeof(info->device), "%.15s, %.31s, %.31s", (const char *)dev->cap.driver, (const char *)dev->cap.card,
             (const char *)dev->cap.bus_info);
    snprintf(info->granted, sizeof(info->granted), "%s", dev->granted);
    snprintf(info->node, sizeof(info->node), "%s", dev->path);
    sl_v4l2_identify(dev, &info->identity);
}

static int open_device(struct v4l2_source *vs, const struct sl_v4l2_ops *ops, const struct sl_capture_cfg *cfg, struct sl_error *err)
{
    char path[sizeof(vs->dev.path)];
    int ret;

    vs->dev.fd = -1;
    if (!cfg->same_as || !cfg->same_as->bus[0])
        return sl_v4l2_open(&vs->dev, ops, cfg->device, err);
    snprintf(path, sizeof(path), "%s", cfg->device);
    ret = sl_v4l2_find(ops, cfg->same_as, path, err);
    return ret < 0 ? ret : sl_v4l2_open(&vs->dev, ops, path, err);
}

int sl_v4l2_source_open_ops(struct sl_source **out, const struct sl_v4l2_ops *ops, const struct sl_capture_cfg *cfg, struct sl_error *err)
{
    struct v4l2_event_subscription wish = {.type = V4L2_EVENT_SOURCE_CHANGE};
    struct v4l2_source *vs = calloc(1, sizeof(*vs));
    int ret;

    if (!vs)
        return sl_fail(err, -ENOMEM, "v4l2: out of memory");
    vs->source.ops = &g_v4l2_ops;
    ret = open_device(vs, ops, cfg, err);
    if (!ret)
        ret = negotiate(vs, cfg, err);
    if (ret < 0) {
        source_close(&vs->source);
        return ret;
    }
    fill_info(vs, cfg->buffers);
    wish.id = vs->dev.input; /* the event is about an input, and comes only to those who asked for that one */
    sl_v4l2_ioctl(&vs->dev, VIDIOC_SUBSCRIBE_EVENT, &wish); /* most cameras have no such event */
    vs->source.poll_fd = ops->poll_fd(ops->self, vs->dev.fd);
    vs->source.lead_frames = 1;
    vs->source.low_water = vs->source.info.min_indices;
    *out = &vs->source;
    return 0;
}

int sl_v4l2_source_open(struct sl_source **out, const struct sl_capture_cfg *cfg, struct sl_error *err)
{
    return sl_v4l2_source_open_ops(out, &sl_v4l2_kernel, cfg, err);
}
