/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers, memory and streaming against a driver in user space, through the agent and its books. */
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_trap.h"
#include "support/capture_rig.h"
#include "support/fake_v4l2.h"
#include "support/suite.h"

#define INTERVAL (SL_NS_PER_S / 60)

static struct fake_v4l2 g_fake;
static struct capture_rig g_rig;
static struct sl_capture_cfg g_cfg;

static void setup(void)
{
    fake_init(&g_fake);
    rig_init(&g_rig);
    g_cfg = (struct sl_capture_cfg){
        .device = "/dev/fake", .input = -1, .buffers = 4, .fps = {60, 1}, .stall_timeout_ns = 2 * SL_NS_PER_S, .pixel_format = "YUYV"};
}

static void teardown(void)
{
    rig_fini(&g_rig);
    fake_check_clean(&g_fake);
    fake_fini(&g_fake);
}

static void use_multiplanar(const char *format)
{
    fake_fini(&g_fake);
    fake_init_multiplanar(&g_fake);
    g_cfg.pixel_format = format;
}

static void open_capture(void)
{
    struct sl_source *source;
    int ret = sl_v4l2_source_open_ops(&source, &g_fake.ops, &g_cfg, &g_rig.err);

    ck_assert_msg(ret == 0, "%s", g_rig.err.text);
    ret = sl_capture_open_source(&g_rig.capture, source, &g_cfg, &g_rig.deps, &g_rig.err);
    ck_assert_msg(ret == 0, "%s", g_rig.err.text);
}

static void make_host_memory(unsigned slots)
{
    int ret = sl_memory_host(&g_rig.memory, slots, sl_capture_info(g_rig.capture)->slot_bytes, SL_HUGEPAGES_NO, &g_rig.err);

    ck_assert_msg(ret == 0, "%s", g_rig.err.text);
}

static void begin_userptr(unsigned slots)
{
    open_capture();
    make_host_memory(slots);
    ck_assert_msg(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err) == 0, "%s", g_rig.err.text);
    rig_start_on_memory(&g_rig);
}

static void begin_mmap(void)
{
    open_capture();
    ck_assert_msg(sl_capture_memory(g_rig.capture, &g_rig.memory, &g_rig.err) == 0, "%s", g_rig.err.text);
    rig_start_on_memory(&g_rig);
}

/* What the runner does: sleep, then work until there is nothing. The stop wake-up keeps idle() from sleeping for long. */
static int pump(void)
{
    g_rig.agent->wake(g_rig.agent->self);
    g_rig.agent->idle(g_rig.agent->self);
    return rig_work(&g_rig);
}

static struct fake_done *shoot(void)
{
    sl_manual_clock_advance(&g_rig.clock, INTERVAL);
    return fake_complete(&g_fake, sl_now_ns(g_rig.deps.clock) / 1000 * 1000);
}

/* One frame arrives and is taken. */
static struct sl_frame *one_frame(void)
{
    unsigned before = g_rig.holding;

    shoot();
    ck_assert_int_eq(pump(), 1);
    ck_assert_uint_eq(rig_take(&g_rig), 1);
    return g_rig.held[before];
}

START_TEST(more_slots_than_indices)
{
    begin_userptr(16);
    ck_assert_uint_eq(g_fake.buffers, 4);
    ck_assert_uint_eq(g_fake.fifo_count, 4);
    for (unsigned n = 0; n < 12; n++) { /* the sink keeps all: four indices carry twelve slots */
        struct sl_frame *frame = one_frame();

        ck_assert_uint_eq(frame->number, n);
        ck_assert_uint_eq(frame->flags, 0);
        ck_assert_uint_eq(frame->slot->data[frame->bytesused - 1], n);
        for (unsigned k = 0; k < n; k++)
            ck_assert_ptr_ne(g_rig.held[k]->slot, frame->slot);
    }
    ck_assert_uint_eq(g_fake.fifo_count, 4);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_STARVED), 0);
}
END_TEST

