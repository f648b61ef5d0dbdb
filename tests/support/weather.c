/* SPDX-License-Identifier: Apache-2.0 */
#define SIM_ONLY_DECLARE
#include "support/weather.h"

#include "support/simulation.h"

enum { SOON_FRAMES = 700 };
#define NEVER (UINT64_MAX / 2)

static void draw_sensor_fault(struct sl_sensor_fault *fault, uint64_t frames)
{
    static const uint64_t modes[] = {UINT64_C(64) << 32 | 48, UINT64_C(96) << 32 | 64, UINT64_C(80) << 32 | 60, 0};

    fault->kind = (enum sl_sensor_fault_kind)sim_below(SL_SENSOR_FAULT_SOURCE_CHANGE + 1);
    fault->frame = frames + sim_below(SOON_FRAMES);
    switch (fault->kind) {
    case SL_SENSOR_FAULT_UNPLUG:
    case SL_SENSOR_FAULT_NO_SIGNAL:
        fault->count = sim_below(3000) * SL_NS_PER_MS;
        break;
    case SL_SENSOR_FAULT_SOURCE_CHANGE:
        fault->count = modes[sim_below(4)];
        break;
    case SL_SENSOR_FAULT_GAP:
        fault->count = 1 + sim_below(30);
        break;
    default:
        fault->count = 1 + sim_below(3);
    }
}

void weather_of_sensor(struct sl_sensor_script *script, struct sl_sensor_fault *fault)
{
    struct sl_sensor_script before = *script;

    for (unsigned i = 0; i < WEATHER_SENSOR; i++) {
        draw_sensor_fault(&fault[i], before.frames);
        if (sim_below(3) == 0)
            fault[i] = (struct sl_sensor_fault){.kind = SL_SENSOR_FAULT_GAP, .frame = NEVER, .count = 1};
    }
    sl_sensor_script_init(script, fault, WEATHER_SENSOR);
    script->frames = before.frames;
    script->away_until_ns = before.away_until_ns;
    script->away_error = before.away_error;
    script->width = before.width;
    script->height = before.height;
}

static void draw_store_fault(struct sl_store_fault *fault, const struct sl_store_fault_place *place)
{
    fault->kind = (enum sl_store_fault_kind)sim_below(SL_STORE_FAULT_JITTER + 1);
    fault->at = place->frames + sim_below(SOON_FRAMES);
    fault->count = 1 + sim_below(6);
    switch (fault->kind) {
    case SL_STORE_FAULT_STALL:
        fault->at = (place->frames ? (uint64_t)(sl_now_ns(&sim.clock.clock) - place->first_ns) : 0) + sim_below(10000) * SL_NS_PER_MS;
        fault->count = sim_below(2500) * SL_NS_PER_MS;
        break;
    case SL_STORE_FAULT_LATE:
        fault->count = sim_below(1500) * SL_NS_PER_MS;
        break;
    case SL_STORE_FAULT_JITTER:
        fault->count = sim_below(18) * SL_NS_PER_MS;
        break;
    default:
        break;
    }
    if (sim_below(3) == 0 || fault->kind == SL_STORE_FAULT_ENOSPC)
        *fault = (struct sl_store_fault){.kind = SL_STORE_FAULT_EIO, .at = NEVER, .count = 1};
}

void weather_of_store(const struct sl_recorder *recorder, struct sl_store_fault *fault)
{
    static const struct sl_store_fault_place begin;

    for (unsigned i = 0; i < WEATHER_STORE; i++)
        draw_store_fault(&fault[i], recorder ? &recorder->fault_place : &begin);
}
