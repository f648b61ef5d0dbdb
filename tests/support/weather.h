/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_WEATHER_H
#define SL_TESTS_WEATHER_H

#include "app/config.h"
#include "writer/recorder_state.h"

/*
 * Random faults of sensor and disk for a simulated run (support/simulation.h, whose numbers it draws), which change while it goes on.
 * Both are drawn for the next ten seconds or so from where the run stands.
 */

enum { WEATHER_SENSOR = 4, WEATHER_STORE = 4 }; /* faults at a time */

/* `fault` has WEATHER_SENSOR places and belongs to the script. What the device is like is kept: its mode, and how long it is away. */
void weather_of_sensor(struct sl_sensor_script *script, struct sl_sensor_fault *fault);

/* `fault` has WEATHER_STORE places, those of the recorder's configuration. `recorder` NULL: before there is one. */
void weather_of_store(const struct sl_recorder *recorder, struct sl_store_fault *fault);

#endif
