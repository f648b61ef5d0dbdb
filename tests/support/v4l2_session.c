/* SPDX-License-Identifier: Apache-2.0 */
#include "support/v4l2_session.h"

#include <check.h>
#include <string.h>

enum { SLOTS = 12, BUFFERS = 4 };
#define INTERVAL (SL_NS_PER_S / 60)

void session_init(struct v4l2_session *s, unsigned way)
{
    memset(s, 0, sizeof(*s));
    s->way = way;
    rig_init(&s->rig);
    s->cfg = (struct sl_capture_cfg){.device = "/dev/fake",
                                     .input = -1,
                                     .buffers = BUFFERS,
                                     .width = 640,
                                     .height = 480,
                                     .fps = {60, 1},
                                     .stall_timeout_ns = 2 * SL_NS_PER_S,
                                     .controls = "gain=10",
                                     .pixel_format = "YUYV"};
    if (way & LIE_PLANES) {
        fake_init_multiplanar(&s->fake);
        s->cfg.pixel_format = way == LIE_USERPTR_PLANES ? "NV16" : "NV12";
        s->fake.fourcc[2] = way == LIE_USERPTR_PLANES ? V4L2_PIX_FMT_NV16M : V4L2_PIX_FMT_NV12M; /* the only one of its kind */
        s->fake.fourcc[3] = s->fake.fourcc[4] = 0;
    } else {
        fake_init(&s->fake);
    }
    fake_add_gain(&s->fake);
}

static int make_memory(struct v4l2_session *s)
{
    struct capture_rig *rig = &s->rig;
    int ret;

    if (s->way & LIE_MAPPED)
        return sl_capture_memory(rig->capture, &rig->memory, &rig->err);
    ret = sl_memory_host(&rig->memory, SLOTS, sl_capture_info(rig->capture)->slot_bytes, SL_HUGEPAGES_NO, &rig->err);
    ck_assert_msg(ret == 0, "%s", rig->err.text);
    return sl_capture_try_memory(rig->capture, rig->memory, &rig->err);
}

int session_begin(struct v4l2_session *s)
{
    struct capture_rig *rig = &s->rig;
    struct sl_source *source;
    int ret = sl_v4l2_source_open_ops(&source, &s->fake.ops, &s->cfg, &rig->err);

    if (ret < 0)
        return ret;
    ret = sl_capture_open_source(&rig->capture, source, &s->cfg, &rig->deps, &rig->err);
    ck_assert_msg(ret == 0, "%s", rig->err.text);
    ret = make_memory(s);
    return ret < 0 ? ret : rig_try_start(rig);
}

int session_pump(struct v4l2_session *s)
{
    s->rig.agent->wake(s->rig.agent->self); /* so that idle() does not sleep for long */
    s->rig.agent->idle(s->rig.agent->self);
    return rig_work(&s->rig);
}

int session_stream(struct v4l2_session *s, unsigned frames)
{
    int ret = 0;

    for (unsigned n = 0; n < frames && ret >= 0; n++) {
        sl_manual_clock_advance(&s->rig.clock, INTERVAL);
        fake_complete(&s->fake, sl_now_ns(s->rig.deps.clock) / 1000 * 1000);
        ret = session_pump(s);
        rig_take(&s->rig);
        rig_release(&s->rig, s->rig.holding);
        rig_check_books(&s->rig);
    }
    return ret < 0 ? ret : 0;
}

uint64_t session_bad_frames(const struct v4l2_session *s)
{
    return sl_capture_counter(s->rig.capture, SL_CAPTURE_BAD_KEPT) + rig_books(&s->rig).lost[SL_LOSS_BAD_FRAME];
}

void session_fini(struct v4l2_session *s, bool clean)
{
    rig_fini(&s->rig);
    if (clean)
        fake_check_clean(&s->fake);
    ck_assert_int_eq(s->fake.open_count, 0);
    ck_assert_int_eq(s->fake.mapped, 0);
    fake_fini(&s->fake);
}
