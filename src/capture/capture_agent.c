/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture agent: home ring → device → time grid → books → fan-out.
 *
 * Thread: the agent's own; sl_capture_lose, _flush_run and _feed also from the control thread while no runner runs.
 * Ownership: a frame is QUEUED while the source has it, FILLED between next() and publish; nothing is kept.
 * Invariant: expected == captured + losses booked here, after every do_work; frame number == expected − 1 at its publish.
 *
 * The agent sleeps in one ppoll(2) on the device, the home ring (only while the device runs short of buffers) and its stop
 * wake-up: per frame one system call for a source without a descriptor, three with V4L2 (poll, DQBUF, QBUF).
 * Rejected: a blocking DQBUF. It saves the poll, but neither a stop nor a buffer that comes home can end it.
 */
#include <errno.h>
#include <poll.h>

#include "capture/capture_state.h"

enum { MAX_REFUSALS = 16, MAX_FALSE_READIES = 8 };
#define REFUSED_RETRY_NS (10 * SL_NS_PER_MS)
#define STORM_PAUSE_NS   SL_NS_PER_MS

static uint64_t expected(const struct sl_capture *c)
{
    return sl_counter_read(&c->counter[SL_CAPTURE_EXPECTED]);
}

void sl_capture_flush_run(struct sl_capture *c)
{
    struct sl_event event = {
        .time_ns = c->now_ns,
        .kind = SL_EVENT_LOSS,
        .code = c->run.cause,
        .first = c->run.first,
        .count = c->run.count,
        .error = c->run.error,
    };

    if (c->run.count && c->events)
        sl_events_post(c->events, &event);
    c->run.count = 0;
}

void sl_capture_lose(struct sl_capture *c, enum sl_loss cause, uint64_t count, int error)
{
    uint64_t first = expected(c);

    if (c->frame_limit && count > c->frame_limit - first)
        count = c->frame_limit - first;
    if (!count)
        return;
    sl_count(&c->counter[SL_CAPTURE_EXPECTED], count);
    sl_count(&c->lost[cause], count);
    if (c->run.count && c->run.cause == cause && c->run.error == error) {
        c->run.count += count;
        return;
    }
    sl_capture_flush_run(c);
    c->run = (struct sl_loss_run){.cause = cause, .first = first, .count = count, .error = error};
}

/* One event for the first, second, fourth, … of a kind: a driver that lies with every frame does not fill the ring. */
static void note_anomaly(struct sl_capture *c, enum sl_anomaly anomaly)
{
    uint32_t count = ++c->anomaly_count[anomaly];
    struct sl_event event = {.time_ns = c->now_ns, .kind = SL_EVENT_ANOMALY, .code = anomaly, .first = expected(c), .count = count};

    sl_count(&c->counter[SL_CAPTURE_ANOMALIES], 1);
    if (c->events && (count & (count - 1)) == 0)
        sl_events_post(c->events, &event);
}

static void note_anomalies(struct sl_capture *c, const struct sl_delivery *delivery, uint32_t bits)
{
    if (!delivery->frame)
        note_anomaly(c, SL_ANOMALY_BAD_INDEX);
    if (delivery->bad_size)
        note_anomaly(c, SL_ANOMALY_BAD_SIZE);
    if (delivery->contradiction)
        note_anomaly(c, SL_ANOMALY_BAD_BUFFER);
    for (unsigned i = 0; bits; i++, bits >>= 1)
        if (bits & 1)
            note_anomaly(c, (enum sl_anomaly)i);
}

int sl_capture_feed(struct sl_capture *c, int64_t now_ns)
{
    struct sl_source *source = c->source;
    struct sl_frame *frame;

    while (source->ops->room(source) && (frame = sl_pool_acquire(c->pool))) {
        int ret = source->ops->queue(source, frame, now_ns);

        if (ret < 0) {
            sl_pool_give_back(c->pool, frame);
            note_anomaly(c, SL_ANOMALY_QUEUE_REFUSED);
            c->refusal = ret;
            return ++c->refusals >= MAX_REFUSALS || ret == -ENODEV ? ret : 0;
        }
        if (!c->queued++)
            c->silent_from_ns = now_ns;
        c->refusals = 0;
        c->queued_ns[frame->index] = now_ns;
    }
    return 0;
}

