/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an agent in a thread of its own.
 *
 * Thread: open and close belong to the control thread; run() is the agent's thread.
 * Ownership: the runner is freed by close only, after the join, so the thread never touches freed memory.
 * Invariant: on_start is the first call in the thread, on_stop the last; on_stop is called only when on_start succeeded.
 *
 * The thread waits at a gate until CPU and priority have been set from outside, so that a refusal is reported by open and
 * the agent never runs with less than was asked for. Rejected: pthread attributes, whose single error code does not tell a
 * CPU that is not there from a priority that is not allowed.
 */
#include "core/agent.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter.h"

struct sl_runner {
    const struct sl_agent *agent;
    pthread_t thread;
    sem_t gate;
    bool abandoned; /* written before the gate opens */
    _Atomic bool stop;
    _Atomic bool running;
    int result; /* written before running becomes false */
    sl_counter turns;
};

static bool stopped(struct sl_runner *runner)
{
    return atomic_load_explicit(&runner->stop, memory_order_acquire); /* pairs with the store in sl_runner_close */
}

static int work_until_stopped(struct sl_runner *runner)
{
    const struct sl_agent *agent = runner->agent;

    while (!stopped(runner)) {
        int done = agent->do_work(agent->self);

        sl_count(&runner->turns, 1);
        if (done < 0)
            return done;
        if (!done && !stopped(runner))
            agent->idle(agent->self);
    }
    return 0;
}

static void *run(void *arg)
{
    struct sl_runner *runner = arg;
    const struct sl_agent *agent = runner->agent;
    int ret;

    while (sem_wait(&runner->gate) && errno == EINTR)
        ;
    if (runner->abandoned)
        return NULL;
    ret = agent->on_start ? agent->on_start(agent->self) : 0;
    if (ret >= 0) {
        ret = work_until_stopped(runner);
        if (agent->on_stop)
            agent->on_stop(agent->self);
    }
    runner->result = ret;
    atomic_store_explicit(&runner->running, false, memory_order_release); /* pairs with the load in sl_runner_running */
    return NULL;
}

/* Signals are the supervisor's; those that a fault of the thread itself raises must stay deliverable. */
static int create_without_signals(struct sl_runner *runner)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
    sigset_t blocked, before;
    int ret;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        sigdelset(&blocked, faults[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    ret = pthread_create(&runner->thread, NULL, run, runner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -ret;
}

static int set_cpu(struct sl_runner *runner, int cpu, struct sl_error *err)
{
    cpu_set_t cpus;
    int ret;

    if (cpu < 0)
        return 0;
    if (cpu >= CPU_SETSIZE)
        return sl_fail(err, -EINVAL, "CPU %d: this build knows CPUs 0 to %d", cpu, CPU_SETSIZE - 1);
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    ret = pthread_setaffinity_np(runner->thread, sizeof(cpus), &cpus);
    if (ret)
        return sl_fail(err, -ret,
                       "pin to CPU %d: %s; the CPUs of this process are those of `taskset -p`, or of CPUAffinity= in its systemd unit", cpu,
                       strerror(ret));
    return 0;
}

static int set_priority(struct sl_runner *runner, int priority, struct sl_error *err)
{
    struct sched_param param = {.sched_priority = priority};
    struct sched_param present;
    int policy = priority ? SCHED_FIFO : SCHED_OTHER;
    int inherited;
    int ret;

    if (priority < 0 || priority > 99)
        return sl_fail(err, -EINVAL, "priority %d: must be 1 to 99, or 0 for none", priority);
    ret = pthread_getschedparam(runner->thread, &inherited, &present);
    if (!ret && !priority && inherited != SCHED_FIFO && inherited != SCHED_RR)
        return 0; /* batch or idle was the caller's wish for the whole process */
    if (!ret)
        ret = pthread_setschedparam(runner->thread, policy, &param);
    if (ret)
        return sl_fail(err, -ret, "real-time priority %d: %s; it needs LimitRTPRIO=%d in the systemd unit, `ulimit -r %d`, or CAP_SYS_NICE",
                       priority, strerror(ret), priority, priority);
    return 0;
}

int sl_runner_open(struct sl_runner **out, const struct sl_agent *agent, const struct sl_runner_cfg *cfg, struct sl_error *err)
{
    struct sl_runner *runner;
    int ret;

    if (!agent->name || strlen(agent->name) > 15 || !agent->do_work || !agent->idle || !agent->wake)
        return sl_fail(err, -EINVAL, "agent without do_work, idle or wake, or with a name of none or more than 15 characters");
    runner = calloc(1, sizeof(*runner));
    if (!runner)
        return sl_fail(err, -ENOMEM, "thread %s: out of memory", agent->name);
    runner->agent = agent;
    atomic_init(&runner->stop, false);
    atomic_init(&runner->running, true);
    if (sem_init(&runner->gate, 0, 0)) {
        ret = sl_fail(err, -errno, "thread %s: semaphore: %s", agent->name, strerror(errno));
        goto free_runner;
    }
    ret = create_without_signals(runner);
    if (ret) {
        sl_fail(err, ret, "thread %s: %s", agent->name, strerror(-ret));
        goto destroy_gate;
    }
    pthread_setname_np(runner->thread, agent->name);
    ret = set_cpu(runner, cfg->cpu, err);
    if (!ret)
        ret = set_priority(runner, cfg->priority, err);
    if (ret)
        goto join_thread;
    sem_post(&runner->gate);
    *out = runner;
    return 0;

join_thread:
    sl_fail_context(err, ret, "thread %s", agent->name);
    runner->abandoned = true;
    sem_post(&runner->gate);
    pthread_join(runner->thread, NULL);
destroy_gate:
    sem_destroy(&runner->gate);
free_runner:
    free(runner);
    return ret;
}

bool sl_runner_running(const struct sl_runner *runner, int *result)
{
    if (atomic_load_explicit(&runner->running, memory_order_acquire)) /* pairs with the store in run */
        return true;
    if (result)
        *result = runner->result;
    return false;
}

uint64_t sl_runner_turns(const struct sl_runner *runner)
{
    return sl_counter_read(&runner->turns);
}

void sl_runner_nudge(struct sl_runner *runner)
{
    runner->agent->wake(runner->agent->self);
}

void sl_runner_close(struct sl_runner *runner)
{
    if (!runner)
        return;
    atomic_store_explicit(&runner->stop, true, memory_order_release); /* pairs with the load in stopped */
    runner->agent->wake(runner->agent->self);
    pthread_join(runner->thread, NULL);
    sem_destroy(&runner->gate);
    free(runner);
}
