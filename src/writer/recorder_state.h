/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_RECORDER_STATE_H
#define SL_WRITER_RECORDER_STATE_H

/*
 * Inside of the recorder, shared by its files. What is below belongs to the recorder agent from start to stop, and to the control
 * thread before and after; the atomics are the exceptions.
 */

#include <stdatomic.h>

#include "writer/housekeeper.h"
#include "writer/segment.h"
#include "writer/store.h"
#include "writer/tally.h"
#include "writer/writer.h"

enum {
    SL_MAX_QUEUE_DEPTH = 64,
    SL_FORMAT_BATCH = 16,   /* slots pre-formatted at once */
    SL_MAX_EAGAIN = 1000,   /* of one write, before it counts as an error */
    SL_STORE_ENTRIES = 256, /* 2 writes a frame, a batch, syncs, the wake-up */
    SL_NEXT_SLOTS = 16,     /* the next segment is asked for so many slots … */
    SL_STOP_WAIT_S = 10     /* how long a thread that is told to end waits for writes in flight */
};
#define SL_NEXT_NS (250 * SL_NS_PER_MS) /* … or so long before the present one is full */

enum sl_tag_kind { SL_TAG_FRAME, SL_TAG_REVOID, SL_TAG_FORMAT, SL_TAG_SYNC };

/* One of the writes of a frame. */
struct sl_part {
    const uint8_t *data;
    uint32_t bytes;
    uint32_t region;
    uint64_t offset;
    bool payload;
    bool done;
};

enum sl_flight_state { SL_FLIGHT_FREE, SL_FLIGHT_WRITING, SL_FLIGHT_NO_SPACE, SL_FLIGHT_REVOIDING };

/* A frame on its way, from submission until its slot is settled. */
struct sl_flight {
    enum sl_flight_state state;
    struct sl_frame *frame; /* NULL once it could be released: its bytes were copied */
    struct sl_segment *segment;
    uint64_t slot;
    uint64_t number;
    int64_t time_ns; /* in the file */
    int64_t dequeued_ns;
    int64_t submitted_ns;
    unsigned parts;
    unsigned parts_left; /* in flight */
    unsigned retries;
    unsigned room_tries;
    int error;
    struct sl_part part[2];
    const struct sl_slot *bounce;
};

/* Pre-formatting of the current segment. */
struct sl_format {
    unsigned phase;             /* 0: nothing in flight; 1: the new Voids; 2: the Void that led to the end before */
    unsigned left;              /* writes in flight */
    unsigned retries;           /* in this batch */
    struct sl_segment *segment; /* that they are for */
    uint64_t from, target;      /* slots formatted before and after the batch */
    bool stale;                 /* the last Void does not reach to the end of the file */
    uint8_t *frontier;          /* void_bytes of registered memory */
};

struct sl_loss_run {
    uint32_t cause;
    int error;
    uint64_t first;
    uint64_t count; /* 0: none */
    int64_t last_ns;
};

enum sl_mode { SL_MODE_ARMED, SL_MODE_RECORDING, SL_MODE_FULL, SL_MODE_FAILED };

struct sl_recorder {
    struct sl_run run;
    const struct sl_clock *clock;
    const struct sl_memory *memory;
    struct sl_sink *sink;
    struct sl_events *events;
    struct sl_agent agent;
    struct sl_recorder_path path;
    struct sl_store *store;
    struct sl_housekeeper *house;
    struct sl_memory *bounce; /* NULL: not bounced */
    uint8_t *scratch;         /* constant pages, frontier, page 0 of each segment: SL_SCRATCH_PAGES */
    uint8_t header_template[SL_PAGE_BYTES];
    uint32_t scratch_region; /* SL_STORE_NO_REGION: not registered */
    bool planes;             /* frames lie in separate planes and are gathered */
    char ledger_path[PATH_MAX + SL_FILE_NAME_BYTES];

    int64_t now_ns; /* read once a turn */
    enum sl_mode mode;
    int failure;                /* what put it into MODE_FULL or MODE_FAILED */
    int64_t full_ns, failed_ns; /* since when the disk has no space, or has failed for good; 0: it has not */
    bool blocked;               /* frames wait, and only a completion or a reply can let them go on */
    bool queued;                /* something is queued and not submitted */
    bool stopping;              /* told to end without a drain */
    struct sl_segment *current;
    struct sl_segment *next;
    struct sl_segment *retiring[SL_STORE_FILES];
    struct sl_segment *by_place[SL_STORE_FILES];
    unsigned finishing; /* segments given back and not yet reported finished */
    bool next_asked;
    bool next_denied; /* ask again when another segment is finished */
    bool room_asked, end_asked, ended;
    bool sync_in_flight;
    int64_t synced_ns; /* when the last sync was queued */
    struct sl_format format;
    struct sl_flight flight[SL_MAX_QUEUE_DEPTH];
    unsigned in_flight;
    unsigned wait_for_room; /* of those, in FLIGHT_NO_SPACE */
    struct sl_frame **held; /* ring: taken, not yet entered */
    size_t held_places, held_first, held_count;
    struct sl_tally tally;
    struct sl_loss_run loss;
    struct sl_store_fault_place fault_place;
    uint64_t refused_before, submits_before; /* by the recorders of this run that came before */

    sl_counter counter[SL_RECORDER_COUNTERS];
    struct sl_histogram write_us, submit_us, durable_us;
    _Atomic uint64_t segments; /* number of the newest one: agent → any thread */
    _Atomic bool wants_frames; /* trigger → agent */
    _Atomic uint32_t drain;    /* 0, 1: drain, 2: hurry; control → agent */
    _Atomic bool drained;      /* agent → any thread */
    _Atomic bool agent_ended;  /* agent → control */
    _Atomic bool settled;      /* claimed by whoever settles the sink */
};

/* Pages of scratch: three of Voids, three of frontier, page 0 of each segment. */
enum { SL_SCRATCH_PAGES = 6 + SL_STORE_FILES };

#endif
