/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_RECORDER_RIG_H
#define SL_TESTS_RECORDER_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "dma/fanout.h"
#include "support/memory_store.h"
#include "writer/recorder.h"
#include "writer/store_fault.h"
#include "writer/writer.h"

/*
 * A recorder with everything around it but threads: memory, pool, fan-out, a capture side that keeps its own books, a manual
 * clock, a memory store, and a disk of a size one may choose. Files go to the scratch directory. Any step that cannot work aborts.
 */

struct rec_spec {
    const char *format;     /* NULL: YUYV */
    uint32_t width, height; /* 0: 64 × 48 */
    struct sl_rational fps; /* {0}: 60 */
    unsigned slots;         /* 0: 80 */
    unsigned limit;         /* of the sink; 0: 60 */
    int64_t latency_ns;
    uint64_t shuffle;
    int64_t (*judge)(void *self, const struct sl_store_write *write); /* of struct memory_store_cfg; self is the rig */
    uint64_t disk_bytes;                                              /* 0: as large as it really is */
    uint64_t others_bytes;                                            /* taken on that disk by somebody else */
    struct sl_recorder_cfg cfg;                                       /* dir, name and description are set by the rig; queue_depth 0: 4 */
};

struct rec_rig {
    struct rec_spec spec;
    struct sl_manual_clock clock;
    struct sl_video_format format;
    struct sl_memory *memory;
    struct sl_pool *pool;
    struct sl_fanout *fanout;
    struct sl_sink *sink;
    struct sl_events events;
    struct sl_recorder *recorder;
    struct sl_store *store; /* the recorder's own, for its statistics */
    struct sl_space space;
    int64_t start_ns;
    uint64_t number; /* of the next frame */
    uint64_t captured;
    uint64_t lost[SL_LOSS_COUNT]; /* on the capture side */
    int result;                   /* of the recorder's do_work once it ended; 0: it has not */
    struct sl_event event[4096];
    unsigned event_count;
};

/* -errno of sl_recorder_open; the rest is there all the same, for rec_close. */
int rec_open(struct rec_rig *rig, const struct rec_spec *spec);
void rec_close(struct rec_rig *rig);

void rec_turn(struct rec_rig *rig);  /* both agents, until neither has anything to do at this moment */
void rec_frame(struct rec_rig *rig); /* the next frame is due: time passes, capture publishes it or books it as no_slot */
void rec_frames(struct rec_rig *rig, uint64_t count);
void rec_gap(struct rec_rig *rig, uint64_t count, enum sl_loss cause); /* frames that never come */
void rec_pass(struct rec_rig *rig, int64_t ns);                        /* time without frames, in steps of a millisecond */
/* Drains, lets time pass until the agent has ended; the result. */
int rec_drain(struct rec_rig *rig, bool hurry);

uint64_t rec_count(const struct rec_rig *rig, enum sl_recorder_counter which);
/* The run's books as the application puts them together. */
void rec_books(const struct rec_rig *rig, struct sl_books *books);
unsigned rec_events(const struct rec_rig *rig, enum sl_event_kind kind);                      /* how many so far */
unsigned rec_events_of(const struct rec_rig *rig, enum sl_event_kind kind, uint64_t segment); /* of this segment */
const struct sl_event *rec_event(const struct rec_rig *rig, enum sl_event_kind kind, unsigned index);
uint64_t rec_lost_in_events(const struct rec_rig *rig, enum sl_loss cause);

/* Reads every segment file: structure, index, books; every frame's bytes must be those of its number. `files` and `frames` are what is
 * there. Fails the test when anything is wrong. */
struct rec_files {
    unsigned files;
    uint64_t frames;
    uint64_t frames_in[1024]; /* by file */
    uint64_t first_number, last_number;
    uint64_t bytes;
};
void rec_read(struct rec_rig *rig, struct rec_files *found);

/* Follows the elements of a file that is being written; each must lead to the next, and the last one to the end of the file. Returns
 * how many Clusters there are. */
unsigned rec_walk(struct rec_rig *rig, uint64_t segment);
/* The record in a slot of a file that may still be written. */
void rec_record(struct rec_rig *rig, uint64_t segment, uint64_t slot, struct sl_frame_record *record);

#endif
