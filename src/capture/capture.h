/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_CAPTURE_H
#define SL_CAPTURE_CAPTURE_H

/*
 * Sensor → frames. One agent drives any source (V4L2, test pattern, replay of a recording): it takes a filled frame from the
 * source, places it on the time grid, keeps the books of what should have come, publishes to the fan-out and gives the
 * source every slot that came home.
 *
 * Order of calls, all from the control thread: open → info → memory or sl_memory_host → start → (runner on agent) → close.
 */

#include <stdbool.h>

#include "capture/anomaly.h"
#include "core/agent.h"
#include "core/clock.h"
#include "core/event.h"
#include "core/format.h"
#include "core/loss.h"
#include "dma/fanout.h"

enum sl_source_kind { SL_SOURCE_V4L2, SL_SOURCE_PATTERN, SL_SOURCE_REPLAY };

/* Reads frames of a recording, for replay. The writer module has the real one; capture only knows these calls. */
struct sl_replay_reader {
    void *self;
    const struct sl_video_format *format;
    uint64_t frames;
    /* Time (ns from the first frame), sequence and flags of frame `index`, and its payload into data. 0 or negative errno. */
    int (*read)(void *self, uint64_t index, uint8_t *data, size_t bytes, int64_t *time_ns, uint32_t *sequence, uint32_t *flags);
};

struct sl_capture_cfg {
    enum sl_source_kind source;
    const char *device;       /* V4L2: path */
    const char *pixel_format; /* name, e.g. "YUYV"; NULL: the first format both sides know */
    uint32_t width, height;   /* 0: as the device has it */
    struct sl_rational fps;   /* {0, 1}: as the device has it */
    int input;                /* -1: leave */
    const char *dv_timings;   /* NULL: leave; "auto": query and set; "1920x1080p60": that one */
    const char *controls;     /* "NAME=V,…"; NULL: none */
    unsigned buffers;         /* driver indices to ask for */
    bool drop_bad_frames;
    int64_t stall_timeout_ns;                 /* no frame for so long ends the agent with -ETIMEDOUT */
    bool unpaced;                             /* pattern, replay: as fast as slots come home */
    uint64_t frame_limit;                     /* end after this many grid frames; 0: no limit */
    int64_t time_limit_ns;                    /* end after this much of the time grid, at the rate that was granted; 0: no limit */
    int64_t replay_loop;                      /* replay: start again at the end */
    struct sl_sensor_script *script;          /* capture/script.h: scripted faults; NULL: none. Borrowed until close */
    const struct sl_capture_place *before;    /* capture/place.h: the run goes on from here; NULL: it begins. Borrowed until close */
    const struct sl_device_identity *same_as; /* V4L2: this device, whatever its node is called now; NULL: what is at `device` */
};

struct sl_capture_deps {
    const struct sl_clock *clock;
    struct sl_events *events;                     /* this agent is the only poster */
    const struct sl_replay_reader *replay_reader; /* for SL_SOURCE_REPLAY */
};

/* What a device keeps when it comes back under another number. */
struct sl_device_identity {
    char bus[32]; /* as the driver has it: "usb-0000:00:14.0-2"; empty: the source has no such thing */
    int index;    /* which of the device's nodes, from 0; negative: unknown */
};

struct sl_capture_info {
    struct sl_video_format format; /* granted */
    struct sl_device_identity identity;
    char device[128];     /* driver, card and bus as the device names itself; "pattern"; "replay FILE" */
    char node[96];        /* path that was opened; empty where there is none */
    char granted[512];    /* one line: asked against granted, where they differ; empty when all was granted */
    uint32_t slot_bytes;  /* a slot must hold so many: the driver's sizeimage may be above format.frame_bytes */
    unsigned indices;     /* buffers the driver granted, or will be asked for */
    unsigned min_indices; /* below this many queued the driver stops */
    bool offers_mmap, offers_userptr, offers_dmabuf;
    bool time_soe;       /* timestamps are of start of exposure */
    bool time_monotonic; /* the driver stamps with CLOCK_MONOTONIC; else frames are stamped at dequeue */
};

enum sl_capture_counter {
    SL_CAPTURE_EXPECTED,
    SL_CAPTURE_CAPTURED,
    SL_CAPTURE_BAD_KEPT,
    SL_CAPTURE_STARVED,
    SL_CAPTURE_ANOMALIES,
    SL_CAPTURE_COUNTERS
};
extern const struct sl_counter_def sl_capture_counter_defs[SL_CAPTURE_COUNTERS];

struct sl_capture;

int sl_capture_open(struct sl_capture **out, const struct sl_capture_cfg *cfg, const struct sl_capture_deps *deps, struct sl_error *err);
const struct sl_capture_info *sl_capture_info(const struct sl_capture *capture); /* borrowed until close */

/* The device's own buffers, mapped, for sources that have them (V4L2 MMAP). Close it before the capture. -ENOTSUP otherwise. */
int sl_capture_memory(struct sl_capture *capture, struct sl_memory **out, struct sl_error *err);

/* Tries whether the device takes buffers of `memory` (kind userptr): requests indices, queues one, takes all back. */
int sl_capture_try_memory(struct sl_capture *capture, const struct sl_memory *memory, struct sl_error *err);

/* Renders the pattern or requests the driver's buffers, queues the first slots and starts the stream. pool and fanout are borrowed
 * until finish. */
int sl_capture_start(struct sl_capture *capture, struct sl_pool *pool, struct sl_fanout *fanout, struct sl_error *err);

/* Borrowed. Its do_work ends with -ESHUTDOWN (frame_limit reached, replay at its end), -ETIMEDOUT (device silent), -ENODEV (unplugged),
 * -EIO (device failed), -ENOLINK (the incoming signal has another mode now). */
const struct sl_agent *sl_capture_agent(struct sl_capture *capture);
/* Control thread, after the runner ended with `result`: one line that says what failed, with which arguments, and what to do. */
void sl_capture_explain(const struct sl_capture *capture, int result, struct sl_error *err);
uint64_t sl_capture_counter(const struct sl_capture *capture, enum sl_capture_counter which);
/* Any thread: expected, captured, capture-side losses; expected == captured + those losses (a dropped bad frame is not captured). */
void sl_capture_books(const struct sl_capture *capture, struct sl_books *books);
/* Control thread, after the runner ended: counts the frames still due up to stop_ns (0: none) as lost, stops the stream,
 * takes every slot back. */
void sl_capture_finish(struct sl_capture *capture, int64_t stop_ns, enum sl_loss cause);
/* The same when the device will be opened again: what is due now is left to the next opening, which counts the whole outage. */
void sl_capture_suspend(struct sl_capture *capture, int64_t now_ns, struct sl_capture_place *place);
void sl_capture_close(struct sl_capture *capture);

/* The machine-readable strip of the pattern (layout: docs/pattern.md). */
struct sl_strip {
    uint64_t number;
    int64_t time_ns;
};
/* 0; -EBADMSG: no strip or a wrong check; -EIO: strip right, *bad_byte = first byte of the picture that is wrong. */
int sl_pattern_check(const struct sl_video_format *format, const uint8_t *data, size_t bytes, struct sl_strip *strip, uint64_t *bad_byte);

#endif
