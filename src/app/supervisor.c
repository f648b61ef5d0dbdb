/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Main thread of a run. It never touches a frame: it only watches counters, events and runners, so it may be late without harm.
 * A signal or a trigger wakes it at once.
 *
 * Two things are kept apart. The state is the device's, as the ledger has it. The phase is the pipeline's: it runs, drains (no more
 * frames come, what is there is being written) or is closed. A device that failed is never continued with: its pipeline is drained
 * and closed, whatever the failure was, and a new one is opened on the account of those before. While it is closed the run's place on
 * the time grid moves on here, so that limits hold and the status line counts what is lost.
 *
 * Rejected: keeping pool and recorder over an outage. It would save a second of set-up and needs every buffer registration, mapping and
 * size to be proven equal to what the device that came back wants.
 */
#include "app/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/backoff.h"
#include "app/event_text.h"
#include "app/outage.h"
#include "app/status.h"
#include "core/log.h"

enum { TICK_MS = 50, BUSY_TICK_MS = 5 };

enum phase { RUNNING, DRAINING, CLOSED };

struct watch {
    const struct sl_supervisor *s;
    struct sl_outcome *outcome;
    enum sl_device_state state;
    enum phase phase;
    bool ending;
    int64_t end_ns;
    struct sl_account account[2]; /* of the closed pipelines; the next one is opened on [now] and closed into the other */
    unsigned now;
    struct sl_outage outage;
    struct sl_backoff backoff;
    int64_t retry_ns;
    int64_t deadline_ns;                        /* 0: none */
    uint64_t capture_dropped, recorder_dropped; /* events of this pipeline, as far as the ledger says so */
    struct sl_status status;
};

const char *sl_run_end_name(enum sl_run_end end)
{
    static const char *const names[] = {"limit", "signal", "sensor", "disk_full", "recorder", "start_failed"};

    return names[end];
}

int sl_supervisor_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP); /* its terminal is gone; under nohup it is ignored, and does not come */
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    int code = pthread_sigmask(SIG_BLOCK, &set, NULL);

    if (code)
        return -code;
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

static int64_t now_ns(const struct watch *w)
{
    return sl_now_ns(w->s->cfg.clock);
}

static struct sl_account *closed_account(struct watch *w)
{
    return &w->account[w->now];
}

static void enter(struct watch *w, enum sl_device_state state, int error)
{
    sl_outage_state(w->s->ledger, w->state, state, error);
    w->state = state;
}

/* -- The pipeline ------------------------------------------------------------------------------------------------------- */

static void take_events(struct watch *w)
{
    struct sl_pipeline *p = w->s->pipeline;

    if (w->phase != CLOSED) {
        sl_events_report(p, w->s->ledger, SL_FROM_CAPTURE, &p->capture_events, &w->capture_dropped);
        sl_events_report(p, w->s->ledger, SL_FROM_RECORDER, &p->recorder_events, &w->recorder_dropped);
    }
    sl_ledger_sync(w->s->ledger);
}

/* Everything of this opening is written or given up: its account becomes the run's, and nothing of it is left. */
static void close_pipeline(struct watch *w)
{
    take_events(w);
    sl_pipeline_account(w->s->pipeline, &w->account[!w->now]);
    w->now = !w->now;
    sl_pipeline_close(w->s->pipeline);
    w->capture_dropped = w->recorder_dropped = 0;
    w->phase = CLOSED;
}

/* Takes the frames that the pipeline still has to the disk and leaves what is due to the next opening. */
static void suspend(struct watch *w, int error)
{
    sl_pipeline_suspend(w->s->pipeline, error);
    sl_recorder_drain(w->s->pipeline->recorder, false);
    w->phase = DRAINING;
}

static void end_run(struct watch *w, enum sl_run_end end, int error)
{
    if (w->ending)
        return;
    w->ending = true;
    w->end_ns = now_ns(w);
    w->outcome->end = end;
    w->outcome->error = error;
    if (w->phase != RUNNING)
        return;
    if (w->state == SL_DEVICE_REOPENING) { /* no frame since the outage, which goes on to the end */
        suspend(w, error);
        return;
    }
    sl_pipeline_stop_capture(w->s->pipeline, error);
    sl_recorder_drain(w->s->pipeline->recorder, false);
    w->phase = DRAINING;
}

