/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_FAKE_V4L2_H
#define SL_TESTS_FAKE_V4L2_H

/*
 * A V4L2 driver in user space. It keeps the kernel's rules (what is queued cannot be queued again, buffers cannot be freed under
 * a running stream, imported buffers must be long enough …) and lies where a test tells it to.
 */

#include <pthread.h>

#include "capture/v4l2_device.h"

enum { FAKE_MAX_BUFFERS = 64, FAKE_MAX_FORMATS = 6, FAKE_MAX_SIZES = 4, FAKE_MAX_CONTROLS = 8, FAKE_MAX_TIMINGS = 8, FAKE_MAX_FAILS = 8 };

struct fake_control {
    uint32_t id;
    const char *name;
    uint32_t type, flags;
    int64_t minimum, maximum, step, value;
    const char *menu[4]; /* NULL: a hole */
    int64_t integer_menu[4];
};

/* An ioctl that fails (0: mmap): the first `skip` calls still work, then `times` fail. */
struct fake_fail {
    unsigned long request;
    int error; /* positive errno */
    unsigned skip, times;
};

struct fake_buffer {
    bool queued;
    uint32_t length[SL_MAX_PLANES];
    uint8_t *own[SL_MAX_PLANES];    /* MMAP */
    uint8_t *target[SL_MAX_PLANES]; /* where the device would write now */
    int dmabuf_fd;
};

/* What a completed buffer says; copied to DQBUF's answer. */
struct fake_done {
    uint32_t index;
    uint32_t sequence;
    uint32_t flags;
    int64_t time_ns;
    uint32_t bytesused[SL_MAX_PLANES];
    uint32_t data_offset[SL_MAX_PLANES];
};

struct fake_v4l2;

struct fake_lie {
    unsigned long request; /* 0: every one */
    /* Changes what the device has answered (`ret` is what it returned), and returns what the caller gets. */
    int (*tell)(struct fake_v4l2 *fake, unsigned long request, void *arg, int ret);
    /* The same without the device, which never sees the call. 1: it may, after all. */
    int (*instead)(struct fake_v4l2 *fake, unsigned long request, void *arg);
};

struct fake_v4l2 {
    struct sl_v4l2_ops ops;
    /* what it is */
    uint32_t capabilities;
    bool old_kernel;   /* no capabilities in REQBUFS */
    uint32_t memories; /* 1 << V4L2_MEMORY_* */
    uint32_t fourcc[FAKE_MAX_FORMATS];
    uint32_t width[FAKE_MAX_SIZES], height[FAKE_MAX_SIZES];
    bool stepwise;
    uint32_t padding; /* bytes added to each line */
    uint32_t field;
    bool has_parm, can_set_parm;
    struct v4l2_fract interval;
    unsigned inputs;
    uint32_t input_capabilities[4];
    struct v4l2_dv_timings timings[FAKE_MAX_TIMINGS];
    unsigned timings_count;
    struct v4l2_dv_timings signal; /* what QUERY_DV_TIMINGS sees */
    struct fake_control control[FAKE_MAX_CONTROLS];
    unsigned controls;
    unsigned grant_max;   /* buffers */
    bool contiguous_only; /* QBUF of memory that is not its own: EFAULT */
    uint32_t timestamp_flags;
    /* how it lies */
    struct fake_fail fail[FAKE_MAX_FAILS];
    const struct fake_lie *lie; /* NULL: none. support/v4l2_lies.h has many */
    unsigned told;              /* how often it was told */
    pthread_mutex_t *guard;     /* held over each call, where the test has threads; NULL: it has none */
    void (*hook)(struct fake_v4l2 *fake, unsigned long request, void *arg); /* after an ioctl that worked */
    char node[64], bus[32];                                                 /* where it is; a test may move it */
    /* what it is doing */
    int open_count;
    int mapped;
    int bell[2]; /* sockets: what is written to [1] makes [0], which is polled, readable; an urgent byte is an event */
    uint32_t input;
    struct v4l2_event_subscription subscribed;
    struct v4l2_dv_timings current_timings;
    struct v4l2_format format;
    uint32_t memory; /* of the requested buffers; 0: none */
    unsigned buffers;
    struct fake_buffer buffer[FAKE_MAX_BUFFERS];
    uint32_t fifo[FAKE_MAX_BUFFERS]; /* queued indices, oldest first */
    unsigned fifo_count;
    struct fake_done done[FAKE_MAX_BUFFERS];
    unsigned done_count;
    bool streaming;
    struct v4l2_event event; /* type 0: none */
    uint32_t sequence;
    unsigned calls_qbuf, calls_dqbuf, calls_other; /* while streaming */
};

/* A camera with YUYV, UYVY, NV12 and GREY, three sizes, 60 frames a second, all memories, up to 8 buffers. */
void fake_init(struct fake_v4l2 *fake);
/* The same as a multi-planar device, with NM12 and NM16 and without GREY. */
void fake_init_multiplanar(struct fake_v4l2 *fake);
/* An HDMI receiver: input 1 has DV timings, the signal is 1080p60. */
void fake_init_hdmi(struct fake_v4l2 *fake);
void fake_fail_at(struct fake_v4l2 *fake, unsigned long request, int error, unsigned skip, unsigned times);
/* The oldest queued buffer is filled and done. Returns a record that may be changed until it is dequeued; NULL: starved, and the
 * sequence moves on. */
struct fake_done *fake_complete(struct fake_v4l2 *fake, int64_t time_ns);
/* The device has an event: poll(2) says POLLPRI until it is taken. */
void fake_raise_event(struct fake_v4l2 *fake, const struct v4l2_event *event);
/* A done buffer that is none of the queued. */
void fake_complete_index(struct fake_v4l2 *fake, uint32_t index, int64_t time_ns);
/* Ends the test when something is still open, mapped, requested or streaming. */
void fake_check_clean(struct fake_v4l2 *fake);
void fake_fini(struct fake_v4l2 *fake);

/* fake_v4l2_controls.c: the part of its ioctls that are about controls; -ENOTTY: none of them. */
int fake_control_ioctl(struct fake_v4l2 *fake, unsigned long request, void *arg);

struct v4l2_dv_timings fake_timings(uint32_t width, uint32_t height, bool interlaced, uint32_t total_width, uint32_t total_height,
                                    uint64_t pixelclock, uint32_t standards, uint32_t flags);

#endif