START_TEST(starved_and_fed_again)
{
    begin_userptr(6);
    for (unsigned n = 0; n < 6; n++)
        one_frame();
    for (unsigned n = 0; n < 5; n++) {
        ck_assert_ptr_null(shoot());
        ck_assert_int_eq(pump(), 0);
    }
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_STARVED), 1);
    rig_release(&g_rig, 6);
    pump();
    ck_assert_uint_eq(g_fake.fifo_count, 4);
    struct sl_frame *frame = one_frame();
    ck_assert_uint_eq(frame->number, 11);
    ck_assert_uint_eq(frame->lost[SL_LOSS_NO_SLOT], 5);
}
END_TEST

START_TEST(a_driver_that_does_not_count_while_starved)
{
    begin_userptr(4);
    for (unsigned n = 0; n < 4; n++)
        one_frame();
    sl_manual_clock_advance(&g_rig.clock, 7 * INTERVAL);
    rig_release(&g_rig, 4);
    pump();
    struct sl_frame *frame = one_frame();
    ck_assert_uint_eq(frame->sequence, 4); /* the driver saw nothing */
    ck_assert_uint_eq(frame->number, 11);
    ck_assert_uint_eq(frame->lost[SL_LOSS_NO_SLOT], 7);
}
END_TEST

START_TEST(the_devices_own_gap)
{
    begin_userptr(16);
    for (unsigned n = 0; n < 8; n++) {
        one_frame();
        rig_release(&g_rig, 1);
    }
    g_fake.sequence += 3;
    sl_manual_clock_advance(&g_rig.clock, 3 * INTERVAL);
    struct sl_frame *frame = one_frame();
    ck_assert_uint_eq(frame->lost[SL_LOSS_SENSOR_GAP], 3);
    ck_assert_uint_eq(frame->lost[SL_LOSS_NO_SLOT], 0);
}
END_TEST

START_TEST(the_drivers_own_buffers)
{
    begin_mmap();
    ck_assert_str_eq(g_rig.memory->kind, "mmap");
    ck_assert_uint_eq(g_rig.memory->slots, 4);
    ck_assert_uint_eq(g_rig.memory->regions, 5);
    ck_assert(g_rig.memory->cached);
    for (unsigned i = 0; i < 4; i++) {
        const struct sl_slot *slot = &g_rig.memory->slot[i];

        ck_assert_uint_eq((uintptr_t)slot->header % SL_PAGE_BYTES, 0);
        ck_assert_uint_eq((uintptr_t)slot->data % SL_PAGE_BYTES, 0);
        ck_assert_uint_eq(slot->data_bytes % SL_PAGE_BYTES, 0);
        ck_assert_uint_ge(slot->data_bytes, 640 * 480 * 2);
        ck_assert(!slot->adjacent && slot->dmabuf_fd == -1 && !slot->plane[0]);
        ck_assert_ptr_eq(g_rig.memory->region[slot->data_region].base, slot->data);
        ck_assert_ptr_eq(g_rig.memory->region[slot->header_region].base, g_rig.memory->slot[0].header);
        memset(slot->header, 0, SL_PAGE_BYTES);
    }
    for (unsigned n = 0; n < 40; n++) {
        struct sl_frame *frame = one_frame();

        ck_assert_uint_eq(frame->number, n);
        ck_assert_uint_eq(frame->slot->data[0], n);
        rig_release(&g_rig, 1);
    }
    struct sl_memory *second;
    ck_assert_int_eq(sl_capture_memory(g_rig.capture, &second, &g_rig.err), -EBUSY);
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err), 0);
    struct sl_memory *host;
    ck_assert_int_eq(sl_memory_host(&host, 1, 700000, SL_HUGEPAGES_NO, &g_rig.err), 0);
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, host, &g_rig.err), -EBUSY);
    sl_memory_close(host);
}
END_TEST

START_TEST(fewer_buffers_than_asked)
{
    g_fake.grant_max = 3;
    if (_i == 0)
        begin_userptr(8);
    else
        begin_mmap();
    ck_assert_uint_eq(sl_capture_info(g_rig.capture)->indices, 3);
    ck_assert_ptr_nonnull(strstr(sl_capture_info(g_rig.capture)->granted, "4 buffers asked, 3 granted"));
    one_frame();
}
END_TEST

static unsigned g_count;