/* -- The device --------------------------------------------------------------------------------------------------------- */

static bool may_reopen(const struct watch *w)
{
    const struct sl_config *config = w->s->cfg.config;

    return config->sensor.reopen && config->sensor.source != SL_SOURCE_REPLAY;
}

static void plan_attempt(struct watch *w, int64_t streamed_ns)
{
    w->retry_ns = now_ns(w) + sl_backoff_failed(&w->backoff, streamed_ns);
}

/* The opening is over, in whatever state it was. */
static void device_failed(struct watch *w, int error, const char *text)
{
    bool streamed = w->state == SL_DEVICE_STREAMING;

    if (!may_reopen(w)) {
        sl_fail(&w->outcome->err, error, "%s", text);
        enter(w, sl_device_state_of(error), error);
        end_run(w, SL_END_SENSOR, error);
        return;
    }
    suspend(w, error);
    if (w->state == SL_DEVICE_REOPENING) {
        sl_outage_attempt_failed(&w->outage, error, text);
    } else {
        sl_outage_begin(&w->outage, &w->s->pipeline->place, error, text, now_ns(w));
        enter(w, sl_device_state_of(error), error);
    }
    plan_attempt(w, streamed ? now_ns(w) - w->outage.streaming_ns : 0);
}

static void start_failed(struct watch *w, int error, const struct sl_error *err)
{
    enum sl_pipeline_part part = w->s->pipeline->failed;

    if (part == SL_PART_SENSOR && may_reopen(w)) {
        sl_log(SL_LOG_WARNING, "%s", err->text);
        device_failed(w, error, err->text);
        return;
    }
    /* not one frame has moved: there is nothing to drain and nothing to account for */
    w->outcome->err = *err;
    sl_pipeline_close(w->s->pipeline);
    w->phase = CLOSED;
    end_run(w, SL_END_START, error);
}

/* The first frame of an opening has come: only now the device is known to work. */
static void watch_first_frame(struct watch *w)
{
    const struct sl_pipeline *p = w->s->pipeline;
    uint64_t captured = closed_account(w)->capture.counter[SL_CAPTURE_CAPTURED];

    if (w->state == SL_DEVICE_STREAMING || sl_capture_counter(p->capture, SL_CAPTURE_CAPTURED) == captured)
        return;
    if (w->state == SL_DEVICE_REOPENING)
        sl_outage_end(&w->outage, w->s->ledger, p, now_ns(w));
    w->outage.streaming_ns = now_ns(w);
    enter(w, SL_DEVICE_STREAMING, 0);
}

static void watch_capture(struct watch *w)
{
    struct sl_error why;
    int result;
    bool running = sl_runner_running(w->s->pipeline->capture_runner, &result);

    watch_first_frame(w);
    if (running)
        return;
    if (result == 0 || result == -ESHUTDOWN) {
        end_run(w, SL_END_LIMIT, 0);
        return;
    }
    sl_capture_explain(w->s->pipeline->capture, result, &why);
    device_failed(w, result, why.text);
}

static void watch_recorder(struct watch *w)
{
    int result;

    if (sl_runner_running(w->s->pipeline->recorder_runner, &result))
        return;
    if (result < 0 && result != -ESHUTDOWN)
        end_run(w, result == -ENOSPC ? SL_END_DISK_FULL : SL_END_RECORDER, result == -ENOSPC ? 0 : result);
    if (w->phase == DRAINING)
        close_pipeline(w);
}

/* -- Opening again ------------------------------------------------------------------------------------------------------ */

static void say_opened(const struct watch *w)
{
    const struct sl_pipeline *p = w->s->pipeline;

    if (strcmp(p->memory_reason, w->account[w->now].memory_reason) != 0)
        sl_log(SL_LOG_INFO, "memory: %s", p->memory_reason[0] ? p->memory_reason : "ours, which the device takes now");
}

