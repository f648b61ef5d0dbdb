/* SPDX-License-Identifier: Apache-2.0 */
/* The agent over a source that does exactly what the test says, over a recording, and over scripted faults. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "capture/script.h"
#include "support/alloc_trap.h"
#include "support/capture_rig.h"
#include "support/suite.h"

#define INTERVAL (SL_NS_PER_S / 60)

/* A device with four indices whose every answer is scripted. */
struct scripted {
    struct sl_source source;
    struct sl_frame *fifo[4];
    unsigned count;
    unsigned deliveries; /* next() hands out so many */
    struct sl_delivery next;
    bool lose_frame; /* the device names a buffer it does not have */
    int next_error;
    int queue_error;
    unsigned queue_errors; /* how often */
    bool stopped, closed;
};

static struct scripted g_device;
static struct capture_rig g_rig;
static struct sl_capture_cfg g_cfg;

static int device_prepare(struct sl_source *source, struct sl_pool *pool, struct sl_error *err)
{
    (void)source;
    (void)pool;
    (void)err;
    return 0;
}

static int device_begin(struct sl_source *source, int64_t now_ns, struct sl_error *err)
{
    (void)source;
    (void)now_ns;
    (void)err;
    return 0;
}

static unsigned device_room(const struct sl_source *source)
{
    (void)source;
    return 4 - g_device.count;
}

static int device_queue(struct sl_source *source, struct sl_frame *frame, int64_t now_ns)
{
    (void)source;
    (void)now_ns;
    if (g_device.queue_errors) {
        g_device.queue_errors--;
        return g_device.queue_error;
    }
    if (g_device.count == 4) /* no ck_assert here: it allocates, and one test counts that */
        abort();
    g_device.fifo[g_device.count++] = frame;
    return 0;
}

static int device_next(struct sl_source *source, int64_t now_ns, struct sl_delivery *delivery)
{
    (void)source;
    (void)now_ns;
    if (g_device.next_error)
        return g_device.next_error;
    if (!g_device.deliveries || !g_device.count)
        return 0;
    g_device.deliveries--;
    *delivery = g_device.next;
    g_device.next.sequence++;
    g_device.next.time_ns += INTERVAL;
    if (g_device.lose_frame) {
        g_device.lose_frame = false;
        delivery->frame = NULL;
        return 1;
    }
    delivery->frame = g_device.fifo[0];
    memmove(g_device.fifo, g_device.fifo + 1, --g_device.count * sizeof(g_device.fifo[0]));
    return 1;
}

static int64_t device_deadline(const struct sl_source *source)
{
    (void)source;
    return INT64_MAX;
}

static void device_ready(struct sl_source *source, short revents)
{
    eventfd_t value;

    if (revents & POLLIN) {
        eventfd_read(source->poll_fd, &value);
        g_device.deliveries++;
    }
}

static void device_stop(struct sl_source *source)
{
    (void)source;
    g_device.stopped = true;
    g_device.count = 0;
}

static void device_close(struct sl_source *source)
{
    close(source->poll_fd);
    g_device.closed = true;
}

static const struct sl_source_ops g_device_ops = {
    .prepare = device_prepare,
    .begin = device_begin,
    .room = device_room,
    .queue = device_queue,
    .next = device_next,
    .deadline_ns = device_deadline,
    .ready = device_ready,
    .stop = device_stop,
    .close = device_close,
};

static struct sl_video_format small(void)
{
    struct sl_video_format format = {.fps = {60, 1}};

    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("YUYV"), 64, 48), 0);
    return format;
}

static void setup(void)
{
    rig_init(&g_rig);
    memset(&g_device, 0, sizeof(g_device));
    g_device.source = (struct sl_source){.ops = &g_device_ops, .low_water = 2, .poll_fd = eventfd(0, EFD_NONBLOCK)};
    g_device.source.info.format = small();
    g_device.source.info.slot_bytes = g_device.source.info.format.frame_bytes;
    g_device.source.info.indices = 4;
    g_device.source.info.time_monotonic = true;
    strcpy(g_device.source.info.device, "scripted");
    g_device.next.sequence = 17;
    g_device.next.time_ns = sl_now_ns(g_rig.deps.clock) + INTERVAL; /* the first tick() */
    g_device.next.bytesused = g_device.source.info.format.frame_bytes;
    g_cfg = (struct sl_capture_cfg){.stall_timeout_ns = 2 * SL_NS_PER_S};
}

