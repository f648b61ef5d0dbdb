/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_REPLAY_READER_H
#define SL_APP_REPLAY_READER_H

#include "capture/capture.h"
#include "core/error.h"
#include "writer/recording.h"

/*
 * The frames of a recording by their place in it: 0 is the first one that is there, slots without a frame do not count. Made for
 * reading in order; going back starts from the first slot again. One thread at a time per struct.
 */
struct sl_frame_cursor {
    struct sl_recording *recording; /* borrowed */
    uint64_t index;                 /* of the frame that is searched for from `slot` on */
    uint64_t slot;
};

void sl_frame_cursor_init(struct sl_frame_cursor *cursor, struct sl_recording *recording);
/* Slot and record of frame `index`. -ENOENT: the recording has no so many. */
int sl_frame_cursor_find(struct sl_frame_cursor *cursor, uint64_t index, uint64_t *slot, struct sl_frame_record *record);

/* What replay (capture/capture.h) reads from. `reader` is the caller's; close it after the capture that uses it. */
int sl_replay_reader_open(struct sl_replay_reader *reader, const char *path, struct sl_error *err);
void sl_replay_reader_close(struct sl_replay_reader *reader); /* zeroed memory is fine */

#endif