static void answer_count(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake;
    if (request == VIDIOC_REQBUFS && ((struct v4l2_requestbuffers *)arg)->count)
        ((struct v4l2_requestbuffers *)arg)->count = g_count;
}

START_TEST(an_impossible_number_of_buffers)
{
    struct sl_memory *memory = NULL;

    open_capture();
    g_fake.hook = answer_count;
    for (int i = 0; i < 2; i++) {
        g_count = i ? 4000000000u : 0;
        ck_assert_int_eq(sl_capture_memory(g_rig.capture, &memory, &g_rig.err), -EPROTO);
        ck_assert_ptr_nonnull(strstr(g_rig.err.text, "granted"));
    }
    ck_assert_ptr_null(memory);
}
END_TEST

START_TEST(mapping_fails_half_way)
{
    static const unsigned long requests[] = {0 /* mmap */, VIDIOC_QUERYBUF};
    struct sl_memory *memory = NULL;

    open_capture();
    for (unsigned i = 0; i < 2; i++) {
        fake_fail_at(&g_fake, requests[i], ENOMEM, 2, 1);
        ck_assert_int_eq(sl_capture_memory(g_rig.capture, &memory, &g_rig.err), -ENOMEM);
        ck_assert_int_eq(g_fake.mapped, 0);
        ck_assert_uint_eq(g_fake.buffers, 0);
    }
    fake_fail_at(&g_fake, VIDIOC_REQBUFS, ENOMEM, 0, 1);
    ck_assert_int_eq(sl_capture_memory(g_rig.capture, &memory, &g_rig.err), -ENOMEM);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "VIDIOC_REQBUFS(MMAP, 4)"));
    ck_assert_ptr_null(memory);
}
END_TEST

static void answer_short_buffer(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake;
    if (request == VIDIOC_QUERYBUF)
        ((struct v4l2_buffer *)arg)->length = 4096;
}

START_TEST(a_buffer_shorter_than_a_frame)
{
    struct sl_memory *memory = NULL;

    open_capture();
    g_fake.hook = answer_short_buffer;
    ck_assert_int_eq(sl_capture_memory(g_rig.capture, &memory, &g_rig.err), -EPROTO);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "4096 bytes, less than"));
}
END_TEST

START_TEST(memory_the_device_refuses)
{
    open_capture();
    make_host_memory(2);
    g_fake.contiguous_only = true;
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err), -EFAULT);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "VIDIOC_QBUF(userptr): Bad address: the receiver cannot reach these pages"));
    ck_assert_uint_eq(g_fake.buffers, 0);
    g_fake.contiguous_only = false;
    g_fake.memories &= ~(1u << V4L2_MEMORY_USERPTR);
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "VIDIOC_REQBUFS(USERPTR, 1): Invalid argument: the driver does not take this kind"));
}
END_TEST

START_TEST(slots_too_small_for_the_device)
{
    struct sl_pool *pool;
    struct sl_fanout *fanout;

    open_capture();
    ck_assert_int_eq(sl_memory_host(&g_rig.memory, 2, 4096, SL_HUGEPAGES_NO, &g_rig.err), 0);
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "the driver needs 614400"));
    ck_assert_int_eq(sl_pool_open(&pool, g_rig.memory, &g_rig.err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 0, &g_rig.err), 0);
    ck_assert_int_eq(sl_capture_start(g_rig.capture, pool, fanout, &g_rig.err), -EINVAL);
    sl_fanout_close(fanout, NULL);
    sl_pool_close(pool);
}
END_TEST