static void teardown(void)
{
    bool scripted = g_rig.capture && g_device.count + g_device.next.sequence > 17;

    rig_fini(&g_rig);
    ck_assert(!scripted || (g_device.stopped && g_device.closed));
}

static void begin(unsigned slots)
{
    rig_start_source(&g_rig, &g_device.source, &g_cfg, slots);
}

/* One interval passes; the device delivers. */
static int tick(void)
{
    sl_manual_clock_advance(&g_rig.clock, INTERVAL);
    g_device.deliveries = 1;
    return rig_work(&g_rig);
}

static struct sl_frame *newest(void)
{
    rig_take(&g_rig);
    ck_assert_uint_gt(g_rig.holding, 0);
    return g_rig.held[g_rig.holding - 1];
}

START_TEST(fields_of_a_frame)
{
    g_device.source.info.time_soe = true;
    begin(8);
    ck_assert_int_eq(tick(), 1);
    struct sl_frame *frame = newest();
    ck_assert_uint_eq(frame->number, 0);
    ck_assert_uint_eq(frame->sequence, 17);
    ck_assert_uint_eq(frame->flags, SL_FRAME_TIME_SOE);
    ck_assert_uint_eq(frame->bytesused, 64 * 48 * 2);
    ck_assert_uint_eq(frame->captured, 1);
    ck_assert_int_eq(frame->dequeued_ns, sl_now_ns(g_rig.deps.clock));
    g_device.next.sequence += 2;
    g_device.next.time_ns += 2 * INTERVAL;
    sl_manual_clock_advance(&g_rig.clock, 2 * INTERVAL);
    tick();
    frame = newest();
    ck_assert_uint_eq(frame->number, 3);
    ck_assert_uint_eq(frame->captured, 2);
    ck_assert_uint_eq(frame->lost[SL_LOSS_SENSOR_GAP], 2);
}
END_TEST

START_TEST(bad_frames_are_kept)
{
    begin(8);
    tick();
    g_device.next.flags = SL_FRAME_DEVICE_ERROR;
    tick();
    ck_assert_uint_eq(newest()->flags, SL_FRAME_DEVICE_ERROR);
    g_device.next.flags = 0;
    g_device.next.bytesused--;
    tick();
    ck_assert_uint_eq(newest()->flags, SL_FRAME_SHORT);
    g_device.next.bytesused = 0;
    g_device.next.bad_size = true;
    tick();
    ck_assert_uint_eq(newest()->flags, SL_FRAME_SHORT | SL_FRAME_DEVICE_ERROR);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_BAD_KEPT), 3);
    ck_assert_uint_eq(rig_books(&g_rig).captured, 4);
}
END_TEST

static const struct sl_event *kept_event(unsigned index)
{
    rig_drain_events(&g_rig);
    for (unsigned i = 0; i < g_rig.event_count; i++)
        if (g_rig.event[i].kind == SL_EVENT_BAD_KEPT && index-- == 0)
            return &g_rig.event[i];
    ck_abort_msg("there is no such event");
    return NULL;
}

static void deliver(unsigned frames, uint32_t flags)
{
    g_device.next.flags = flags;
    for (unsigned i = 0; i < frames; i++) {
        tick();
        rig_take(&g_rig);
        rig_release(&g_rig, 1);
    }
}

START_TEST(kept_bad_frames_are_told_of_one_by_one_or_by_the_second)
{
    uint64_t told = 0;

    begin(8);
    deliver(5, 0);
    deliver(2, SL_FRAME_DEVICE_ERROR);
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_BAD_KEPT), 0);
    deliver(1, 0);
    const struct sl_event *event = kept_event(0);

    ck_assert_uint_eq(event->code, SL_FRAME_DEVICE_ERROR);
    ck_assert_uint_eq(event->first, 5);
    ck_assert_uint_eq(event->last, 6);
    ck_assert_uint_eq(event->count, 2);
    for (unsigned i = 0; i < 300; i++) /* every second frame for five seconds */
        deliver(1, i % 2 ? 0 : SL_FRAME_DEVICE_ERROR);
    deliver(300, SL_FRAME_DEVICE_ERROR); /* every one for five */
    sl_capture_finish(g_rig.capture, 0, SL_LOSS_SENSOR_GAP);
    rig_drain_events(&g_rig);
    for (unsigned i = 0; i < rig_event_count(&g_rig, SL_EVENT_BAD_KEPT); i++)
        told += kept_event(i)->count;
    ck_assert_uint_eq(told, 452);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_BAD_KEPT), 452);
    ck_assert_uint_le(rig_event_count(&g_rig, SL_EVENT_BAD_KEPT), 12);
    ck_assert_uint_ge(rig_event_count(&g_rig, SL_EVENT_BAD_KEPT), 10);
}
END_TEST

