/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_PROBE_H
#define SL_CAPTURE_PROBE_H

/*
 * What a V4L2 device can do, for `sluice probe`. Nothing of the device is changed: no input, format or control is set; buffers
 * of the present format are requested and given back. Control thread.
 */

#include "core/error.h"
#include "core/format.h"

enum { SL_PROBE_MEMORIES = 3 };

struct sl_probe_rates { /* frames a second */
    unsigned count;
    struct sl_rational *rate; /* discrete: each; range: slowest and fastest */
    bool range;
};

struct sl_probe_size {
    uint32_t width, height;         /* discrete, or the smallest of a range */
    uint32_t max_width, max_height; /* the same as above when discrete */
    uint32_t step_width, step_height;
    bool range;
    struct sl_probe_rates rates; /* of a range: at its largest size */
};

struct sl_probe_format {
    char fourcc[5];
    char description[33];
    const struct sl_pixel_format *pixel; /* NULL: sluice cannot record it */
    unsigned sizes;
    struct sl_probe_size *size;
};

struct sl_probe_input {
    uint32_t index;
    char name[33];
    bool current;
    bool dv_timings;
    bool no_signal; /* as the driver says; only the current input's word counts */
};

struct sl_probe_control {
    char name[64]; /* as in sensor.controls */
    char type[16];
    int64_t minimum, maximum, step, value;
    bool has_value;
    bool read_only;
    unsigned entries; /* of a menu */
    char (*entry)[48];
};

struct sl_probe_memory {
    const char *kind; /* "userptr", "mmap", "dmabuf" */
    bool works;
    char reason[320]; /* why not; or what is to be known about it */
    unsigned buffers; /* granted when it was tried */
    bool cached;      /* mmap: CPU reads at the speed of ordinary memory */
    bool pinnable;    /* the disk's DMA can use these pages: nothing has to be copied */
};

struct sl_probe_report {
    char path[96];
    char driver[17], card[33], bus[33];
    bool multiplanar;
    unsigned inputs;
    struct sl_probe_input *input;
    unsigned formats;
    struct sl_probe_format *format;
    bool has_timings; /* the present input has DV timings */
    char signal[48];  /* "1920x1080p60"; empty: see signal_error */
    char signal_error[256];
    struct sl_rational signal_rate;
    uint32_t signal_width, signal_height;
    unsigned timings;
    char (*timing)[48];
    char present_fourcc[5]; /* what is set now */
    uint32_t present_width, present_height;
    struct sl_rational present_rate; /* {0, 1}: the device does not say */
    unsigned min_buffers;
    struct sl_probe_memory memory[SL_PROBE_MEMORIES];
    unsigned controls;
    struct sl_probe_control *control;
};

/* -ENOTSUP: no capture device. The report is returned; free it with sl_probe_free. */
int sl_probe_device(struct sl_probe_report **out, const char *path, struct sl_error *err);
void sl_probe_free(struct sl_probe_report *report); /* NULL is fine */

/* Paths of all video nodes in order (returned; free the array and each of its strings). Count or negative errno. */
int sl_probe_list(char ***paths, struct sl_error *err);

#endif
