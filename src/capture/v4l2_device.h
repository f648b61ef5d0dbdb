/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_V4L2_DEVICE_H
#define SL_CAPTURE_V4L2_DEVICE_H

/*
 * A V4L2 capture device as the v4l2_*.c files share it. The kernel's header is included here and nowhere else in the
 * project; libv4l2 only in v4l2_kernel.c. Control thread, except where v4l2_buffers.c says otherwise.
 */

#include <linux/videodev2.h>
#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/source.h"

#define SL_V4L2_MAX_BUFFERS 1024u /* more than any kernel grants; a driver that says more is not believed */

/* The system calls, so that a test can be the driver. All return 0 or negative errno unless said otherwise. */
struct sl_v4l2_ops {
    void *self;
    int (*open)(void *self, const char *path); /* file descriptor */
    int (*ioctl)(void *self, int fd, unsigned long request, void *arg);
    int (*mmap)(void *self, int fd, size_t bytes, uint32_t offset, void **out);
    void (*munmap)(void *self, void *start, size_t bytes);
    int (*poll_fd)(void *self, int fd); /* descriptor to poll(2) for this device */
    void (*close)(void *self, int fd);
    /* The nodes there are, in the order of their numbers: writes the path of number n; -ENOENT: there are no more. */
    int (*node)(void *self, unsigned n, char *path, size_t bytes);
    /* Which of its device's nodes this is, from 0; negative errno where that is not told. */
    int (*node_index)(void *self, const char *path);
};

extern const struct sl_v4l2_ops sl_v4l2_kernel;

struct sl_v4l2 {
    const struct sl_v4l2_ops *ops;
    int fd;
    char path[96];
    struct v4l2_capability cap;
    uint32_t type;  /* V4L2_BUF_TYPE_VIDEO_CAPTURE or …_MPLANE */
    uint32_t input; /* the present one; 0 where there are none */
    bool tv_input;  /* TV or HDMI, as against a camera: decides the default colour space */
    bool no_inputs; /* G_INPUT is unknown: whether there are timings is known only by asking */
    bool has_timings;
    struct v4l2_dv_timings timings;
    uint32_t fourcc;        /* granted: format.pixel's, or that of its planes in buffers of their own */
    unsigned memory_planes; /* buffers a frame consists of */
    uint32_t sizeimage[SL_MAX_PLANES];
    struct sl_video_format format;
    char granted[512];
};

