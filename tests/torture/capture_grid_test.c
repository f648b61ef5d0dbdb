/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random streams against ground truth: jitter, drift, gaps, and every kind of sequence. The seed is printed.
 *
 * With a good sequence ±40 % of jitter must not move a single number. With time alone two stamps far off cannot be told from a
 * change of phase until the grid has settled: ±20 % for the first 200 frames, then ±36 %.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "capture/grid.h"
#include "support/suite.h"

enum kind { GOOD, FROZEN, RESETS, NOT_COUNTING, WRAPS, KINDS };
static const char *const g_kind_names[KINDS] = {"good", "frozen", "resets", "not counting", "wraps"};

static uint64_t g_state;

static double uniform(void)
{
    g_state ^= g_state << 13;
    g_state ^= g_state >> 7;
    g_state ^= g_state << 17;
    return (double)(g_state >> 11) / (double)(UINT64_C(1) << 53);
}

/* One stream of `frames`. Returns how many frames were given a wrong number; *last_right says whether the last one was right. */
static unsigned stream(enum kind kind, double jitter, double rate_error, unsigned frames, bool *last_right)
{
    struct sl_grid grid;
    struct sl_grid_step step;
    double interval = 1e9 / 60 * (1 + rate_error);
    uint64_t truth = 0;
    uint32_t sequence = kind == WRAPS ? UINT32_MAX - frames / 2 : (uint32_t)(uniform() * 1000);
    unsigned wrong = 0;

    sl_grid_init(&grid, (struct sl_rational){60, 1}, false);
    for (unsigned i = 0; i < frames; i++) {
        bool gap = i > 300 && i < frames - 50 && uniform() < 0.01;
        uint64_t steps = i == 0 ? 0 : gap ? 2 + (uint64_t)(uniform() * 30) : 1;

        truth += steps;
        sequence += kind == FROZEN ? 0 : kind == NOT_COUNTING ? (i != 0) : (uint32_t)steps;
        if (kind == RESETS && uniform() < 0.002)
            sequence = 0;
        bool settled = i > 200 || kind == GOOD || kind == WRAPS;
        double off = (uniform() * 2 - 1) * (settled || jitter < 0.2 ? jitter : 0.2) * interval;
        int64_t time_ns = INT64_C(50000000000) + (int64_t)((double)truth * interval + off);
        struct sl_grid_input input = {
            .time_ns = time_ns, .dequeued_ns = time_ns + 2000000, .sequence = sequence, .starved = kind == NOT_COUNTING && gap};

        sl_grid_place(&grid, &input, &step);
        *last_right = step.number == truth;
        if (!*last_right)
            wrong++;
        if (step.number + 1 != grid.next) /* an assertion for each frame would be most of the time this takes */
            ck_abort_msg("frame %u: the grid goes on at %lu", i, (unsigned long)grid.next);
    }
    return wrong;
}

START_TEST(every_frame_gets_its_true_number)
{
    const char *given = getenv("SLUICE_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);

    printf("capture_grid torture: SLUICE_SEED=%lu\n", (unsigned long)seed);
    fflush(stdout);
    g_state = seed * 2654435761u + 1;
    for (int round = 0; round < 60; round++)
        for (int kind = 0; kind < KINDS; kind++) {
            double jitter = uniform() * (kind == GOOD || kind == WRAPS ? 0.40 : 0.36);
            double rate_error = (uniform() * 2 - 1) * 0.001;
            bool last_right;
            unsigned wrong = stream((enum kind)kind, jitter, rate_error, 4000, &last_right);
            /* A driver that does not count is believed for a frame or two when jitter hides a gap of one. */
            unsigned allowed = kind == NOT_COUNTING ? 40 : 0;

            ck_assert_msg(wrong <= allowed && last_right, "%s, jitter %.3f, rate %.6f: %u frames wrong (seed %lu, round %d)",
                          g_kind_names[kind], jitter, rate_error, wrong, (unsigned long)seed, round);
        }
}
END_TEST

/* A software sensor (vivid under load): it derives the sequence from its clock, so that a late wake-up skips numbers, one that is
 * made up for at once repeats them, and the stamp is taken after filling the frame. In the end sequence and time agree, and so
 * must the grid, within four frames in 4000. Returns by how much it does not. */
static int64_t software_sensor(unsigned frames, int64_t *worst)
{
    struct sl_grid grid;
    struct sl_grid_step step = {0};
    double now = 0;
    uint64_t sequence = 0;

    sl_grid_init(&grid, (struct sl_rational){60, 1}, false);
    *worst = 0;
    for (unsigned i = 0; i < frames; i++) {
        double due = (double)sequence + 1;

        now = now > due ? now : due;                       /* in the past: at once */
        now += uniform() * (uniform() < 0.05 ? 1.2 : 0.1); /* the scheduler's share */
        sequence = i ? (uint64_t)(now + 0.5) : 1;
        now += 0.1 + uniform() * (uniform() < 0.1 ? 0.9 : 0.2); /* filling it */
        int64_t time_ns = INT64_C(50000000000) + (int64_t)(now * 1e9 / 60);
        struct sl_grid_input input = {.time_ns = time_ns, .dequeued_ns = time_ns + 2000000, .sequence = (uint32_t)sequence};

        sl_grid_place(&grid, &input, &step);
        int64_t off = (int64_t)step.number - (int64_t)(sequence - 1);
        if (off > *worst || -off > *worst)
            *worst = off < 0 ? -off : off;
    }
    return (int64_t)step.number - (int64_t)(sequence - 1);
}

START_TEST(a_software_sensor_under_load)
{
    uint64_t seed = (uint64_t)time(NULL);
    const char *given = getenv("SLUICE_SEED");

    seed = given ? strtoull(given, NULL, 0) : seed;
    printf("capture_grid software sensor: SLUICE_SEED=%lu\n", (unsigned long)seed);
    fflush(stdout);
    g_state = seed * 2654435761u + 1;
    for (int round = 0; round < 100; round++) {
        int64_t worst;
        int64_t off = software_sensor(4000, &worst);

        ck_assert_msg(off >= -4 && off <= 4 && worst <= 4, "off by %ld at the end, by %ld at worst (seed %lu, round %d)", (long)off,
                      (long)worst, (unsigned long)seed, round);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_grid_torture");
    TCase *tcase = tcase_create("torture");

    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, every_frame_gets_its_true_number);
    tcase_add_test(tcase, a_software_sensor_under_load);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