START_TEST(start_fails_and_leaves_nothing)
{
    struct sl_pool *pool;
    struct sl_fanout *fanout;

    open_capture();
    make_host_memory(6);
    ck_assert_int_eq(sl_pool_open(&pool, g_rig.memory, &g_rig.err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 0, &g_rig.err), 0);
    fake_fail_at(&g_fake, VIDIOC_STREAMON, ENOSPC, 0, 1);
    ck_assert_int_eq(sl_capture_start(g_rig.capture, pool, fanout, &g_rig.err), -ENOSPC);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "VIDIOC_STREAMON with 4 buffers queued"));
    ck_assert_uint_eq(sl_pool_free(pool), 6);
    ck_assert_uint_eq(g_fake.buffers, 0);
    fake_fail_at(&g_fake, VIDIOC_REQBUFS, ENOMEM, 0, 1);
    ck_assert_int_eq(sl_capture_start(g_rig.capture, pool, fanout, &g_rig.err), -ENOMEM);
    fake_fail_at(&g_fake, VIDIOC_QBUF, EIO, 0, 100);
    ck_assert_int_eq(sl_capture_start(g_rig.capture, pool, fanout, &g_rig.err), -EIO);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "takes no buffer: v4l2 /dev/fake: VIDIOC_QBUF(USERPTR, buffer 0), 0 of 4 queued: "));
    ck_assert_uint_eq(sl_pool_free(pool), 6);
    memset(g_fake.fail, 0, sizeof(g_fake.fail));
    ck_assert_int_eq(sl_capture_start(g_rig.capture, pool, fanout, &g_rig.err), 0); /* and can be tried again */
    sl_capture_finish(g_rig.capture, 0, SL_LOSS_SENSOR_GAP);
    sl_fanout_close(fanout, NULL);
    sl_pool_close(pool);
}
END_TEST

START_TEST(a_pool_that_is_not_on_the_mapped_buffers)
{
    struct sl_memory *mapped, *host;
    struct sl_pool *pool;
    struct sl_fanout *fanout;

    open_capture();
    ck_assert_int_eq(sl_capture_memory(g_rig.capture, &mapped, &g_rig.err), 0);
    ck_assert_int_eq(sl_memory_host(&host, 4, 614400, SL_HUGEPAGES_NO, &g_rig.err), 0);
    ck_assert_int_eq(sl_pool_open(&pool, host, &g_rig.err), 0);
    ck_assert_int_eq(sl_fanout_open(&fanout, pool, 0, &g_rig.err), 0);
    ck_assert_int_eq(sl_capture_start(g_rig.capture, pool, fanout, &g_rig.err), -EINVAL);
    sl_fanout_close(fanout, NULL);
    sl_pool_close(pool);
    sl_memory_close(host);
    sl_memory_close(mapped);
}
END_TEST

/* --- what a driver says about a frame ---------------------------------------------------------------------------------------- */

START_TEST(error_flag_and_short_frame)
{
    begin_userptr(8);
    shoot()->flags = V4L2_BUF_FLAG_ERROR;
    ck_assert_int_eq(pump(), 1);
    shoot()->bytesused[0] = 100;
    ck_assert_int_eq(pump(), 1);
    rig_take(&g_rig);
    ck_assert_uint_eq(g_rig.held[0]->flags, SL_FRAME_DEVICE_ERROR);
    ck_assert_uint_eq(g_rig.held[1]->flags, SL_FRAME_SHORT);
    ck_assert_uint_eq(g_rig.held[1]->bytesused, 100);
}
END_TEST

START_TEST(more_bytes_than_there_are)
{
    begin_userptr(8);
    shoot()->bytesused[0] = 4000000000u;
    ck_assert_int_eq(pump(), 1);
    rig_take(&g_rig);
    ck_assert_uint_eq(g_rig.held[0]->bytesused, 0);
    ck_assert_uint_eq(g_rig.held[0]->flags, SL_FRAME_SHORT | SL_FRAME_DEVICE_ERROR);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(g_rig.event[0].code, SL_ANOMALY_BAD_SIZE);
}
END_TEST

START_TEST(an_index_out_of_range)
{
    begin_userptr(8);
    one_frame();
    shoot()->index = 4000000000u;
    ck_assert_int_eq(pump(), 1);
    struct sl_frame *frame = one_frame();
    ck_assert_uint_eq(frame->number, 2);
    ck_assert_uint_eq(frame->lost[SL_LOSS_BAD_FRAME], 1);
    rig_drain_events(&g_rig);
    ck_assert_uint_eq(g_rig.event[0].code, SL_ANOMALY_BAD_INDEX);
}
END_TEST

