/* SPDX-License-Identifier: Apache-2.0 */
/* A capture that ends with its device and another one that goes on: numbers, books and events over the outage; finding a V4L2 device. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <string.h>

#include "capture/place.h"
#include "capture/script.h"
#include "support/capture_rig.h"
#include "support/fake_v4l2.h"
#include "support/suite.h"

#define INTERVAL (SL_NS_PER_S / 60)

static struct capture_rig g_rig;
static struct sl_sensor_script g_script;
static struct sl_capture_place g_place;
static bool g_goes_on;

static struct sl_capture_cfg config(void)
{
    return (struct sl_capture_cfg){.source = SL_SOURCE_PATTERN,
                                   .pixel_format = "YUYV",
                                   .width = 64,
                                   .height = 48,
                                   .fps = {60, 1},
                                   .buffers = 4,
                                   .stall_timeout_ns = SL_NS_PER_S,
                                   .script = &g_script,
                                   .before = g_goes_on ? &g_place : NULL};
}

/* Runs the sensor until it ends or `frames` intervals have passed. */
static int stream(unsigned frames)
{
    int result = 0;

    for (unsigned i = 0; i < frames && result >= 0; i++) {
        result = rig_work(&g_rig);
        rig_take(&g_rig);
        rig_release(&g_rig, RIG_MAX_SLOTS);
        sl_manual_clock_advance(&g_rig.clock, INTERVAL);
    }
    return result;
}

/* The device is left; the rig keeps clock, events and nothing else. */
static void leave(void)
{
    sl_capture_suspend(g_rig.capture, sl_now_ns(g_rig.deps.clock), &g_place);
    rig_drain_events(&g_rig);
    g_goes_on = true;
    sl_sink_leave(g_rig.sink);
    ck_assert_int_eq(sl_fanout_close(g_rig.fanout, NULL), 0);
    ck_assert_uint_eq(sl_pool_free(g_rig.pool), sl_pool_slots(g_rig.pool)); /* nothing of it is left anywhere */
    sl_pool_close(g_rig.pool);
    sl_memory_close(g_rig.memory);
    sl_capture_close(g_rig.capture);
    g_rig.fanout = NULL;
    g_rig.pool = NULL;
    g_rig.memory = NULL;
    g_rig.capture = NULL;
    g_rig.sink = NULL;
}

static void setup(void)
{
    rig_init(&g_rig);
    memset(&g_place, 0, sizeof(g_place));
    g_goes_on = false;
}

static void teardown(void)
{
    rig_fini(&g_rig);
}

START_TEST(numbers_and_books_go_on)
{
    static const struct sl_sensor_fault fault[] = {{SL_SENSOR_FAULT_UNPLUG, 100, 500 * SL_NS_PER_MS}, {SL_SENSOR_FAULT_GAP, 120, 4}};
    struct sl_capture_cfg cfg;
    struct sl_books books;

    sl_sensor_script_init(&g_script, fault, 2);
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    ck_assert_int_eq(stream(200), -ENODEV);
    leave();
    ck_assert_uint_eq(g_place.counter[SL_CAPTURE_EXPECTED], 100);
    ck_assert_int_eq(g_place.error, -ENODEV);
    cfg = config();
    ck_assert_int_eq(sl_capture_open(&g_rig.capture, &cfg, &g_rig.deps, &g_rig.err), -ENODEV);
    sl_manual_clock_advance(&g_rig.clock, 600 * SL_NS_PER_MS);
    rig_start(&g_rig, &cfg, 8);
    stream(60);
    books = rig_books(&g_rig);
    ck_assert_uint_eq(books.expected, books.captured + books.lost[SL_LOSS_DEVICE_GONE] + books.lost[SL_LOSS_SENSOR_GAP]);
    ck_assert_uint_eq(books.lost[SL_LOSS_SENSOR_GAP], 4);
    ck_assert_uint_ge(books.lost[SL_LOSS_DEVICE_GONE], 36); /* 600 ms and the moments around them */
    ck_assert_uint_le(books.lost[SL_LOSS_DEVICE_GONE], 39);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_LOSS), 2); /* an outage is one loss */
    ck_assert_uint_eq(g_rig.event[0].first, 100);
    ck_assert_uint_eq(g_rig.event[0].count, books.lost[SL_LOSS_DEVICE_GONE]);
    ck_assert_int_eq(g_rig.event[0].error, -ENODEV);
}
END_TEST

