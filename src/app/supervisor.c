/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Main thread of a run. It never touches a frame: it only watches counters, events and runners, so it may be late without harm.
 * Its tick is 50 ms; a signal or a trigger wakes it at once.
 */
#include "app/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "app/event_text.h"
#include "app/status.h"
#include "core/log.h"

enum { TICK_MS = 50 };

enum state { RUNNING, DRAINING, DONE };

struct watch {
    const struct sl_supervisor *s;
    enum state state;
    enum sl_run_end end;
    int error;
    uint64_t capture_dropped, recorder_dropped; /* events, as far as the ledger says so */
    struct sl_status status;
};

const char *sl_run_end_name(enum sl_run_end end)
{
    static const char *const names[] = {"limit", "signal", "sensor", "disk_full", "recorder"};

    return names[end];
}

int sl_supervisor_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    int code = pthread_sigmask(SIG_BLOCK, &set, NULL);

    if (code)
        return -code;
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

    return fd < 0 ? -errno : fd;
}

static void begin_drain(struct watch *w, enum sl_run_end end, int error)
{
    w->end = end;
    w->error = error;
    w->state = DRAINING;
    sl_pipeline_stop_capture(w->s->pipeline, error);
    sl_recorder_drain(w->s->pipeline->recorder, false);
}

static void trigger(struct watch *w, bool start)
{
    sl_recorder_trigger(w->s->pipeline->recorder, start);
    sl_ledger_write(w->s->ledger, start ? "trigger_start" : "trigger_stop", NULL);
}

static void on_signal(struct watch *w, uint32_t number)
{
    if (number == SIGUSR1 || number == SIGUSR2) {
        trigger(w, number == SIGUSR1);
    } else if (w->state == RUNNING) {
        begin_drain(w, SL_END_SIGNAL, 0);
    } else {
        sl_log(SL_LOG_WARNING, "second signal: frames not yet handed to the disk are given up");
        sl_recorder_drain(w->s->pipeline->recorder, true);
    }
}

static void take_signals(struct watch *w)
{
    struct signalfd_siginfo info;

    while (read(w->s->signal_fd, &info, sizeof info) == sizeof info)
        on_signal(w, info.ssi_signo);
}

static void take_events(struct watch *w)
{
    struct sl_pipeline *p = w->s->pipeline;

    sl_events_report(p, w->s->ledger, SL_FROM_CAPTURE, &p->capture_events, &w->capture_dropped);
    sl_events_report(p, w->s->ledger, SL_FROM_RECORDER, &p->recorder_events, &w->recorder_dropped);
    sl_ledger_sync(w->s->ledger);
}

static void watch_recorder(struct watch *w)
{
    int result;

    if (sl_runner_running(w->s->pipeline->recorder_runner, &result)) {
        if (w->state == DRAINING && sl_recorder_drained(w->s->pipeline->recorder))
            w->state = DONE;
        return;
    }
    if (w->state == RUNNING) {
        begin_drain(w, result == -ENOSPC ? SL_END_DISK_FULL : SL_END_RECORDER, 0);
        if (w->end == SL_END_RECORDER)
            w->error = result;
    }
    w->state = DONE;
}

static void watch_sensor(struct watch *w, int64_t now_ns, int64_t deadline_ns)
{
    int result;

    if (w->state != RUNNING)
        return;
    if (!sl_runner_running(w->s->pipeline->capture_runner, &result)) {
        if (result == 0 || result == -ESHUTDOWN)
            begin_drain(w, SL_END_LIMIT, 0);
        else
            begin_drain(w, SL_END_SENSOR, result);
    } else if (deadline_ns && now_ns >= deadline_ns) {
        begin_drain(w, SL_END_LIMIT, 0);
    }
}

enum sl_run_end sl_supervise(const struct sl_supervisor *supervisor, int *error)
{
    struct watch w = {.s = supervisor, .state = RUNNING};
    const struct sl_clock *clock = supervisor->pipeline->clock;
    int64_t deadline_ns = supervisor->time_limit_ns ? sl_now_ns(clock) + supervisor->time_limit_ns : 0;

    sl_status_init(&w.status, supervisor->pipeline, supervisor->status);
    while (w.state != DONE) {
        struct pollfd fds[] = {{.fd = supervisor->signal_fd, .events = POLLIN}, {.fd = supervisor->trigger->fd, .events = POLLIN}};

        poll(fds, 2, TICK_MS);
        if (fds[0].revents & POLLIN)
            take_signals(&w);
        if (fds[1].revents & POLLIN) {
            enum sl_trigger_order order = sl_trigger_read(supervisor->trigger);

            if (order != SL_TRIGGER_NONE)
                trigger(&w, order == SL_TRIGGER_START);
        }
        watch_sensor(&w, sl_now_ns(clock), deadline_ns);
        watch_recorder(&w);
        take_events(&w);
        sl_status_tick(&w.status, sl_now_ns(clock));
    }
    take_events(&w);
    sl_status_end(&w.status);
    *error = w.error;
    return w.end;
}
