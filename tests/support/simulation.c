/* SPDX-License-Identifier: Apache-2.0 */
#define SIM_ONLY_DECLARE
#include "support/simulation.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "support/memory_store.h"
#include "support/scratch.h"
#include "support/seed.h"

struct sl_runner {
    const struct sl_agent *agent;
    bool started;
    bool running;
    int result;
    uint64_t turns;
    int64_t away_until_ns;
};

/* How its thread is served by the machine. */
struct habit {
    const char *agent;
    unsigned turns_of_8; /* that it gets: of 8 there is always one in time */
    int64_t rest_ns;     /* how long it sleeps at most when it had nothing to do */
    int64_t late_ns;     /* how late it is at most, once in a while */
};

static const struct habit habits[] = {{"capture", 7, 0, 400 * SL_NS_PER_MS},
                                      {"recorder", 6, 0, 1200 * SL_NS_PER_MS},
                                      {"housekeeper", 6, 60 * SL_NS_PER_MS, 2000 * SL_NS_PER_MS},
                                      {NULL, 4, 0, 100 * SL_NS_PER_MS}};

enum { LATE_ONE_IN = 6000, TURNS = 64, ROUNDS = 3, STEP_MS = 16, HUNG_MS = 400, HUNG_ONE_IN = 2000 };

struct simulation sim;

static void need(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

uint64_t sim_below(uint64_t bound)
{
    return sl_test_random(&sim.random) % bound;
}

/* --- the disk ------------------------------------------------------------------------------------------------------------ */

static int free_bytes(void *self, int dir_fd, uint64_t *bytes)
{
    uint64_t used = scratch_used();

    (void)self;
    (void)dir_fd;
    *bytes = sim.disk_bytes > used ? sim.disk_bytes - used : 0;
    return 0;
}

static int allocate(void *self, int fd, uint64_t offset, uint64_t bytes)
{
    uint64_t left;

    free_bytes(self, -1, &left);
    return bytes > left ? -ENOSPC : sl_space_system.allocate(NULL, fd, offset, bytes);
}

static int open_store(void *self, struct sl_store **out, struct sl_wake *wake)
{
    struct memory_store_cfg cfg = {.clock = &sim.clock, .latency_ns = sim.disk_latency_ns, .shuffle = sim_below(2) * (sim.random | 1)};

    (void)self;
    (void)wake;
    memory_store_open(out, &cfg);
    return 0;
}

/* --- threads ------------------------------------------------------------------------------------------------------------- */

int sim_runner_open(struct sl_runner **out, const struct sl_agent *agent)
{
    struct sl_runner *runner = calloc(1, sizeof *runner);

    need(runner && sim.runners < SIM_RUNNERS, "a runner more");
    runner->agent = agent;
    runner->running = true;
    sim.runner[sim.runners++] = runner;
    *out = runner;
    return 0;
}

bool sim_runner_running(const struct sl_runner *runner, int *result)
{
    if (!runner->running && result)
        *result = runner->result;
    return runner->running;
}

uint64_t sim_runner_turns(const struct sl_runner *runner)
{
    return runner->turns;
}

static void end(struct sl_runner *runner, int result)
{
    if (runner->started && runner->agent->on_stop)
        runner->agent->on_stop(runner->agent->self);
    runner->result = result;
    runner->running = false;
}

void sim_runner_close(struct sl_runner *runner)
{
    unsigned at = 0;

    if (!runner)
        return;
    if (runner->running)
        end(runner, 0);
    while (sim.runner[at] != runner)
        at++;
    sim.runner[at] = sim.runner[--sim.runners];
    free(runner);
}

/* True when it did something. */
static bool turn(struct sl_runner *runner)
{
    const struct sl_agent *agent = runner->agent;
    int did = 0, rc = 0;

    if (!runner->started && agent->on_start)
        rc = agent->on_start(agent->self);
    if (rc < 0) {
        runner->result = rc;
        runner->running = false;
        return true;
    }
    runner->started = true;
    for (unsigned i = 0; i < TURNS && (i == 0 || did > 0); i++) {
        did = agent->do_work(agent->self);
        runner->turns++;
        if (did < 0)
            end(runner, did);
    }
    return did != 0 || runner->turns == 1;
}

static const struct habit *habit_of(const struct sl_runner *runner)
{
    const struct habit *habit = habits;

    while (habit->agent && strcmp(habit->agent, runner->agent->name) != 0)
        habit++;
    return habit;
}

static bool may_turn(struct sl_runner *runner)
{
    int64_t now_ns = sl_now_ns(&sim.clock.clock);
    const struct habit *habit = habit_of(runner);

    if (!runner->running || now_ns < runner->away_until_ns)
        return false;
    if (sim_below(LATE_ONE_IN) == 0)
        runner->away_until_ns = now_ns + (int64_t)sim_below((uint64_t)habit->late_ns);
    return sim_below(8) < habit->turns_of_8;
}

static void turn_all(void)
{
    bool did = true;

    for (unsigned round = 0; round < ROUNDS && did && sim.runners; round++) {
        unsigned first = (unsigned)sim_below(sim.runners);

        did = false;
        for (unsigned i = 0; i < sim.runners; i++) {
            struct sl_runner *runner = sim.runner[(first + i) % sim.runners];

            if (!may_turn(runner))
                continue;
            if (turn(runner))
                did = true;
            else if (habit_of(runner)->rest_ns)
                runner->away_until_ns = sl_now_ns(&sim.clock.clock) + (int64_t)sim_below((uint64_t)habit_of(runner)->rest_ns);
        }
    }
}

/* --- time and signals ---------------------------------------------------------------------------------------------------- */

void sim_signal(uint32_t number)
{
    struct signalfd_siginfo info = {.ssi_signo = number};

    need(write(sim.order[1], &info, sizeof info) == sizeof info, "order");
}

int sim_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    int64_t left_ns;

    if (sim.watch)
        sim.watch(sim.self);
    if (sim_below(HUNG_ONE_IN) == 0)
        timeout_ms += (int)sim_below(HUNG_MS); /* the main thread is late, too */
    left_ns = timeout_ms * SL_NS_PER_MS;
    while (left_ns > 0 && ppoll(fds, count, &(struct timespec){0}, NULL) == 0) {
        int64_t step_ns = 1 + (int64_t)sim_below(STEP_MS * SL_NS_PER_MS);

        if (step_ns > left_ns)
            step_ns = left_ns;
        sl_manual_clock_advance(&sim.clock, step_ns);
        left_ns -= step_ns;
        sim.steps++;
        turn_all();
    }
    return ppoll(fds, count, &(struct timespec){0}, NULL);
}

void sim_open(uint64_t seed)
{
    sim = (struct simulation){.random = seed,
                              .disk_bytes = 1 << 30,
                              .disk_latency_ns = 2 * SL_NS_PER_MS,
                              .fakes = {.open_store = open_store, .space = &sim.space}};
    sim.space = (struct sl_space){.free_bytes = free_bytes, .allocate = allocate};
    sl_manual_clock_init(&sim.clock, 1000 * SL_NS_PER_S);
    sim.clock.utc_offset_ns = 1767312000 * SL_NS_PER_S;
    need(pipe2(sim.order, O_CLOEXEC | O_NONBLOCK) == 0, "pipe");
}

void sim_close(void)
{
    close(sim.order[0]);
    close(sim.order[1]);
}