/* The stream starts again at the very moment when a frame is due, or a nanosecond beside it: to books and sensor it is the same frame. */
START_TEST(frame_due_at_the_start_is_lost_or_seen)
{
    static const struct sl_sensor_fault fault = {SL_SENSOR_FAULT_UNPLUG, 100, 1};
    struct sl_capture_cfg cfg;
    struct sl_strip strip;
    uint64_t bad_byte;

    sl_sensor_script_init(&g_script, &fault, 1);
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    ck_assert_int_eq(stream(200), -ENODEV);
    leave();
    sl_manual_clock_advance(&g_rig.clock, g_place.due_ns + sl_frame_time_ns(cfg.fps, 6) + _i - sl_now_ns(g_rig.deps.clock));
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    for (unsigned i = 0; i < 10; i++) {
        rig_work(&g_rig);
        rig_take(&g_rig);
        for (unsigned k = 0; k < g_rig.holding; k++) {
            const struct sl_frame *frame = g_rig.held[k];

            ck_assert_int_eq(
                sl_pattern_check(&sl_capture_info(g_rig.capture)->format, frame->slot->data, frame->bytesused, &strip, &bad_byte), 0);
            ck_assert_uint_eq(strip.number, frame->number);
        }
        rig_release(&g_rig, RIG_MAX_SLOTS);
        sl_manual_clock_advance(&g_rig.clock, INTERVAL);
    }
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_ANOMALIES), 0);
}
END_TEST

/* Openings that stream and stay silent are part of the outage they follow. */
START_TEST(silent_openings_are_one_outage)
{
    static const struct sl_sensor_fault fault = {SL_SENSOR_FAULT_STALL, 50, 3};
    struct sl_capture_cfg cfg;

    sl_sensor_script_init(&g_script, &fault, 1);
    for (unsigned opening = 0; opening < 3; opening++) {
        cfg = config();
        rig_start(&g_rig, &cfg, 8);
        ck_assert_int_eq(stream(300), -ETIMEDOUT);
        leave();
        ck_assert_int_eq(g_place.error, -ETIMEDOUT);
    }
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_LOSS), 0);
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    stream(30);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_LOSS), 1);
    ck_assert_uint_eq(g_rig.event[0].first, 50);
    ck_assert_uint_eq(g_rig.event[0].count, rig_books(&g_rig).lost[SL_LOSS_DEVICE_GONE]);
    ck_assert_uint_ge(g_rig.event[0].count, 179);
}
END_TEST

START_TEST(limit_of_time_runs_through_an_outage)
{
    static const struct sl_sensor_fault fault = {SL_SENSOR_FAULT_EIO, 50, 1};
    struct sl_capture_cfg cfg;

    sl_sensor_script_init(&g_script, &fault, 1);
    cfg = config();
    cfg.time_limit_ns = 2 * SL_NS_PER_S;
    rig_start(&g_rig, &cfg, 8);
    ck_assert_int_eq(stream(300), -EIO);
    leave();
    ck_assert_uint_eq(g_place.frame_limit, 120);
    sl_manual_clock_advance(&g_rig.clock, 500 * SL_NS_PER_MS);
    cfg = config();
    cfg.time_limit_ns = 2 * SL_NS_PER_S;
    cfg.fps = (struct sl_rational){_i ? 30 : 60, 1};
    rig_start(&g_rig, &cfg, 8);
    ck_assert_int_eq(stream(300), -ESHUTDOWN);
    /* at half the rate what is left of the two seconds holds half the frames */
    ck_assert_uint_ge(rig_books(&g_rig).expected, _i ? 50 + 31 + 19 : 120);
    ck_assert_uint_le(rig_books(&g_rig).expected, _i ? 50 + 33 + 20 : 120);
}
END_TEST

