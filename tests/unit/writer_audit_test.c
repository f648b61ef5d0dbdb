/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <string.h>

#include "support/suite.h"
#include "writer/audit.h"

static struct sl_audit audit;
static struct sl_audit_gap gap;

static void start(void)
{
    sl_audit_init(&audit, true);
}

/* A frame whose books say that `lost` of everything up to it were lost for this cause. */
static unsigned feed(uint64_t number, enum sl_loss cause, uint64_t lost)
{
    struct sl_frame_record record = {.number = number, .monotonic_ns = 1000 + (int64_t)number};

    record.books.expected = number + 1;
    record.books.lost[cause] = lost;
    record.books.recorded = number + 1 - lost;
    record.books.captured = record.books.recorded;
    return sl_audit_frame(&audit, &record, &gap);
}

START_TEST(test_nothing_lost)
{
    for (uint64_t i = 0; i < 5; i++) {
        ck_assert_uint_eq(feed(i, SL_LOSS_NO_SLOT, 0), 0);
        ck_assert_uint_eq(gap.count + gap.holes + gap.unbooked, 0);
    }
    ck_assert_uint_eq(audit.frames, 5);
    ck_assert_uint_eq(audit.missing, 0);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);
    ck_assert_uint_eq(sl_audit_overbooked(&audit), 0);
}
END_TEST

START_TEST(test_booked)
{
    feed(0, SL_LOSS_NO_SLOT, 0);
    ck_assert_uint_eq(feed(4, SL_LOSS_NO_SLOT, 3), 0);
    ck_assert_uint_eq(gap.first, 1);
    ck_assert_uint_eq(gap.count, 3);
    ck_assert_uint_eq(gap.booked[SL_LOSS_NO_SLOT], 3);
    ck_assert_uint_eq(gap.unbooked, 0);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);
}
END_TEST

START_TEST(test_lost_before_the_first)
{
    ck_assert_uint_eq(feed(2, SL_LOSS_SENSOR_GAP, 2), 0);
    ck_assert_uint_eq(gap.first, 0);
    ck_assert_uint_eq(gap.count, 2);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);

    sl_audit_init(&audit, false); /* the file before is not there: what its books hold is its own affair */
    ck_assert_uint_eq(feed(7, SL_LOSS_SENSOR_GAP, 2), 0);
    ck_assert_uint_eq(gap.count, 0);
    ck_assert_uint_eq(audit.lost[SL_LOSS_SENSOR_GAP], 0);
}
END_TEST

START_TEST(test_unbooked)
{
    feed(0, SL_LOSS_NO_SLOT, 0);
    ck_assert_uint_eq(feed(4, SL_LOSS_NO_SLOT, 1), 0);
    ck_assert_uint_eq(gap.unbooked, 2);
    feed(5, SL_LOSS_NO_SLOT, 1);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 2);
}
END_TEST

/* Frame 1's write fails when frames 2 and 3 are on their way: a hole now, its booking with frame 4. */
START_TEST(test_failed_write_is_booked_later)
{
    feed(0, SL_LOSS_DISK_ERROR, 0);
    sl_audit_hole(&audit, false);
    feed(2, SL_LOSS_DISK_ERROR, 0);
    ck_assert_uint_eq(gap.count, 1);
    ck_assert_uint_eq(gap.holes, 1);
    ck_assert_uint_eq(gap.unbooked, 0);
    feed(3, SL_LOSS_DISK_ERROR, 0);
    feed(4, SL_LOSS_DISK_ERROR, 1);
    ck_assert_uint_eq(gap.count, 0);
    ck_assert_uint_eq(gap.booked[SL_LOSS_DISK_ERROR], 1);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);
    ck_assert_uint_eq(sl_audit_overbooked(&audit), 0);
}
END_TEST

