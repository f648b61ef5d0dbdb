/* SPDX-License-Identifier: Apache-2.0 */
#include "app/counters.h"

#include "capture/capture.h"
#include "core/event.h"
#include "dma/fanout.h"
#include "writer/writer.h"

static uint64_t read_capture(const struct sl_account *account, unsigned which)
{
    return account->capture.counter[which];
}

static uint64_t read_sink(const struct sl_account *account, unsigned which)
{
    return account->sink[which];
}

static uint64_t read_recorder(const struct sl_account *account, unsigned which)
{
    return account->recorder.counter[which];
}

static uint64_t read_capture_events(const struct sl_account *account, unsigned which)
{
    return account->capture_events[which];
}

static uint64_t read_recorder_events(const struct sl_account *account, unsigned which)
{
    return account->recorder_events[which];
}

const struct sl_counter_group sl_counter_groups[] = {
    {"capture", "Capture", "Kept by the thread that takes frames from the sensor. In the summary: `counters.capture`.",
     sl_capture_counter_defs, SL_CAPTURE_COUNTERS, read_capture},
    {"record_sink", "Sink", "Kept for each consumer of frames, by the capture thread. In the summary: `counters.record_sink`.",
     sl_sink_counter_defs, SL_SINK_COUNTERS, read_sink},
    {"recorder", "Recorder", "Kept by the thread that writes frames. In the summary: `counters.recorder`.", sl_recorder_counter_defs,
     SL_RECORDER_COUNTERS, read_recorder},
    {"capture_events", "Events",
     "Kept by each thread that tells of events, which become lines of the ledger. In the summary: `counters.capture_events` and "
     "`counters.recorder_events`.",
     sl_events_counter_defs, SL_EVENTS_COUNTERS, read_capture_events},
    {"recorder_events", NULL, NULL, sl_events_counter_defs, SL_EVENTS_COUNTERS, read_recorder_events},
};
_Static_assert(sizeof(sl_counter_groups) / sizeof(sl_counter_groups[0]) == SL_COUNTER_GROUPS, "as many as the header says");

json_t *sl_counters_json(const struct sl_account *account)
{
    json_t *all = json_object();

    for (unsigned i = 0; i < SL_COUNTER_GROUPS; i++) {
        const struct sl_counter_group *group = &sl_counter_groups[i];
        json_t *object = json_object();

        for (unsigned which = 0; which < group->count; which++)
            json_object_set_new(object, group->defs[which].name, json_integer((json_int_t)group->read(account, which)));
        json_object_set_new(all, group->key, object);
    }
    return all;
}
