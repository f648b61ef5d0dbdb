/* SPDX-License-Identifier: Apache-2.0 */
#include "core/wake.h"
#include "support/suite.h"

#include <poll.h>
#include <sys/eventfd.h>

static struct sl_wake wake;

static bool readable(void)
{
    struct pollfd entry = {.fd = wake.fd, .events = POLLIN};

    return poll(&entry, 1, 0) == 1;
}

static void setup(void)
{
    ck_assert_int_eq(sl_wake_init(&wake), 0);
}

static void teardown(void)
{
    sl_wake_fini(&wake);
}

START_TEST(notify_is_silent_unless_armed)
{
    sl_wake_notify(&wake);
    ck_assert(!readable());
    sl_wake_arm(&wake);
    ck_assert(!readable());
    sl_wake_notify(&wake);
    ck_assert(readable());
    ck_assert(sl_wake_disarm(&wake));
    sl_wake_drain(&wake);
    ck_assert(!readable());
}
END_TEST

START_TEST(only_the_first_waker_pays)
{
    uint64_t count;

    sl_wake_arm(&wake);
    for (int i = 0; i < 5; i++)
        sl_wake_notify(&wake);
    ck_assert_int_eq(eventfd_read(wake.fd, &count), 0);
    ck_assert_uint_eq(count, 1);
}
END_TEST

START_TEST(disarm_tells_whether_somebody_came)
{
    sl_wake_arm(&wake);
    ck_assert(!sl_wake_disarm(&wake));
    sl_wake_notify(&wake);
    ck_assert(!readable());
    sl_wake_arm(&wake);
    sl_wake_notify(&wake);
    ck_assert(sl_wake_disarm(&wake));
}
END_TEST

START_TEST(signal_needs_no_arming_and_is_kept)
{
    sl_wake_signal(&wake);
    sl_wake_signal(&wake);
    ck_assert(readable());
    sl_wake_drain(&wake);
    ck_assert(!readable());
    sl_wake_drain(&wake); /* of nothing: returns */
}
END_TEST

START_TEST(signal_returns_when_the_count_is_at_its_end)
{
    ck_assert_int_eq(eventfd_write(wake.fd, UINT64_MAX - 1), 0);
    sl_wake_signal(&wake);
    ck_assert(readable());
    sl_wake_drain(&wake);
    ck_assert(!readable());
}
END_TEST

START_TEST(fini_twice_and_of_zeroed_memory)
{
    struct sl_wake zeroed = {0};
    struct pollfd entry = {.fd = 0, .events = 0};

    sl_wake_fini(&wake);
    ck_assert_int_eq(wake.fd, -1);
    sl_wake_fini(&wake);
    sl_wake_fini(&zeroed);
    ck_assert_int_ge(poll(&entry, 1, 0), 0);
    ck_assert_int_eq(entry.revents & POLLNVAL, 0); /* descriptor 0 is still open */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_wake");
    TCase *tcase = tcase_create("wake");

    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, notify_is_silent_unless_armed);
    tcase_add_test(tcase, only_the_first_waker_pays);
    tcase_add_test(tcase, disarm_tells_whether_somebody_came);
    tcase_add_test(tcase, signal_needs_no_arming_and_is_kept);
    tcase_add_test(tcase, signal_returns_when_the_count_is_at_its_end);
    tcase_add_test(tcase, fini_twice_and_of_zeroed_memory);
    return sl_run_suite(suite);
}
