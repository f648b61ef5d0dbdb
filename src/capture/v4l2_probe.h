/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_V4L2_PROBE_H
#define SL_CAPTURE_V4L2_PROBE_H

#include "capture/probe.h"
#include "capture/v4l2_device.h"

/* v4l2_probe.c: over any ops. */
int sl_probe_device_ops(struct sl_probe_report **out, const struct sl_v4l2_ops *ops, const char *path, struct sl_error *err);

/* v4l2_probe_memory.c: tries each kind with buffers of the present format, which sl_v4l2_present_format() must have read. */
void sl_v4l2_probe_memories(struct sl_v4l2 *dev, struct sl_probe_memory memory[SL_PROBE_MEMORIES]);

/* Can the pages of this mapping be pinned (for O_DIRECT, for io_uring)? By the flags the kernel shows of it; false when unknown. */
bool sl_mapping_pinnable(const void *start);

#endif