START_TEST(bad_frames_are_dropped)
{
    g_cfg.drop_bad_frames = true;
    begin(8);
    tick();
    g_device.next.flags = SL_FRAME_DEVICE_ERROR;
    for (int i = 0; i < 10; i++) {
        tick();
        rig_take(&g_rig);
    }
    ck_assert_uint_eq(g_rig.holding, 1);
    g_device.next.flags = 0;
    g_device.next.bytesused /= 2;
    tick();
    g_device.next.bytesused *= 2;
    tick();
    struct sl_frame *frame = newest();
    ck_assert_uint_eq(frame->number, 12);
    ck_assert_uint_eq(frame->captured, 2);
    ck_assert_uint_eq(frame->lost[SL_LOSS_BAD_FRAME], 11);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_LOSS), 2); /* ten in one event; the short one for another reason */
    ck_assert_uint_eq(g_rig.event[0].first, 1);
    ck_assert_uint_eq(g_rig.event[0].count, 10);
    ck_assert_int_eq(g_rig.event[0].error, -EIO);
    ck_assert_uint_eq(g_rig.event[1].count, 1);
    ck_assert_int_eq(g_rig.event[1].error, -EMSGSIZE);
}
END_TEST

START_TEST(a_buffer_that_does_not_exist)
{
    begin(8);
    tick();
    g_device.lose_frame = true;
    tick();
    tick();
    struct sl_frame *frame = newest();
    ck_assert_uint_eq(frame->number, 2);
    ck_assert_uint_eq(frame->lost[SL_LOSS_BAD_FRAME], 1);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_ANOMALIES), 1);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_ANOMALY), 1);
}
END_TEST

START_TEST(silence_ends_the_agent)
{
    begin(8);
    tick();
    sl_manual_clock_advance(&g_rig.clock, 2 * SL_NS_PER_S - 1);
    ck_assert_int_eq(rig_work(&g_rig), 0);
    sl_manual_clock_advance(&g_rig.clock, 1);
    ck_assert_int_eq(rig_work(&g_rig), -ETIMEDOUT);
    sl_capture_finish(g_rig.capture, sl_now_ns(g_rig.deps.clock), SL_LOSS_DEVICE_GONE);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_DEVICE_GONE], 120); /* two seconds at 60 */
    rig_drain_events(&g_rig);
    ck_assert_int_eq(g_rig.event[g_rig.event_count - 1].error, -ETIMEDOUT);
}
END_TEST

START_TEST(a_device_without_buffers_is_not_silent)
{
    begin(4);
    for (int i = 0; i < 4; i++)
        tick();
    rig_take(&g_rig);
    sl_manual_clock_advance(&g_rig.clock, 60 * SL_NS_PER_S);
    ck_assert_int_eq(rig_work(&g_rig), 0);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_STARVED), 1);
    rig_release(&g_rig, 2);
    ck_assert_int_eq(rig_work(&g_rig), 0);
    sl_manual_clock_advance(&g_rig.clock, 2 * SL_NS_PER_S - 1);
    ck_assert_int_eq(rig_work(&g_rig), 0); /* silent only since it has a buffer again */
    sl_manual_clock_advance(&g_rig.clock, 1);
    ck_assert_int_eq(rig_work(&g_rig), -ETIMEDOUT);
}
END_TEST

START_TEST(a_gap_while_buffers_were_there_is_the_sensors)
{
    begin(8);
    for (int i = 0; i < 20; i++) {
        tick();
        rig_take(&g_rig);
        rig_release(&g_rig, 1);
    }
    g_device.next.sequence += 5;
    g_device.next.time_ns += 5 * INTERVAL;
    sl_manual_clock_advance(&g_rig.clock, 5 * INTERVAL);
    tick();
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_SENSOR_GAP], 5);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_NO_SLOT], 0);
}
END_TEST

