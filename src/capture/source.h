/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_SOURCE_H
#define SL_CAPTURE_SOURCE_H

/*
 * What a sensor is to the agent: something that takes free frames and gives filled ones. Behind it is a V4L2 device, the test
 * pattern, a recording, or one of them with scripted faults in front.
 *
 * Calls before begin() and after the runner ended come from the control thread, queue/next/deadline/ready from the agent's.
 * A frame belongs to the source from a queue() that returned 0 until next() hands it out or stop() returns.
 */

#include "capture/capture.h"

struct sl_delivery {
    struct sl_frame *frame; /* NULL: the device named a buffer it did not have */
    int64_t time_ns;
    uint32_t sequence;
    uint32_t bytesused;
    uint32_t flags;     /* enum sl_frame_flags that the source knows of */
    bool time_unusable; /* the device stamps with another clock than ours */
    bool contradiction; /* it is not the kind of buffer that was queued; what else it says was checked by itself */
    bool bad_size;      /* the device said more bytes than the slot has; bytesused is cut */
};

struct sl_source;

struct sl_source_ops {
    int (*memory)(struct sl_source *source, struct sl_memory **out, struct sl_error *err);             /* may be NULL */
    int (*try_memory)(struct sl_source *source, const struct sl_memory *memory, struct sl_error *err); /* may be NULL */
    /* Before the first queue(): everything that takes time. */
    int (*prepare)(struct sl_source *source, struct sl_pool *pool, struct sl_error *err);
    /* The stream starts now. */
    int (*begin)(struct sl_source *source, int64_t now_ns, struct sl_error *err);
    /* How many more frames queue() takes. */
    unsigned (*room)(const struct sl_source *source);
    /* 0, or negative errno and the frame stays the caller's. */
    int (*queue)(struct sl_source *source, struct sl_frame *frame, int64_t now_ns);
    /* 1: *delivery is written; 0: nothing yet; -ESHUTDOWN: at its end; other negative errno: broken. */
    int (*next)(struct sl_source *source, int64_t now_ns, struct sl_delivery *delivery);
    /* When next() will have something if it can be known, else INT64_MAX. */
    int64_t (*deadline_ns)(const struct sl_source *source);
    /* poll(2) returned these events for poll_fd. May be NULL when poll_fd is -1. */
    void (*ready)(struct sl_source *source, short revents);
    /* Control thread, once the agent's runner has ended: which call it was that failed with `result`. Returns that, or 0 when none did. */
    int (*explain)(const struct sl_source *source, int result, struct sl_error *err); /* may be NULL */
    void (*stop)(struct sl_source *source);  /* no frame is the source's any more; also after a failed begin() or prepare() */
    void (*close)(struct sl_source *source); /* frees it */
};

/* First member of every source. */
struct sl_source {
    const struct sl_source_ops *ops;
    struct sl_capture_info info;
    int poll_fd;           /* -1: time alone tells */
    unsigned low_water;    /* with fewer frames queued than this the agent wants to be woken by the next one that comes home */
    unsigned lead_frames;  /* how long before a frame is due the device needs its buffer, in frames */
    bool false_ready;      /* poll(2) promised what next() did not find; next() says so each time it returns 0 */
    bool own_times;        /* stamps follow the source's own time, not the clock */
    bool waits_for_frames; /* running out of frames stops its time instead of losing something */
};

int sl_pattern_source_open(struct sl_source **out, const struct sl_capture_cfg *cfg, struct sl_error *err);
int sl_replay_source_open(struct sl_source **out, const struct sl_capture_cfg *cfg, const struct sl_replay_reader *reader,
                          struct sl_error *err);
int sl_v4l2_source_open(struct sl_source **out, const struct sl_capture_cfg *cfg, struct sl_error *err);

/* Takes `inner` on success: it is closed with the result. */
int sl_fault_source_open(struct sl_source **out, struct sl_source *inner, struct sl_sensor_script *script, struct sl_error *err);

/* A capture over any source; takes it on success. cfg's device part is not looked at. */
int sl_capture_open_source(struct sl_capture **out, struct sl_source *source, const struct sl_capture_cfg *cfg,
                           const struct sl_capture_deps *deps, struct sl_error *err);

#endif
