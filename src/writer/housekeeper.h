/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_HOUSEKEEPER_H
#define SL_WRITER_HOUSEKEEPER_H

/*
 * The agent that does what may block: opens, extends, finishes and removes files, so that the recorder never waits for a file
 * system. The recorder sends commands and takes replies, each through a ring of its own; nothing else is shared but the facts of
 * the run.
 */

#include "core/agent.h"
#include "core/spsc.h"
#include "core/wake.h"
#include "writer/files.h"
#include "writer/segment.h"
#include "writer/store.h"

enum sl_house_command_kind {
    SL_HOUSE_NEXT,   /* a segment to write into, under its final name → IS_NEXT */
    SL_HOUSE_EXTEND, /* segment, bytes → EXTENDED: value = bytes the file has now, or error */
    SL_HOUSE_ROOM,   /* a write found no space → HAS_ROOM: 0, or error when nothing could be removed */
    SL_HOUSE_FINISH, /* segment goes back for good → FINISHED; one without frames is removed */
    SL_HOUSE_END     /* the last command → ENDED, when everything is done */
};

struct sl_house_command {
    enum sl_house_command_kind kind;
    struct sl_segment *segment;
    uint64_t bytes;
};

enum sl_house_reply_kind { SL_HOUSE_IS_NEXT, SL_HOUSE_EXTENDED, SL_HOUSE_HAS_ROOM, SL_HOUSE_FINISHED, SL_HOUSE_ENDED, SL_HOUSE_REMOVED };

struct sl_house_reply {
    enum sl_house_reply_kind kind;
    struct sl_segment *segment; /* IS_NEXT, EXTENDED */
    uint64_t number;            /* FINISHED; REMOVED: of this run, else 0 */
    uint64_t value;             /* EXTENDED: bytes; FINISHED: frames; REMOVED: bytes freed */
    uint64_t freed_bytes;       /* FINISHED, when the file held no frame and is gone */
    bool opened;                /* FINISHED: it was told of when it was begun */
    int error;
};

enum { SL_HOUSE_COMMANDS = 16, SL_HOUSE_REPLIES = 64, SL_HOUSE_BLOCKS = 4 };

struct sl_housekeeper;

/* `run` and `recorder_wake` (rung after each reply) are borrowed until close; page0[i] is the page of the segment at place i. */
int sl_housekeeper_open(struct sl_housekeeper **out, const struct sl_run *run, uint8_t *const page0[SL_STORE_FILES],
                        struct sl_wake *recorder_wake, struct sl_error *err);
/* Control thread, before the agents run: the first segment, ready but not yet under its final name. -EAGAIN: take the replies, then
 * call again. */
int sl_housekeeper_prepare_first(struct sl_housekeeper *h, struct sl_error *err);
const struct sl_agent *sl_housekeeper_agent(struct sl_housekeeper *h);

/* Recorder only. */
bool sl_housekeeper_send(struct sl_housekeeper *h, const struct sl_house_command *command);
bool sl_housekeeper_receive(struct sl_housekeeper *h, struct sl_house_reply *reply);
struct sl_time_block *sl_housekeeper_take_block(struct sl_housekeeper *h); /* NULL: none ready yet */
bool sl_housekeeper_has_news(const struct sl_housekeeper *h);              /* replies wait */

/* Control thread, after the runners ended. The spare segment, if any, is removed; what FINISH left undone is done. */
void sl_housekeeper_close(struct sl_housekeeper *h);

/* -- Parts of the agent, in files of their own -------------------------------------------------------------------------- */

struct sl_room {
    int fd; /* of the file that is being removed; -1: none is */
    char file[SL_FILE_NAME_BYTES];
    uint64_t left_bytes;
    bool removed; /* set when a file is gone; whoever tells of it clears it, and until then no other is begun */
    uint64_t number;
    uint64_t freed_bytes;
};

/* What a run that removes old recordings can fill: the room there is, and what those of its name take. */
uint64_t sl_room_capacity(const struct sl_run *run);
/* Says so when that is less than two segments; leaves `warning` alone when it is not. */
void sl_room_judge(const struct sl_run *run, uint64_t capacity_bytes, char *warning, size_t bytes);
/* In all three: recordings of this run from number keep_from on are in use. */
/* 0: there is room for `bytes` beside keep_free. -EAGAIN: not yet, but some was made. -ENOSPC: no, and none can or may be made. */
int sl_room_make(struct sl_room *room, const struct sl_run *run, uint64_t bytes, uint64_t keep_from);
/* Halves *bytes until there is room for them, but not below `least`. -ENOSPC: not even for that. */
int sl_room_settle(const struct sl_run *run, uint64_t *bytes, uint64_t least);
/* One gentle step; false: there is nothing that may be removed. */
bool sl_room_remove_piece(struct sl_room *room, const struct sl_run *run, uint64_t keep_from);

/* Creates the file of segment->number as `.next`, allocates `bytes` of it, writes page 0 and Voids. */
int sl_segment_create(struct sl_segment *segment, const struct sl_run *run, uint64_t bytes);
/* Gives it its final name. */
int sl_segment_activate(struct sl_segment *segment, const struct sl_run *run);
/* Cues, length, page 0; closes the file. `buffer`: page-aligned, buffer_bytes a multiple of the page. */
int sl_segment_finish(struct sl_segment *segment, const struct sl_run *run, uint8_t *buffer, size_t buffer_bytes);
/* Closes and removes a file that holds no frame; `suffix` as it is called now. */
void sl_segment_discard(struct sl_segment *segment, const struct sl_run *run, const char *suffix);

#endif