START_TEST(refused_start_leaves_the_place_as_it_was)
{
    static const struct sl_sensor_fault fault = {SL_SENSOR_FAULT_STREAMON, 30, 1};
    struct sl_capture_place before;
    struct sl_capture_cfg cfg;

    sl_sensor_script_init(&g_script, &fault, 1);
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    ck_assert_int_eq(stream(300), -EPIPE);
    leave();
    before = g_place;
    cfg = config();
    ck_assert_int_eq(sl_capture_open(&g_rig.capture, &cfg, &g_rig.deps, &g_rig.err), 0);
    ck_assert_int_eq(sl_memory_host(&g_rig.memory, 8, sl_capture_info(g_rig.capture)->slot_bytes, SL_HUGEPAGES_NO, &g_rig.err), 0);
    ck_assert_int_eq(sl_pool_open(&g_rig.pool, g_rig.memory, &g_rig.err), 0);
    ck_assert_int_eq(sl_fanout_open(&g_rig.fanout, g_rig.pool, 0, &g_rig.err), 0);
    ck_assert_int_eq(sl_capture_start(g_rig.capture, g_rig.pool, g_rig.fanout, &g_rig.err), -EBUSY);
    leave();
    ck_assert_mem_eq(&g_place, &before, sizeof(before));
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    ck_assert_int_ge(stream(10), 0);
}
END_TEST

START_TEST(mode_change_opens_in_the_new_mode)
{
    static const struct sl_sensor_fault fault = {SL_SENSOR_FAULT_SOURCE_CHANGE, 20, UINT64_C(128) << 32 | 96};
    struct sl_capture_cfg cfg;

    sl_sensor_script_init(&g_script, &fault, 1);
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    ck_assert_int_eq(stream(300), -ENOLINK);
    leave();
    cfg = config();
    rig_start(&g_rig, &cfg, 8);
    ck_assert_uint_eq(sl_capture_info(g_rig.capture)->format.width, 128);
    ck_assert_uint_eq(sl_capture_info(g_rig.capture)->format.height, 96);
    ck_assert_int_ge(stream(10), 0);
}
END_TEST

/* --- V4L2 ---------------------------------------------------------------------------------------------------------------- */

static struct fake_v4l2 g_fake;

static int open_fake(const char *device, const struct sl_device_identity *same_as, struct sl_source **source)
{
    struct sl_capture_cfg cfg = {
        .device = device, .pixel_format = "YUYV", .width = 640, .height = 480, .fps = {60, 1}, .input = -1, .same_as = same_as};

    return sl_v4l2_source_open_ops(source, &g_fake.ops, &cfg, &g_rig.err);
}

START_TEST(device_is_found_under_another_number)
{
    struct sl_device_identity identity;
    struct sl_source *source;

    fake_init(&g_fake);
    ck_assert_int_eq(open_fake("/dev/fake", NULL, &source), 0);
    identity = source->info.identity;
    ck_assert_str_eq(identity.bus, "platform:fake.0");
    ck_assert_str_eq(source->info.node, "/dev/fake");
    source->ops->close(source);

    strcpy(g_fake.node, "/dev/fake7");
    ck_assert_int_eq(open_fake("/dev/fake", &identity, &source), 0);
    ck_assert_str_eq(source->info.node, "/dev/fake7");
    source->ops->close(source);

    /* somebody else has the name now, and the device is not there */
    strcpy(g_fake.node, "/dev/fake");
    strcpy(g_fake.bus, "platform:other.0");
    ck_assert_int_eq(open_fake("/dev/fake", &identity, &source), -ENODEV);
    ck_assert_msg(strstr(g_rig.err.text, "platform:fake.0") != NULL, "%s", g_rig.err.text);

    /* a name that udev keeps is believed, whatever is plugged in there */
    strcpy(g_fake.node, "/dev/v4l/by-path/fake");
    ck_assert_int_eq(open_fake("/dev/v4l/by-path/fake", &identity, &source), 0);
    source->ops->close(source);
    fake_check_clean(&g_fake);
    fake_fini(&g_fake);
}
END_TEST

START_TEST(poll_error_is_a_failure)
{
    struct sl_capture_cfg cfg = {0};
    struct sl_delivery delivery;
    struct sl_source *source;

    fake_init(&g_fake);
    ck_assert_int_eq(open_fake("/dev/fake", NULL, &source), 0);
    rig_start_source(&g_rig, source, &cfg, 8);
    source->ops->ready(source, POLLIN);
    ck_assert_int_eq(source->ops->next(source, 0, &delivery), 0); /* woken for nothing */
    source->ops->ready(source, POLLERR);
    ck_assert_int_eq(source->ops->next(source, 0, &delivery), -EIO);
    leave();
    fake_check_clean(&g_fake);
    fake_fini(&g_fake);
}
END_TEST

static struct sl_capture_cfg hdmi_config(void)
{
    return (struct sl_capture_cfg){.device = "/dev/fake",
                                   .pixel_format = "YUYV",
                                   .fps = {0, 1},
                                   .input = 1,
                                   .dv_timings = "auto",
                                   .buffers = 4,
                                   .stall_timeout_ns = SL_NS_PER_S,
                                   .before = g_goes_on ? &g_place : NULL};
}

