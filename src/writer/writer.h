/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_WRITER_H
#define SL_WRITER_WRITER_H

/*
 * Frames → durable Matroska files, and back.
 *
 * The recorder is an agent that takes frames from its sink, writes header page and payload with O_DIRECT through io_uring, and
 * releases a frame only when its completion has been reaped. A second agent (house-keeping) opens, extends, finishes and
 * removes files, so that no file-system call can hold up the frames.
 * The layout of a recording is in docs/file-format.md; the record in each header page is struct sl_frame_record.
 */

#include "core/agent.h"
#include "core/clock.h"
#include "core/event.h"
#include "core/format.h"
#include "core/histogram.h"
#include "core/loss.h"
#include "dma/fanout.h"

enum sl_checksum { SL_CHECKSUM_AUTO, SL_CHECKSUM_CRC32, SL_CHECKSUM_NONE };
enum sl_sync { SL_SYNC_INTERVAL, SL_SYNC_SEGMENT, SL_SYNC_NONE };
enum sl_when_full { SL_WHEN_FULL_STOP, SL_WHEN_FULL_OVERWRITE_OLDEST };

struct sl_recorder_cfg {
    const char *dir;
    const char *name;        /* files are NAME-YYYYMMDDTHHMMSSZ-NNNN.mkv */
    const char *description; /* one line kept in the file: device, driver */
    int64_t segment_time_ns; /* 0: no limit */
    uint64_t segment_bytes;  /* 0: no limit */
    unsigned queue_depth;    /* frame writes in flight, 1…64 */
    enum sl_checksum checksum;
    enum sl_sync sync;
    int64_t sync_interval_ns;
    enum sl_when_full when_full;
    uint64_t keep_free_bytes;
    int64_t prerecord_ns;               /* > 0: nothing is recorded until sl_recorder_trigger */
    bool buffered;                      /* do not even try O_DIRECT */
    bool no_register;                   /* do not register buffers */
    const struct sl_store_fault *fault; /* writer/store_fault.h */
    unsigned faults;
    const struct sl_recorder_place *before; /* the recording goes on from here (writer/place.h); NULL: it begins. Borrowed in open */
};

struct sl_recorder_deps {
    const struct sl_clock *clock;
    const struct sl_video_format *format; /* borrowed until close, as all of these */
    const struct sl_memory *memory;
    struct sl_sink *sink;
    struct sl_events *events; /* the recorder agent is the only poster */
};

enum sl_recorder_counter {
    SL_RECORDER_TAKEN,
    SL_RECORDER_RECORDED,
    SL_RECORDER_BYTES,
    SL_RECORDER_BYTES_COPIED,
    SL_RECORDER_DISK_ERROR,
    SL_RECORDER_DISK_FULL,
    SL_RECORDER_DISK_LATE,     /* frames missing between two that were taken, beyond what capture says it lost */
    SL_RECORDER_REFUSED_ERROR, /* the same, once the disk had failed: not in DISK_ERROR */
    SL_RECORDER_REFUSED_FULL,  /* the same, once it was full: not in DISK_FULL */
    SL_RECORDER_ABANDONED,     /* given up in a hurry, unsubmitted: disk_late as well, but not counted in DISK_LATE */
    SL_RECORDER_UNTRIGGERED,   /* came while armed and were let go: nobody expects them */
    SL_RECORDER_SHORT_WRITES,
    SL_RECORDER_SUBMITS,
    SL_RECORDER_SYNCS,
    SL_RECORDER_SEGMENTS,
    SL_RECORDER_COUNTERS
};
extern const struct sl_counter_def sl_recorder_counter_defs[SL_RECORDER_COUNTERS];

/* A step down from what was wanted: code of SL_EVENT_STEP_DOWN; `first` is the segment where there is one. */
enum sl_recorder_step {
    SL_STEP_BUFFERED,     /* no O_DIRECT */
    SL_STEP_UNREGISTERED, /* pages are pinned for each write anew */
    SL_STEP_BOUNCED,      /* each frame is copied */
    SL_STEP_NO_CHECKSUM,
    SL_STEP_SYNC_FAILED,   /* a segment could not be synced: the next one was begun */
    SL_STEP_FORMAT_FAILED, /* a segment could not be pre-formatted any further */
    SL_STEP_EXTEND_FAILED, /* a segment could not be extended */
    SL_STEP_COUNT
};
const char *sl_recorder_step_name(enum sl_recorder_step step); /* NULL for a value out of range */
const char *sl_recorder_state_name(uint32_t state);            /* of SL_EVENT_STATE's code; the same */

/* The path that was found to work, settled in open. */
struct sl_recorder_path {
    bool direct;     /* O_DIRECT */
    bool registered; /* io_uring fixed buffers */
    bool bounced;    /* each frame is copied once into registered memory */
    bool checksum;
    uint32_t alignment; /* bytes, of offset and length */
    uint32_t memory_alignment;
    char reason[512];  /* one line per step down: "mmap buffers cannot be pinned (Bad address): frames are copied" */
    char warning[512]; /* the disk is too small for what is asked; empty: it is not */
};

struct sl_recorder;

/* Creates directory entry and first segment; tries the path on the real file system with the real memory. Nothing of the
 * first segment remains when it fails. */
int sl_recorder_open(struct sl_recorder **out, const struct sl_recorder_cfg *cfg, const struct sl_recorder_deps *deps,
                     struct sl_error *err);
const struct sl_recorder_path *sl_recorder_path(const struct sl_recorder *recorder);
const struct sl_agent *sl_recorder_agent(struct sl_recorder *recorder);
const struct sl_agent *sl_recorder_housekeeper(struct sl_recorder *recorder);

/* Any thread. Start keeping frames, those of the last prerecord_ns included; stop ends the segment and arms again. */
void sl_recorder_trigger(struct sl_recorder *recorder, bool start);
/* Any thread. No more frames will be published: write what is queued, finish the segment; the agent then ends (-ESHUTDOWN).
 * `hurry`: give up frames not yet submitted (counted disk_late), leave a valid file as soon as writes in flight are reaped. */
void sl_recorder_drain(struct sl_recorder *recorder, bool hurry);
/* True when the agent has nothing left to do after a drain. Any thread. */
bool sl_recorder_drained(const struct sl_recorder *recorder);

uint64_t sl_recorder_counter(const struct sl_recorder *recorder, enum sl_recorder_counter which);
const struct sl_histogram *sl_recorder_write_us(const struct sl_recorder *recorder); /* submit → completion */
/* Path of segment `number` (from 1), into buf; -ENOENT. Any thread. */
int sl_recorder_segment_path(const struct sl_recorder *recorder, uint64_t number, char *buf, size_t bytes);
const char *sl_recorder_ledger_path(const struct sl_recorder *recorder);
void sl_recorder_close(struct sl_recorder *recorder); /* after its runners ended */

#endif
