/* SPDX-License-Identifier: Apache-2.0 */
#include "app/outage.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/log.h"

const char *sl_device_state_name(enum sl_device_state state)
{
    static const char *const names[] = {"opening", "streaming", "stalled", "signal_lost", "device_gone", "reopening"};

    return names[state];
}

enum sl_device_state sl_device_state_of(int error)
{
    switch (error) {
    case -ETIMEDOUT:
        return SL_DEVICE_STALLED;
    case -ENOLINK: /* no signal, or another mode than the one that was opened */
    case -ENOLCK:
    case -ERANGE:
        return SL_DEVICE_SIGNAL_LOST;
    default:
        return SL_DEVICE_GONE;
    }
}

void sl_outage_begin(struct sl_outage *outage, const struct sl_capture_place *place, int error, const char *text, int64_t now_ns)
{
    outage->open = true;
    outage->error = error;
    outage->begin_ns = now_ns;
    outage->first = place->counter[SL_CAPTURE_EXPECTED];
    outage->gone = place->lost[SL_LOSS_DEVICE_GONE];
    outage->attempts = 0;
    outage->last[0] = '\0';
    snprintf(outage->cause, sizeof outage->cause, "%.255s", text);
    sl_log(SL_LOG_WARNING, "sensor, at frame %llu: %s; it is opened again", (unsigned long long)outage->first, outage->cause);
}

void sl_outage_attempt_failed(struct sl_outage *outage, int error, const char *text)
{
    char line[sizeof outage->last];

    snprintf(line, sizeof line, "%.250s", text[0] ? text : strerror(-error));
    if (!strcmp(line, outage->last))
        return;
    snprintf(outage->last, sizeof outage->last, "%s", line);
    sl_log(SL_LOG_WARNING, "%s; tried again until it works", line);
}

void sl_outage_end(struct sl_outage *outage, struct sl_ledger *ledger, const struct sl_pipeline *p, int64_t now_ns)
{
    const struct sl_capture_info *info = sl_capture_info(p->capture);
    double seconds = (double)(now_ns - outage->begin_ns) / 1e9;
    struct sl_capture_place place;

    sl_capture_place_counts(p->capture, &place);
    uint64_t count = place.lost[SL_LOSS_DEVICE_GONE] - outage->gone;

    outage->open = false;
    sl_log(SL_LOG_INFO, "sensor: it streams again after %.2f s and %u attempt(s), %llu frames were lost: %s%s%s", seconds, outage->attempts,
           (unsigned long long)count, info->device, info->node[0] ? " at " : "", info->node);
    sl_ledger_write(ledger, "gap",
                    json_pack("{s:s, s:s, s:s, s:I, s:I, s:f, s:i, s:s, s:s, s:s, s:i, s:i, s:i, s:i}", "cause",
                              sl_loss_name(SL_LOSS_DEVICE_GONE), "error", strerror(-outage->error), "detail", outage->cause, "first",
                              (json_int_t)outage->first, "count", (json_int_t)count, "seconds", seconds, "attempts", (int)outage->attempts,
                              "device", info->device, "node", info->node, "format", info->format.pixel->name, "width",
                              (int)info->format.width, "height", (int)info->format.height, "fps_num", (int)info->format.fps.num, "fps_den",
                              (int)info->format.fps.den));
}

void sl_outage_state(struct sl_ledger *ledger, enum sl_device_state from, enum sl_device_state to, int error)
{
    json_t *fields = json_pack("{s:s, s:i, s:s, s:s*}", "of", "sensor", "state", (int)to, "name", sl_device_state_name(to), "from",
                               from == to ? NULL : sl_device_state_name(from));

    if (error)
        json_object_set_new(fields, "error", json_string(strerror(-error)));
    sl_ledger_write(ledger, "state", fields);
}
