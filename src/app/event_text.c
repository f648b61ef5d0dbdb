/* SPDX-License-Identifier: Apache-2.0 */
#include "app/event_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"

static json_t *with_error(json_t *fields, int64_t error)
{
    if (error)
        json_object_set_new(fields, "error", json_string(strerror((int)-error)));
    return fields;
}

static void report_loss(struct sl_ledger *ledger, const struct sl_event *event)
{
    const char *cause = sl_loss_name((enum sl_loss)event->code);
    json_t *fields = json_pack("{s:s, s:I, s:I, s:n}", "cause", cause ? cause : "unknown", "first", (json_int_t)event->first, "count",
                               (json_int_t)event->count, "verdict");

    sl_log(SL_LOG_WARNING, "lost %llu frame(s) from %llu on: %s%s%s", (unsigned long long)event->count, (unsigned long long)event->first,
           cause ? cause : "unknown", event->error ? ": " : "", event->error ? strerror((int)-event->error) : "");
    sl_ledger_write(ledger, "loss", with_error(fields, event->error));
}

static void report_anomaly(struct sl_ledger *ledger, const struct sl_event *event)
{
    const char *name = sl_anomaly_name((enum sl_anomaly)event->code);

    sl_log(SL_LOG_WARNING, "sensor: %s at frame %llu", name ? name : "anomaly", (unsigned long long)event->first);
    sl_ledger_write(ledger, "anomaly",
                    json_pack("{s:s, s:I, s:I}", "kind", name ? name : "unknown", "frame", (json_int_t)event->first, "count",
                              (json_int_t)event->count));
}

static void report_kept(struct sl_ledger *ledger, const struct sl_event *event)
{
    bool flagged = event->code == SL_FRAME_DEVICE_ERROR;

    sl_log(SL_LOG_WARNING, "kept %llu bad frame(s) from %llu to %llu: %s", (unsigned long long)event->count,
           (unsigned long long)event->first, (unsigned long long)event->last, flagged ? "the device's error flag" : "too short");
    sl_ledger_write(ledger, "bad_kept",
                    json_pack("{s:s, s:I, s:I, s:I}", "kind", flagged ? "error" : "short", "first", (json_int_t)event->first, "last",
                              (json_int_t)event->last, "count", (json_int_t)event->count));
}

static void report_segment(const struct sl_pipeline *p, struct sl_ledger *ledger, const struct sl_event *event)
{
    char path[4096];
    json_t *fields = json_pack("{s:I}", "segment", (json_int_t)event->first);

    if (sl_recorder_segment_path(p->recorder, event->first, path, sizeof path) == 0)
        json_object_set_new(fields, "file", json_string(path));
    if (event->kind == SL_EVENT_SEGMENT_CLOSE)
        json_object_set_new(fields, "frames", json_integer((json_int_t)event->count));
    if (event->kind == SL_EVENT_SEGMENT_GONE)
        json_object_set_new(fields, "bytes", json_integer((json_int_t)event->count));
    sl_ledger_write(ledger,
                    event->kind == SL_EVENT_SEGMENT_OPEN    ? "segment_open"
                    : event->kind == SL_EVENT_SEGMENT_CLOSE ? "segment_close"
                                                            : "segment_removed",
                    with_error(fields, event->error));
}

static void report_step(struct sl_ledger *ledger, const char *from, const struct sl_event *event)
{
    json_t *fields = json_pack("{s:s, s:i, s:s?}", "by", from, "step", (int)event->code, "name",
                               sl_recorder_step_name((enum sl_recorder_step)event->code));

    if (event->first)
        json_object_set_new(fields, "segment", json_integer((json_int_t)event->first));
    sl_ledger_write(ledger, "step_down", with_error(fields, event->error));
}

static const char *origin_name(enum sl_event_origin origin)
{
    return origin == SL_FROM_CAPTURE ? "capture" : "recorder";
}

void sl_event_report(const struct sl_pipeline *p, struct sl_ledger *ledger, enum sl_event_origin origin, const struct sl_event *event)
{
    const char *from = origin_name(origin);

    switch (event->kind) {
    case SL_EVENT_LOSS:
        report_loss(ledger, event);
        break;
    case SL_EVENT_ANOMALY:
        report_anomaly(ledger, event);
        break;
    case SL_EVENT_BAD_KEPT:
        report_kept(ledger, event);
        break;
    case SL_EVENT_SEGMENT_OPEN:
    case SL_EVENT_SEGMENT_CLOSE:
    case SL_EVENT_SEGMENT_GONE:
        report_segment(p, ledger, event);
        break;
    case SL_EVENT_STEP_DOWN:
        report_step(ledger, from, event);
        break;
    default:
        sl_ledger_write(
            ledger, "state",
            with_error(json_pack("{s:s, s:i, s:s?}", "of", from, "state", (int)event->code, "name", sl_recorder_state_name(event->code)),
                       event->error));
        break;
    }
}

void sl_events_report(const struct sl_pipeline *p, struct sl_ledger *ledger, enum sl_event_origin origin, struct sl_events *events,
                      uint64_t *dropped)
{
    struct sl_event event;

    while (sl_events_take(events, &event))
        sl_event_report(p, ledger, origin, &event);

    uint64_t total = sl_events_counter(events, SL_EVENTS_DROPPED);

    if (total == *dropped)
        return;
    sl_log(SL_LOG_WARNING, "ledger: %llu events of %s came faster than they could be written; the totals are right",
           (unsigned long long)(total - *dropped), origin_name(origin));
    sl_ledger_write(
        ledger, "events_dropped",
        json_pack("{s:s, s:I, s:I}", "of", origin_name(origin), "count", (json_int_t)(total - *dropped), "total", (json_int_t)total));
    *dropped = total;
}
