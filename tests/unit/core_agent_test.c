/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent.h"
#include "core/wake.h"
#include "support/suite.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* Records the order of calls and does what the test has set. Written by the agent's thread, read after close. */
struct probe {
    struct sl_wake wake;
    char calls[64]; /* S start, W work, I idle, E end; repeated ones are written once */
    unsigned length;
    int start_result;
    int work_result;
    _Atomic unsigned works;
    _Atomic unsigned idles;
    _Atomic unsigned ends;
    char name[16];
    int policy;
    int priority;
    int cpu;
    bool signals_blocked;
    bool fault_deliverable;
};

static const struct sl_runner_cfg plain = {.cpu = -1, .priority = 0};

static void note(struct probe *probe, char call)
{
    if (probe->length && probe->calls[probe->length - 1] == call)
        return;
    if (probe->length < sizeof(probe->calls) - 1)
        probe->calls[probe->length++] = call;
}

static int on_start(void *self)
{
    struct probe *probe = self;
    struct sched_param param;
    sigset_t blocked;

    note(probe, 'S');
    pthread_getname_np(pthread_self(), probe->name, sizeof(probe->name));
    pthread_getschedparam(pthread_self(), &probe->policy, &param);
    probe->priority = param.sched_priority;
    probe->cpu = sched_getcpu();
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    probe->signals_blocked = sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGTERM);
    probe->fault_deliverable = !sigismember(&blocked, SIGSEGV);
    return probe->start_result;
}

static int do_work(void *self)
{
    struct probe *probe = self;

    note(probe, 'W');
    atomic_fetch_add(&probe->works, 1);
    return probe->work_result;
}

/* Without a time limit: a wake-up that got lost hangs the test. */
static void idle(void *self)
{
    struct probe *probe = self;
    struct pollfd entry = {.fd = probe->wake.fd, .events = POLLIN};

    note(probe, 'I');
    atomic_fetch_add(&probe->idles, 1);
    poll(&entry, 1, -1);
    sl_wake_drain(&probe->wake);
}

static void wake(void *self)
{
    sl_wake_signal(&((struct probe *)self)->wake);
}

static void on_stop(void *self)
{
    struct probe *probe = self;

    note(probe, 'E');
    atomic_fetch_add(&probe->ends, 1);
}

static struct probe probe;
static struct sl_agent agent;

static void setup(void)
{
    memset(&probe, 0, sizeof(probe));
    ck_assert_int_eq(sl_wake_init(&probe.wake), 0);
    agent = (struct sl_agent){"probe", &probe, on_start, do_work, idle, wake, on_stop};
}

static void teardown(void)
{
    sl_wake_fini(&probe.wake);
}

static struct sl_runner *start(void)
{
    struct sl_runner *runner = NULL;
    struct sl_error err;

    ck_assert_int_eq(sl_runner_open(&runner, &agent, &plain, &err), 0);
    return runner;
}

static void wait_for(const _Atomic unsigned *count, unsigned at_least)
{
    while (atomic_load(count) < at_least)
        usleep(100);
}

START_TEST(calls_come_in_order)
{
    struct sl_runner *runner = start();

    wait_for(&probe.idles, 1);
    ck_assert(sl_runner_running(runner, NULL));
    sl_runner_close(runner);
    ck_assert_str_eq(probe.calls, "SWIE");
    ck_assert_str_eq(probe.name, "probe");
    ck_assert(probe.signals_blocked);
    ck_assert(probe.fault_deliverable);
}
END_TEST

START_TEST(works_until_there_is_no_work)
{
    struct sl_runner *runner;

    probe.work_result = 3;
    runner = start();
    wait_for(&probe.works, 1000);
    ck_assert_uint_eq(atomic_load(&probe.idles), 0);
    sl_runner_close(runner);
    ck_assert_str_eq(probe.calls, "SWE");
}
END_TEST

START_TEST(wake_brings_it_back_to_work)
{
    struct sl_runner *runner = start();

    for (unsigned i = 1; i <= 20; i++) {
        wait_for(&probe.idles, i);
        ck_assert_uint_eq(atomic_load(&probe.works), i);
        agent.wake(&probe);
    }
    wait_for(&probe.idles, 21);
    sl_runner_close(runner);
}
END_TEST

/* Close at any moment, also between the look at the stop flag and idle(). */
START_TEST(stop_is_never_missed)
{
    for (unsigned i = 0; i < 300; i++) {
        struct sl_runner *runner = start();

        if (i % 3)
            usleep(i % 50);
        sl_runner_close(runner);
    }
    ck_assert_uint_eq(atomic_load(&probe.ends), 300);
}
END_TEST

START_TEST(a_failing_start_is_the_result)
{
    struct sl_runner *runner;
    int result = 1;

    probe.start_result = -ENODEV;
    runner = start();
    while (sl_runner_running(runner, &result))
        usleep(100);
    ck_assert_int_eq(result, -ENODEV);
    sl_runner_close(runner);
    ck_assert_str_eq(probe.calls, "S"); /* nothing to stop */
}
END_TEST

START_TEST(failing_work_is_the_result)
{
    struct sl_runner *runner;
    int result = 1;

    probe.work_result = -EIO;
    runner = start();
    while (sl_runner_running(runner, &result))
        usleep(100);
    ck_assert_int_eq(result, -EIO);
    sl_runner_close(runner);
    ck_assert_str_eq(probe.calls, "SWE");
    ck_assert_uint_eq(atomic_load(&probe.works), 1);
}
END_TEST

