/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_PLACE_H
#define SL_WRITER_PLACE_H

#include <limits.h>

#include "writer/writer.h"

/*
 * Where a run's recording stands between two recorders. The next one goes on from it (struct sl_recorder_cfg.before): the same
 * session and names, segment numbers, books and counters that continue. A recorder lives as long as one opening of the device,
 * since it is built on the device's memory and format; the recording lives as long as the run.
 */

/* Where scripted faults of the store stand; they count over the whole run. */
struct sl_store_fault_place {
    uint64_t frames;  /* first tries so far */
    int64_t first_ns; /* time of the first */
};

struct sl_recorder_place {
    uint8_t session[16];
    char stamp[24];
    char ledger_path[PATH_MAX + 256];
    uint64_t segments; /* number of the newest one */
    uint64_t next;     /* number after that of the last frame entered */
    bool keeps_frames; /* false: armed, waits for a trigger */
    struct sl_store_fault_place faults;
    uint64_t counter[SL_RECORDER_COUNTERS];
    struct sl_histogram write_us, submit_us, durable_us;
};

/* Any thread; `next` and `faults` only once the recorder was drained. */
void sl_recorder_place(const struct sl_recorder *recorder, struct sl_recorder_place *place);
/* Path of segment `number` (from 1), into buf; -ENOENT. */
int sl_recorder_place_segment(const struct sl_recorder_place *place, uint64_t number, char *buf, size_t bytes);

#endif