/* Did the device lack a buffer since the last frame? Buffers are filled in the order they were queued: if the one that carries this
 * frame came after the last frame, whatever is missing between them had none. */
static bool starved(const struct sl_capture *c, const struct sl_frame *frame)
{
    int64_t lead_ns = (int64_t)(c->source->lead_frames * c->grid.interval_ns);

    if (c->source->waits_for_frames || !frame || !c->grid.started)
        return false;
    return c->queued_ns[frame->index] > c->grid.last_ns - lead_ns;
}

static void place(struct sl_capture *c, const struct sl_delivery *delivery, struct sl_grid_step *step)
{
    struct sl_grid_input input = {
        .time_ns = delivery->time_ns,
        .dequeued_ns = c->now_ns,
        .sequence = delivery->sequence,
        .time_unusable = delivery->time_unusable,
        .starved = starved(c, delivery->frame),
    };

    sl_grid_place(&c->grid, &input, step);
    note_anomalies(c, delivery, step->anomalies);
    /* an outage and what it cost until the first frame are one loss */
    sl_capture_lose(c, step->cause, step->missing, step->cause == SL_LOSS_DEVICE_GONE ? c->before.error : 0);
}

static uint32_t flags_of(const struct sl_capture *c, const struct sl_delivery *delivery, const struct sl_grid_step *step)
{
    uint32_t flags = delivery->flags;

    if (delivery->bytesused < c->info.format.frame_bytes)
        flags |= SL_FRAME_SHORT;
    if (delivery->bad_size)
        flags |= SL_FRAME_DEVICE_ERROR;
    if (step->time_guessed)
        flags |= SL_FRAME_TIME_GUESSED;
    else if (c->info.time_soe)
        flags |= SL_FRAME_TIME_SOE;
    return flags;
}

static void publish(struct sl_capture *c, const struct sl_delivery *delivery, const struct sl_grid_step *step, uint32_t flags)
{
    struct sl_frame *frame = delivery->frame;

    sl_count(&c->counter[SL_CAPTURE_EXPECTED], 1);
    sl_count(&c->counter[SL_CAPTURE_CAPTURED], 1);
    sl_capture_note_kept(c, step->number, flags);
    sl_frame_filled(frame);
    frame->flags = flags;
    frame->sequence = delivery->sequence;
    frame->bytesused = delivery->bytesused;
    frame->number = step->number;
    frame->time_ns = step->time_ns;
    frame->dequeued_ns = c->now_ns;
    frame->captured = sl_counter_read(&c->counter[SL_CAPTURE_CAPTURED]);
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        frame->lost[i] = sl_counter_read(&c->lost[i]);
    sl_capture_flush_run(c);
    sl_fanout_publish(c->fanout, frame);
}

/* One delivery: a frame of the grid, good, kept or lost. */
static void take(struct sl_capture *c, const struct sl_delivery *delivery)
{
    struct sl_grid_step step;
    uint32_t flags;

    c->silent_from_ns = c->now_ns;
    c->false_readies = 0;
    if (delivery->frame)
        c->queued--;
    place(c, delivery, &step);
    flags = flags_of(c, delivery, &step);
    if (c->frame_limit && expected(c) >= c->frame_limit) {
        if (delivery->frame)
            sl_pool_give_back(c->pool, delivery->frame);
    } else if (!delivery->frame) {
        sl_capture_lose(c, SL_LOSS_BAD_FRAME, 1, -EBADF);
    } else if (c->drop_bad_frames && flags & (SL_FRAME_DEVICE_ERROR | SL_FRAME_SHORT)) {
        sl_pool_give_back(c->pool, delivery->frame);
        sl_capture_lose(c, SL_LOSS_BAD_FRAME, 1, flags & SL_FRAME_DEVICE_ERROR ? -EIO : -EMSGSIZE);
    } else {
        publish(c, delivery, &step, flags);
    }
    if (c->frame_limit && expected(c) >= c->frame_limit)
        c->finished = -ESHUTDOWN;
}

static int finish(struct sl_capture *c, int result)
{
    if (c->run.cause != SL_LOSS_DEVICE_GONE) /* an outage that has not ended: suspend or finish sees to it */
        sl_capture_flush_run(c);
    sl_capture_flush_kept(c);
    c->finished = result;
    return result;
}

