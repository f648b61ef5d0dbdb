/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_MAKE_RECORDING_H
#define SL_TESTS_MAKE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loss.h"
#include "writer/layout.h"

/*
 * Recordings as the recorder leaves them, made from the layout functions alone: small, exact, with whatever was lost on the way.
 * Frame n has the number n (plus what was lost before), the time n / fps, and bytes that follow from its number.
 */

/* Before the frame in `slot`, `count` numbers of the grid were lost. */
struct made_gap {
    uint64_t slot;
    uint64_t count;
    enum sl_loss cause;
    bool unbooked; /* the books say nothing of it */
};

struct made_spec {
    const char *format; /* "YUYV" */
    uint32_t width, height;
    uint32_t bytesperline, lines; /* 0: tight */
    uint64_t slots;               /* frames and holes */
    bool checksum;
    bool finished;
    uint32_t segment;      /* 0: 1 */
    uint8_t session;       /* every byte of it */
    uint64_t number;       /* of the first frame */
    struct sl_books books; /* before the first frame */
    const uint64_t *hole;  /* slots that hold no frame, though a number was given to them */
    unsigned holes;
    const struct made_gap *gap;
    unsigned gaps;
    uint64_t behind;       /* `completed` is so many slots behind each page; 0: 1 */
    unsigned preformatted; /* slots after the last frame, unless finished; the last one's Void reaches to the end */
    uint64_t extended;     /* bytes after those */
};

struct made_recording {
    struct sl_layout layout;
    struct sl_video_format format;
    uint64_t frames;
    uint64_t end_of_slots; /* file offset behind the last slot of the spec */
    uint64_t file_bytes;
    struct sl_books books; /* after the last frame */
    uint64_t next_number;
    int64_t last_time_ns;
};

/* Writes a new file; aborts with a message when it cannot. */
void make_recording(const char *path, const struct made_spec *spec, struct made_recording *made);

/* The bytes of frame `number`. */
void made_payload(uint64_t number, uint8_t *data, size_t bytes);

#endif
