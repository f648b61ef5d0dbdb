/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random faults of the disk, random lateness, random ends, on a clock by hand. Whatever happens, the books balance, every file that is left
 * is whole, and every recorded frame is in it, byte for byte. The seed is printed; SLUICE_SEED repeats a run.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/recorder_rig.h"
#include "support/scratch.h"
#include "support/suite.h"

enum { RUNS = 60, MAX_FAULTS = 6 };

static uint64_t state;
static struct rec_rig rig;

static uint64_t below(uint64_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 16) % bound;
}

static void make_faults(struct sl_store_fault *fault, unsigned count, uint64_t frames)
{
    for (unsigned i = 0; i < count; i++) {
        fault[i] = (struct sl_store_fault){.kind = (enum sl_store_fault_kind)below(6), .at = below(frames), .count = 1 + below(5)};
        if (fault[i].kind == SL_STORE_FAULT_STALL)
            fault[i].at *= 16 * SL_NS_PER_MS;
        if (fault[i].kind == SL_STORE_FAULT_STALL || fault[i].kind == SL_STORE_FAULT_LATE)
            fault[i].count = below(2500) * SL_NS_PER_MS;
    }
}

static void make_spec(struct rec_spec *spec, struct sl_store_fault *fault, uint64_t frames)
{
    *spec = (struct rec_spec){
        .slots = 24 + (unsigned)below(100),
        .latency_ns = (int64_t)below(3) * (int64_t)below(60) * SL_NS_PER_MS,
        .shuffle = below(2) * state,
        .width = 32 + 2 * (uint32_t)below(40),
        .height = 16 + 2 * (uint32_t)below(40),
        .disk_bytes = below(3) ? 64 << 20 : (2 + below(8)) << 20,
        .cfg =
            {
                .queue_depth = 1 + (unsigned)below(12),
                .checksum = below(2) ? SL_CHECKSUM_CRC32 : SL_CHECKSUM_NONE,
                .sync = (enum sl_sync)below(3),
                .sync_interval_ns = SL_NS_PER_S,
                .segment_bytes = below(2) * below(2 << 20),
                .segment_time_ns = (int64_t)below(2) * (int64_t)below(3000) * SL_NS_PER_MS,
                .prerecord_ns = below(4) ? 0 : 150 * SL_NS_PER_MS,
                .fault = fault,
                .faults = (unsigned)below(MAX_FAULTS + 1),
            },
    };
    spec->limit = 8 + (unsigned)below(spec->slots);
    make_faults(fault, spec->cfg.faults, frames);
    /* What is overwritten cannot be counted in the files; tests of its own are elsewhere. With a full disk only `stop` loses. */
    spec->cfg.when_full = SL_WHEN_FULL_STOP;
}

static void run_frames(uint64_t frames)
{
    for (uint64_t i = 0; i < frames; i++) {
        if (below(40) == 0)
            rec_gap(&rig, 1 + below(5), (enum sl_loss)(below(2) ? SL_LOSS_SENSOR_GAP : SL_LOSS_BAD_FRAME));
        if (below(60) == 0)
            sl_recorder_trigger(rig.recorder, below(2));
        rec_frame(&rig);
    }
}

static void check(const char *what)
{
    struct sl_books books;
    struct rec_files found;

    rec_books(&rig, &books);
    ck_assert_msg(sl_books_balanced(&books), "%s: expected %llu, recorded %llu, lost %llu", what, (unsigned long long)books.expected,
                  (unsigned long long)books.recorded, (unsigned long long)sl_books_lost(&books));
    rec_read(&rig, &found);
    ck_assert_msg(found.frames == books.recorded, "%s: %llu frames recorded, %llu in %u files", what, (unsigned long long)books.recorded,
                  (unsigned long long)found.frames, found.files);
    for (unsigned cause = 0; cause < SL_LOSS_COUNT; cause++)
        ck_assert_uint_eq(rec_lost_in_events(&rig, (enum sl_loss)cause), books.lost[cause] - rig.lost[cause]);
}

static bool one_run(void)
{
    struct sl_store_fault fault[MAX_FAULTS];
    uint64_t frames = 20 + below(600);
    struct rec_spec spec;
    int rc;

    make_spec(&spec, fault, frames);
    scratch_open();
    rc = rec_open(&rig, &spec);
    if (rc < 0) { /* a pre-recording that the ring has no room for, a disk that is too small: and nothing is left behind */
        ck_assert(rc == -EINVAL || rc == -ENOSPC);
        ck_assert_uint_eq(scratch_count(""), 0);
        rec_close(&rig);
        scratch_close();
        return false;
    }
    run_frames(frames);
    if (below(8) == 0) { /* told to end in the middle */
        sl_recorder_agent(rig.recorder)->on_stop(rig.recorder);
        sl_recorder_drain(rig.recorder, false);
        rec_turn(&rig);
        check("stopped");
    } else {
        rec_drain(&rig, below(3) == 0);
        check("drained");
    }
    rec_close(&rig);
    ck_assert_uint_eq(scratch_count(".next") + scratch_count(".gone") + scratch_count(".probe"), 0);
    scratch_close();
    return true;
}

START_TEST(test_random_runs)
{
    const char *given = getenv("SLUICE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    unsigned ran = 0;

    printf("writer_recorder: SLUICE_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (unsigned i = 0; i < RUNS; i++)
        ran += one_run();
    ck_assert_uint_gt(ran, RUNS / 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer recorder torture");
    TCase *tcase = tcase_create("torture");

    tcase_set_timeout(tcase, 250);
    tcase_add_test(tcase, test_random_runs);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