/* A source that knows when its next frame is due is not silent while it waits for that. */
static bool may_stall(const struct sl_capture *c)
{
    return c->stall_timeout_ns && c->queued && c->source->ops->deadline_ns(c->source) == INT64_MAX;
}

static bool stalled(const struct sl_capture *c)
{
    return may_stall(c) && c->now_ns - c->silent_from_ns >= c->stall_timeout_ns;
}

static void count_starvation(struct sl_capture *c)
{
    if (!c->queued && !c->starving)
        sl_count(&c->counter[SL_CAPTURE_STARVED], 1);
    c->starving = !c->queued;
}

/* Nothing came. A device that only says it is ready would keep this thread awake for ever: after some turns it is not asked for a while. */
static void count_false_ready(struct sl_capture *c)
{
    if (!c->source->false_ready)
        return;
    c->false_readies++;
    note_anomaly(c, SL_ANOMALY_FALSE_READY);
}

static bool in_storm(const struct sl_capture *c)
{
    return c->false_readies >= MAX_FALSE_READIES;
}

static int do_work(void *self)
{
    struct sl_capture *c = self;
    struct sl_delivery delivery;
    int ret;

    if (c->finished)
        return finish(c, c->finished);
    c->now_ns = sl_now_ns(c->clock);
    sl_fanout_collect(c->fanout);
    ret = sl_capture_feed(c, c->now_ns);
    if (ret < 0)
        return finish(c, ret);
    count_starvation(c);
    ret = c->source->ops->next(c->source, c->now_ns, &delivery);
    if (ret < 0)
        return finish(c, ret);
    if (ret > 0) {
        take(c, &delivery);
        return ret;
    }
    count_false_ready(c);
    return stalled(c) ? finish(c, -ETIMEDOUT) : 0;
}

/* Nanoseconds until something is due at the latest; -1: nothing is. */
static int64_t sleep_ns(const struct sl_capture *c)
{
    int64_t until_ns = c->source->ops->deadline_ns(c->source);

    if (may_stall(c))
        until_ns = c->silent_from_ns + c->stall_timeout_ns;
    if (c->refusals && c->now_ns + REFUSED_RETRY_NS < until_ns)
        until_ns = c->now_ns + REFUSED_RETRY_NS;
    if (in_storm(c) && c->now_ns + STORM_PAUSE_NS < until_ns)
        until_ns = c->now_ns + STORM_PAUSE_NS;
    if (until_ns == INT64_MAX)
        return -1;
    return until_ns > c->now_ns ? until_ns - c->now_ns : 0;
}

static void sleep_until_something(struct sl_capture *c, bool armed)
{
    int64_t ns = sleep_ns(c);
    struct timespec timeout = {.tv_sec = ns / SL_NS_PER_S, .tv_nsec = ns % SL_NS_PER_S};
    struct pollfd fds[3] = {
        {.fd = c->stop.fd, .events = POLLIN},
        {.fd = armed ? c->home->fd : -1, .events = POLLIN},
        /* a V4L2 queue without any buffer polls as an error at once: ask only while there is one to wait for */
        {.fd = c->queued && !in_storm(c) ? c->source->poll_fd : -1, .events = POLLIN | POLLPRI},
    };
    int ready = ppoll(fds, 3, ns < 0 ? NULL : &timeout, NULL);

    if (in_storm(c) && c->queued) { /* the pause is over, or something else has come */
        fds[2].fd = c->source->poll_fd;
        ready += poll(fds + 2, 1, 0) > 0;
    }
    if (ready <= 0)
        return;
    if (fds[0].revents)
        sl_wake_drain(&c->stop);
    if (fds[1].revents)
        sl_wake_drain(c->home);
    if (fds[2].revents)
        c->source->ops->ready(c->source, fds[2].revents);
}

static void idle(void *self)
{
    struct sl_capture *c = self;
    bool armed = c->queued < c->source->low_water && c->source->ops->room(c->source);

    if (c->finished)
        return;
    if (!armed) {
        sleep_until_something(c, false);
        return;
    }
    sl_wake_arm(c->home);
    if (!sl_fanout_collect(c->fanout))
        sleep_until_something(c, true);
    sl_wake_disarm(c->home);
}

static void wake(void *self)
{
    struct sl_capture *c = self;

    sl_wake_signal(&c->stop);
}

const struct sl_agent sl_capture_agent_template = {.name = "capture", .do_work = do_work, .idle = idle, .wake = wake};
