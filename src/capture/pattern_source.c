/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The test pattern as a sensor: a device that fills the buffers it has been given, each at its time, whether anybody looks or not.
 *
 * Frame n is due at t0 + n/fps. It lands in the oldest buffer that was queued by then; when there is none the frame is lost, just
 * as with hardware. When the run goes on after an outage the sensor does too, as if it had been there all the time: its frames have
 * the numbers of the run's grid, which is what `verify --pattern` compares them with. An agent that wakes late therefore gets every frame
 * with its own time, and loses only what it had no buffer for. Unpaced, time stands still while there is no buffer, so nothing is ever
 * lost.
 *
 * Each slot is rendered once, with its number in the pool as phase; after that a frame costs the strip (pattern.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/pattern.h"
#include "capture/place.h"
#include "capture/script.h"
#include "capture/source.h"

enum { DEFAULT_BUFFERS = 8, MAX_BUFFERS = 4096 };

struct queued {
    struct sl_frame *frame;
    int64_t at_ns;
};

struct pattern_source {
    struct sl_source source;
    struct sl_pattern pattern;
    struct queued *fifo;              /* ring of `buffers` places */
    uint8_t (*drawn)[SL_STRIP_BYTES]; /* the strip of each slot of the pool */
    unsigned buffers;
    unsigned head;
    unsigned count;
    uint64_t next; /* frame */
    int64_t next_due_ns;
    int64_t t0_ns;
    bool unpaced;
    bool goes_on; /* frame first_frame was due at first_due_ns, before this opening */
    uint64_t first_frame;
    int64_t first_due_ns;
};

static int64_t due_ns(const struct pattern_source *ps, uint64_t frame)
{
    return ps->t0_ns + sl_frame_time_ns(ps->source.info.format.fps, frame);
}

static void set_next(struct pattern_source *ps, uint64_t frame)
{
    ps->next = frame;
    ps->next_due_ns = due_ns(ps, frame);
}

/* Goes on to the first frame that is due at or after `at_ns`. */
static void skip_until(struct pattern_source *ps, int64_t at_ns)
{
    struct sl_rational fps = ps->source.info.format.fps;

    if (ps->next_due_ns >= at_ns)
        return;
    set_next(ps, (uint64_t)((unsigned __int128)(at_ns - ps->t0_ns) * fps.num / ((unsigned __int128)fps.den * SL_NS_PER_S)));
    while (ps->next_due_ns < at_ns)
        set_next(ps, ps->next + 1);
}

static int pattern_prepare(struct sl_source *source, struct sl_pool *pool, struct sl_error *err)
{
    struct pattern_source *ps = (struct pattern_source *)source;
    uint32_t need = source->info.slot_bytes;

    free(ps->drawn);
    ps->drawn = calloc(sl_pool_slots(pool), sizeof(*ps->drawn));
    if (!ps->drawn)
        return sl_fail(err, -ENOMEM, "pattern: out of memory");
    for (unsigned i = 0; i < sl_pool_slots(pool); i++) {
        const struct sl_slot *slot = sl_pool_frame(pool, i)->slot;

        if (slot->data_bytes < need)
            return sl_fail(err, -EINVAL, "pattern: slot %u holds %zu bytes, a frame has %u", i, slot->data_bytes, need);
        sl_pattern_render(&ps->pattern, (uint16_t)i, slot->data);
    }
    return 0;
}

static int pattern_begin(struct sl_source *source, int64_t now_ns, struct sl_error *err)
{
    struct pattern_source *ps = (struct pattern_source *)source;

    (void)err;
    ps->t0_ns = ps->goes_on ? ps->first_due_ns - sl_frame_time_ns(source->info.format.fps, ps->first_frame) : now_ns;
    set_next(ps, ps->first_frame);
    if (ps->goes_on)
        skip_until(ps, now_ns + SL_NS_PER_US); /* the run has booked what was due by now, and rounds it in another way */
    return 0;
}

static unsigned pattern_room(const struct sl_source *source)
{
    const struct pattern_source *ps = (const struct pattern_source *)source;

    return ps->buffers - ps->count;
}

static int pattern_queue(struct sl_source *source, struct sl_frame *frame, int64_t now_ns)
{
    struct pattern_source *ps = (struct pattern_source *)source;

    if (ps->count == ps->buffers)
        return -EAGAIN;
    ps->fifo[(ps->head + ps->count++) % ps->buffers] = (struct queued){.frame = frame, .at_ns = now_ns};
    return 0;
}

static void deliver(struct pattern_source *ps, struct sl_delivery *delivery)
{
    struct sl_frame *frame = ps->fifo[ps->head].frame;
    struct sl_strip_content strip = {.phase = (uint16_t)frame->index, .number = ps->next, .time_ns = ps->next_due_ns};

    ps->head = (ps->head + 1) % ps->buffers;
    ps->count--;
    sl_pattern_stamp(&ps->pattern, &strip, ps->drawn[frame->index], frame->slot->data);
    *delivery = (struct sl_delivery){
        .frame = frame,
        .time_ns = strip.time_ns,
        .sequence = (uint32_t)ps->next,
        .bytesused = ps->source.info.format.frame_bytes,
    };
    set_next(ps, ps->next + 1);
}

static int pattern_next(struct sl_source *source, int64_t now_ns, struct sl_delivery *delivery)
{
    struct pattern_source *ps = (struct pattern_source *)source;

    if (!ps->unpaced) {
        /* what was due while no buffer was there has gone by */
        skip_until(ps, ps->count ? ps->fifo[ps->head].at_ns : now_ns + 1);
        if (ps->next_due_ns > now_ns)
            return 0;
    }
    if (!ps->count)
        return 0;
    deliver(ps, delivery);
    return 1;
}

static int64_t pattern_deadline_ns(const struct sl_source *source)
{
    const struct pattern_source *ps = (const struct pattern_source *)source;

    if (!ps->count)
        return INT64_MAX;
    return ps->unpaced ? INT64_MIN : ps->next_due_ns;
}

static void pattern_stop(struct sl_source *source)
{
    struct pattern_source *ps = (struct pattern_source *)source;

    ps->count = 0;
}

static void pattern_close(struct sl_source *source)
{
    struct pattern_source *ps = (struct pattern_source *)source;

    free(ps->drawn);
    free(ps->fifo);
    free(ps);
}

static const struct sl_source_ops g_pattern_ops = {
    .prepare = pattern_prepare,
    .begin = pattern_begin,
    .room = pattern_room,
    .queue = pattern_queue,
    .next = pattern_next,
    .deadline_ns = pattern_deadline_ns,
    .stop = pattern_stop,
    .close = pattern_close,
};

static int pattern_format(const struct sl_capture_cfg *cfg, struct sl_video_format *format, struct sl_error *err)
{
    const char *name = cfg->pixel_format ? cfg->pixel_format : "YUYV";
    const struct sl_pixel_format *pixel = sl_pixel_format_by_name(name);
    const struct sl_sensor_script *script = cfg->script;
    bool changed = script && script->width; /* the sensor has another mode now */
    uint32_t width = changed ? script->width : cfg->width ? cfg->width : 1920;
    uint32_t height = changed ? script->height : cfg->height ? cfg->height : 1080;

    if (!pixel)
        return sl_fail(err, -EINVAL, "pattern: unknown pixel format %s", name);
    if (sl_video_format_tight(format, pixel, width, height) < 0)
        return sl_fail(err, -EINVAL, "pattern: %s cannot be %ux%u", name, width, height);
    format->fps = cfg->fps.num && cfg->fps.den ? cfg->fps : (struct sl_rational){60, 1};
    if (pixel->layout != SL_LAYOUT_BYTES)
        format->colour = (struct sl_colour){.primaries = 1, .transfer = 1, .matrix = 1, .range = 1};
    return 0;
}

int sl_pattern_source_open(struct sl_source **out, const struct sl_capture_cfg *cfg, struct sl_error *err)
{
    struct pattern_source *ps;
    unsigned buffers = cfg->buffers ? cfg->buffers : DEFAULT_BUFFERS;
    int ret;

    if (buffers > MAX_BUFFERS)
        return sl_fail(err, -EINVAL, "pattern: %u buffers; at most %d", buffers, MAX_BUFFERS);
    ps = calloc(1, sizeof(*ps));
    if (!ps)
        return sl_fail(err, -ENOMEM, "pattern: out of memory");
    ps->fifo = calloc(buffers, sizeof(*ps->fifo));
    ret = ps->fifo ? pattern_format(cfg, &ps->source.info.format, err) : sl_fail(err, -ENOMEM, "pattern: out of memory");
    if (!ret)
        ret = sl_pattern_init(&ps->pattern, &ps->source.info.format, err);
    if (ret < 0)
        goto free_source;

    ps->buffers = buffers;
    ps->unpaced = cfg->unpaced;
    if (cfg->before) {
        ps->goes_on = true;
        ps->first_frame = cfg->before->counter[SL_CAPTURE_EXPECTED];
        ps->first_due_ns = cfg->before->due_ns;
    }
    ps->source.ops = &g_pattern_ops;
    ps->source.poll_fd = -1;
    ps->source.low_water = cfg->unpaced ? buffers : (buffers + 1) / 2;
    ps->source.own_times = cfg->unpaced;
    ps->source.waits_for_frames = cfg->unpaced;
    ps->source.info.slot_bytes = ps->source.info.format.frame_bytes;
    ps->source.info.indices = buffers;
    ps->source.info.min_indices = 1;
    ps->source.info.offers_userptr = true;
    ps->source.info.time_monotonic = true;
    snprintf(ps->source.info.device, sizeof(ps->source.info.device), "pattern");
    *out = &ps->source;
    return 0;

free_source:
    pattern_close(&ps->source);
    return ret;
}
