/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_CUE_READER_H
#define SL_WRITER_CUE_READER_H

#include "writer/walk.h"

/* The points of an index (Cues), one after the other. One thread per struct. */
struct sl_cue_reader {
    struct sl_window window;
    uint64_t at;  /* of the next point */
    uint64_t end; /* behind the last; equal to `at`: none is left */
};

/* `at`: first byte inside the Cues; `end`: behind the last. fd is borrowed. */
void sl_cue_reader_init(struct sl_cue_reader *cues, int fd, uint64_t file_bytes, uint64_t at, uint64_t end);
/* Next point. -ENOENT: there is none; -EBADMSG: it cannot be understood; else negative errno of the read. */
int sl_cue_reader_next(struct sl_cue_reader *cues, uint64_t *time, uint64_t *position);

#endif
