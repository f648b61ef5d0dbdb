/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_CAPTURE_STATE_H
#define SL_CAPTURE_CAPTURE_STATE_H

#include "capture/capture.h"
#include "capture/grid.h"
#include "capture/place.h"
#include "capture/source.h"
#include "core/wake.h"

/* Losses that follow one another become one event. */
struct sl_loss_run {
    enum sl_loss cause;
    uint64_t first;
    uint64_t count; /* 0: none pending */
    int error;
};

/* Bad frames that were kept, of one kind, not yet told. */
struct sl_kept_run {
    uint64_t first, last;
    uint64_t count;   /* 0: none */
    int64_t begun_ns; /* of the first of them */
    int64_t told_ns;  /* when the ones before were told */
    bool told;        /* there were such */
};

/* Shared by capture.c (control thread, while the runner does not run) and capture_agent.c (agent thread). Counters alone may be
 * read by any thread at any time. */
struct sl_capture {
    struct sl_source *source;
    const struct sl_clock *clock;
    struct sl_events *events;
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_wake *home;
    struct sl_wake stop; /* rung by agent->wake */
    struct sl_grid grid;
    struct sl_loss_run run;
    struct sl_kept_run kept[2]; /* with the device's error flag; else too short */
    int64_t *queued_ns;         /* per frame of the pool: when the device got it */
    unsigned queued;            /* frames the device has */
    unsigned false_readies;     /* in a row */
    int refusal;                /* what the last queue() that failed said */
    unsigned refusals;          /* queue() failures in a row */
    int64_t begun_ns;
    int64_t now_ns;         /* of the last do_work */
    int64_t silent_from_ns; /* the device could have delivered since then and did not */
    int finished;           /* what do_work returns from now on; 0: goes on */
    bool goes_on;           /* an earlier opening of the device began the run: `before` is where that ended */
    struct sl_capture_place before;
    int64_t time_limit_ns;
    bool started;
    bool starving; /* the device is without a buffer and that has been counted */
    bool drop_bad_frames;
    int64_t stall_timeout_ns;
    uint64_t frame_limit;
    uint32_t anomaly_count[SL_ANOMALY_COUNT];
    sl_counter counter[SL_CAPTURE_COUNTERS];
    sl_counter lost[SL_LOSS_COUNT];
    struct sl_agent agent;
    struct sl_capture_info info;
};

/* capture_agent.c */
extern const struct sl_agent sl_capture_agent_template;
/* Books `count` frames from `first` on, which is where the books stand, as lost; cut at the frame limit. */
void sl_capture_lose(struct sl_capture *capture, enum sl_loss cause, uint64_t count, int error);
void sl_capture_flush_run(struct sl_capture *capture);
/* kept.c. Counts a frame with these flags that is published, if it is a bad one; then tells of bad ones, when it is time to. */
void sl_capture_note_kept(struct sl_capture *capture, uint64_t number, uint32_t flags);
void sl_capture_flush_kept(struct sl_capture *capture); /* now */
/* Gives the device every free frame it takes. 0, or what a device that takes none any more said. */
int sl_capture_feed(struct sl_capture *capture, int64_t now_ns);

#endif
