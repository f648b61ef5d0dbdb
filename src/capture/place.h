/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CAPTURE_PLACE_H
#define SL_CAPTURE_PLACE_H

#include "capture/capture.h"

/*
 * Where a run stands between two openings of its device: the books so far, and when the next frame of the grid is due. The next
 * opening goes on from it (struct sl_capture_cfg.before), so that numbers, books and the grid run through an outage. Pure.
 */

struct sl_capture_place {
    uint64_t counter[SL_CAPTURE_COUNTERS];
    uint64_t lost[SL_LOSS_COUNT];
    struct sl_rational fps; /* as the last opening granted it: an outage is counted at this rate */
    double interval_ns;     /* the same as measured */
    int64_t due_ns;         /* when frame number counter[SL_CAPTURE_EXPECTED] is due, monotonic */
    double elapsed_ns;      /* of the time grid up to then, at the granted rates */
    uint64_t frame_limit;   /* the run ends after this many grid frames, at the last rate; 0: no limit */
    uint64_t untold;        /* frames at the end of the books that were lost with the device, and no event has said so */
    int error;              /* what ended the last opening */
};

/* Fills in counters and losses of a capture as they are now, nothing else. Any thread. */
void sl_capture_place_counts(const struct sl_capture *capture, struct sl_capture_place *place);

/* Books as lost with the device what fell due up to and with until_ns, never beyond the limit. Returns how many that were. */
uint64_t sl_capture_place_miss(struct sl_capture_place *place, int64_t until_ns);

/* True when every frame up to the limit is in the books. */
bool sl_capture_place_at_limit(const struct sl_capture_place *place);

/* Ends the run here: the event that tells of the untold frames. False when there are none. */
bool sl_capture_place_tell(struct sl_capture_place *place, int64_t now_ns, struct sl_event *event);

#endif
