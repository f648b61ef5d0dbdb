/* SPDX-License-Identifier: Apache-2.0 */
/* The test pattern as a device, through the agent, with time standing still until it is told to move. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/capture_rig.h"
#include "support/suite.h"

#define INTERVAL (SL_NS_PER_S / 60)

static struct capture_rig g_rig;
static struct sl_capture_cfg g_cfg;
static int64_t g_t0;

static void setup(void)
{
    rig_init(&g_rig);
    g_t0 = sl_now_ns(g_rig.deps.clock);
    g_cfg = (struct sl_capture_cfg){
        .source = SL_SOURCE_PATTERN, .pixel_format = "YUYV", .width = 64, .height = 48, .fps = {60, 1}, .input = -1, .buffers = 8};
}

static void teardown(void)
{
    rig_fini(&g_rig);
}

static void go_to(uint64_t frame)
{
    sl_manual_clock_advance(&g_rig.clock, g_t0 + sl_frame_time_ns(g_cfg.fps, frame) - sl_now_ns(g_rig.deps.clock));
}

static void check_frame(const struct sl_frame *frame, uint64_t number)
{
    const struct sl_video_format *format = &sl_capture_info(g_rig.capture)->format;
    struct sl_strip strip;
    uint64_t bad;

    ck_assert_uint_eq(frame->number, number);
    ck_assert_uint_eq(frame->sequence, number);
    ck_assert_int_eq(frame->time_ns, g_t0 + sl_frame_time_ns(g_cfg.fps, number));
    ck_assert_uint_eq(frame->bytesused, format->frame_bytes);
    ck_assert_uint_eq(frame->flags, 0);
    ck_assert_int_eq(sl_pattern_check(format, frame->slot->data, format->frame_bytes, &strip, &bad), 0);
    ck_assert_uint_eq(strip.number, number);
    ck_assert_int_eq(strip.time_ns, frame->time_ns);
}

START_TEST(every_frame_at_its_time)
{
    rig_start(&g_rig, &g_cfg, 12);
    for (uint64_t n = 0; n < 1000; n++) {
        go_to(n);
        ck_assert_int_eq(rig_work(&g_rig), 1);
        ck_assert_uint_eq(rig_take(&g_rig), 1);
        check_frame(g_rig.held[0], n);
        ck_assert_uint_eq(g_rig.held[0]->captured, n + 1);
        ck_assert_int_eq(g_rig.held[0]->dequeued_ns, sl_now_ns(g_rig.deps.clock));
        rig_release(&g_rig, 1);
        ck_assert_int_eq(rig_work(&g_rig), 0); /* not before its time */
    }
    ck_assert_uint_eq(rig_books(&g_rig).expected, 1000);
    ck_assert_uint_eq(rig_books(&g_rig).captured, 1000);
}
END_TEST

START_TEST(a_time_limit_counts_frames_of_the_granted_rate)
{
    static const struct {
        struct sl_rational fps;
        int64_t time_ns;
        uint64_t frame_limit, ends_after;
    } cases[] = {{{60, 1}, 2 * SL_NS_PER_S, 0, 120},
                 {{60000, 1001}, 10 * SL_NS_PER_S, 0, 599},
                 {{60, 1}, 2 * SL_NS_PER_S, 50, 50},
                 {{60, 1}, 1, 0, 1},
                 {{25, 1}, 2 * SL_NS_PER_S, 90, 50}};

    g_cfg.fps = cases[_i].fps;
    g_cfg.time_limit_ns = cases[_i].time_ns;
    g_cfg.frame_limit = cases[_i].frame_limit;
    g_cfg.unpaced = true;
    rig_start(&g_rig, &g_cfg, 12);
    while (rig_work(&g_rig) >= 0) {
        rig_take(&g_rig);
        rig_release(&g_rig, RIG_MAX_SLOTS);
    }
    ck_assert_uint_eq(rig_books(&g_rig).expected, cases[_i].ends_after);
}
END_TEST

START_TEST(a_late_agent_gets_what_the_device_filled_meanwhile)
{
    rig_start(&g_rig, &g_cfg, 12);
    go_to(7); /* frames 0 to 7 are due: eight buffers were queued */
    ck_assert_int_eq(rig_work(&g_rig), 8);
    ck_assert_uint_eq(rig_take(&g_rig), 8);
    for (unsigned n = 0; n < 8; n++)
        check_frame(g_rig.held[n], n);
    struct sl_books books = rig_books(&g_rig);
    ck_assert_uint_eq(sl_books_lost(&books), 0);
}
END_TEST