START_TEST(a_gap_after_starvation_is_ours)
{
    begin(4);
    for (int i = 0; i < 4; i++)
        tick();
    rig_take(&g_rig);
    /* nothing queued for ten frames; then all come home */
    sl_manual_clock_advance(&g_rig.clock, 10 * INTERVAL);
    g_device.next.sequence += 10;
    g_device.next.time_ns += 10 * INTERVAL;
    rig_release(&g_rig, 4);
    rig_work(&g_rig);
    tick();
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_NO_SLOT], 10);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_SENSOR_GAP], 0);
}
END_TEST

START_TEST(a_refused_buffer_is_offered_again)
{
    begin(8);
    tick();
    g_device.queue_error = -EINVAL;
    g_device.queue_errors = 3;
    for (int i = 0; i < 6; i++) {
        ck_assert_int_ge(tick(), 0);
        rig_take(&g_rig);
        rig_release(&g_rig, 8);
    }
    rig_work(&g_rig);
    ck_assert_uint_eq(g_device.queue_errors, 0);
    ck_assert_uint_eq(g_device.count, 4);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_ANOMALIES), 3);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(rig_event_count(&g_rig, SL_EVENT_ANOMALY), 2); /* the first and the second of a kind */
}
END_TEST

START_TEST(a_device_that_takes_no_buffer_any_more)
{
    int ret = 0;

    begin(8);
    g_device.queue_error = -EINVAL;
    g_device.queue_errors = 1000;
    for (int i = 0; i < 100 && ret >= 0; i++)
        ret = tick();
    ck_assert_int_eq(ret, -EINVAL);
}
END_TEST

START_TEST(an_unplugged_device_ends_at_once)
{
    begin(8);
    tick();
    g_device.next_error = -ENODEV;
    ck_assert_int_eq(tick(), -ENODEV);
    g_device.next_error = 0;
    ck_assert_int_eq(tick(), -ENODEV); /* and stays ended */
}
END_TEST

START_TEST(no_buffer_taken_at_all_is_an_error_of_start)
{
    struct sl_capture *capture;

    begin(8);
    /* a second capture on the same device state: every queue fails */
    g_device.queue_error = -EBUSY;
    g_device.queue_errors = 100;
    ck_assert_int_eq(sl_capture_open_source(&capture, &g_device.source, &g_cfg, &g_rig.deps, &g_rig.err), 0);
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_memory *memory;
    ck_assert_int_eq(sl_memory_host(&memory, 4, 8192, SL_HUGEPAGES_NO, &g_rig.err), 0);
    ck_assert_int_eq(sl_pool_open(&pool, memory, &g_rig.err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 0, &g_rig.err), 0);
    g_device.count = 0;
    ck_assert_int_eq(sl_capture_start(capture, pool, fanout, &g_rig.err), -EBUSY);
    ck_assert_uint_eq(sl_pool_free(pool), 4);
    int kept = g_device.source.poll_fd;
    g_device.source.poll_fd = -1;
    sl_capture_close(capture);
    g_device.source.poll_fd = kept;
    sl_fanout_close(fanout, NULL);
    sl_pool_close(pool);
    sl_memory_close(memory);
}
END_TEST

START_TEST(a_source_without_a_rate_is_refused)
{
    struct sl_capture *capture;

    g_device.source.info.format.fps.num = 0;
    ck_assert_int_eq(sl_capture_open_source(&capture, &g_device.source, &g_cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "fps"));
    device_close(&g_device.source);
}
END_TEST

START_TEST(idle_sleeps_until_the_device_has_something)
{
    begin(8);
    eventfd_write(g_device.source.poll_fd, 1);
    g_rig.agent->idle(g_rig.agent->self); /* returns: the descriptor is readable */
    ck_assert_int_eq(rig_work(&g_rig), 1);
    g_rig.agent->wake(g_rig.agent->self);
    g_rig.agent->idle(g_rig.agent->self); /* returns: it was woken */
    ck_assert_int_eq(rig_work(&g_rig), 0);
}
END_TEST