/* The same, and a frame beside it that nobody booked: a hole explains one frame, not two. */
START_TEST(test_hole_does_not_hide_another)
{
    feed(0, SL_LOSS_DISK_ERROR, 0);
    sl_audit_hole(&audit, false);
    feed(3, SL_LOSS_DISK_ERROR, 0);
    ck_assert_uint_eq(gap.count, 2);
    ck_assert_uint_eq(gap.unbooked, 1);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 1);
}
END_TEST

/* Later pages say that the slot held a frame: it explains nothing, unless it is booked after all. */
START_TEST(test_hole_that_held_a_frame)
{
    feed(0, SL_LOSS_DISK_ERROR, 0);
    sl_audit_hole(&audit, true);
    feed(2, SL_LOSS_DISK_ERROR, 0);
    ck_assert_uint_eq(gap.holes, 1);
    ck_assert_uint_eq(gap.unbooked, 1);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 1);
    feed(3, SL_LOSS_DISK_ERROR, 1);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);
    sl_audit_hole(&audit, true);
    feed(5, SL_LOSS_DISK_ERROR, 2);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);
    ck_assert_uint_eq(sl_audit_overbooked(&audit), 0);
}
END_TEST

START_TEST(test_overbooked)
{
    feed(0, SL_LOSS_NO_SLOT, 0);
    feed(1, SL_LOSS_NO_SLOT, 1);
    ck_assert_uint_eq(sl_audit_overbooked(&audit), 1);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);
}
END_TEST

/* Recording was paused: the books did not expect those frames. */
START_TEST(test_paused)
{
    struct sl_frame_record record = {.number = 100, .monotonic_ns = 5000, .books = {.expected = 2, .captured = 2, .recorded = 2}};

    feed(0, SL_LOSS_NO_SLOT, 0);
    ck_assert_uint_eq(sl_audit_frame(&audit, &record, &gap), 0);
    ck_assert_uint_eq(gap.count, 99);
    ck_assert_uint_eq(gap.paused, 99);
    ck_assert_uint_eq(gap.unbooked, 0);
    ck_assert_uint_eq(audit.missing, 0);
    ck_assert_uint_eq(sl_audit_unexplained(&audit), 0);
}
END_TEST

START_TEST(test_faults)
{
    struct sl_frame_record record = {.number = 3, .monotonic_ns = 5000, .books = {.expected = 4, .captured = 4, .recorded = 2}};

    record.books.lost[SL_LOSS_NO_SLOT] = 1;
    ck_assert_uint_eq(feed(2, SL_LOSS_SENSOR_GAP, 2), 0);
    ck_assert_uint_eq(sl_audit_frame(&audit, &record, &gap), SL_AUDIT_BALANCE | SL_AUDIT_BACKWARD);
    ck_assert_uint_eq(sl_audit_frame(&audit, &record, &gap), SL_AUDIT_NUMBER); /* the same again */
    record.number = UINT64_MAX;
    ck_assert_uint_eq(sl_audit_frame(&audit, &record, &gap), SL_AUDIT_NUMBER); /* counting on from it would wrap */
    record = (struct sl_frame_record){.number = 4, .monotonic_ns = 4000, .books = {.expected = 9, .recorded = 8}};
    record.books.lost[SL_LOSS_NO_SLOT] = 1;
    ck_assert_uint_eq(sl_audit_frame(&audit, &record, &gap), SL_AUDIT_EXPECTED | SL_AUDIT_TIME);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer audit");
    TCase *tcase = tcase_create("audit");

    tcase_add_checked_fixture(tcase, start, NULL);
    tcase_add_test(tcase, test_nothing_lost);
    tcase_add_test(tcase, test_booked);
    tcase_add_test(tcase, test_lost_before_the_first);
    tcase_add_test(tcase, test_unbooked);
    tcase_add_test(tcase, test_failed_write_is_booked_later);
    tcase_add_test(tcase, test_hole_does_not_hide_another);
    tcase_add_test(tcase, test_hole_that_held_a_frame);
    tcase_add_test(tcase, test_overbooked);
    tcase_add_test(tcase, test_paused);
    tcase_add_test(tcase, test_faults);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
