/* SPDX-License-Identifier: Apache-2.0 */
/* After start the recorder's turn neither allocates nor locks: not while it writes, rotates, extends, loses or ends. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "support/alloc_trap.h"
#include "support/recorder_rig.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct rec_rig rig;
static int (*real_do_work)(void *self);
static uint64_t turns, allocations, locks;

static int trapped_do_work(void *self)
{
    int rc;

    sl_trap_arm();
    rc = real_do_work(self);
    sl_trap_disarm();
    turns++;
    allocations += sl_trap_allocations();
    locks += sl_trap_locks();
    return rc;
}

static void run(const struct rec_spec *spec, uint64_t frames, int result)
{
    turns = allocations = locks = 0;
    ck_assert_int_eq(rec_open(&rig, spec), 0);
    real_do_work = rig.recorder->agent.do_work;
    rig.recorder->agent.do_work = trapped_do_work;
    rec_frames(&rig, frames);
    ck_assert_int_eq(rec_drain(&rig, false), result);
    ck_assert_uint_gt(turns, frames);
    ck_assert_msg(allocations == 0 && locks == 0, "%llu allocations and %llu locks in %llu turns, first at %p",
                  (unsigned long long)allocations, (unsigned long long)locks, (unsigned long long)turns, sl_trap_first_caller());
}

START_TEST(test_writes_and_extends)
{
    run(&(struct rec_spec){.width = 32, .height = 32, .latency_ns = 20 * SL_NS_PER_MS, .cfg = {.sync_interval_ns = SL_NS_PER_S}}, 5000,
        -ESHUTDOWN);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_RECORDED), 5000);
}
END_TEST

START_TEST(test_rotates_and_loses)
{
    struct sl_store_fault fault[] = {{SL_STORE_FAULT_EIO, 60, 3},
                                     {SL_STORE_FAULT_SHORT, 100, 3},
                                     {SL_STORE_FAULT_EAGAIN, 110, 3},
                                     {SL_STORE_FAULT_STALL, 3 * SL_NS_PER_S, 2 * SL_NS_PER_S}};

    run(&(struct rec_spec){.cfg = {.segment_time_ns = SL_NS_PER_S, .fault = fault, .faults = 4}}, 600, -ESHUTDOWN);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_DISK_ERROR), 3);
    ck_assert_uint_gt(rec_count(&rig, SL_RECORDER_DISK_LATE), 50);
    ck_assert_uint_gt(rec_count(&rig, SL_RECORDER_SEGMENTS), 8);
}
END_TEST

START_TEST(test_runs_full)
{
    run(&(struct rec_spec){.disk_bytes = 4 << 20, .cfg = {.segment_bytes = 1 << 20}}, 600, -ENOSPC);
    ck_assert_uint_gt(rec_count(&rig, SL_RECORDER_DISK_FULL), 50);
}
END_TEST

static void setup(void)
{
    scratch_open();
    memset(&rig, 0, sizeof(rig));
}

static void teardown(void)
{
    if (rig.pool)
        rec_close(&rig);
    scratch_close();
}

int main(void)
{
    Suite *suite;
    TCase *tcase;

    if (!sl_trap_available())
        return 77;
    suite = suite_create("writer does not allocate");
    tcase = tcase_create("trap");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, test_writes_and_extends);
    tcase_add_test(tcase, test_rotates_and_loses);
    tcase_add_test(tcase, test_runs_full);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