static int open_hdmi(void)
{
    struct sl_capture_cfg cfg = hdmi_config();
    struct sl_source *source;
    int ret = sl_v4l2_source_open_ops(&source, &g_fake.ops, &cfg, &g_rig.err);

    if (ret == 0)
        rig_start_source(&g_rig, source, &cfg, 6);
    return ret;
}

/* Sleeps as a runner would, so that it is poll(2) that tells of frames and events. */
static int stream_hdmi(unsigned frames)
{
    int result = 0;

    for (unsigned i = 0; i < frames && result >= 0; i++) {
        sl_manual_clock_advance(&g_rig.clock, INTERVAL);
        fake_complete(&g_fake, sl_now_ns(g_rig.deps.clock) / 1000 * 1000);
        g_rig.agent->wake(g_rig.agent->self);
        g_rig.agent->idle(g_rig.agent->self);
        result = rig_work(&g_rig);
        rig_take(&g_rig);
        rig_release(&g_rig, RIG_MAX_SLOTS);
    }
    return result;
}

/* The kernel's own way: an event that poll(2) tells of, the end of the opening, no signal for a while, another mode. */
START_TEST(source_change_ends_in_the_new_mode)
{
    struct v4l2_event event = {.type = V4L2_EVENT_SOURCE_CHANGE, .id = 1};
    struct sl_books books;

    event.u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION;
    fake_init_hdmi(&g_fake);
    ck_assert_int_eq(open_hdmi(), 0);
    ck_assert_int_ge(stream_hdmi(30), 0);
    ck_assert_uint_eq(sl_capture_info(g_rig.capture)->format.height, 1080);

    fake_raise_event(&g_fake, &event);
    ck_assert_int_eq(stream_hdmi(1), -ENOLINK);
    sl_capture_explain(g_rig.capture, -ENOLINK, &g_rig.err);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "V4L2_EVENT_SOURCE_CHANGE of input 1"));
    leave();
    fake_check_clean(&g_fake);

    g_fake.signal = fake_timings(1280, 720, false, 1650, 750, 74250000, V4L2_DV_BT_STD_CEA861, 0);
    fake_fail_at(&g_fake, VIDIOC_QUERY_DV_TIMINGS, ENOLINK, 0, 2);
    for (int attempt = 0; attempt < 2; attempt++) {
        sl_manual_clock_advance(&g_rig.clock, 100 * SL_NS_PER_MS);
        ck_assert_int_eq(open_hdmi(), -ENOLINK);
        ck_assert_ptr_nonnull(strstr(g_rig.err.text, "VIDIOC_QUERY_DV_TIMINGS: "));
    }
    ck_assert_int_eq(open_hdmi(), 0);
    ck_assert_uint_eq(sl_capture_info(g_rig.capture)->format.width, 1280);
    ck_assert_uint_eq(sl_capture_info(g_rig.capture)->format.height, 720);
    ck_assert_int_ge(stream_hdmi(30), 0);
    books = rig_books(&g_rig);
    ck_assert_uint_eq(books.captured, 60);
    ck_assert_uint_ge(books.lost[SL_LOSS_DEVICE_GONE], 12); /* 200 ms, and the frame that came with the event */
    ck_assert_uint_le(books.lost[SL_LOSS_DEVICE_GONE], 14);
    ck_assert_uint_eq(books.expected, books.captured + books.lost[SL_LOSS_DEVICE_GONE]);
    leave();
    fake_check_clean(&g_fake);
    fake_fini(&g_fake);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_reopen");
    TCase *tests = tcase_create("reopen");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, numbers_and_books_go_on);
    tcase_add_loop_test(tests, frame_due_at_the_start_is_lost_or_seen, -2, 3);
    tcase_add_test(tests, silent_openings_are_one_outage);
    tcase_add_loop_test(tests, limit_of_time_runs_through_an_outage, 0, 2);
    tcase_add_test(tests, refused_start_leaves_the_place_as_it_was);
    tcase_add_test(tests, mode_change_opens_in_the_new_mode);
    tcase_add_test(tests, device_is_found_under_another_number);
    tcase_add_test(tests, poll_error_is_a_failure);
    tcase_add_test(tests, source_change_ends_in_the_new_mode);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