START_TEST(an_index_that_is_not_queued)
{
    begin_userptr(4);
    one_frame(); /* index 3, 2, 1 or 0: now ours, and no free slot to queue it with */
    uint32_t ours = 0;
    while (g_fake.buffer[ours].queued)
        ours++;
    sl_manual_clock_advance(&g_rig.clock, INTERVAL);
    fake_complete_index(&g_fake, ours, sl_now_ns(g_rig.deps.clock));
    ck_assert_int_eq(pump(), 1);
    ck_assert_uint_eq(rig_take(&g_rig), 0);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_BAD_FRAME], 1);
}
END_TEST

START_TEST(stamps_of_another_clock)
{
    g_fake.timestamp_flags = V4L2_BUF_FLAG_TIMESTAMP_UNKNOWN | V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
    begin_userptr(8);
    ck_assert(!sl_capture_info(g_rig.capture)->time_monotonic);
    ck_assert(sl_capture_info(g_rig.capture)->time_soe);
    shoot()->time_ns = 5;
    pump();
    rig_take(&g_rig);
    ck_assert_uint_eq(g_rig.held[0]->flags, SL_FRAME_TIME_GUESSED);
    ck_assert_int_eq(g_rig.held[0]->time_ns, sl_now_ns(g_rig.deps.clock));
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_ANOMALIES), 0);
}
END_TEST

START_TEST(start_of_exposure)
{
    g_fake.timestamp_flags |= V4L2_BUF_FLAG_TSTAMP_SRC_SOE;
    begin_userptr(8);
    ck_assert(sl_capture_info(g_rig.capture)->time_monotonic);
    ck_assert_uint_eq(one_frame()->flags, SL_FRAME_TIME_SOE);
}
END_TEST

START_TEST(nothing_there_after_all)
{
    begin_userptr(8);
    fake_fail_at(&g_fake, VIDIOC_DQBUF, EAGAIN, 0, 1);
    shoot();
    ck_assert_int_eq(pump(), 0);
    ck_assert_int_eq(pump(), 1);
}
END_TEST

START_TEST(errors_that_end_the_stream)
{
    static const int codes[] = {EIO, ENODEV, EPIPE, EINVAL};
    static const char *const hints[] = {"the hardware failed", "still plugged in", "media-ctl", "no longer streams"};

    begin_userptr(8);
    one_frame();
    fake_fail_at(&g_fake, VIDIOC_DQBUF, codes[_i], 0, 1);
    shoot();
    ck_assert_int_eq(pump(), -codes[_i]);
    ck_assert_int_eq(rig_work(&g_rig), -codes[_i]);
    sl_capture_explain(g_rig.capture, -codes[_i], &g_rig.err);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "VIDIOC_DQBUF(USERPTR), 4 of 4 queued: "));
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, hints[_i]));
    sl_capture_finish(g_rig.capture, sl_now_ns(g_rig.deps.clock) + 10 * INTERVAL, SL_LOSS_DEVICE_GONE);
    ck_assert_uint_eq(rig_books(&g_rig).lost[SL_LOSS_DEVICE_GONE], 11);
}
END_TEST

START_TEST(a_refused_buffer)
{
    begin_userptr(16);
    one_frame();
    fake_fail_at(&g_fake, VIDIOC_QBUF, EINVAL, 0, 1);
    one_frame();
    one_frame();
    ck_assert_uint_eq(g_fake.fifo_count, 4);
    ck_assert_uint_eq(sl_capture_counter(g_rig.capture, SL_CAPTURE_ANOMALIES), 1);
}
END_TEST

START_TEST(buffers_refused_until_it_ends)
{
    begin_userptr(16);
    one_frame();
    fake_fail_at(&g_fake, VIDIOC_QBUF, EINVAL, 0, 1000);
    shoot();
    for (int i = 0; i < 20; i++)
        if (pump() < 0)
            break;
    ck_assert_int_eq(rig_work(&g_rig), -EINVAL);
    sl_capture_explain(g_rig.capture, -EINVAL, &g_rig.err);
    ck_assert_msg(strstr(g_rig.err.text, "VIDIOC_QBUF(USERPTR, buffer ") && strstr(g_rig.err.text, "of 4 queued: Invalid argument: "), "%s",
                  g_rig.err.text);
    sl_capture_explain(g_rig.capture, -ENODEV, &g_rig.err); /* not what that call said */
    ck_assert_ptr_null(strstr(g_rig.err.text, "VIDIOC"));
    sl_capture_explain(g_rig.capture, -ETIMEDOUT, &g_rig.err);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "no frame for 2 s"));
}
END_TEST

