/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SIMULATION_H
#define SL_TESTS_SIMULATION_H

/*
 * A whole run of the appliance in one thread and on a clock of its own: `sl_supervise` and all below it are the real ones, but
 *
 *   threads   are agents that take turns, each in its own time, and sometimes very late
 *   time      passes while the supervisor waits for orders, in random steps, much faster than outside
 *   the disk  is support/memory_store.h, as large as one likes; the files are in the scratch directory
 *   signals   come from a pipe
 *
 * All that is random follows from one number, so that a run can be repeated to the last frame.
 *
 * The test program's own runner and poll(2) replace those of src/core and of the C library. They are defined in this header, in short form,
 * because definitions in the archive of test support would be linked into every test. Include it from the one .c file of a test.
 */

#include <poll.h>

#include "core/agent.h"
#include "core/clock.h"
#include "writer/recorder_fakes.h"
#include "writer/segment.h"

enum { SIM_RUNNERS = 8 };

struct simulation {
    struct sl_manual_clock clock;
    struct sl_recorder_fakes fakes; /* for struct sl_pipeline_cfg */
    struct sl_space space;
    uint64_t random; /* state of support/seed.h */
    uint64_t disk_bytes;
    int64_t disk_latency_ns;
    struct sl_runner *runner[SIM_RUNNERS];
    unsigned runners; /* there are now; 0: no device is open */
    int order[2];     /* order[0] is what the supervisor reads as its signalfd */
    uint64_t steps;
    /* Called each time the supervisor waits, before time passes. May be NULL. */
    void (*watch)(void *self);
    void *self;
};

extern struct simulation sim;

void sim_open(uint64_t seed);
void sim_close(void);
uint64_t sim_below(uint64_t bound); /* a random number */
void sim_signal(uint32_t number);   /* the supervisor will read it */

/* What the definitions below call. */
int sim_runner_open(struct sl_runner **out, const struct sl_agent *agent);
bool sim_runner_running(const struct sl_runner *runner, int *result);
uint64_t sim_runner_turns(const struct sl_runner *runner);
void sim_runner_close(struct sl_runner *runner);
int sim_poll(struct pollfd *fds, nfds_t count, int timeout_ms);

#ifndef SIM_ONLY_DECLARE

int sl_runner_open(struct sl_runner **out, const struct sl_agent *agent, const struct sl_runner_cfg *cfg, struct sl_error *err)
{
    (void)cfg;
    (void)err;
    return sim_runner_open(out, agent);
}

bool sl_runner_running(const struct sl_runner *runner, int *result)
{
    return sim_runner_running(runner, result);
}

uint64_t sl_runner_turns(const struct sl_runner *runner)
{
    return sim_runner_turns(runner);
}

void sl_runner_nudge(struct sl_runner *runner)
{
    (void)runner; /* its turn comes anyway */
}

void sl_runner_close(struct sl_runner *runner)
{
    sim_runner_close(runner);
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    return sim_poll(fds, count, timeout_ms);
}

#endif

#endif
