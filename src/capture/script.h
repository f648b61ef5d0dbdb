/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_SCRIPT_H
#define SL_CAPTURE_SCRIPT_H

#include <stdint.h>

#include "core/error.h"

/*
 * Scripted faults of a sensor, from [fault] sensor=…, and how far they have got. The script belongs to the run and outlives the
 * openings of the device, since it is the script that says when the device is away.
 *
 * Frames are counted as the device makes them, over all openings: what falls into an outage is not made.
 * Used by the thread that has the capture at the time: control, agent, control.
 */

enum sl_sensor_fault_kind {
    SL_SENSOR_FAULT_GAP,          /* frames [frame, frame + count) never come */
    SL_SENSOR_FAULT_ERROR_FLAG,   /* … are flagged as damaged */
    SL_SENSOR_FAULT_SHORT,        /* … have too few bytes */
    SL_SENSOR_FAULT_EIO,          /* at frame, the device fails, `count` times in a row */
    SL_SENSOR_FAULT_STALL,        /* at frame, it falls silent, and so it does after the next count − 1 openings */
    SL_SENSOR_FAULT_STREAMON,     /* at frame, it fails; then `count` starts of the stream are refused */
    SL_SENSOR_FAULT_UNPLUG,       /* at frame, it is gone for `count` ns */
    SL_SENSOR_FAULT_NO_SIGNAL,    /* at frame, its input has no signal for `count` ns */
    SL_SENSOR_FAULT_SOURCE_CHANGE /* at frame, the mode changes to width << 32 | height in `count`; 0: to the same size */
};

struct sl_sensor_fault {
    enum sl_sensor_fault_kind kind;
    uint64_t frame;
    uint64_t count;
};

enum { SL_SENSOR_FAULTS_MAX = 32 };

struct sl_sensor_script {
    const struct sl_sensor_fault *fault; /* borrowed */
    unsigned faults;
    uint64_t left[SL_SENSOR_FAULTS_MAX]; /* how often each will still strike, of those that end an opening */
    uint64_t frames;                     /* made so far */
    int64_t away_until_ns;               /* opening the device fails before this … */
    int away_error;                      /* … with this */
    uint32_t width, height;              /* the sensor's mode; 0: as configured */
};

/* `fault` is borrowed as long as the script is used. -E2BIG: more than SL_SENSOR_FAULTS_MAX. */
int sl_sensor_script_init(struct sl_sensor_script *script, const struct sl_sensor_fault *fault, unsigned faults);

#endif
