/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted faults of the sensor, in front of any source: the same binary shows in the field how it takes them.
 *
 * Frames are counted by the inner source's sequence from its first frame of this opening, on top of what earlier openings made
 * (capture/script.h). A swallowed frame's buffer goes straight back to the inner source: to the agent it never left. A frame at
 * which the device breaks counts as not made, so the next opening comes upon the same fault if it has still to strike.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/script.h"
#include "capture/source.h"

struct fault_source {
    struct sl_source source;
    struct sl_source *inner;
    struct sl_sensor_script *script;
    uint64_t first_frame; /* of the script, in this opening */
    uint32_t first_sequence;
    bool started;
    bool silent;
};

int sl_sensor_script_init(struct sl_sensor_script *script, const struct sl_sensor_fault *fault, unsigned faults)
{
    if (faults > SL_SENSOR_FAULTS_MAX)
        return -E2BIG;
    *script = (struct sl_sensor_script){.fault = fault, .faults = faults};
    for (unsigned i = 0; i < faults; i++) {
        bool repeats =
            fault[i].kind == SL_SENSOR_FAULT_EIO || fault[i].kind == SL_SENSOR_FAULT_STALL || fault[i].kind == SL_SENSOR_FAULT_STREAMON;

        script->left[i] = repeats ? fault[i].count : 1;
    }
    return 0;
}

static struct sl_source *inner_of(const struct sl_source *source)
{
    return ((const struct fault_source *)source)->inner;
}

static bool strikes(const struct sl_sensor_fault *fault, uint64_t number)
{
    return number >= fault->frame && number - fault->frame < fault->count;
}

static int go_away(struct sl_sensor_script *script, unsigned which, int error, int64_t until_ns)
{
    script->left[which] = 0;
    script->away_error = error;
    script->away_until_ns = until_ns;
    return error;
}

/* 0: the device goes on; negative errno: it broke, or (silent) will say no more. */
static int break_down(struct fault_source *fs, uint64_t number, int64_t now_ns)
{
    struct sl_sensor_script *script = fs->script;

    for (unsigned i = 0; i < script->faults; i++) {
        const struct sl_sensor_fault *fault = &script->fault[i];

        if (number < fault->frame || !script->left[i])
            continue;
        switch (fault->kind) {
        case SL_SENSOR_FAULT_EIO:
            script->left[i]--;
            return -EIO;
        case SL_SENSOR_FAULT_STALL:
            script->left[i]--;
            fs->silent = true;
            return -EAGAIN;
        case SL_SENSOR_FAULT_STREAMON:
            return -EPIPE;
        case SL_SENSOR_FAULT_UNPLUG:
            return go_away(script, i, -ENODEV, now_ns + (int64_t)fault->count);
        case SL_SENSOR_FAULT_NO_SIGNAL:
            return go_away(script, i, -ENOLINK, now_ns + (int64_t)fault->count);
        case SL_SENSOR_FAULT_SOURCE_CHANGE:
            script->left[i] = 0;
            script->width = (uint32_t)(fault->count >> 32);
            script->height = (uint32_t)fault->count;
            return -ENOLINK;
        default:
            break;
        }
    }
    return 0;
}

/* The buffer goes back to the device as if nothing had come. */
static int swallow(struct fault_source *fs, const struct sl_delivery *delivery, int64_t now_ns)
{
    int ret = delivery->frame ? fs->inner->ops->queue(fs->inner, delivery->frame, now_ns) : 0;

    return ret < 0 ? ret : 0;
}

/* 1: hand it out; 0: swallowed; negative errno: the device broke. */
static int apply(struct fault_source *fs, int64_t now_ns, struct sl_delivery *delivery)
{
    struct sl_sensor_script *script = fs->script;
    uint64_t number;
    int ret;

    if (!fs->started)
        fs->first_sequence = delivery->sequence;
    fs->started = true;
    number = fs->first_frame + (delivery->sequence - fs->first_sequence);
    ret = break_down(fs, number, now_ns);
    if (ret < 0)
        return ret == -EAGAIN ? swallow(fs, delivery, now_ns) : ret;
    script->frames = number + 1;
    for (unsigned i = 0; i < script->faults; i++) {
        if (!strikes(&script->fault[i], number))
            continue;
        if (script->fault[i].kind == SL_SENSOR_FAULT_GAP)
            return swallow(fs, delivery, now_ns);
        if (script->fault[i].kind == SL_SENSOR_FAULT_ERROR_FLAG)
            delivery->flags |= SL_FRAME_DEVICE_ERROR;
        if (script->fault[i].kind == SL_SENSOR_FAULT_SHORT)
            delivery->bytesused /= 2;
    }
    return 1;
}