START_TEST(idle_is_woken_by_a_slot_when_the_device_runs_short)
{
    begin(4);
    for (int i = 0; i < 3; i++)
        tick();
    rig_take(&g_rig);
    ck_assert_uint_eq(g_device.count, 1); /* below low water: armed */
    rig_release(&g_rig, 1);
    g_rig.agent->idle(g_rig.agent->self); /* the slot came home before: no sleep */
    rig_work(&g_rig);
    ck_assert_uint_eq(g_device.count, 2);
}
END_TEST

START_TEST(work_neither_allocates_nor_locks)
{
    begin(8);
    for (int i = 0; i < 10; i++) {
        tick();
        rig_take(&g_rig);
        rig_release(&g_rig, 1);
    }
    sl_trap_arm();
    for (int i = 0; i < 1000; i++) {
        if (i % 100 == 7)
            g_device.next.sequence += 3; /* anomalies and losses take the same path */
        g_device.next.flags = i % 50 == 1 ? SL_FRAME_DEVICE_ERROR : 0;
        sl_manual_clock_advance(&g_rig.clock, INTERVAL);
        g_device.deliveries = 1;
        g_rig.agent->do_work(g_rig.agent->self);
        struct sl_frame *frame = sl_sink_take(g_rig.sink);
        if (frame)
            sl_sink_release(g_rig.sink, frame);
    }
    sl_trap_disarm();
    ck_assert_uint_eq(sl_trap_allocations(), 0);
    ck_assert_uint_eq(sl_trap_locks(), 0);
}
END_TEST

/* --- scripted faults over the pattern ------------------------------------------------------------------------------------ */

static struct sl_sensor_script g_script;

static struct sl_books run_pattern(const struct sl_sensor_fault *fault, unsigned faults, bool drop, uint64_t frames, int *result)
{
    struct sl_capture_cfg cfg = {.source = SL_SOURCE_PATTERN,
                                 .pixel_format = "YUYV",
                                 .width = 64,
                                 .height = 48,
                                 .fps = {60, 1},
                                 .buffers = 4,
                                 .frame_limit = frames,
                                 .drop_bad_frames = drop,
                                 .script = &g_script};
    sl_sensor_script_init(&g_script, fault, faults);
    rig_start(&g_rig, &cfg, 8);
    *result = 0;
    for (uint64_t i = 0; i < 2 * frames && *result >= 0; i++) {
        *result = rig_work(&g_rig);
        rig_take(&g_rig);
        rig_release(&g_rig, 8);
        sl_manual_clock_advance(&g_rig.clock, INTERVAL + 1);
    }
    return rig_books(&g_rig);
}

START_TEST(fault_gap)
{
    struct sl_sensor_fault fault = {.kind = SL_SENSOR_FAULT_GAP, .frame = 100, .count = 30};
    int result;
    struct sl_books books = run_pattern(&fault, 1, false, 300, &result);

    ck_assert_int_eq(result, -ESHUTDOWN);
    ck_assert_uint_eq(books.expected, 300);
    ck_assert_uint_eq(books.captured, 270);
    ck_assert_uint_eq(books.lost[SL_LOSS_SENSOR_GAP], 30);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(g_rig.event[0].first, 100);
    ck_assert_uint_eq(g_rig.event[0].count, 30);
}
END_TEST

START_TEST(fault_error_flag_and_short)
{
    struct sl_sensor_fault fault[] = {{.kind = SL_SENSOR_FAULT_ERROR_FLAG, .frame = 10, .count = 2},
                                      {.kind = SL_SENSOR_FAULT_SHORT, .frame = 20, .count = 3}};
    int result;
    struct sl_books books = run_pattern(fault, 2, _i == 1, 100, &result);

    ck_assert_int_eq(result, -ESHUTDOWN);
    ck_assert_uint_eq(books.expected, 100);
    ck_assert_uint_eq(books.lost[SL_LOSS_BAD_FRAME], _i == 1 ? 5 : 0);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_BAD_KEPT), _i == 1 ? 0 : 5);
}
END_TEST

START_TEST(fault_eio)
{
    struct sl_sensor_fault fault = {.kind = SL_SENSOR_FAULT_EIO, .frame = 42, .count = 1};
    int result;
    struct sl_books books = run_pattern(&fault, 1, false, 100, &result);

    ck_assert_int_eq(result, -EIO);
    ck_assert_uint_eq(books.captured, 42);
}
END_TEST

