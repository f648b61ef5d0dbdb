/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct v4l2_buffer in both shapes. Agent thread (hot path: no allocation, no text). Everything a driver writes into a buffer is
 * checked here before it becomes a size.
 */
#include <string.h>

#include "capture/v4l2_buffer.h"

uint32_t sl_v4l2_memory_of(const struct sl_slot *slot)
{
    return slot->dmabuf_fd >= 0 ? V4L2_MEMORY_DMABUF : V4L2_MEMORY_USERPTR;
}

void sl_v4l2_buffer_init(const struct sl_v4l2 *dev, struct sl_v4l2_buffer *buffer, uint32_t memory)
{
    memset(&buffer->buffer, 0, sizeof(buffer->buffer));
    buffer->buffer.type = dev->type;
    buffer->buffer.memory = memory;
    if (sl_v4l2_multiplanar(dev)) {
        memset(buffer->plane, 0, dev->memory_planes * sizeof(buffer->plane[0]));
        buffer->buffer.m.planes = buffer->plane;
        buffer->buffer.length = dev->memory_planes;
    }
}

/* Where plane p of a frame lies in its slot, and how long it may be. */
static uint32_t plane_room(const struct sl_v4l2 *dev, const struct sl_slot *slot, unsigned p)
{
    size_t end = p + 1 < dev->memory_planes ? dev->format.offset[p + 1] : slot->data_bytes;
    size_t room = end - (dev->memory_planes > 1 ? dev->format.offset[p] : 0);

    return room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
}

void sl_v4l2_buffer_fill(const struct sl_v4l2 *dev, struct sl_v4l2_buffer *buffer, uint32_t memory, uint32_t index,
                         const struct sl_slot *slot)
{
    sl_v4l2_buffer_init(dev, buffer, memory);
    buffer->buffer.index = index;
    if (memory == V4L2_MEMORY_MMAP)
        return;
    if (!sl_v4l2_multiplanar(dev)) {
        buffer->buffer.length = plane_room(dev, slot, 0);
        if (memory == V4L2_MEMORY_DMABUF)
            buffer->buffer.m.fd = slot->dmabuf_fd;
        else
            buffer->buffer.m.userptr = (unsigned long)slot->data;
        return;
    }
    for (unsigned p = 0; p < dev->memory_planes; p++) {
        buffer->plane[p].length = plane_room(dev, slot, p);
        if (memory == V4L2_MEMORY_DMABUF)
            buffer->plane[p].m.fd = slot->dmabuf_fd;
        else
            buffer->plane[p].m.userptr = (unsigned long)(slot->data + (dev->memory_planes > 1 ? dev->format.offset[p] : 0));
    }
}

int64_t sl_v4l2_stamp_ns(const struct v4l2_buffer *buffer)
{
    int64_t ns;

    /* what is no time is one of another clock: the grid takes neither */
    if (buffer->timestamp.tv_usec < 0 || buffer->timestamp.tv_usec >= SL_NS_PER_S / SL_NS_PER_US ||
        __builtin_mul_overflow((int64_t)buffer->timestamp.tv_sec, SL_NS_PER_S, &ns) ||
        __builtin_add_overflow(ns, (int64_t)buffer->timestamp.tv_usec * SL_NS_PER_US, &ns))
        return INT64_MAX;
    return ns;
}

bool sl_v4l2_contradicts(const struct sl_v4l2 *dev, const struct v4l2_buffer *buffer, uint32_t memory)
{
    return buffer->type != dev->type || buffer->memory != memory || (sl_v4l2_multiplanar(dev) && buffer->length != dev->memory_planes);
}

/* Payload of one plane: bytesused counts from the buffer's first byte, the payload begins at data_offset. */
static uint32_t plane_payload(const struct v4l2_plane *plane, uint8_t *start, size_t room, bool *bad_size)
{
    uint32_t used = plane->bytesused;

    if (used > room || plane->data_offset > used) {
        *bad_size = true;
        return 0;
    }
    used -= plane->data_offset;
    if (plane->data_offset && used) /* hardly any driver has one; a frame that begins elsewhere would be recorded askew */
        memmove(start, start + plane->data_offset, used);
    return used;
}

void sl_v4l2_buffer_payload(const struct sl_v4l2 *dev, const struct sl_v4l2_buffer *buffer, const struct sl_slot *slot,
                            struct sl_delivery *delivery)
{
    const struct sl_video_format *format = &dev->format;
    uint32_t used = 0;

    if (!sl_v4l2_multiplanar(dev)) {
        used = buffer->buffer.bytesused;
        delivery->bad_size = used > slot->data_bytes;
        delivery->bytesused = delivery->bad_size ? 0 : used;
        return;
    }
    for (unsigned p = 0; p < dev->memory_planes; p++) {
        bool split = dev->memory_planes > 1;
        uint8_t *start = slot->plane[p] ? slot->plane[p] : slot->data + (split ? format->offset[p] : 0);
        size_t room = slot->plane[p] ? dev->sizeimage[p] : plane_room(dev, slot, p);
        uint32_t payload = plane_payload(&buffer->plane[p], start, room, &delivery->bad_size);
        uint32_t picture = split ? format->bytesperline[p] * format->lines[p] : payload;

        used += payload < picture ? payload : picture; /* padding of one plane does not make up for a short other */
    }
    delivery->bytesused = delivery->bad_size ? 0 : used;
}