START_TEST(the_signal_changes_its_mode)
{
    begin_userptr(8);
    one_frame();
    g_fake.event = (struct v4l2_event){.type = V4L2_EVENT_CTRL}; /* not ours: nothing */
    struct sl_source *source = NULL;
    sl_v4l2_source_open_ops(&source, &g_fake.ops, &g_cfg, &g_rig.err); /* busy: somebody streams */
    ck_assert_ptr_null(source);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "stop it"));
}
END_TEST

/* The descriptor of the fake cannot raise POLLPRI, so the source is worked without the agent. */
START_TEST(events_of_a_source)
{
    struct sl_source *source;
    struct sl_delivery delivery;

    ck_assert_int_eq(sl_v4l2_source_open_ops(&source, &g_fake.ops, &g_cfg, &g_rig.err), 0);
    g_fake.event = (struct v4l2_event){.type = V4L2_EVENT_CTRL};
    source->ops->ready(source, POLLPRI);
    ck_assert_int_eq(source->ops->next(source, 0, &delivery), 0);
    ck_assert_uint_eq(g_fake.event.type, 0);
    g_fake.event = (struct v4l2_event){.type = V4L2_EVENT_SOURCE_CHANGE};
    source->ops->ready(source, POLLPRI);
    ck_assert_int_eq(source->ops->next(source, 0, &delivery), 0); /* a change of something else than the resolution */
    g_fake.event = (struct v4l2_event){.type = V4L2_EVENT_SOURCE_CHANGE};
    g_fake.event.u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION;
    source->ops->ready(source, POLLPRI);
    ck_assert_int_eq(source->ops->next(source, 0, &delivery), -ENOLINK);
    source->ops->close(source);
}
END_TEST

/* An event carries the number of the input that it is about. */
START_TEST(events_of_another_input_than_the_first)
{
    struct sl_source *source;
    struct sl_delivery delivery;

    fake_fini(&g_fake);
    fake_init_hdmi(&g_fake);
    g_cfg.input = 1;
    ck_assert_int_eq(sl_v4l2_source_open_ops(&source, &g_fake.ops, &g_cfg, &g_rig.err), 0);
    g_fake.event = (struct v4l2_event){.type = V4L2_EVENT_SOURCE_CHANGE, .id = 1};
    g_fake.event.u.src_change.changes = V4L2_EVENT_SRC_CH_RESOLUTION;
    source->ops->ready(source, POLLPRI);
    ck_assert_int_eq(source->ops->next(source, 0, &delivery), -ENOLINK);
    source->ops->close(source);
}
END_TEST

/* --- planes ------------------------------------------------------------------------------------------------------------------- */

START_TEST(multiplanar_with_one_buffer)
{
    use_multiplanar("NV12");
    if (_i == 0)
        begin_userptr(8);
    else
        begin_mmap();
    for (unsigned n = 0; n < 10; n++) {
        struct sl_frame *frame = one_frame();

        ck_assert_uint_eq(frame->bytesused, 640 * 480 * 3 / 2);
        ck_assert_uint_eq(frame->slot->data[frame->bytesused - 1], n);
        rig_release(&g_rig, 1);
    }
}
END_TEST

START_TEST(payload_behind_an_offset)
{
    use_multiplanar("YUYV");
    begin_userptr(8);
    struct fake_done *done = shoot();
    uint8_t *data = g_fake.buffer[done->index].target[0];
    const struct sl_video_format *format = &sl_capture_info(g_rig.capture)->format;
    done->data_offset[0] = 64;
    data[64] = 0xA1;
    data[format->frame_bytes - 1] = 0xB2;
    ck_assert_int_eq(pump(), 1);
    rig_take(&g_rig);
    ck_assert_uint_eq(g_rig.held[0]->bytesused, format->frame_bytes - 64);
    ck_assert_uint_eq(g_rig.held[0]->slot->data[0], 0xA1);
    ck_assert_uint_eq(g_rig.held[0]->slot->data[format->frame_bytes - 65], 0xB2);

    done = shoot();
    done->data_offset[0] = done->bytesused[0] + 1; /* behind the end */
    ck_assert_int_eq(pump(), 1);
    rig_take(&g_rig);
    ck_assert_uint_eq(g_rig.held[1]->flags, SL_FRAME_SHORT | SL_FRAME_DEVICE_ERROR);
}
END_TEST