static void attempt(struct watch *w)
{
    struct sl_pipeline *p = w->s->pipeline;
    struct sl_pipeline_cfg cfg = w->s->cfg;
    struct sl_error err = {{0}};

    cfg.before = closed_account(w);
    w->outage.attempts++;
    int rc = sl_pipeline_open(p, &cfg, &err);

    if (rc < 0 && p->failed == SL_PART_RECORDER && rc != -EINVAL) { /* -EINVAL: not the disk, but a mode that no file can hold */
        w->outcome->err = err;
        end_run(w, rc == -ENOSPC ? SL_END_DISK_FULL : SL_END_RECORDER, rc == -ENOSPC ? 0 : rc);
        return;
    }
    if (rc < 0) {
        sl_outage_attempt_failed(&w->outage, rc, err.text);
        plan_attempt(w, 0);
        return;
    }
    say_opened(w);
    w->phase = RUNNING;
    rc = sl_pipeline_start(p, cfg.config, &err);
    if (rc < 0 && p->failed == SL_PART_SENSOR)
        device_failed(w, rc, err.text);
    else if (rc < 0)
        start_failed(w, rc, &err);
}

static void wait_for_device(struct watch *w)
{
    struct sl_capture_place *place = &closed_account(w)->capture;

    if (w->state != SL_DEVICE_REOPENING)
        enter(w, SL_DEVICE_REOPENING, 0);
    sl_capture_place_miss(place, now_ns(w));
    if (sl_capture_place_at_limit(place))
        end_run(w, SL_END_LIMIT, 0);
    else if (now_ns(w) >= w->retry_ns)
        attempt(w);
}

/* -- Orders ------------------------------------------------------------------------------------------------------------- */

static void trigger(struct watch *w, bool start)
{
    if (w->phase == CLOSED)
        closed_account(w)->recorder.keeps_frames = start;
    else
        sl_recorder_trigger(w->s->pipeline->recorder, start);
    sl_ledger_write(w->s->ledger, start ? "trigger_start" : "trigger_stop", NULL);
}

static void on_signal(struct watch *w, uint32_t number)
{
    if (number == SIGUSR1 || number == SIGUSR2) {
        trigger(w, number == SIGUSR1);
    } else if (!w->ending) {
        end_run(w, SL_END_SIGNAL, 0);
    } else if (w->phase == DRAINING) {
        sl_log(SL_LOG_WARNING, "second signal: frames not yet handed to the disk are given up");
        sl_recorder_drain(w->s->pipeline->recorder, true);
    }
}

static void take_orders(struct watch *w)
{
    struct pollfd fds[] = {{.fd = w->s->signal_fd, .events = POLLIN}, {.fd = w->s->trigger->fd, .events = POLLIN}};
    bool busy = w->phase != RUNNING || w->state != SL_DEVICE_STREAMING;
    struct signalfd_siginfo info;

    poll(fds, 2, busy ? BUSY_TICK_MS : TICK_MS);
    while (fds[0].revents & POLLIN && read(w->s->signal_fd, &info, sizeof info) == sizeof info)
        on_signal(w, info.ssi_signo);
    if (fds[1].revents & POLLIN) {
        enum sl_trigger_order order = sl_trigger_read(w->s->trigger);

        if (order != SL_TRIGGER_NONE)
            trigger(w, order == SL_TRIGGER_START);
    }
}

/* Of the run as it is now, the present opening included. */
static const struct sl_account *present_account(struct watch *w)
{
    if (w->phase == CLOSED)
        return closed_account(w);
    sl_pipeline_account(w->s->pipeline, &w->account[!w->now]);
    return &w->account[!w->now];
}

static void show_status(struct watch *w)
{
    if (!sl_status_due(&w->status, now_ns(w)))
        return;
    sl_status_line(&w->status, now_ns(w), present_account(w), w->phase == CLOSED ? 0 : sl_sink_waiting(w->s->pipeline->record_sink),
                   w->state == SL_DEVICE_STREAMING ? NULL : sl_device_state_name(w->state));
}

/* -- The service manager ------------------------------------------------------------------------------------------------ */

/* The first frame is on the disk, or held until a trigger; or the device is waited for, which may take days. */
static bool under_way(const struct watch *w)
{
    const struct sl_recorder *recorder = w->s->pipeline->recorder;

    if (w->phase == CLOSED)
        return true;
    return sl_recorder_counter(recorder, w->s->cfg.config->record.prerecord ? SL_RECORDER_TAKEN : SL_RECORDER_RECORDED) > 0;
}

