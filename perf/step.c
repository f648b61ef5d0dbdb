/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
/*
 * step PID THREAD SECONDS: how many instructions a thread runs in user space, counted one by one.
 *
 * For machines whose hypervisor hides the performance counters. The thread is stopped after every instruction (PTRACE_SINGLESTEP),
 * some microseconds each, so it must have time to spare; the other threads run on undisturbed. A system call is one step, and so is
 * a string instruction with all its repetitions. Both threads share one CPU: waking another one would cost ten times as much.
 * Rejected: valgrind, whose threads take turns and which does not let go of the turn in io_uring_enter(2), so that the recorder
 * would wait for ever for frames that nobody may make; gdb, a hundred times slower.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Thread id by name; 0: there is none. */
static pid_t find_thread(const char *pid, const char *name)
{
    char path[300], found[64];
    struct dirent *entry;
    pid_t tid = 0;

    snprintf(path, sizeof path, "/proc/%s/task", pid);
    DIR *tasks = opendir(path);

    while (tasks && !tid && (entry = readdir(tasks))) {
        snprintf(path, sizeof path, "/proc/%s/task/%s/comm", pid, entry->d_name);
        FILE *file = fopen(path, "re");

        if (!file)
            continue;
        if (fgets(found, sizeof found, file) && !strncmp(found, name, strlen(name)) && found[strlen(name)] == '\n')
            tid = (pid_t)strtol(entry->d_name, NULL, 10);
        fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return tid;
}

/* Where the stopped thread is; 0 when it cannot be told. */
static uint64_t position(pid_t tid)
{
    struct user_regs_struct registers;
    struct iovec io = {&registers, sizeof registers};

    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &io))
        return 0;
#ifdef __x86_64__
    return registers.rip;
#else
    return registers.pc;
#endif
}

static void share_cpu(pid_t tid)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    sched_setaffinity(tid, sizeof set, &set);
}

/* Steps until `end_ns`. The number of steps, or -1 when the thread ended. */
static int64_t step(pid_t tid, int64_t end_ns)
{
    int64_t steps = 0, stops = 0;
    uint64_t before = 0, here;
    int status, pass_on = 0;

    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) || waitpid(tid, &status, __WALL) != tid)
        return -1;
    while (stops++ % 64 || now_ns() < end_ns) {
        if (ptrace(PTRACE_SINGLESTEP, tid, NULL, (void *)(intptr_t)pass_on) || waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status))
            return -1;
        pass_on = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        here = position(tid);
        steps += !pass_on && here != before;
        before = here;
    }
    return steps;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(stderr, "usage: step PID THREAD SECONDS\n");
        return 2;
    }
    pid_t tid = find_thread(argv[1], argv[2]);

    if (!tid || ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
        fprintf(stderr, "step: thread %s of %s: %s\n", argv[2], argv[1], tid ? strerror(errno) : "there is none");
        return 1;
    }
    share_cpu(tid);

    int64_t begin_ns = now_ns();
    int64_t steps = step(tid, begin_ns + (int64_t)(strtod(argv[3], NULL) * 1e9));
    double seconds = (double)(now_ns() - begin_ns) / 1e9;

    if (steps < 0) {
        fprintf(stderr, "step: the thread ended\n");
        return 1;
    }
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    printf("%lld %.6f\n", (long long)steps, seconds);
    return 0;
}
