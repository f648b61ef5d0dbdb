/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_V4L2_BUFFER_H
#define SL_CAPTURE_V4L2_BUFFER_H

/* v4l2_buffers.c. Agent thread, and the control thread while no runner runs. */

#include "capture/v4l2_device.h"

/* One v4l2_buffer with its planes, ready for QBUF or DQBUF. */
struct sl_v4l2_buffer {
    struct v4l2_buffer buffer;
    struct v4l2_plane plane[VIDEO_MAX_PLANES];
};
void sl_v4l2_buffer_init(const struct sl_v4l2 *dev, struct sl_v4l2_buffer *buffer, uint32_t memory);
void sl_v4l2_buffer_fill(const struct sl_v4l2 *dev, struct sl_v4l2_buffer *buffer, uint32_t memory, uint32_t index,
                         const struct sl_slot *slot);
/* When a dequeued buffer was filled, as the driver says; INT64_MAX: what it says is no time. */
int64_t sl_v4l2_stamp_ns(const struct v4l2_buffer *buffer);
/* Is a dequeued buffer of another type, memory or number of planes than it was queued with? */
bool sl_v4l2_contradicts(const struct sl_v4l2 *dev, const struct v4l2_buffer *buffer, uint32_t memory);
/* What a dequeued buffer holds: bytesused and bad_size of the delivery; moves payload that starts at a data_offset. */
void sl_v4l2_buffer_payload(const struct sl_v4l2 *dev, const struct sl_v4l2_buffer *buffer, const struct sl_slot *slot,
                            struct sl_delivery *delivery);
/* V4L2_MEMORY_* of a slot that is not the driver's own. */
uint32_t sl_v4l2_memory_of(const struct sl_slot *slot);

#endif
