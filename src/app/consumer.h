/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_CONSUMER_H
#define SL_APP_CONSUMER_H

#include "core/agent.h"
#include "dma/fanout.h"

/*
 * Who takes frames beside the recorder: a pipeline gives each consumer a sink and a thread for as long as the device is open. The ring
 * grows by the consumer's limit, so that the recorder's share stays what it is without it.
 *
 * A consumer that fails ends its agent; its sink then fills up and refuses, or misses all when the agent left it. Either costs the
 * recorder nothing.
 *
 * At the end of an opening the agent is told to end. By the return of its on_stop, which takes 100 ms at most, it has released what it
 * held, and has left its sink if another thread of it may still release. A frame that it still has then (a reader that hangs, a packet that
 * the kernel has not let go) stays readable: the ring of that opening is left as it is (struct sl_left_rings) until the frame is released,
 * and the consumer gets no frames of later openings before. The device is opened again meanwhile, on a ring of its own.
 */

struct sl_consumer {
    struct sl_sink_cfg sink;
    void *self;
    /* Control thread, once an opening. The sink is the agent's until its thread ended, and after that for sl_sink_release only; the
     * agent is borrowed until then. NULL: not this time. */
    const struct sl_agent *(*open)(void *self, struct sl_sink *sink);
};

enum { SL_MAX_CONSUMERS = SL_MAX_SINKS - 1 };

/* Sets of consumers have a bit for each. */
unsigned sl_consumers_share(const struct sl_consumer *consumer, uint32_t which); /* the frames they may hold together */
/* Those of `which` that fit into so many frames, the first ones first. */
uint32_t sl_consumers_fit(const struct sl_consumer *consumer, uint32_t which, unsigned frames);

struct sl_left_ring {
    struct sl_fanout *fanout;
    struct sl_pool *pool;
    struct sl_memory *memory;
    bool of_device;     /* the memory needs the device, which is closed: it stays mapped to the end of the process */
    uint32_t consumers; /* that hold frames of it */
};

/* Zeroed: none. One for each consumer at most, as each ring has one that gets no other. Control thread. */
struct sl_left_rings {
    unsigned count;
    struct sl_left_ring ring[SL_MAX_CONSUMERS];
};

void sl_left_rings_add(struct sl_left_rings *left, const struct sl_left_ring *ring); /* taken */
/* Frees the rings to which all frames have come home. Returns the consumers that hold frames of the others. */
uint32_t sl_left_rings_tidy(struct sl_left_rings *left);

#endif
