/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording as a sensor. Frames come with their recorded sequence and flags, at their recorded times moved to now, so that a gap
 * of the recording is a gap again.
 *
 * Unlike hardware a recording can wait: a frame that is due while no buffer is free comes late, with its own time, and is not
 * lost. A frame is read (in the agent's thread: the file is the device here) as soon as there is a buffer for it, and
 * handed out when it is due.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/source.h"

enum { DEFAULT_BUFFERS = 8, MAX_BUFFERS = 4096, MAX_READ_ERRORS = 64 };

struct replay_source {
    struct sl_source source;
    struct sl_replay_reader reader;
    struct sl_frame **fifo;
    unsigned buffers;
    unsigned head;
    unsigned count;
    struct sl_delivery staged; /* read, not yet due; frame NULL: nothing staged */
    uint64_t next;             /* index in the recording */
    unsigned read_errors;      /* in a row */
    int64_t t0_ns;             /* time of the recording's first frame on this turn */
    uint32_t sequence_shift;   /* of this turn */
    int64_t last_time_ns;      /* of the recording, last frame read */
    uint32_t last_sequence;
    uint32_t first_sequence;
    bool started; /* a frame has been read */
    bool unpaced;
    bool loop;
};

static int replay_prepare(struct sl_source *source, struct sl_pool *pool, struct sl_error *err)
{
    for (unsigned i = 0; i < sl_pool_slots(pool); i++)
        if (sl_pool_frame(pool, i)->slot->data_bytes < source->info.slot_bytes)
            return sl_fail(err, -EINVAL, "replay: slot %u holds %zu bytes, a frame has %u", i, sl_pool_frame(pool, i)->slot->data_bytes,
                           source->info.slot_bytes);
    return 0;
}

static int replay_begin(struct sl_source *source, int64_t now_ns, struct sl_error *err)
{
    struct replay_source *rs = (struct replay_source *)source;

    (void)err;
    rs->t0_ns = now_ns;
    return 0;
}

static unsigned replay_room(const struct sl_source *source)
{
    const struct replay_source *rs = (const struct replay_source *)source;

    return rs->buffers - rs->count;
}

static int replay_queue(struct sl_source *source, struct sl_frame *frame, int64_t now_ns)
{
    struct replay_source *rs = (struct replay_source *)source;

    (void)now_ns;
    if (rs->count == rs->buffers)
        return -EAGAIN;
    rs->fifo[(rs->head + rs->count++) % rs->buffers] = frame;
    return 0;
}

/* The recording begins again one interval after its last frame, and its sequence goes on. */
static void turn(struct replay_source *rs)
{
    rs->t0_ns += rs->last_time_ns + sl_frame_time_ns(rs->source.info.format.fps, 1);
    rs->sequence_shift += rs->last_sequence + 1 - rs->first_sequence;
    rs->next = 0;
}

/* Reads the next frame into the oldest buffer. 0, -ESHUTDOWN at the end, or the error of the 64th unreadable frame in a row. */
static int stage(struct replay_source *rs)
{
    struct sl_frame *frame = rs->fifo[rs->head];
    int64_t time_ns;
    uint32_t sequence, flags;
    int ret;

    for (;;) {
        if (rs->next == rs->reader.frames) {
            if (!rs->loop)
                return -ESHUTDOWN;
            turn(rs);
        }
        ret = rs->reader.read(rs->reader.self, rs->next++, frame->slot->data, rs->source.info.format.frame_bytes, &time_ns, &sequence,
                              &flags);
        if (ret >= 0)
            break;
        if (++rs->read_errors >= MAX_READ_ERRORS)
            return ret;
    }
    rs->read_errors = 0;
    if (!rs->started)
        rs->first_sequence = sequence;
    rs->started = true;
    rs->last_time_ns = time_ns;
    rs->last_sequence = sequence;
    rs->staged = (struct sl_delivery){
        .frame = frame,
        .time_ns = rs->t0_ns + time_ns,
        .sequence = sequence + rs->sequence_shift,
        .flags = flags & (SL_FRAME_DEVICE_ERROR | SL_FRAME_SHORT),
        .bytesused = rs->source.info.format.frame_bytes,
    };
    rs->head = (rs->head + 1) % rs->buffers;
    rs->count--;
    return 0;
}

static int replay_next(struct sl_source *source, int64_t now_ns, struct sl_delivery *delivery)
{
    struct replay_source *rs = (struct replay_source *)source;

    if (!rs->staged.frame) {
        int ret = rs->count ? stage(rs) : 0;

        if (ret < 0 || !rs->staged.frame)
            return ret;
    }
    if (!rs->unpaced && rs->staged.time_ns > now_ns)
        return 0;
    *delivery = rs->staged;
    rs->staged.frame = NULL;
    return 1;
}

static int64_t replay_deadline_ns(const struct sl_source *source)
{
    const struct replay_source *rs = (const struct replay_source *)source;

    if (rs->staged.frame)
        return rs->unpaced ? INT64_MIN : rs->staged.time_ns;
    return rs->count ? INT64_MIN : INT64_MAX;
}

static void replay_stop(struct sl_source *source)
{
    struct replay_source *rs = (struct replay_source *)source;

    rs->count = 0;
    rs->staged.frame = NULL;
}

static void replay_close(struct sl_source *source)
{
    struct replay_source *rs = (struct replay_source *)source;

    free(rs->fifo);
    free(rs);
}

static const struct sl_source_ops g_replay_ops = {
    .prepare = replay_prepare,
    .begin = replay_begin,
    .room = replay_room,
    .queue = replay_queue,
    .next = replay_next,
    .deadline_ns = replay_deadline_ns,
    .stop = replay_stop,
    .close = replay_close,
};

/* What was asked of the sensor and is not so in the recording. */
static int check_wishes(const struct sl_capture_cfg *cfg, const struct sl_video_format *format, struct sl_error *err)
{
    if (cfg->pixel_format && sl_pixel_format_by_name(cfg->pixel_format) != format->pixel)
        return sl_fail(err, -EINVAL, "replay: the recording is %s, not %s", format->pixel->name, cfg->pixel_format);
    if (cfg->width && (cfg->width != format->width || cfg->height != format->height))
        return sl_fail(err, -EINVAL, "replay: the recording is %ux%u, not %ux%u", format->width, format->height, cfg->width, cfg->height);
    if (!format->fps.num || !format->fps.den)
        return sl_fail(err, -EINVAL, "replay: the recording does not say its frame rate");
    return 0;
}

int sl_replay_source_open(struct sl_source **out, const struct sl_capture_cfg *cfg, const struct sl_replay_reader *reader,
                          struct sl_error *err)
{
    struct replay_source *rs;
    unsigned buffers = cfg->buffers ? cfg->buffers : DEFAULT_BUFFERS;
    int ret;

    if (!reader || !reader->read || !reader->format)
        return sl_fail(err, -EINVAL, "replay: no recording to read from");
    if (!reader->frames)
        return sl_fail(err, -ENODATA, "replay: the recording holds no frame");
    if (buffers > MAX_BUFFERS)
        return sl_fail(err, -EINVAL, "replay: %u buffers; at most %d", buffers, MAX_BUFFERS);
    ret = check_wishes(cfg, reader->format, err);
    if (ret < 0)
        return ret;
    rs = calloc(1, sizeof(*rs));
    if (!rs)
        return sl_fail(err, -ENOMEM, "replay: out of memory");
    rs->fifo = calloc(buffers, sizeof(struct sl_frame *));
    if (!rs->fifo) {
        free(rs);
        return sl_fail(err, -ENOMEM, "replay: out of memory");
    }
    rs->reader = *reader;
    rs->buffers = buffers;
    rs->unpaced = cfg->unpaced;
    rs->loop = cfg->replay_loop != 0;
    rs->source = (struct sl_source){
        .ops = &g_replay_ops,
        .poll_fd = -1,
        .low_water = buffers,
        .own_times = true,
        .waits_for_frames = true,
        .info = {.format = *reader->format,
                 .slot_bytes = reader->format->frame_bytes,
                 .indices = buffers,
                 .min_indices = 1,
                 .offers_userptr = true,
                 .time_monotonic = true},
    };
    snprintf(rs->source.info.device, sizeof(rs->source.info.device), "replay %s", cfg->device ? cfg->device : "recording");
    *out = &rs->source;
    return 0;
}