START_TEST(one_buffer_a_plane_imported)
{
    use_multiplanar("NV16");
    g_fake.fourcc[4] = 0;
    g_fake.fourcc[2] = V4L2_PIX_FMT_NV16M; /* the only NV16 there is */
    begin_userptr(8);
    struct sl_frame *frame = one_frame();
    ck_assert_uint_eq(frame->bytesused, 640 * 480 * 2);
    ck_assert_uint_eq(frame->slot->data[640 * 480 - 1], 0); /* plane 0 was filled with 0, plane 1 with 1 */
    ck_assert_uint_eq(frame->slot->data[640 * 480], 1);
    struct fake_done *done = shoot();
    done->bytesused[1] = 7; /* a short chroma plane */
    ck_assert_int_eq(pump(), 1);
    rig_take(&g_rig);
    ck_assert_uint_eq(g_rig.held[1]->flags, SL_FRAME_SHORT);
    ck_assert_uint_eq(g_rig.held[1]->bytesused, 640 * 480 + 7);
}
END_TEST

START_TEST(one_buffer_a_plane_mapped)
{
    use_multiplanar("NV12");
    g_fake.fourcc[2] = V4L2_PIX_FMT_NV12M;
    g_fake.fourcc[3] = 0;
    begin_mmap();
    struct sl_frame *frame = one_frame();
    ck_assert_ptr_eq(frame->slot->plane[0], frame->slot->data);
    ck_assert_ptr_nonnull(frame->slot->plane[1]);
    ck_assert_uint_eq(frame->slot->plane[0][0], 0);
    ck_assert_uint_eq(frame->slot->plane[1][640 * 240 - 1], 1);
    ck_assert_uint_eq(frame->bytesused, 640 * 480 * 3 / 2);
    ck_assert_uint_eq(frame->flags, 0);
}
END_TEST

static void answer_odd_planes(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    struct v4l2_format *format = arg;

    if (request == VIDIOC_S_FMT)
        for (unsigned p = 0; p < 2; p++)
            format->fmt.pix_mp.plane_fmt[p].sizeimage += 100;
    if (request == VIDIOC_S_FMT)
        fake->format = *format;
}

START_TEST(planes_that_do_not_fit_one_slot)
{
    use_multiplanar("NV16");
    g_fake.hook = answer_odd_planes;
    open_capture();
    make_host_memory(2);
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(g_rig.err.text, "use memory=mmap"));
}
END_TEST

START_TEST(a_dmabuf_slot)
{
    open_capture();
    make_host_memory(6);
    for (unsigned i = 0; i < 6; i++)
        g_rig.memory->slot[i].dmabuf_fd = 100 + (int)i;
    ck_assert_int_eq(sl_capture_try_memory(g_rig.capture, g_rig.memory, &g_rig.err), 0);
    rig_start_on_memory(&g_rig);
    ck_assert_uint_eq(g_fake.memory, V4L2_MEMORY_DMABUF);
    shoot();
    ck_assert_int_eq(pump(), 1);
    rig_take(&g_rig);
    ck_assert_int_ge(g_rig.held[0]->slot->dmabuf_fd, 100);
}
END_TEST

/* --- cost ---------------------------------------------------------------------------------------------------------------------- */

static struct sl_frame *g_kept[12];

/* The sink lags behind by `lag` frames, so that buffers come home while the device still has some. */
static void steady(unsigned frames, unsigned lag)
{
    for (unsigned n = 0; n < frames; n++) {
        struct sl_frame *frame = NULL;

        shoot();
        for (int turn = 0; turn < 3 && !frame; turn++) { /* a buffer that came home may end the first sleep */
            g_rig.agent->wake(g_rig.agent->self);
            g_rig.agent->idle(g_rig.agent->self);
            while (g_rig.agent->do_work(g_rig.agent->self) > 0)
                ;
            frame = sl_sink_take(g_rig.sink);
        }
        if (!frame)
            abort();
        if (g_kept[n % lag])
            sl_sink_release(g_rig.sink, g_kept[n % lag]);
        g_kept[n % lag] = frame;
    }
}

