/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_CAPTURE_RIG_H
#define SL_TESTS_CAPTURE_RIG_H

/*
 * A capture with everything around it, worked by hand: manual clock, host memory, one sink that takes and releases when told,
 * and an events ring that is read into totals. Failures end the test.
 */

#include "capture/capture.h"
#include "capture/source.h"

enum { RIG_MAX_SLOTS = 256, RIG_MAX_EVENTS = 4096 };

struct capture_rig {
    struct sl_manual_clock clock;
    struct sl_events events;
    struct sl_capture_deps deps;
    struct sl_capture *capture;
    const struct sl_agent *agent;
    struct sl_memory *memory;
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_sink *sink;
    struct sl_error err;
    struct sl_frame *held[RIG_MAX_SLOTS]; /* taken from the sink, oldest first */
    unsigned holding;
    struct sl_event event[RIG_MAX_EVENTS]; /* all that came so far */
    unsigned event_count;
};

void rig_init(struct capture_rig *rig);
/* Opens by config, makes `slots` slots of host memory and starts. */
void rig_start(struct capture_rig *rig, const struct sl_capture_cfg *cfg, unsigned slots);
/* The same over a source; taken. */
void rig_start_source(struct capture_rig *rig, struct sl_source *source, const struct sl_capture_cfg *cfg, unsigned slots);
/* Pool, fan-out and sink over rig->memory, then start, which may fail. */
int rig_try_start(struct capture_rig *rig);
/* The same, and it must not fail; what rig_start does after its memory. */
void rig_start_on_memory(struct capture_rig *rig);
/* do_work until it does nothing; returns how much was done, or the first negative result. */
int rig_work(struct capture_rig *rig);
/* Everything that waits at the sink → held. Returns how many. */
unsigned rig_take(struct capture_rig *rig);
void rig_release(struct capture_rig *rig, unsigned count); /* the oldest; more than there are: all */
void rig_drain_events(struct capture_rig *rig);
uint64_t rig_event_frames(const struct capture_rig *rig, enum sl_loss cause); /* sum over loss events */
unsigned rig_event_count(const struct capture_rig *rig, enum sl_event_kind kind);
struct sl_books rig_books(const struct capture_rig *rig);
/* expected == captured + losses on the capture side; events say the same unless some were dropped. */
void rig_check_books(struct capture_rig *rig);
/* Releases everything, finishes with stop_ns and cause, checks the books, frees all. */
void rig_fini(struct capture_rig *rig);

#endif