/* --- replay ---------------------------------------------------------------------------------------------------------------- */

struct tape {
    struct sl_video_format format;
    struct sl_replay_reader reader;
    uint64_t broken; /* bit mask of unreadable frames */
};

/* Ten frames; 5 and 6 are missing; frame index 7 has the error flag. */
static int tape_read(void *self, uint64_t index, uint8_t *data, size_t bytes, int64_t *time_ns, uint32_t *sequence, uint32_t *flags)
{
    struct tape *tape = self;
    uint64_t number = index < 5 ? index : index + 2;

    ck_assert_uint_lt(index, tape->reader.frames);
    ck_assert_uint_eq(bytes, tape->format.frame_bytes);
    if (tape->broken >> index & 1)
        return -EBADMSG;
    memset(data, (int)number, bytes);
    *time_ns = sl_frame_time_ns(tape->format.fps, number);
    *sequence = 1000 + (uint32_t)number;
    *flags = index == 7 ? SL_FRAME_DEVICE_ERROR : 0;
    return 0;
}

static struct tape g_tape;

static void replay(struct sl_capture_cfg cfg, uint64_t broken)
{
    g_tape = (struct tape){.format = small(), .broken = broken};
    g_tape.reader = (struct sl_replay_reader){.self = &g_tape, .format = &g_tape.format, .frames = 10, .read = tape_read};
    g_rig.deps.replay_reader = &g_tape.reader;
    cfg.source = SL_SOURCE_REPLAY;
    cfg.device = "tape.mkv";
    rig_start(&g_rig, &cfg, 16);
}

START_TEST(replay_keeps_gaps_and_flags)
{
    replay((struct sl_capture_cfg){.unpaced = true, .buffers = 4}, 0);
    ck_assert_int_eq(rig_work(&g_rig), -ESHUTDOWN);
    ck_assert_uint_eq(rig_take(&g_rig), 10);
    ck_assert_uint_eq(g_rig.held[4]->number, 4);
    ck_assert_uint_eq(g_rig.held[5]->number, 7);
    ck_assert_uint_eq(g_rig.held[5]->sequence, 1007);
    ck_assert_uint_eq(g_rig.held[5]->slot->data[100], 7);
    ck_assert_uint_eq(g_rig.held[5]->lost[SL_LOSS_SENSOR_GAP], 2);
    ck_assert_uint_eq(g_rig.held[7]->flags, SL_FRAME_DEVICE_ERROR);
    ck_assert_uint_eq(rig_books(&g_rig).expected, 12);
}
END_TEST

START_TEST(replay_is_paced)
{
    int64_t t0 = sl_now_ns(g_rig.deps.clock);

    replay((struct sl_capture_cfg){.buffers = 4, .stall_timeout_ns = 1}, 0);
    for (uint64_t n = 0; n < 12; n++) {
        bool there = n != 5 && n != 6;

        sl_manual_clock_advance(&g_rig.clock, t0 + sl_frame_time_ns(g_tape.format.fps, n) - sl_now_ns(g_rig.deps.clock));
        if (n == 11) /* the tape is at its end in the same breath */
            ck_assert_int_eq(rig_work(&g_rig), -ESHUTDOWN);
        else
            ck_assert_int_eq(rig_work(&g_rig), there);
        ck_assert_uint_eq(rig_take(&g_rig), there);
    }
    ck_assert_int_eq(g_rig.held[0]->time_ns, t0);
}
END_TEST

START_TEST(replay_waits_for_slots)
{
    replay((struct sl_capture_cfg){.buffers = 4}, 0);
    sl_manual_clock_advance(&g_rig.clock, SL_NS_PER_S);
    ck_assert_int_eq(rig_work(&g_rig), -ESHUTDOWN);
    ck_assert_uint_eq(rig_take(&g_rig), 10);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_NO_SLOT], 0);
}
END_TEST

START_TEST(replay_in_a_loop_goes_on_counting)
{
    replay((struct sl_capture_cfg){.unpaced = true, .buffers = 4, .replay_loop = 1, .frame_limit = 100}, 0);
    int ret = 0;
    while (ret >= 0) {
        ret = rig_work(&g_rig);
        rig_take(&g_rig);
        rig_release(&g_rig, 16);
    }
    ck_assert_int_eq(ret, -ESHUTDOWN);
    ck_assert_uint_eq(rig_books(&g_rig).expected, 100);
    /* 8 whole turns of 12 lose 2 each, and 4 frames of the ninth */
    ck_assert_uint_eq(rig_books(&g_rig).captured, 84);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_SENSOR_GAP], 16);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_ANOMALIES), 0);
}
END_TEST

