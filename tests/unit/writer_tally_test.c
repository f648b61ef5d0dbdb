/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>

#include "support/suite.h"
#include "writer/tally.h"

static struct sl_tally tally;
static struct sl_gap gap;
static struct sl_books books;
static enum sl_loss g_cause; /* of frames refused before the next one */

/* The frame with that number, when capture has lost so many before it. */
static void enter(uint64_t number, uint64_t sensor_gap, uint64_t no_slot)
{
    struct sl_frame frame = {.number = number};

    frame.lost[SL_LOSS_SENSOR_GAP] = sensor_gap;
    frame.lost[SL_LOSS_NO_SLOT] = no_slot;
    frame.captured = number + 1 - sensor_gap - no_slot;
    sl_tally_enter(&tally, &frame, g_cause, &gap);
    sl_tally_books(&tally, &frame, &books);
    ck_assert(sl_books_balanced(&books));
}

START_TEST(test_nothing_missing)
{
    for (uint64_t number = 0; number < 100; number++) {
        enter(number, 0, 0);
        ck_assert_uint_eq(gap.count, 0);
    }
    ck_assert_uint_eq(books.recorded, 100);
    ck_assert_uint_eq(sl_books_lost(&books), 0);
}
END_TEST

START_TEST(test_remainder_is_late)
{
    enter(0, 0, 0);
    enter(10, 3, 2); /* nine are missing, capture knows of five */
    ck_assert_uint_eq(gap.first, 1);
    ck_assert_uint_eq(gap.count, 4);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 4);
    enter(11, 3, 2);
    ck_assert_uint_eq(gap.count, 0);
    enter(14, 4, 2);
    ck_assert_uint_eq(gap.first, 12);
    ck_assert_uint_eq(gap.count, 1);
    ck_assert_uint_eq(books.recorded, 4);
    ck_assert_uint_eq(books.expected, 15);
    ck_assert_uint_eq(books.captured, 9);
}
END_TEST

START_TEST(test_refused_by_cause)
{
    enter(0, 0, 0);
    enter(3, 0, 0);
    g_cause = SL_LOSS_DISK_FULL;
    enter(8, 0, 0);
    ck_assert_uint_eq(gap.first, 4);
    ck_assert_uint_eq(gap.count, 4);
    ck_assert_uint_eq(books.recorded, 3);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 2);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_FULL], 4);
}
END_TEST

START_TEST(test_late_before_the_first)
{
    enter(7, 0, 0);
    ck_assert_uint_eq(gap.first, 0);
    ck_assert_uint_eq(gap.count, 7);
}
END_TEST

START_TEST(test_own_losses)
{
    for (uint64_t number = 0; number < 10; number++)
        enter(number, 0, 0);
    tally.disk_error = 2;
    tally.disk_full = 1;
    tally.abandoned = 3;
    enter(10, 0, 0);
    ck_assert_uint_eq(books.recorded, 11 - 6);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_ERROR], 2);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_FULL], 1);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 3);
}
END_TEST

START_TEST(test_untriggered_is_not_expected)
{
    for (uint64_t number = 0; number < 10; number++) {
        enter(number, 0, 0);
        tally.untriggered++;
    }
    enter(12, 2, 0);
    ck_assert_uint_eq(books.expected, 3);
    ck_assert_uint_eq(books.recorded, 1);
    ck_assert_uint_eq(books.captured, 1);
    ck_assert_uint_eq(books.lost[SL_LOSS_SENSOR_GAP], 2);
}
END_TEST

/* A capture side that claims more losses than there were numbers must not make the remainder wrap. */
START_TEST(test_lies_do_not_wrap)
{
    struct sl_frame frame = {.number = 5, .captured = 6};

    frame.lost[SL_LOSS_SENSOR_GAP] = 100;
    sl_tally_enter(&tally, &frame, g_cause, &gap);
    ck_assert_uint_eq(gap.count, 0);
    ck_assert_uint_eq(tally.refused[SL_LOSS_DISK_LATE], 0);
}
END_TEST

START_TEST(test_close)
{
    enter(0, 0, 0);
    enter(5, 0, 0);
    ck_assert_uint_eq(sl_tally_close(&tally, 4, SL_LOSS_DISK_FULL), 0);
    ck_assert_uint_eq(sl_tally_close(&tally, 9, SL_LOSS_DISK_FULL), 5);
    ck_assert_uint_eq(tally.refused[SL_LOSS_DISK_LATE], 4);
    ck_assert_uint_eq(tally.refused[SL_LOSS_DISK_FULL], 5);
}
END_TEST

static void setup(void)
{
    memset(&tally, 0, sizeof(tally));
    g_cause = SL_LOSS_DISK_LATE;
}

int main(void)
{
    Suite *suite = suite_create("writer tally");
    TCase *tcase = tcase_create("tally");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, test_nothing_missing);
    tcase_add_test(tcase, test_remainder_is_late);
    tcase_add_test(tcase, test_refused_by_cause);
    tcase_add_test(tcase, test_late_before_the_first);
    tcase_add_test(tcase, test_own_losses);
    tcase_add_test(tcase, test_untriggered_is_not_expected);
    tcase_add_test(tcase, test_lies_do_not_wrap);
    tcase_add_test(tcase, test_close);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
