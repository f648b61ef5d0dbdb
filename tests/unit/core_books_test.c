/* SPDX-License-Identifier: Apache-2.0 */
#include "core/counter.h"
#include "core/event.h"
#include "core/loss.h"
#include "support/suite.h"

#include <errno.h>
#include <string.h>

START_TEST(every_cause_has_its_own_name)
{
    ck_assert_str_eq(sl_loss_name(SL_LOSS_SENSOR_GAP), "sensor_gap");
    ck_assert_str_eq(sl_loss_name(SL_LOSS_BAD_FRAME), "bad_frame");
    ck_assert_str_eq(sl_loss_name(SL_LOSS_NO_SLOT), "no_slot");
    ck_assert_str_eq(sl_loss_name(SL_LOSS_DISK_LATE), "disk_late");
    ck_assert_str_eq(sl_loss_name(SL_LOSS_DISK_ERROR), "disk_error");
    ck_assert_str_eq(sl_loss_name(SL_LOSS_DISK_FULL), "disk_full");
    ck_assert_str_eq(sl_loss_name(SL_LOSS_DEVICE_GONE), "device_gone");
    ck_assert_ptr_null(sl_loss_name(SL_LOSS_COUNT));
    ck_assert_ptr_null(sl_loss_name((enum sl_loss) - 1));
}
END_TEST

START_TEST(books_balance_only_with_every_cause)
{
    struct sl_books books = {.expected = 100, .captured = 97, .recorded = 72};

    for (unsigned i = 0; i < SL_LOSS_COUNT; i++) {
        ck_assert(!sl_books_balanced(&books));
        books.lost[i] = i + 1;
    }
    ck_assert_uint_eq(sl_books_lost(&books), 28);
    ck_assert(sl_books_balanced(&books));
    books.recorded++;
    ck_assert(!sl_books_balanced(&books));
}
END_TEST

START_TEST(a_counter_counts)
{
    sl_counter counter = 0;

    sl_count(&counter, 3);
    sl_count(&counter, 0);
    sl_count(&counter, UINT32_MAX);
    ck_assert_uint_eq(sl_counter_read(&counter), 3ULL + UINT32_MAX);
}
END_TEST

START_TEST(events_come_out_in_order_and_whole)
{
    struct sl_events events;
    struct sl_event event = {.kind = SL_EVENT_LOSS, .code = SL_LOSS_NO_SLOT, .count = 2, .error = -EIO};

    memset(&events, 0, sizeof(events));
    ck_assert_int_eq(sl_events_init(&events, 4), 0);
    ck_assert(!sl_events_take(&events, &event));
    for (uint64_t i = 0; i < 4; i++) {
        event.first = i;
        event.time_ns = (int64_t)i * 10;
        sl_events_post(&events, &event);
    }
    memset(&event, 0, sizeof(event));
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert(sl_events_take(&events, &event));
        ck_assert_uint_eq(event.first, i);
        ck_assert_int_eq(event.time_ns, (int64_t)i * 10);
        ck_assert_uint_eq(event.kind, SL_EVENT_LOSS);
        ck_assert_uint_eq(event.code, SL_LOSS_NO_SLOT);
        ck_assert_uint_eq(event.count, 2);
        ck_assert_int_eq(event.error, -EIO);
    }
    ck_assert(!sl_events_take(&events, &event));
    ck_assert_uint_eq(sl_events_counter(&events, SL_EVENTS_DROPPED), 0);
    sl_events_fini(&events);
}
END_TEST

START_TEST(a_full_event_ring_counts_what_it_drops)
{
    struct sl_events events;
    struct sl_event event = {0};

    memset(&events, 0, sizeof(events));
    ck_assert_int_eq(sl_events_init(&events, 2), 0);
    for (uint64_t i = 0; i < 7; i++) {
        event.first = i;
        sl_events_post(&events, &event);
    }
    ck_assert_uint_eq(sl_events_counter(&events, SL_EVENTS_DROPPED), 5);
    ck_assert(sl_events_take(&events, &event));
    ck_assert_uint_eq(event.first, 0); /* the oldest are kept */
    ck_assert(sl_events_take(&events, &event));
    ck_assert_uint_eq(event.first, 1);
    ck_assert(!sl_events_take(&events, &event));
    sl_events_fini(&events);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_books");
    TCase *tcase = tcase_create("books");

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, every_cause_has_its_own_name);
    tcase_add_test(tcase, books_balance_only_with_every_cause);
    tcase_add_test(tcase, a_counter_counts);
    tcase_add_test(tcase, events_come_out_in_order_and_whole);
    tcase_add_test(tcase, a_full_event_ring_counts_what_it_drops);
    return sl_run_suite(suite);
}
