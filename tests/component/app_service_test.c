/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice run` in a process of its own under a service manager, which is this test with the socket that sd_notify(3) has. A thread is made
 * to stand still by ptrace(2), as a driver would hold it in the kernel. Nothing here is expected before a time, only after one.
 */
#include <check.h>
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "app/commands.h"
#include "support/scratch.h"
#include "support/suite.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) /* these make mlockall do nothing */
enum { LOCKS = 0 };
#else
enum { LOCKS = 1 };
#endif
enum { WAIT_MS = 50000, WATCHDOG_MS = 400 };

static int manager = -1;
static pid_t service;
static unsigned fed; /* WATCHDOG=1 so far */
static char status[1024], said[1024];

static long long now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void setup(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    scratch_open();
    snprintf(address.sun_path, sizeof address.sun_path, "%s", scratch_path("notify"));
    manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(manager, (struct sockaddr *)&address, sizeof address), 0);
    fed = 0;
    status[0] = '\0';
}

static void teardown(void)
{
    if (service > 0) {
        kill(service, SIGKILL);
        waitpid(service, NULL, 0);
    }
    service = 0;
    close(manager);
    scratch_close();
}

static void start_as(const char *lines, void (*before)(void))
{
    char run[] = "run", usec[32], ini[512];
    char *argv[] = {run, ini, NULL};
    FILE *file;

    snprintf(ini, sizeof ini, "%s", scratch_path("cam.ini"));
    file = fopen(ini, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file,
            "[sensor]\nname = cam\nsource = pattern\nsize = 64x48\nfps = 50\n[ring]\ndepth = 500\nhugepages = no\n"
            "[record]\ndir = %s\nkeep_free = 0\n%s",
            scratch_path("."), lines);
    fclose(file);
    fflush(NULL);
    service = fork();
    ck_assert_int_ge(service, 0);
    if (service)
        return;
    setenv("NOTIFY_SOCKET", scratch_path("notify"), 1);
    snprintf(usec, sizeof usec, "%d", WATCHDOG_MS * 1000);
    setenv("WATCHDOG_USEC", usec, 1);
    snprintf(usec, sizeof usec, "%d", (int)getpid());
    setenv("WATCHDOG_PID", usec, 1);
    if (!freopen(scratch_path("log"), "wb", stderr) || !freopen("/dev/null", "wb", stdout))
        _exit(99);
    if (before)
        before();
    _exit(sl_cmd_run(2, argv));
}

static void start(const char *lines)
{
    start_as(lines, NULL);
}

/* The next message, into `said`; false: none within that time. */
static bool hear(int timeout_ms)
{
    struct pollfd in = {.fd = manager, .events = POLLIN};

    if (poll(&in, 1, timeout_ms) <= 0)
        return false;
    ssize_t bytes = recv(manager, said, sizeof said - 1, 0);

    ck_assert_int_gt(bytes, 0);
    said[bytes] = '\0';
    if (!strcmp(said, "WATCHDOG=1"))
        fed++;
    if (!strncmp(said, "STATUS=", 7))
        strcpy(status, said + 7);
    return true;
}

static void await(const char *message)
{
    long long until = now_ms() + WAIT_MS;

    do
        ck_assert_msg(now_ms() < until && hear(WAIT_MS), "no %s, but the status \"%s\"", message, status);
    while (strcmp(said, message) != 0);
}

static void await_status(const char *part)
{
    long long until = now_ms() + WAIT_MS;

    while (!strstr(status, part))
        ck_assert_msg(now_ms() < until && hear(WAIT_MS), "the status is \"%s\", without \"%s\"", status, part);
}

static void await_food(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        await("WATCHDOG=1");
}

static int end(void)
{
    int result;

    ck_assert_int_eq(waitpid(service, &result, 0), service);
    service = 0;
    ck_assert(WIFEXITED(result));
    return WEXITSTATUS(result);
}

static int stop(void)
{
    kill(service, SIGTERM);
    await("STOPPING=1");
    return end();
}

/* In order; a paced sensor on a busy machine may have lost frames. */
static void check_stop(void)
{
    int code = stop();

    ck_assert_msg(code == 0 || code == 3, "exit %d", code);
}

/* --- life ---------------------------------------------------------------------------------------------------------------- */

START_TEST(ready_is_said_when_the_first_frame_is_on_the_disk)
{
    long long begun = now_ms();

    start("[fault]\nstore = stall@0s:2s\n");
    await("READY=1");
    ck_assert_int_ge(now_ms() - begun, 2000);
    ck_assert_uint_ge(fed, 2); /* before, too */
    await_status("streaming: ");
    await_status("/cam-");
    ck_assert_ptr_nonnull(strstr(status, " lost, "));
    ck_assert_ptr_nonnull(strstr(status, "-0001.mkv"));
    check_stop();
}
END_TEST

START_TEST(watchdog_is_fed_twice_in_its_time)
{
    start("");
    await("READY=1");
    await_food(1);
    long long begun = now_ms();

    await_food(10);
    ck_assert_int_ge(now_ms() - begun, 10 * WATCHDOG_MS / 2 - WATCHDOG_MS); /* and not all the time */
    check_stop();
}
END_TEST

START_TEST(run_that_waits_for_its_trigger_is_ready)
{
    start("prerecord = 10m\n");
    await("READY=1");
    await_food(3);
    check_stop();
}
END_TEST

/* --- reasons ------------------------------------------------------------------------------------------------------------- */

START_TEST(run_that_waits_for_its_device_is_ready_and_fed)
{
    start("[fault]\nsensor = streamon@0:1000000\n");
    await("READY=1");
    await_status("reopening, waits for the device: 0 frames recorded");
    await_food(5);
    ck_assert_int_eq(stop(), 1);
}
END_TEST

START_TEST(run_that_waits_for_its_disk_is_fed)
{
    start("[fault]\nstore = stall@1s:10m\n");
    await("READY=1");
    await_status("streaming, waits for the disk: ");
    await_food(5);
}
END_TEST

/* --- death --------------------------------------------------------------------------------------------------------------- */

static pid_t thread_named(const char *name)
{
    char path[512], comm[32];
    struct dirent *entry;
    pid_t found = 0;

    snprintf(path, sizeof path, "/proc/%d/task", (int)service);
    DIR *dir = opendir(path);

    ck_assert_ptr_nonnull(dir);
    while ((entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof path, "/proc/%d/task/%.16s/comm", (int)service, entry->d_name);
        FILE *file = fopen(path, "r");

        if (file && fgets(comm, sizeof comm, file) && !strncmp(comm, name, strlen(name)))
            found = (pid_t)atoi(entry->d_name);
        if (file)
            fclose(file);
    }
    closedir(dir);
    ck_assert_int_gt(found, 0);
    return found;
}

static const struct {
    const char *thread, *status;
} stands[] = {
    {"capture", "streaming, the capture thread stands still: "},
    {"recorder", "streaming, the recorder thread stands still: "},
};

START_TEST(thread_that_stands_still_is_not_fed)
{
    start("");
    await("READY=1");
    await_food(1);
    pid_t thread = thread_named(stands[_i].thread);

    ck_assert_int_eq(ptrace(PTRACE_SEIZE, thread, NULL, NULL), 0);
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL), 0);
    ck_assert_int_eq(waitpid(thread, NULL, __WALL), thread);
    await_status(stands[_i].status);

    unsigned before = fed;
    long long until = now_ms() + 5 * WATCHDOG_MS;

    while (now_ms() < until)
        hear((int)(until - now_ms()) + 1);
    ck_assert_uint_eq(fed, before);
    ck_assert_int_eq(ptrace(PTRACE_DETACH, thread, NULL, NULL), 0);
    await_food(2);
    await_status("streaming: ");
    check_stop();
}
END_TEST

/* --- [realtime] ---------------------------------------------------------------------------------------------------------- */

static void check_thread(const char *name, int cpu, int priority)
{
    pid_t thread = thread_named(name);
    struct sched_param param;
    cpu_set_t cpus;

    ck_assert_int_eq(sched_getaffinity(thread, sizeof cpus, &cpus), 0);
    ck_assert_int_eq(CPU_COUNT(&cpus), 1);
    ck_assert(CPU_ISSET(cpu, &cpus));
    ck_assert_int_eq(sched_getscheduler(thread), priority ? SCHED_FIFO : SCHED_OTHER);
    ck_assert_int_eq(sched_getparam(thread, &param), 0);
    ck_assert_int_eq(param.sched_priority, priority);
}

static long locked_kib(void)
{
    char path[64], line[256];
    long kib = -1;

    snprintf(path, sizeof path, "/proc/%d/status", (int)service);
    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof line, file))
        sscanf(line, "VmLck: %ld kB", &kib);
    fclose(file);
    return kib;
}

static bool may(int resource, rlim_t wanted)
{
    struct rlimit limit;

    return geteuid() == 0 || (getrlimit(resource, &limit) == 0 && limit.rlim_cur >= wanted);
}

START_TEST(settings_hold_for_the_threads_they_name)
{
    int first = -1, last = -1, priority = may(RLIMIT_RTPRIO, 7) ? 7 : 0;
    bool lock = may(RLIMIT_MEMLOCK, 1 << 30);
    char lines[256];
    cpu_set_t cpus;

    ck_assert_int_eq(sched_getaffinity(0, sizeof cpus, &cpus), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &cpus)) {
            first = first < 0 ? i : first;
            last = i;
        }
    snprintf(lines, sizeof lines, "[realtime]\ncapture_cpu = %d\nwriter_cpu = %d\npriority = %d\nlock_memory = %s\n", first, last, priority,
             lock ? "yes" : "no");
    start(lines);
    await("READY=1");
    check_thread("capture", first, priority);
    check_thread("recorder", last, priority);
    ck_assert_int_eq(sched_getscheduler(service), SCHED_OTHER);
    ck_assert_int_eq(locked_kib() > 1024, LOCKS && lock);
    check_stop();
}
END_TEST

static void give_up_rights(void)
{
    struct rlimit small = {65536, 65536};

    if (setrlimit(RLIMIT_MEMLOCK, &small) < 0 || (geteuid() == 0 && setresuid(65534, 65534, 65534) < 0))
        _exit(98);
}

START_TEST(memory_that_may_not_be_locked_ends_the_start)
{
    char line[512] = "";

    ck_assert_int_eq(chmod(scratch_path("."), 0755), 0);
    start_as("[realtime]\nlock_memory = yes\n", give_up_rights);
    ck_assert_int_eq(end(), 1);
    FILE *log = fopen(scratch_path("log"), "r");

    ck_assert_ptr_nonnull(log);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, log));
    fclose(log);
    ck_assert_msg(strstr(line, "mlockall: Cannot allocate memory; raise the memory-lock limit (LimitMEMLOCK=infinity in the systemd unit"),
                  "%s", line);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service");
    TCase *life = tcase_create("life"), *reasons = tcase_create("reasons"), *death = tcase_create("death");
    TCase *realtime = tcase_create("realtime");

    tcase_add_checked_fixture(life, setup, teardown);
    tcase_add_test(life, ready_is_said_when_the_first_frame_is_on_the_disk);
    tcase_add_test(life, watchdog_is_fed_twice_in_its_time);
    tcase_add_test(life, run_that_waits_for_its_trigger_is_ready);
    tcase_add_checked_fixture(reasons, setup, teardown);
    tcase_add_test(reasons, run_that_waits_for_its_device_is_ready_and_fed);
    tcase_add_test(reasons, run_that_waits_for_its_disk_is_fed);
    tcase_add_checked_fixture(death, setup, teardown);
    tcase_add_loop_test(death, thread_that_stands_still_is_not_fed, 0, (int)(sizeof stands / sizeof *stands));
    tcase_add_checked_fixture(realtime, setup, teardown);
    tcase_add_test(realtime, settings_hold_for_the_threads_they_name);
    if (LOCKS)
        tcase_add_test(realtime, memory_that_may_not_be_locked_ends_the_start);
    suite_add_tcase(suite, life);
    suite_add_tcase(suite, reasons);
    suite_add_tcase(suite, death);
    suite_add_tcase(suite, realtime);
    return sl_run_suite(suite);
}