START_TEST(optional_calls_may_be_absent)
{
    struct sl_runner *runner;

    agent.on_start = NULL;
    agent.on_stop = NULL;
    runner = start();
    wait_for(&probe.idles, 1);
    sl_runner_close(runner);
    ck_assert_str_eq(probe.calls, "WI");
    sl_runner_close(NULL);
}
END_TEST

START_TEST(nudged_thread_makes_a_turn)
{
    struct sl_runner *runner = start();

    wait_for(&probe.idles, 1);
    for (unsigned i = 1; i < 100; i++) {
        uint64_t before = sl_runner_turns(runner);

        ck_assert_uint_ge(before, i);
        sl_runner_nudge(runner);
        wait_for(&probe.idles, i + 1); /* it sleeps again, with a turn more behind it */
        ck_assert_uint_gt(sl_runner_turns(runner), before);
    }
    sl_runner_close(runner);
}
END_TEST

static void check_refused(const struct sl_runner_cfg *cfg, int code, const char *text)
{
    struct sl_runner *runner = (struct sl_runner *)&probe;
    struct sl_error err = {""};

    ck_assert_int_eq(sl_runner_open(&runner, &agent, cfg, &err), code);
    ck_assert_ptr_eq(runner, &probe); /* written only on success */
    ck_assert_msg(strstr(err.text, text) != NULL, "\"%s\" does not say \"%s\"", err.text, text);
    ck_assert_str_eq(probe.calls, "");
}

START_TEST(refuses_a_cpu_that_is_not_there)
{
    const struct sl_runner_cfg absent = {.cpu = CPU_SETSIZE - 1};
    const struct sl_runner_cfg beyond = {.cpu = CPU_SETSIZE};

    check_refused(&absent, -EINVAL, "thread probe: pin to CPU 1023");
    check_refused(&absent, -EINVAL, "CPUAffinity= in its systemd unit");
    check_refused(&beyond, -EINVAL, "CPU 1024");
}
END_TEST

START_TEST(refuses_a_priority_out_of_range)
{
    const struct sl_runner_cfg high = {.cpu = -1, .priority = 100};
    const struct sl_runner_cfg negative = {.cpu = -1, .priority = -1};

    check_refused(&high, -EINVAL, "priority 100");
    check_refused(&negative, -EINVAL, "priority -1");
}
END_TEST

START_TEST(refuses_an_agent_that_cannot_run)
{
    agent.name = "sixteen letters!";
    check_refused(&plain, -EINVAL, "15 characters");
    agent.name = "probe";
    agent.wake = NULL;
    check_refused(&plain, -EINVAL, "wake");
}
END_TEST

/* In a child of its own, as every Check test: it gives up its rights for good. */
START_TEST(a_priority_that_is_not_granted_is_an_error)
{
    const struct sl_runner_cfg fifo = {.cpu = -1, .priority = 10};
    const struct rlimit none = {0, 0};

    ck_assert_int_eq(setrlimit(RLIMIT_RTPRIO, &none), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setresgid(65534, 65534, 65534), 0);
        ck_assert_int_eq(setresuid(65534, 65534, 65534), 0);
    }
    check_refused(&fifo, -EPERM,
                  "thread probe: real-time priority 10: Operation not permitted; it needs LimitRTPRIO=10 in the systemd unit");
}
END_TEST

START_TEST(cpu_and_priority_hold_from_the_first_call)
{
    struct sl_runner_cfg cfg = {.cpu = -1, .priority = 7};
    struct sl_runner *runner;
    struct sl_error err;
    cpu_set_t cpus;
    int ret;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &cpus))
            cfg.cpu = i; /* the last one that is allowed */
    ret = sl_runner_open(&runner, &agent, &cfg, &err);
    if (ret == -EPERM) { /* no right to real-time here: at least the CPU */
        cfg.priority = 0;
        ret = sl_runner_open(&runner, &agent, &cfg, &err);
    }
    ck_assert_int_eq(ret, 0);
    wait_for(&probe.idles, 1);
    sl_runner_close(runner);
    ck_assert_int_eq(probe.cpu, cfg.cpu);
    ck_assert_int_eq(probe.policy, cfg.priority ? SCHED_FIFO : SCHED_OTHER);
    ck_assert_int_eq(probe.priority, cfg.priority);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_agent");
    TCase *tcase = tcase_create("agent");

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 30);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, calls_come_in_order);
    tcase_add_test(tcase, works_until_there_is_no_work);
    tcase_add_test(tcase, wake_brings_it_back_to_work);
    tcase_add_test(tcase, nudged_thread_makes_a_turn);
    tcase_add_test(tcase, stop_is_never_missed);
    tcase_add_test(tcase, a_failing_start_is_the_result);
    tcase_add_test(tcase, failing_work_is_the_result);
    tcase_add_test(tcase, optional_calls_may_be_absent);
    tcase_add_test(tcase, refuses_a_cpu_that_is_not_there);
    tcase_add_test(tcase, refuses_a_priority_out_of_range);
    tcase_add_test(tcase, refuses_an_agent_that_cannot_run);
    tcase_add_test(tcase, a_priority_that_is_not_granted_is_an_error);
    tcase_add_test(tcase, cpu_and_priority_hold_from_the_first_call);
    return sl_run_suite(suite);
}
