/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_SEGMENT_H
#define SL_WRITER_SEGMENT_H

/*
 * One file of a run while it is being made, and the facts of the run that both agents need. A segment belongs to one thread at a
 * time: to the house-keeper until it is handed over by a reply, then to the recorder until it is given back by a command.
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "writer/layout.h"
#include "writer/writer.h"

/* Free space and allocation, so that a test can have a small disk. Any thread; may block. */
struct sl_space {
    void *self;
    int (*free_bytes)(void *self, int dir_fd, uint64_t *bytes);
    int (*allocate)(void *self, int fd, uint64_t offset, uint64_t bytes); /* grows the file, with blocks where it can */
};
extern const struct sl_space sl_space_system;

/* Settled by open, never changed after it. */
struct sl_run {
    struct sl_recorder_cfg cfg; /* its strings point into this struct */
    char dir[PATH_MAX];
    char name[128];
    char description[256];
    char stamp[24]; /* UTC of the start: 20260102T030405Z */
    int dir_fd;
    const struct sl_clock *clock;
    struct sl_space space;
    struct sl_layout layout;
    struct sl_stream_record head; /* of every segment, but for number and times */
    bool direct;
    bool durable; /* segments are synced when they are finished */
    bool rotates; /* a next segment will be wanted */
    int64_t half_frame_ns;
    uint64_t first_number;  /* of the first segment */
    uint64_t ahead_slots;   /* pre-formatted before the frames */
    uint64_t chunk_bytes;   /* a file grows by this */
    uint64_t initial_bytes; /* of a new file */
    uint64_t limit_slots;   /* of one segment; UINT64_MAX: none */
    uint64_t limit_bytes;   /* allocated for one segment at most; UINT64_MAX: no limit */
    /* Constant pages, in registered memory: the tail of one slot with the Void page of the next. */
    const uint8_t *void_pages;
    size_t void_bytes; /* tail_span + one page */
};

#define SL_TIMES_PER_BLOCK 4095
#define SL_TIME_LOST       INT64_MIN /* the slot holds no frame */

/* Times of the slots, for the Cues. Made by the house-keeper ahead of need. */
struct sl_time_block {
    struct sl_time_block *next;
    int64_t time_ns[SL_TIMES_PER_BLOCK];
};

struct sl_segment {
    unsigned place; /* in the store's table of files */
    int fd;
    uint64_t number;
    uint8_t *page0;      /* as it is in the file; registered memory */
    uint64_t file_bytes; /* allocated */
    uint64_t formatted;  /* slots below this one are Void or frame */

    /* written by the recorder */
    uint64_t fits;    /* slots that file_bytes has room for, Cues included */
    uint64_t slots;   /* used, lost ones included */
    uint64_t frames;  /* recorded */
    int64_t begin_ns; /* monotonic time of the first frame */
    int64_t last_ns;  /* highest time in the file */
    unsigned io;      /* flights, writes, syncs and an extension that are not over */
    bool opened;      /* told of: SEGMENT_OPEN */
    bool broken;      /* takes no more frames */
    bool grown;       /* cannot be extended any more */
    bool extending;   /* an extension was asked for */
    bool dirty;       /* frames completed since the last sync */
    int error;        /* the first thing that went wrong with it */
    struct sl_time_block *first_times;
    struct sl_time_block *last_times;
    uint64_t times_ready; /* slot that last_times begins with */
};

/* Bytes that the Cues of so many slots take in whole pages. */
static inline uint64_t sl_cues_reserve(uint64_t slots)
{
    return (sl_layout_cues_bytes(slots) + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES;
}

/* How many slots a file of so many bytes can hold, with room for their Cues. */
uint64_t sl_slots_in(const struct sl_layout *layout, uint64_t file_bytes);

/* Fills ahead, chunk, initial and the limits from cfg and layout. */
void sl_run_size(struct sl_run *run);
/* Makes chunk, initial and ahead so small that a disk of that capacity holds mainly frames, and no room made for what is to come. */
void sl_run_fit(struct sl_run *run, uint64_t capacity_bytes);

#endif
