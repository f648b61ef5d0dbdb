/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DMA_FANOUT_H
#define SL_DMA_FANOUT_H

/*
 * One pool's frames, shared by several consumers, none of which can take a slot from another or from the device.
 *
 * Every sink has a limit, which counts all that it holds, queued and taken. The limits of all sinks and the device's reserve fit into
 * the pool together: sl_fanout_add refuses a sink that does not. So a sink that never releases costs its own limit and nothing
 * else, whatever the others do.
 *
 * How a sink ends. Its thread (or, after that was joined, whoever did so) calls sl_sink_leave: no new frames, and what waits goes back.
 * What it has in its hands it may still release, in its own time, until it holds nothing; sl_fanout_close succeeds only then. Until
 * then fan-out, pool and memory stay, for somebody reads them: nothing waits for such a sink, and nothing is freed under it.
 */

#include <limits.h>

#include "core/counter.h"
#include "dma/dma.h"

#define SL_MAX_SINKS 8

struct sl_sink;
struct sl_fanout;

enum sl_sink_policy {
    SL_SINK_IN_ORDER, /* a queue as long as the limit; when the sink holds its limit, the incoming frame is refused */
    SL_SINK_NEWEST    /* one frame waits; an incoming one takes its place, and the one that waited goes back unseen */
};

/* As limit: all there is. For a sensor that waits for slots instead of losing frames: the sink never refuses, and the others leave it
 * one slot at least. */
#define SL_SINK_WHOLE_POOL UINT_MAX

struct sl_sink_cfg {
    const char *name; /* borrowed until close */
    unsigned limit;   /* frames */
    enum sl_sink_policy policy;
};

/* offered = accepted + refused + missed; accepted = unseen + released + what it holds now */
enum sl_sink_counter { SL_SINK_OFFERED, SL_SINK_ACCEPTED, SL_SINK_REFUSED, SL_SINK_MISSED, SL_SINK_UNSEEN, SL_SINK_COUNTERS };
extern const struct sl_counter_def sl_sink_counter_defs[SL_SINK_COUNTERS];

/* `reserve` slots are the device's: the sinks together never hold them. `pool` is borrowed until close. Control thread. */
int sl_fanout_open(struct sl_fanout **out, struct sl_pool *pool, unsigned reserve, struct sl_error *err);
/* Before the capture thread starts. -ENOBUFS: its limit does not fit beside the others'; -ENOSPC: SL_MAX_SINKS are there. */
int sl_fanout_add(struct sl_fanout *fanout, const struct sl_sink_cfg *cfg, struct sl_sink **out, struct sl_error *err);
/* After capture ended. 0: every frame is FREE, and fan-out and sinks are gone. -EBUSY: a sink has not left or still holds frames;
 * nothing is freed, and it may be called again. NULL is fine. */
int sl_fanout_close(struct sl_fanout *fanout, struct sl_error *err);

/* Capture thread. FILLED → SHARED with one reference per sink that takes it, or → FREE when none does. Returns how many took it. */
unsigned sl_fanout_publish(struct sl_fanout *fanout, struct sl_frame *frame);
/* Capture thread. Frames that came home → FREE; returns how many. */
unsigned sl_fanout_collect(struct sl_fanout *fanout);
/* Rung by a last release while capture has armed it. Borrowed. */
struct sl_wake *sl_fanout_home_wake(struct sl_fanout *fanout);

/* Sink thread. Next frame, oldest first, or NULL. Each taken frame is released exactly once, in any order. */
struct sl_frame *sl_sink_take(struct sl_sink *sink);
void sl_sink_release(struct sl_sink *sink, struct sl_frame *frame);
/* Sink thread. A new sink has joined; one that left may join again, as long as the fan-out is not being closed. */
void sl_sink_leave(struct sl_sink *sink); /* NULL is fine, and so is one that has left */
void sl_sink_join(struct sl_sink *sink);

/* Any thread, until the fan-out is closed. */
unsigned sl_sink_waiting(const struct sl_sink *sink); /* queued, not yet taken */
unsigned sl_sink_held(const struct sl_sink *sink);    /* queued and taken */
struct sl_wake *sl_sink_wake(struct sl_sink *sink);   /* rung by publish while the sink has armed it */
uint64_t sl_sink_counter(const struct sl_sink *sink, enum sl_sink_counter which);

#endif