START_TEST(replay_skips_what_cannot_be_read)
{
    replay((struct sl_capture_cfg){.unpaced = true, .buffers = 4}, 1 << 2 | 1 << 3);
    ck_assert_int_eq(rig_work(&g_rig), -ESHUTDOWN);
    ck_assert_uint_eq(rig_take(&g_rig), 8);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_SENSOR_GAP], 4);
}
END_TEST

START_TEST(replay_of_rubble_ends_with_the_error)
{
    replay((struct sl_capture_cfg){.unpaced = true, .buffers = 4, .replay_loop = 1}, 1023);
    ck_assert_int_eq(rig_work(&g_rig), -EBADMSG);
}
END_TEST

START_TEST(replay_refuses_what_the_recording_is_not)
{
    struct sl_capture *capture = NULL;
    struct sl_capture_cfg cfg = {.source = SL_SOURCE_REPLAY};

    ck_assert_int_eq(sl_capture_open(&capture, &cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    replay((struct sl_capture_cfg){.unpaced = true}, 0);
    cfg.pixel_format = "UYVY";
    ck_assert_int_eq(sl_capture_open(&capture, &cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "UYVY"));
    cfg.pixel_format = NULL;
    cfg.width = 1920;
    cfg.height = 1080;
    ck_assert_int_eq(sl_capture_open(&capture, &cfg, &g_rig.deps, &g_rig.err), -EINVAL);
    cfg.width = cfg.height = 0;
    g_tape.reader.frames = 0;
    ck_assert_int_eq(sl_capture_open(&capture, &cfg, &g_rig.deps, &g_rig.err), -ENODATA);
    ck_assert_ptr_null(capture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_agent");
    TCase *agent = tcase_create("agent");
    TCase *sources = tcase_create("sources");

    tcase_add_checked_fixture(agent, setup, teardown);
    tcase_add_test(agent, fields_of_a_frame);
    tcase_add_test(agent, bad_frames_are_kept);
    tcase_add_test(agent, kept_bad_frames_are_told_of_one_by_one_or_by_the_second);
    tcase_add_test(agent, bad_frames_are_dropped);
    tcase_add_test(agent, a_buffer_that_does_not_exist);
    tcase_add_test(agent, silence_ends_the_agent);
    tcase_add_test(agent, a_device_without_buffers_is_not_silent);
    tcase_add_test(agent, a_gap_while_buffers_were_there_is_the_sensors);
    tcase_add_test(agent, a_gap_after_starvation_is_ours);
    tcase_add_test(agent, a_refused_buffer_is_offered_again);
    tcase_add_test(agent, a_device_that_takes_no_buffer_any_more);
    tcase_add_test(agent, an_unplugged_device_ends_at_once);
    tcase_add_test(agent, no_buffer_taken_at_all_is_an_error_of_start);
    tcase_add_test(agent, a_source_without_a_rate_is_refused);
    tcase_add_test(agent, idle_sleeps_until_the_device_has_something);
    tcase_add_test(agent, idle_is_woken_by_a_slot_when_the_device_runs_short);
    tcase_add_test(agent, work_neither_allocates_nor_locks);
    suite_add_tcase(suite, agent);

    tcase_add_checked_fixture(sources, setup, teardown);
    tcase_add_test(sources, fault_gap);
    tcase_add_loop_test(sources, fault_error_flag_and_short, 0, 2);
    tcase_add_test(sources, fault_eio);
    tcase_add_test(sources, replay_keeps_gaps_and_flags);
    tcase_add_test(sources, replay_is_paced);
    tcase_add_test(sources, replay_waits_for_slots);
    tcase_add_test(sources, replay_in_a_loop_goes_on_counting);
    tcase_add_test(sources, replay_skips_what_cannot_be_read);
    tcase_add_test(sources, replay_of_rubble_ends_with_the_error);
    tcase_add_test(sources, replay_refuses_what_the_recording_is_not);
    suite_add_tcase(suite, sources);
    return sl_run_suite(suite);
}
