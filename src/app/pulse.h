/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_PULSE_H
#define SL_APP_PULSE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether a run lives: frames move, or it is known why they do not. Judged from two looks at it, an interval apart; in between each
 * thread was asked for a turn, so that one which made none stands still. Pure.
 */

enum sl_pulse {
    SL_PULSE_MOVING,    /* the recorder took or finished frames */
    SL_PULSE_NO_DEVICE, /* the supervisor itself waits for the device */
    SL_PULSE_DRAINING,  /* no more frames come; the recorder's thread works, and finishes what there is */
    SL_PULSE_DISK,      /* frames wait for a recorder whose thread works: the disk does not answer */
    SL_PULSE_QUIET,     /* the sensor's time-out has not passed */
    SL_PULSE_DEAD,      /* from here on it does not live */
    SL_PULSE_CAPTURE_STANDS = SL_PULSE_DEAD,
    SL_PULSE_RECORDER_STANDS,
    SL_PULSE_UNEXPLAINED, /* both threads work, and nothing moves */
    SL_PULSE_COUNT
};

const char *sl_pulse_text(enum sl_pulse pulse); /* for a person; "" while frames move */

struct sl_vitals {
    uint64_t openings; /* of the device, closed ones; the turns count anew with each */
    bool has_device;   /* a pipeline is open */
    bool captures;     /* it has a capture thread */
    uint64_t captured; /* frames that the sensor delivered */
    uint64_t moved;    /* frames that the recorder took, and that it finished */
    uint64_t capture_turns, recorder_turns;
    unsigned waiting; /* frames for the recorder that it has not taken */
    int64_t quiet_ns; /* for so long the sensor may deliver nothing; then the capture thread itself says that it failed */
};

struct sl_pulse_watch {
    bool begun;
    struct sl_vitals last;
    int64_t captured_ns; /* since when no frame was delivered, as far as is known */
};

/* `interval_ns`: what lies between two calls, more or less. */
enum sl_pulse sl_pulse_judge(struct sl_pulse_watch *watch, const struct sl_vitals *vitals, int64_t now_ns, int64_t interval_ns);

#endif