static int fault_next(struct sl_source *source, int64_t now_ns, struct sl_delivery *delivery)
{
    struct fault_source *fs = (struct fault_source *)source;
    int ret = fs->silent ? 0 : fs->inner->ops->next(fs->inner, now_ns, delivery);

    fs->source.false_ready = !fs->silent && fs->inner->false_ready;

    return ret > 0 ? apply(fs, now_ns, delivery) : ret;
}

static int fault_memory(struct sl_source *source, struct sl_memory **out, struct sl_error *err)
{
    struct sl_source *inner = inner_of(source);

    return inner->ops->memory ? inner->ops->memory(inner, out, err)
                              : sl_fail(err, -ENOTSUP, "%s has no memory of its own", inner->info.device);
}

static int fault_try_memory(struct sl_source *source, const struct sl_memory *memory, struct sl_error *err)
{
    struct sl_source *inner = inner_of(source);

    return inner->ops->try_memory ? inner->ops->try_memory(inner, memory, err) : 0;
}

static int fault_prepare(struct sl_source *source, struct sl_pool *pool, struct sl_error *err)
{
    struct sl_source *inner = inner_of(source);
    int ret = inner->ops->prepare(inner, pool, err);

    source->info = inner->info;
    source->low_water = inner->low_water;
    return ret;
}

/* A start of the stream that is refused, as a driver refuses it whose hardware is not ready yet. */
static bool refuses_start(struct sl_sensor_script *script)
{
    for (unsigned i = 0; i < script->faults; i++) {
        if (script->fault[i].kind != SL_SENSOR_FAULT_STREAMON || script->frames < script->fault[i].frame || !script->left[i])
            continue;
        script->left[i]--;
        return true;
    }
    return false;
}

static int fault_begin(struct sl_source *source, int64_t now_ns, struct sl_error *err)
{
    struct fault_source *fs = (struct fault_source *)source;
    struct sl_source *inner = inner_of(source);

    if (refuses_start(fs->script))
        return sl_fail(err, -EBUSY, "%s: start of the stream: %s, by [fault] sensor", source->info.device, strerror(EBUSY));
    fs->first_frame = fs->script->frames;
    return inner->ops->begin(inner, now_ns, err);
}

static unsigned fault_room(const struct sl_source *source)
{
    return inner_of(source)->ops->room(inner_of(source));
}

static int fault_queue(struct sl_source *source, struct sl_frame *frame, int64_t now_ns)
{
    return inner_of(source)->ops->queue(inner_of(source), frame, now_ns);
}

static int64_t fault_deadline_ns(const struct sl_source *source)
{
    if (((const struct fault_source *)source)->silent)
        return INT64_MAX;
    return inner_of(source)->ops->deadline_ns(inner_of(source));
}

static int fault_explain(const struct sl_source *source, int result, struct sl_error *err)
{
    const struct sl_source *inner = ((const struct fault_source *)source)->inner;

    return inner->ops->explain ? inner->ops->explain(inner, result, err) : 0;
}

static void fault_ready(struct sl_source *source, short revents)
{
    if (inner_of(source)->ops->ready)
        inner_of(source)->ops->ready(inner_of(source), revents);
}

static void fault_stop(struct sl_source *source)
{
    inner_of(source)->ops->stop(inner_of(source));
}

static void fault_close(struct sl_source *source)
{
    struct fault_source *fs = (struct fault_source *)source;

    fs->inner->ops->close(fs->inner);
    free(fs);
}

static const struct sl_source_ops g_fault_ops = {
    .memory = fault_memory,
    .try_memory = fault_try_memory,
    .prepare = fault_prepare,
    .begin = fault_begin,
    .room = fault_room,
    .queue = fault_queue,
    .next = fault_next,
    .deadline_ns = fault_deadline_ns,
    .ready = fault_ready,
    .explain = fault_explain,
    .stop = fault_stop,
    .close = fault_close,
};

int sl_fault_source_open(struct sl_source **out, struct sl_source *inner, struct sl_sensor_script *script, struct sl_error *err)
{
    struct fault_source *fs = calloc(1, sizeof(*fs));

    if (!fs)
        return sl_fail(err, -ENOMEM, "sensor faults: out of memory");
    *fs = (struct fault_source){.source = *inner, .inner = inner, .script = script};
    fs->source.ops = &g_fault_ops;
    *out = &fs->source;
    return 0;
}