START_TEST(a_very_late_agent_loses_what_had_no_buffer)
{
    rig_start(&g_rig, &g_cfg, 12);
    go_to(20);
    /* 0 … 7 in the buffers that were queued; 8 … 19 had none; 20 gets one that is queued at this very moment */
    ck_assert_int_eq(rig_work(&g_rig), 9);
    rig_take(&g_rig);
    check_frame(g_rig.held[7], 7);
    go_to(21);
    ck_assert_int_eq(rig_work(&g_rig), 1);
    ck_assert_uint_eq(rig_take(&g_rig), 1);
    check_frame(g_rig.held[8], 20);
    check_frame(g_rig.held[9], 21);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_NO_SLOT], 12);
    ck_assert_uint_eq(g_rig.held[8]->lost[SL_LOSS_NO_SLOT], 12);
    ck_assert_uint_eq(rig_books(&g_rig).expected, 22);
}
END_TEST

START_TEST(a_sink_that_keeps_everything)
{
    unsigned slots = 10;

    rig_start(&g_rig, &g_cfg, slots);
    for (uint64_t n = 0; n < 100; n++) {
        go_to(n);
        rig_work(&g_rig);
        rig_take(&g_rig);
    }
    ck_assert_uint_eq(g_rig.holding, slots);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_STARVED), 1);
    rig_release(&g_rig, 4);
    rig_work(&g_rig); /* collected after frame 99 was due and gone: 100 is the first that can be had */
    go_to(100);
    ck_assert_int_eq(rig_work(&g_rig), 1);
    rig_take(&g_rig);
    check_frame(g_rig.held[g_rig.holding - 1], 100);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_LOSS), 1); /* one run, one event */
    ck_assert_uint_eq(g_rig.event[0].first, slots);
    ck_assert_uint_eq(g_rig.event[0].count, 90);
    ck_assert_uint_eq(g_rig.event[0].code, SL_LOSS_NO_SLOT);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_NO_SLOT], 90);
}
END_TEST

START_TEST(unpaced_waits_for_slots_and_loses_nothing)
{
    g_cfg.unpaced = true;
    rig_start(&g_rig, &g_cfg, 6);
    for (uint64_t n = 0; n < 600; n += 6) {
        ck_assert_int_eq(rig_work(&g_rig), 6);
        ck_assert_uint_eq(rig_take(&g_rig), 6);
        for (unsigned i = 0; i < 6; i++)
            check_frame(g_rig.held[i], n + i);
        ck_assert_int_eq(rig_work(&g_rig), 0);
        sl_manual_clock_advance(&g_rig.clock, 37 * SL_NS_PER_S); /* the clock does not matter */
        rig_release(&g_rig, 6);
    }
    ck_assert_uint_eq(rig_books(&g_rig).expected, 600);
    ck_assert_uint_eq(rig_books(&g_rig).captured, 600);
}
END_TEST

START_TEST(the_limit_is_exact)
{
    g_cfg.frame_limit = 50;
    rig_start(&g_rig, &g_cfg, 12);
    int ret = 0;
    for (uint64_t n = 0; ret >= 0; n++) {
        go_to(n);
        ret = rig_work(&g_rig);
        rig_take(&g_rig);
        rig_release(&g_rig, 12);
        ck_assert_uint_lt(n, 60);
    }
    ck_assert_int_eq(ret, -ESHUTDOWN);
    ck_assert_uint_eq(rig_books(&g_rig).expected, 50);
    ck_assert_uint_eq(rig_books(&g_rig).captured, 50);
    sl_capture_finish(g_rig.capture, g_t0 + 1000 * INTERVAL, SL_LOSS_DEVICE_GONE);
    ck_assert_uint_eq(rig_books(&g_rig).expected, 50);
}
END_TEST

START_TEST(a_gap_over_the_limit_is_cut_there)
{
    g_cfg.frame_limit = 50;
    rig_start(&g_rig, &g_cfg, 10);
    for (uint64_t n = 0; n < 10; n++) {
        go_to(n);
        ck_assert_int_eq(rig_work(&g_rig), 1);
    }
    ck_assert_uint_eq(rig_take(&g_rig), 10);
    go_to(80);
    rig_release(&g_rig, 10);
    rig_work(&g_rig);
    go_to(81);
    ck_assert_int_eq(rig_work(&g_rig), -ESHUTDOWN);
    ck_assert_uint_eq(rig_books(&g_rig).expected, 50);
    ck_assert_uint_eq(rig_books(&g_rig).captured, 10);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_NO_SLOT], 40);
}
END_TEST