/* v4l2_device.c. fd stays closed on failure; close is fine on a closed device. */
int sl_v4l2_open(struct sl_v4l2 *dev, const struct sl_v4l2_ops *ops, const char *path, struct sl_error *err);
void sl_v4l2_close(struct sl_v4l2 *dev);
/* Again after EINTR, a bounded number of times. */
int sl_v4l2_ioctl(const struct sl_v4l2 *dev, unsigned long request, void *arg);
bool sl_v4l2_multiplanar(const struct sl_v4l2 *dev);
/* S_INPUT when input ≥ 0; learns what kind of input it is. */
int sl_v4l2_select_input(struct sl_v4l2 *dev, int input, struct sl_error *err);
/* "v4l2 PATH: WHAT: errno text: hint". `hint` NULL: the usual one for this errno. Returns code. */
int sl_v4l2_fail(const struct sl_v4l2 *dev, struct sl_error *err, int code, const char *hint, const char *what, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds to dev->granted: what was asked and came out differently. */
void sl_v4l2_note(struct sl_v4l2 *dev, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds to a bounded string, cutting at its end. */
void sl_v4l2_append(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A driver's text of `bytes` bytes becomes one that ends and is printable UTF-8; what is not becomes a question mark. */
void sl_v4l2_clean(uint8_t *text, size_t bytes);

struct sl_v4l2_fourcc {
    char text[5];
};
struct sl_v4l2_fourcc sl_v4l2_fourcc_text(uint32_t fourcc);

/* v4l2_find.c: where the device is now. `path` is in: where it was looked for at first, out: where it is; holds 96 bytes. -ENODEV. */
int sl_v4l2_find(const struct sl_v4l2_ops *ops, const struct sl_device_identity *wanted, char *path, struct sl_error *err);
/* Of the device at dev->path. */
void sl_v4l2_identify(const struct sl_v4l2 *dev, struct sl_device_identity *identity);

/* v4l2_timings.c. `wish` NULL: takes what is set. Fills timings when the input has them. */
int sl_v4l2_set_timings(struct sl_v4l2 *dev, const char *wish, struct sl_error *err);
struct sl_rational sl_v4l2_timings_rate(const struct v4l2_dv_timings *timings);
void sl_v4l2_timings_name(const struct v4l2_dv_timings *timings, char *text, size_t bytes);

/* v4l2_format.c: asks, reads back, refuses what is not what was asked. Fills format, memory_planes, sizeimage. */
int sl_v4l2_set_format(struct sl_v4l2 *dev, const struct sl_capture_cfg *cfg, struct sl_error *err);
/* Is the format still the one that was granted? Once buffers are requested nobody can change it any more. */
int sl_v4l2_check_format(struct sl_v4l2 *dev, struct sl_error *err);
/* What is set now, without setting anything: memory_planes, sizeimage and a format that only says how long the planes are. */
int sl_v4l2_present_format(struct sl_v4l2 *dev, uint32_t *fourcc, uint32_t *width, uint32_t *height);
/* Everything the device offers as one line, for error texts. */
void sl_v4l2_offers(const struct sl_v4l2 *dev, char *text, size_t bytes);

/* v4l2_rate.c: fills format.fps. */
int sl_v4l2_set_rate(struct sl_v4l2 *dev, struct sl_rational wish, struct sl_error *err);
bool sl_v4l2_same_rate(struct sl_rational a, struct sl_rational b);
/* num/den in lowest terms and 32 bits; {0, 1} when either is 0. */
struct sl_rational sl_v4l2_rational(uint64_t num, uint64_t den);
/* Frames a second of an interval in seconds. */
struct sl_rational sl_v4l2_interval_rate(struct v4l2_fract interval);

/* v4l2_colour.c */
struct sl_colour sl_v4l2_colour(uint32_t colorspace, uint32_t ycbcr_enc, uint32_t quantization, uint32_t xfer_func, bool grey, bool hdtv,
                                bool sdtv);

/* v4l2_controls.c: "NAME=V,NAME=V". */
int sl_v4l2_set_controls(const struct sl_v4l2 *dev, const char *controls, struct sl_error *err);
/* "White Balance, Auto" → "white_balance_auto"; name holds 64 bytes. */
void sl_v4l2_control_name(const char *from, size_t from_bytes, char *name);
/* The control after query->id. False: there is none, or the driver goes in circles. */
bool sl_v4l2_next_control(const struct sl_v4l2 *dev, struct v4l2_query_ext_ctrl *query);
/* How many values from the minimum on a menu may have, at most `most`. */
uint64_t sl_v4l2_menu_entries(const struct v4l2_query_ext_ctrl *control, uint64_t most);
void sl_v4l2_menu_clean(const struct v4l2_query_ext_ctrl *control, struct v4l2_querymenu *entry);
/* The driver's minimum of queued buffers; 1 when it does not say. */
unsigned sl_v4l2_min_buffers(const struct sl_v4l2 *dev);

/* v4l2_memory.c. REQBUFS; *count is in: wanted, out: granted (0 gives all back). */
int sl_v4l2_request(const struct sl_v4l2 *dev, uint32_t memory, unsigned *count, struct sl_error *err);
const char *sl_v4l2_memory_name(uint32_t memory); /* "MMAP", "USERPTR", "DMABUF" */
/* V4L2_BUF_CAP_SUPPORTS_* as far as the kernel or, on old ones, a try can tell. */
int sl_v4l2_buffer_caps(const struct sl_v4l2 *dev, uint32_t *caps, struct sl_error *err);
/* The driver's own buffers, mapped. *count as above. */
int sl_v4l2_map(struct sl_v4l2 *dev, unsigned *count, struct sl_memory **out, struct sl_error *err);
int sl_v4l2_try_memory(const struct sl_v4l2 *dev, const struct sl_memory *memory, struct sl_error *err);
/* Do CPU reads of this mapping run at the speed of ordinary memory (within a factor of 4)? */
bool sl_v4l2_is_cached(const void *start, size_t bytes);

/* v4l2.c: the source over any ops. */
int sl_v4l2_source_open_ops(struct sl_source **out, const struct sl_v4l2_ops *ops, const struct sl_capture_cfg *cfg, struct sl_error *err);

#endif