START_TEST(two_ioctls_a_frame_and_no_allocation)
{
    memset(g_kept, 0, sizeof(g_kept));
    if (_i == 0)
        begin_userptr(12);
    else
        begin_mmap();
    steady(20, 2);
    g_fake.calls_qbuf = g_fake.calls_dqbuf = g_fake.calls_other = 0;
    sl_trap_arm();
    steady(500, 2);
    sl_trap_disarm();
    ck_assert_uint_eq(sl_trap_allocations(), 0);
    ck_assert_uint_eq(sl_trap_locks(), 0);
    ck_assert_uint_eq(g_fake.calls_dqbuf, 500);
    ck_assert_uint_eq(g_fake.calls_qbuf, 500);
    ck_assert_uint_eq(g_fake.calls_other, 0);
    for (unsigned i = 0; i < 2; i++)
        sl_sink_release(g_rig.sink, g_kept[i]);
}
END_TEST

START_TEST(is_cached_tells_slow_memory)
{
    static uint8_t memory[1 << 20];

    ck_assert(sl_v4l2_is_cached(memory, sizeof(memory)));
    ck_assert(sl_v4l2_is_cached(memory, 4096));
}
END_TEST

static void add_buffers(TCase *tcase)
{
    tcase_add_test(tcase, more_slots_than_indices);
    tcase_add_test(tcase, starved_and_fed_again);
    tcase_add_test(tcase, a_driver_that_does_not_count_while_starved);
    tcase_add_test(tcase, the_devices_own_gap);
    tcase_add_test(tcase, the_drivers_own_buffers);
    tcase_add_loop_test(tcase, fewer_buffers_than_asked, 0, 2);
    tcase_add_test(tcase, an_impossible_number_of_buffers);
    tcase_add_test(tcase, mapping_fails_half_way);
    tcase_add_test(tcase, a_buffer_shorter_than_a_frame);
    tcase_add_test(tcase, memory_the_device_refuses);
    tcase_add_test(tcase, slots_too_small_for_the_device);
    tcase_add_test(tcase, start_fails_and_leaves_nothing);
    tcase_add_test(tcase, a_pool_that_is_not_on_the_mapped_buffers);
}

static void add_frames(TCase *tcase)
{
    tcase_add_test(tcase, error_flag_and_short_frame);
    tcase_add_test(tcase, more_bytes_than_there_are);
    tcase_add_test(tcase, an_index_out_of_range);
    tcase_add_test(tcase, an_index_that_is_not_queued);
    tcase_add_test(tcase, stamps_of_another_clock);
    tcase_add_test(tcase, start_of_exposure);
    tcase_add_test(tcase, nothing_there_after_all);
    tcase_add_loop_test(tcase, errors_that_end_the_stream, 0, 4);
    tcase_add_test(tcase, a_refused_buffer);
    tcase_add_test(tcase, buffers_refused_until_it_ends);
    tcase_add_test(tcase, the_signal_changes_its_mode);
    tcase_add_test(tcase, events_of_a_source);
    tcase_add_test(tcase, events_of_another_input_than_the_first);
}

int main(void)
{
    Suite *suite = suite_create("capture_v4l2_stream");
    TCase *tcase = tcase_create("stream");

    tcase_add_checked_fixture(tcase, setup, teardown);
    add_buffers(tcase);
    add_frames(tcase);
    tcase_add_loop_test(tcase, multiplanar_with_one_buffer, 0, 2);
    tcase_add_test(tcase, payload_behind_an_offset);
    tcase_add_test(tcase, one_buffer_a_plane_imported);
    tcase_add_test(tcase, one_buffer_a_plane_mapped);
    tcase_add_test(tcase, planes_that_do_not_fit_one_slot);
    tcase_add_test(tcase, a_dmabuf_slot);
    tcase_add_loop_test(tcase, two_ioctls_a_frame_and_no_allocation, 0, 2);
    tcase_add_test(tcase, is_cached_tells_slow_memory);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