/* How long the sensor may be silent before the capture thread says so itself, with some room for a late thread. */
static int64_t quiet_ns(const struct watch *w)
{
    const struct sl_rational *fps = &sl_capture_info(w->s->pipeline->capture)->format.fps;

    return w->s->cfg.config->sensor.stall_timeout + 2 * SL_NS_PER_S * fps->den / (fps->num ? fps->num : 1) + SL_NS_PER_S;
}

static void take_pulse(struct watch *w)
{
    struct sl_pipeline *p = w->s->pipeline;
    struct sl_vitals vitals = {.openings = closed_account(w)->openings, .has_device = w->phase != CLOSED};

    if (vitals.has_device) {
        vitals.captures = p->capture_runner != NULL;
        vitals.captured = sl_capture_counter(p->capture, SL_CAPTURE_CAPTURED);
        vitals.moved = sl_recorder_counter(p->recorder, SL_RECORDER_TAKEN) + sl_recorder_counter(p->recorder, SL_RECORDER_RECORDED);
        vitals.capture_turns = vitals.captures ? sl_runner_turns(p->capture_runner) : 0;
        vitals.recorder_turns = sl_runner_turns(p->recorder_runner);
        vitals.waiting = sl_sink_waiting(p->record_sink);
        vitals.quiet_ns = quiet_ns(w);
        sl_runner_nudge(p->recorder_runner);
        if (vitals.captures)
            sl_runner_nudge(p->capture_runner);
    }
    sl_service_look(w->s->service, &vitals, now_ns(w));
}

static void tell_manager(struct watch *w)
{
    struct sl_service *service = w->s->service;
    const char *state = w->ending ? "ending" : sl_device_state_name(w->state);

    if (sl_service_looks(service, now_ns(w)))
        take_pulse(w);
    sl_service_tell(service, under_way(w), w->ending);
    if (sl_service_status_due(service, state, now_ns(w)))
        sl_service_status(service, present_account(w), state, now_ns(w));
}

/* -- The run ------------------------------------------------------------------------------------------------------------ */

static void step(struct watch *w)
{
    if (w->phase == RUNNING)
        watch_capture(w);
    if (w->phase != CLOSED)
        watch_recorder(w);
    if (w->phase == CLOSED && !w->ending)
        wait_for_device(w);
    if (!w->ending && w->deadline_ns && now_ns(w) >= w->deadline_ns)
        end_run(w, SL_END_LIMIT, 0);
}

/* An outage that lasts to the end is booked up to there and told of. */
static void finish(struct watch *w)
{
    struct sl_account *account = closed_account(w);
    struct sl_event event;

    if (w->outage.open)
        sl_capture_place_miss(&account->capture, w->end_ns);
    if (sl_capture_place_tell(&account->capture, w->end_ns, &event))
        sl_event_report(w->s->pipeline, w->s->ledger, SL_FROM_CAPTURE, &event);
    sl_status_end(&w->status);
    w->outcome->account = *account;
}

void sl_supervise(const struct sl_supervisor *supervisor, struct sl_outcome *outcome)
{
    struct watch w = {.s = supervisor, .outcome = outcome, .state = SL_DEVICE_OPENING, .phase = RUNNING};
    struct sl_error err = {{0}};
    int rc;

    memset(outcome, 0, sizeof *outcome);
    sl_status_init(&w.status, supervisor->status, now_ns(&w));
    if (supervisor->time_limit_ns)
        w.deadline_ns = now_ns(&w) + supervisor->time_limit_ns;
    sl_outage_state(supervisor->ledger, w.state, w.state, 0);
    rc = sl_pipeline_start(supervisor->pipeline, supervisor->cfg.config, &err);
    if (rc < 0)
        start_failed(&w, rc, &err);
    while (!w.ending || w.phase != CLOSED) {
        take_orders(&w);
        step(&w);
        take_events(&w);
        show_status(&w);
        tell_manager(&w);
    }
    finish(&w);
}
