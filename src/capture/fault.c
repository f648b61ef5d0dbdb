/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripted faults of the sensor, in front of any source: the same binary shows in the field how it takes them.
 *
 * Frames are counted by the inner source's sequence from its first frame, which is the grid number as long as the device itself
 * counts right. A swallowed frame's buffer goes straight back to the inner source: to the agent it never left.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/source.h"

struct fault_source {
    struct sl_source source;
    struct sl_source *inner;
    struct sl_sensor_fault *fault;
    unsigned faults;
    uint32_t first_sequence;
    bool started;
};

static struct sl_source *inner_of(const struct sl_source *source)
{
    return ((const struct fault_source *)source)->inner;
}

static bool strikes(const struct sl_sensor_fault *fault, uint64_t number)
{
    return number >= fault->frame && number - fault->frame < fault->count;
}

/* 1: hand it out; 0: swallowed; negative errno: the device broke. */
static int apply(struct fault_source *fs, int64_t now_ns, struct sl_delivery *delivery)
{
    uint64_t number;

    if (!fs->started)
        fs->first_sequence = delivery->sequence;
    fs->started = true;
    number = delivery->sequence - fs->first_sequence;
    for (unsigned i = 0; i < fs->faults; i++) {
        if (!strikes(&fs->fault[i], number))
            continue;
        switch (fs->fault[i].kind) {
        case SL_SENSOR_FAULT_GAP: {
            int ret = delivery->frame ? fs->inner->ops->queue(fs->inner, delivery->frame, now_ns) : 0;

            return ret < 0 ? ret : 0;
        }
        case SL_SENSOR_FAULT_ERROR_FLAG:
            delivery->flags |= SL_FRAME_DEVICE_ERROR;
            break;
        case SL_SENSOR_FAULT_SHORT:
            delivery->bytesused /= 2;
            break;
        case SL_SENSOR_FAULT_EIO:
            return -EIO;
        }
    }
    return 1;
}

static int fault_next(struct sl_source *source, int64_t now_ns, struct sl_delivery *delivery)
{
    struct fault_source *fs = (struct fault_source *)source;
    int ret = fs->inner->ops->next(fs->inner, now_ns, delivery);

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

static int fault_begin(struct sl_source *source, int64_t now_ns, struct sl_error *err)
{
    struct sl_source *inner = inner_of(source);

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
    return inner_of(source)->ops->deadline_ns(inner_of(source));
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
    free(fs->fault);
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
    .stop = fault_stop,
    .close = fault_close,
};

int sl_fault_source_open(struct sl_source **out, struct sl_source *inner, const struct sl_sensor_fault *fault, unsigned faults,
                         struct sl_error *err)
{
    struct fault_source *fs = calloc(1, sizeof(*fs));
    struct sl_sensor_fault *copy = calloc(faults ? faults : 1, sizeof(*copy));

    if (!fs || !copy) {
        free(fs);
        free(copy);
        return sl_fail(err, -ENOMEM, "sensor faults: out of memory");
    }
    if (faults)
        memcpy(copy, fault, faults * sizeof(*copy));
    *fs = (struct fault_source){.source = *inner, .inner = inner, .fault = copy, .faults = faults};
    fs->source.ops = &g_fault_ops;
    *out = &fs->source;
    return 0;
}
