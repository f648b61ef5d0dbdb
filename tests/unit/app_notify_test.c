/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/notify.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct sl_notify notify;
static struct sl_error err;

static void setup(void)
{
    scratch_open();
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    err.text[0] = '\0';
}

static void teardown(void)
{
    sl_notify_close(&notify);
    scratch_close();
}

static int open_with(const char *address, const char *usec, const char *pid)
{
    setenv("NOTIFY_SOCKET", address, 1);
    if (usec)
        setenv("WATCHDOG_USEC", usec, 1);
    if (pid)
        setenv("WATCHDOG_PID", pid, 1);
    int rc = sl_notify_open(&notify, &err);

    ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
    ck_assert_ptr_null(getenv("WATCHDOG_USEC"));
    ck_assert_ptr_null(getenv("WATCHDOG_PID"));
    return rc;
}

/* A manager's socket of this name, of which byte 0 may be 0. */
static int manager(const char *name, size_t bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

    memcpy(address.sun_path, name, bytes);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes)), 0);
    return fd;
}

static void check_arrives(int fd)
{
    char text[64] = "";

    ck_assert(sl_notify_send(&notify, "STATUS=a\nREADY=1"));
    ck_assert_int_eq(recv(fd, text, sizeof text - 1, 0), 16);
    ck_assert_str_eq(text, "STATUS=a\nREADY=1");
    ck_assert_int_eq(recv(fd, text, sizeof text - 1, 0), -1);
    close(fd);
}

START_TEST(without_a_manager_there_is_nothing)
{
    ck_assert_int_eq(sl_notify_open(&notify, &err), 0);
    ck_assert_int_eq(notify.fd, -1);
    setenv("WATCHDOG_USEC", "1000000", 1); /* of somebody else */
    ck_assert_int_eq(sl_notify_open(&notify, &err), 0);
    ck_assert_int_eq(notify.watchdog_ns, 0);
}
END_TEST

START_TEST(path_is_reached)
{
    const char *path = scratch_path("manager");
    int fd = manager(path, strlen(path) + 1);

    ck_assert_int_eq(open_with(path, NULL, NULL), 0);
    ck_assert_int_ne(fcntl(notify.fd, F_GETFD) & FD_CLOEXEC, 0);
    ck_assert_int_eq(notify.watchdog_ns, 0);
    check_arrives(fd);
}
END_TEST

START_TEST(abstract_name_is_reached)
{
    char name[64];
    int length = snprintf(name, sizeof name, "@sluice-test-%d", (int)getpid());
    char bound[64];

    memcpy(bound, name, sizeof name);
    bound[0] = '\0';
    int fd = manager(bound, (size_t)length);

    ck_assert_int_eq(open_with(name, NULL, NULL), 0);
    check_arrives(fd);
}
END_TEST

START_TEST(longest_names_are_reached_and_longer_ones_refused)
{
    char name[sizeof((struct sockaddr_un *)0)->sun_path + 1], bound[sizeof name];

    memset(name, 'x', sizeof name);
    name[snprintf(name, sizeof name, "@sluice-%d", (int)getpid())] = '-';
    name[sizeof name - 2] = '\0'; /* as long as fits with a 0 behind it */
    memcpy(bound, name, sizeof name);
    bound[0] = '\0';
    int fd = manager(bound, strlen(name));

    ck_assert_int_eq(open_with(name, NULL, NULL), 0);
    check_arrives(fd);
    sl_notify_close(&notify);
    name[sizeof name - 2] = 'x';
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(open_with(name, NULL, NULL), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "108 bytes, and a socket's name has at most 107"));
    ck_assert_int_eq(notify.fd, -1);
}
END_TEST

static const char *const senseless[] = {"", "@", "/", "relative", "vsock:2:1234"};

START_TEST(senseless_address_is_refused)
{
    ck_assert_int_eq(open_with(senseless[_i], NULL, NULL), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "NOTIFY_SOCKET="));
    ck_assert_int_eq(notify.fd, -1);
}
END_TEST

START_TEST(watchdog_is_of_this_process_alone)
{
    char pid[16];

    ck_assert_int_eq(open_with("@nobody", "30000000", NULL), 0);
    ck_assert_int_eq(notify.watchdog_ns, INT64_C(30000000000));
    sl_notify_close(&notify);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    ck_assert_int_eq(open_with("@nobody", "1", pid), 0);
    ck_assert_int_eq(notify.watchdog_ns, 1000);
    sl_notify_close(&notify);
    snprintf(pid, sizeof pid, "%d", (int)getppid());
    ck_assert_int_eq(open_with("@nobody", "30000000", pid), 0);
    ck_assert_int_eq(notify.watchdog_ns, 0);
}
END_TEST

static const char *const no_times[] = {"", "0", "-1", "1s", "1e6", "9223372036854775807", "99999999999999999999"};

START_TEST(senseless_watchdog_is_refused)
{
    ck_assert_int_eq(open_with("@nobody", no_times[_i], NULL), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "WATCHDOG_USEC="));
    ck_assert_int_eq(notify.fd, -1);
}
END_TEST

START_TEST(manager_that_does_not_listen_holds_nobody_up)
{
    const char *path = scratch_path("manager");
    int sent = 0;

    ck_assert_int_eq(open_with(path, NULL, NULL), 0);
    ck_assert(!sl_notify_send(&notify, "READY=1")); /* it is not there */

    int fd = manager(path, strlen(path) + 1);

    while (sl_notify_send(&notify, "WATCHDOG=1"))
        ck_assert_int_lt(++sent, 1000000);
    ck_assert_int_gt(sent, 0);
    for (char text[64]; recv(fd, text, sizeof text, 0) > 0;) /* as soon as it reads, it hears more */
        sent--;
    ck_assert_int_eq(sent, 0);
    ck_assert(sl_notify_send(&notify, "READY=1"));
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("notify");
    TCase *tcase = tcase_create("socket");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, without_a_manager_there_is_nothing);
    tcase_add_test(tcase, path_is_reached);
    tcase_add_test(tcase, abstract_name_is_reached);
    tcase_add_test(tcase, longest_names_are_reached_and_longer_ones_refused);
    tcase_add_loop_test(tcase, senseless_address_is_refused, 0, (int)(sizeof senseless / sizeof *senseless));
    tcase_add_test(tcase, watchdog_is_of_this_process_alone);
    tcase_add_loop_test(tcase, senseless_watchdog_is_refused, 0, (int)(sizeof no_times / sizeof *no_times));
    tcase_add_test(tcase, manager_that_does_not_listen_holds_nobody_up);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