START_TEST(finish_counts_what_was_still_due)
{
    rig_start(&g_rig, &g_cfg, 12);
    go_to(0);
    ck_assert_int_eq(rig_work(&g_rig), 1);
    sl_capture_finish(g_rig.capture, g_t0 + sl_frame_time_ns(g_cfg.fps, 30), SL_LOSS_DEVICE_GONE);
    ck_assert_uint_eq(rig_books(&g_rig).expected, 31);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_DEVICE_GONE], 30);
    sl_capture_finish(g_rig.capture, g_t0 + sl_frame_time_ns(g_cfg.fps, 90), SL_LOSS_DEVICE_GONE); /* only once */
    ck_assert_uint_eq(rig_books(&g_rig).expected, 31);
}
END_TEST

START_TEST(finish_before_the_first_frame)
{
    rig_start(&g_rig, &g_cfg, 12);
    sl_capture_finish(g_rig.capture, g_t0 + SL_NS_PER_S, SL_LOSS_DEVICE_GONE);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_DEVICE_GONE], 60);
}
END_TEST

START_TEST(odd_rates_stay_exact)
{
    g_cfg.fps = (struct sl_rational){60000, 1001};
    rig_start(&g_rig, &g_cfg, 12);
    for (uint64_t n = 0; n < 5000; n++) {
        go_to(n);
        ck_assert_int_eq(rig_work(&g_rig), 1);
        rig_take(&g_rig);
        check_frame(g_rig.held[0], n);
        rig_release(&g_rig, 1);
    }
}
END_TEST

START_TEST(the_picture_moves)
{
    const struct sl_video_format *format;

    rig_start(&g_rig, &g_cfg, 12);
    format = &sl_capture_info(g_rig.capture)->format;
    go_to(1);
    rig_work(&g_rig);
    rig_take(&g_rig);
    /* 64x48 is all strip: compare a big picture's phases in the unit test; here only that slots differ in phase */
    ck_assert_int_ne(memcmp(g_rig.held[0]->slot->data, g_rig.held[1]->slot->data, format->frame_bytes), 0);
}
END_TEST

START_TEST(what_open_refuses)
{
    struct sl_capture *capture = NULL;

    rig_start(&g_rig, &g_cfg, 2);
    g_cfg.pixel_format = "RGBA";
    ck_assert_int_eq(sl_capture_open(&capture, &g_cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "RGBA"));
    g_cfg.pixel_format = "NV12";
    g_cfg.width = 641;
    ck_assert_int_eq(sl_capture_open(&capture, &g_cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    g_cfg.width = 32;
    ck_assert_int_eq(sl_capture_open(&capture, &g_cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "strip"));
    g_cfg.width = 64;
    g_cfg.buffers = 1000000;
    ck_assert_int_eq(sl_capture_open(&capture, &g_cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    ck_assert_ptr_null(capture);
    struct sl_memory *memory;
    ck_assert_int_eq(sl_capture_memory(g_rig.capture, &memory, &g_rig.err), -ENOTSUP);
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err), 0);
    ck_assert_int_eq(sl_capture_start(g_rig.capture, g_rig.pool, g_rig.fanout, &g_rig.err), -EALREADY);
}
END_TEST

START_TEST(names)
{
    rig_start(&g_rig, &g_cfg, 2);
    for (int i = 0; i < SL_ANOMALY_COUNT; i++)
        ck_assert_ptr_nonnull(sl_anomaly_name((enum sl_anomaly)i));
    ck_assert_ptr_null(sl_anomaly_name(SL_ANOMALY_COUNT));
    for (int i = 0; i < SL_CAPTURE_COUNTERS; i++)
        ck_assert_ptr_nonnull(sl_capture_counter_defs[i].help);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_pattern_source");
    TCase *tcase = tcase_create("pattern");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, every_frame_at_its_time);
    tcase_add_loop_test(tcase, a_time_limit_counts_frames_of_the_granted_rate, 0, 5);
    tcase_add_test(tcase, a_late_agent_gets_what_the_device_filled_meanwhile);
    tcase_add_test(tcase, a_very_late_agent_loses_what_had_no_buffer);
    tcase_add_test(tcase, a_sink_that_keeps_everything);
    tcase_add_test(tcase, unpaced_waits_for_slots_and_loses_nothing);
    tcase_add_test(tcase, the_limit_is_exact);
    tcase_add_test(tcase, a_gap_over_the_limit_is_cut_there);
    tcase_add_test(tcase, finish_counts_what_was_still_due);
    tcase_add_test(tcase, finish_before_the_first_frame);
    tcase_add_test(tcase, odd_rates_stay_exact);
    tcase_add_test(tcase, the_picture_moves);
    tcase_add_test(tcase, what_open_refuses);
    tcase_add_test(tcase, names);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
