/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_AGENT_H
#define SL_CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

/*
 * A thread's work without the thread. The runner owns thread, name, CPU and priority; the agent only works.
 * A test calls do_work() by hand with a manual clock and needs no thread at all.
 */

struct sl_agent {
    const char *name; /* at most 15 characters: it becomes the thread's name */
    void *self;
    int (*on_start)(void *self); /* first call in the agent's own thread; negative errno: the agent is finished; may be NULL */
    int (*do_work)(void *self);  /* how much was done; 0: nothing to do now; negative errno: the agent is finished */
    void (*idle)(void *self);    /* sleeps until there may be work again; may return early; may not spin */
    void (*wake)(void *self);    /* any thread: makes idle() return, also one that begins only now (sl_wake_signal does that) */
    void (*on_stop)(void *self); /* last call in the agent's own thread, if on_start succeeded; may be NULL */
};

struct sl_runner_cfg {
    int cpu;      /* pin to this CPU; -1: do not */
    int priority; /* 1…99: SCHED_FIFO; 0: the scheduler's normal class */
};

struct sl_runner;

/* Starts the agent's thread. `agent` is borrowed until sl_runner_close. Fails, saying why, when CPU or priority are
 * refused: a priority that was asked for and not given is an error, not a warning. */
int sl_runner_open(struct sl_runner **out, const struct sl_agent *agent, const struct sl_runner_cfg *cfg, struct sl_error *err);

/* True while the thread runs. When false, *result (may be NULL) is what ended it: 0 or the negative
 * errno of on_start or do_work. */
bool sl_runner_running(const struct sl_runner *runner, int *result);

/* How often do_work() has returned. After sl_runner_nudge a thread that works makes one turn at least; one that stands still makes none. */
uint64_t sl_runner_turns(const struct sl_runner *runner);
void sl_runner_nudge(struct sl_runner *runner);

/* Asks the thread to end after its present do_work(), waits for it, frees the runner. NULL is fine. */
void sl_runner_close(struct sl_runner *runner);

#endif
