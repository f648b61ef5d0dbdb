/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The house-keeping agent.
 *
 * Thread: its own; open, prepare_first and close belong to the control thread, before and after it.
 * Ownership: all segment objects and time blocks are made and freed here; a segment is the recorder's between IS_NEXT and FINISH.
 *
 * Invariants
 * - Every command has exactly one reply. Only REMOVED comes unasked, and it waits rather than crowd out a reply.
 * - What lets the recorder go on (next, extend, room) comes before what only tidies up (finish).
 * - A command that waits for room stays at its place; each turn removes one piece of an old file and then looks again, so that
 *   the other commands are not kept waiting.
 * - A file has its `.next` name until the recorder asks for it: after a crash no empty recording is left among the others.
 *
 * Rejected: fallocate through io_uring. It would be as asynchronous, but free space must be looked at, and sometimes made, first.
 */
#include "writer/housekeeper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES = 256 << 10, LEAST_SLOTS = 4, FREE_BLOCKS_MAX = 64, TICK_MS = 1000, GENTLE_MS = 20 };

struct sl_housekeeper {
    const struct sl_run *run;
    struct sl_agent agent;
    struct sl_spsc commands;
    struct sl_spsc replies;
    struct sl_spsc blocks; /* spare time blocks */
    struct sl_wake wake;
    struct sl_wake *recorder_wake;

    struct sl_house_command waiting[SL_HOUSE_COMMANDS];
    unsigned waiting_count;
    struct sl_segment segment[SL_STORE_FILES];
    bool in_use[SL_STORE_FILES]; /* spare, the recorder's, or waiting to be finished */
    struct sl_segment *spare;    /* ready, as `.next` */
    uint64_t next_number;
    uint64_t newest_finished; /* 0: none */
    bool spare_failed;        /* do not try again before somebody asks */
    bool ended;
    struct sl_room room;
    bool making_room; /* the last look found too little, and there is more to be removed */
    struct sl_time_block *free_blocks;
    unsigned free_block_count;
    uint8_t *buffer;
};

static void reply(struct sl_housekeeper *h, const struct sl_house_reply *message)
{
    sl_spsc_push(&h->replies, message);
    sl_wake_notify(h->recorder_wake);
}

/* -- Room --------------------------------------------------------------------------------------------------------------- */

/* Number of the oldest file of this run that must stay: those in use, and the one finished last. */
static uint64_t keep_from(const struct sl_housekeeper *h)
{
    uint64_t oldest = h->newest_finished ? h->newest_finished : h->next_number;

    for (unsigned i = 0; i < SL_STORE_FILES; i++)
        if (h->in_use[i] && h->segment[i].number < oldest)
            oldest = h->segment[i].number;
    return oldest;
}

static void tell_of_removal(struct sl_housekeeper *h)
{
    if (!h->room.removed || sl_spsc_count(&h->replies) > SL_HOUSE_REPLIES / 2)
        return;
    h->room.removed = false;
    reply(h, &(struct sl_house_reply){.kind = SL_HOUSE_REMOVED, .number = h->room.number, .value = h->room.freed_bytes});
}

static int make_room(struct sl_housekeeper *h, uint64_t bytes)
{
    int rc = sl_room_make(&h->room, h->run, bytes, keep_from(h));

    tell_of_removal(h);
    h->making_room = rc == -EAGAIN;
    return rc;
}

/* -- Segments ----------------------------------------------------------------------------------------------------------- */

static struct sl_segment *find_free(struct sl_housekeeper *h)
{
    for (unsigned i = 0; i < SL_STORE_FILES; i++)
        if (!h->in_use[i])
            return &h->segment[i];
    return NULL;
}

static void release(struct sl_housekeeper *h, struct sl_segment *segment)
{
    struct sl_time_block *block = segment->first_times;

    while (block) {
        struct sl_time_block *next = block->next;

        if (h->free_block_count < FREE_BLOCKS_MAX) {
            block->next = h->free_blocks;
            h->free_blocks = block;
            h->free_block_count++;
        } else {
            free(block);
        }
        block = next;
    }
    segment->first_times = segment->last_times = NULL;
    h->in_use[segment->place] = false;
}

static void reset(struct sl_segment *segment, uint64_t number)
{
    unsigned place = segment->place;
    uint8_t *page0 = segment->page0;

    *segment = (struct sl_segment){.place = place, .page0 = page0, .fd = -1, .number = number};
}

static uint64_t least_bytes(const struct sl_run *run)
{
    uint64_t least = LEAST_SLOTS * run->layout.slot_bytes + sl_cues_reserve(LEAST_SLOTS);

    return least < run->limit_bytes ? least : run->limit_bytes;
}

/* Makes the spare segment. -EAGAIN: call again; -EBUSY: all segments are in use. */
static int prepare(struct sl_housekeeper *h)
{
    struct sl_segment *segment = find_free(h);
    uint64_t bytes = h->run->initial_bytes;
    uint64_t least = least_bytes(h->run);
    int rc = segment ? make_room(h, bytes) : -EBUSY;

    if (rc == -ENOSPC)
        rc = sl_room_settle(h->run, &bytes, least);
    while (rc == 0) {
        reset(segment, h->next_number);
        rc = sl_segment_create(segment, h->run, bytes);
        if (rc != -ENOSPC || bytes <= least)
            break;
        bytes = bytes / 2 > least ? bytes / 2 / SL_PAGE_BYTES * SL_PAGE_BYTES : least;
        rc = 0; /* free space was told too high, or somebody else took it */
    }
    if (rc < 0)
        return rc;
    h->in_use[segment->place] = true;
    h->next_number++;
    h->spare = segment;
    return 0;
}

static int next(struct sl_housekeeper *h, struct sl_house_reply *message)
{
    int rc = h->spare ? 0 : prepare(h);

    if (rc == 0)
        rc = sl_segment_activate(h->spare, h->run);
    if (rc < 0)
        return rc;
    message->segment = h->spare;
    h->spare = NULL;
    h->spare_failed = false;
    return 0;
}

static int extend(struct sl_housekeeper *h, const struct sl_house_command *command, struct sl_house_reply *message)
{
    const struct sl_space *space = &h->run->space;
    uint64_t have = command->segment->file_bytes, bytes = command->bytes;
    int rc = make_room(h, bytes);

    if (rc == -ENOSPC)
        rc = sl_room_settle(h->run, &bytes, h->run->layout.slot_bytes + 2 * SL_PAGE_BYTES);
    if (rc == 0)
        rc = space->allocate(space->self, command->segment->fd, have, bytes);
    if (rc == -ENOSPC && h->run->cfg.when_full == SL_WHEN_FULL_OVERWRITE_OLDEST && sl_room_remove_piece(&h->room, h->run, keep_from(h)))
        rc = -EAGAIN;
    tell_of_removal(h);
    message->segment = command->segment;
    message->value = have + bytes;
    return rc;
}

static void finish(struct sl_housekeeper *h, struct sl_segment *segment, struct sl_house_reply *message)
{
    message->number = segment->number;
    message->value = segment->frames;
    message->error = segment->error;
    message->opened = segment->opened;
    if (segment->frames == 0) {
        message->freed_bytes = segment->file_bytes;
        sl_segment_discard(segment, h->run, "");
    } else {
        int rc = sl_segment_finish(segment, h->run, h->buffer, BUFFER_BYTES);

        if (rc < 0)
            message->error = rc;
        if (segment->number > h->newest_finished)
            h->newest_finished = segment->number;
    }
    release(h, segment);
}

/* What was begun to be removed goes, and is told of. */
static bool end_removal(struct sl_housekeeper *h)
{
    if (h->room.fd >= 0)
        sl_room_remove_piece(&h->room, h->run, 0);
    tell_of_removal(h);
    return h->room.fd < 0 && !h->room.removed;
}

static void end(struct sl_housekeeper *h)
{
    h->ended = true;
    if (!h->spare)
        return;
    sl_segment_discard(h->spare, h->run, ".next");
    release(h, h->spare);
    h->spare = NULL;
    h->next_number--;
}

/* -- Commands ----------------------------------------------------------------------------------------------------------- */

static bool makes_recorder_wait(enum sl_house_command_kind kind)
{
    return kind == SL_HOUSE_NEXT || kind == SL_HOUSE_EXTEND || kind == SL_HOUSE_ROOM;
}

/* The command is not done yet and stays: -EAGAIN when it has got further, -EBUSY when it waits for another to be done. */
static int execute(struct sl_housekeeper *h, const struct sl_house_command *command)
{
    static const enum sl_house_reply_kind answer[] = {
        [SL_HOUSE_NEXT] = SL_HOUSE_IS_NEXT,    [SL_HOUSE_EXTEND] = SL_HOUSE_EXTENDED, [SL_HOUSE_ROOM] = SL_HOUSE_HAS_ROOM,
        [SL_HOUSE_FINISH] = SL_HOUSE_FINISHED, [SL_HOUSE_END] = SL_HOUSE_ENDED,
    };
    struct sl_house_reply message = {.kind = answer[command->kind]};

    switch (command->kind) {
    case SL_HOUSE_NEXT:
        message.error = next(h, &message);
        break;
    case SL_HOUSE_EXTEND:
        message.error = extend(h, command, &message);
        break;
    case SL_HOUSE_ROOM:
        message.error = make_room(h, h->run->chunk_bytes);
        break;
    case SL_HOUSE_FINISH:
        finish(h, command->segment, &message);
        break;
    case SL_HOUSE_END:
        end(h);
        if (!end_removal(h))
            return -EAGAIN;
        break;
    }
    if (makes_recorder_wait(command->kind) && (message.error == -EAGAIN || message.error == -EBUSY))
        return message.error;
    reply(h, &message);
    return 0;
}

/* Executes the first command of the more urgent kind that can be; true when something was done. */
static bool serve(struct sl_housekeeper *h)
{
    for (int urgent = 1; urgent >= 0; urgent--) {
        for (unsigned i = 0; i < h->waiting_count; i++) {
            struct sl_house_command command = h->waiting[i];
            int rc = makes_recorder_wait(command.kind) == urgent ? execute(h, &command) : -EBUSY;

            if (rc == -EAGAIN)
                return true;
            if (rc == -EBUSY)
                continue;
            memmove(&h->waiting[i], &h->waiting[i + 1], (h->waiting_count - i - 1) * sizeof(h->waiting[0]));
            h->waiting_count--;
            return true;
        }
    }
    return false;
}

static void refill_blocks(struct sl_housekeeper *h)
{
    while (sl_spsc_count(&h->blocks) < SL_HOUSE_BLOCKS) {
        struct sl_time_block *block = h->free_blocks;

        if (block) {
            h->free_blocks = block->next;
            h->free_block_count--;
        } else {
            block = malloc(sizeof(*block));
        }
        if (!block) /* the recorder waits for it; memory may come back */
            return;
        block->next = NULL;
        if (!sl_spsc_push(&h->blocks, &block)) { /* not after the count above; the analyzer cannot know */
            free(block);
            return;
        }
        sl_wake_notify(h->recorder_wake);
    }
}

/* What is done while nobody waits. True: something was, and there may be more. */
static bool look_ahead(struct sl_housekeeper *h)
{
    int rc;

    h->making_room = false;
    if (h->ended)
        return false;
    if (h->run->rotates && !h->spare && !h->spare_failed && find_free(h)) {
        rc = prepare(h);
        h->spare_failed = rc < 0 && rc != -EAGAIN;
        return rc == 0;
    }
    if (h->run->cfg.when_full == SL_WHEN_FULL_OVERWRITE_OLDEST)
        make_room(h, h->run->chunk_bytes);
    return false; /* one piece at a time, with a pause after it */
}

/* -- The agent ---------------------------------------------------------------------------------------------------------- */

static int do_work(void *self)
{
    struct sl_housekeeper *h = self;

    while (h->waiting_count < SL_HOUSE_COMMANDS && sl_spsc_pop(&h->commands, &h->waiting[h->waiting_count]))
        h->waiting_count++;
    refill_blocks(h);
    if (serve(h))
        return 1;
    return look_ahead(h);
}

static void idle(void *self)
{
    struct sl_housekeeper *h = self;
    struct pollfd fd = {.fd = h->wake.fd, .events = POLLIN};

    sl_wake_arm(&h->wake);
    if (sl_spsc_count(&h->commands) == 0 && poll(&fd, 1, h->making_room ? GENTLE_MS : TICK_MS) > 0)
        sl_wake_drain(&h->wake);
    sl_wake_disarm(&h->wake);
}

static void wake(void *self)
{
    struct sl_housekeeper *h = self;

    sl_wake_signal(&h->wake);
}

static int open_rings(struct sl_housekeeper *h)
{
    int rc = sl_spsc_init(&h->commands, SL_HOUSE_COMMANDS, sizeof(struct sl_house_command));

    if (rc == 0)
        rc = sl_spsc_init(&h->replies, SL_HOUSE_REPLIES, sizeof(struct sl_house_reply));
    if (rc == 0)
        rc = sl_spsc_init(&h->blocks, SL_HOUSE_BLOCKS, sizeof(struct sl_time_block *));
    return rc;
}

static void free_all(struct sl_housekeeper *h)
{
    struct sl_time_block *block;

    while (h->blocks.items && sl_spsc_pop(&h->blocks, &block))
        free(block);
    while ((block = h->free_blocks)) {
        h->free_blocks = block->next;
        free(block);
    }
    sl_wake_fini(&h->wake);
    sl_spsc_fini(&h->blocks);
    sl_spsc_fini(&h->replies);
    sl_spsc_fini(&h->commands);
    free(h->buffer);
    free(h);
}

int sl_housekeeper_open(struct sl_housekeeper **out, const struct sl_run *run, uint8_t *const page0[SL_STORE_FILES],
                        struct sl_wake *recorder_wake, struct sl_error *err)
{
    struct sl_housekeeper *h = aligned_alloc(SL_CACHE_LINE, (sizeof(*h) + SL_CACHE_LINE - 1) / SL_CACHE_LINE * SL_CACHE_LINE);
    int rc;

    if (!h)
        return sl_fail(err, -ENOMEM, "house-keeping: out of memory");
    memset(h, 0, sizeof(*h));
    h->run = run;
    h->recorder_wake = recorder_wake;
    h->next_number = run->first_number;
    h->newest_finished = run->first_number - 1;
    h->room.fd = -1;
    h->wake.fd = -1;
    h->agent = (struct sl_agent){.name = "housekeeper", .self = h, .do_work = do_work, .idle = idle, .wake = wake};
    for (unsigned i = 0; i < SL_STORE_FILES; i++)
        h->segment[i] = (struct sl_segment){.place = i, .fd = -1, .page0 = page0[i]};
    rc = open_rings(h);
    if (rc == 0)
        rc = sl_wake_init(&h->wake);
    h->buffer = aligned_alloc(SL_PAGE_BYTES, BUFFER_BYTES);
    if (rc == 0 && !h->buffer)
        rc = -ENOMEM;
    if (rc < 0) {
        free_all(h);
        return sl_fail(err, rc, "house-keeping: %s", strerror(-rc));
    }
    refill_blocks(h);
    *out = h;
    return 0;
}

int sl_housekeeper_prepare_first(struct sl_housekeeper *h, struct sl_error *err)
{
    int rc;

    do
        rc = prepare(h);
    while (rc == -EAGAIN && !h->room.removed); /* what was removed waits to be told of: the replies are to be taken first */
    if (rc == -EAGAIN)
        return rc;
    if (rc == -ENOSPC)
        return sl_fail(err, rc, "%s: no room for a segment of even %llu bytes beside the %llu of keep_free", h->run->dir,
                       (unsigned long long)least_bytes(h->run), (unsigned long long)h->run->cfg.keep_free_bytes);
    return rc < 0 ? sl_fail(err, rc, "%s: first segment: %s", h->run->dir, strerror(-rc)) : 0;
}

const struct sl_agent *sl_housekeeper_agent(struct sl_housekeeper *h)
{
    return &h->agent;
}

bool sl_housekeeper_send(struct sl_housekeeper *h, const struct sl_house_command *command)
{
    if (!sl_spsc_push(&h->commands, command))
        return false;
    sl_wake_notify(&h->wake);
    return true;
}

bool sl_housekeeper_receive(struct sl_housekeeper *h, struct sl_house_reply *message)
{
    return sl_spsc_pop(&h->replies, message);
}

bool sl_housekeeper_has_news(const struct sl_housekeeper *h)
{
    return sl_spsc_count(&h->replies) > 0;
}

struct sl_time_block *sl_housekeeper_take_block(struct sl_housekeeper *h)
{
    struct sl_time_block *block;

    if (!sl_spsc_pop(&h->blocks, &block))
        return NULL;
    sl_wake_notify(&h->wake);
    return block;
}

void sl_housekeeper_close(struct sl_housekeeper *h)
{
    struct sl_house_command command;
    struct sl_house_reply unread;

    if (!h)
        return;
    end(h); /* first, so that nothing new is prepared below */
    while (h->waiting_count < SL_HOUSE_COMMANDS && sl_spsc_pop(&h->commands, &command))
        h->waiting[h->waiting_count++] = command;
    for (unsigned i = 0; i < h->waiting_count; i++)
        if (h->waiting[i].kind == SL_HOUSE_FINISH)
            execute(h, &h->waiting[i]);
    while (sl_spsc_pop(&h->replies, &unread))
        if (unread.kind == SL_HOUSE_IS_NEXT && unread.segment) /* handed over, but nobody was there any more */
            sl_segment_discard(unread.segment, h->run, "");
    while (h->room.fd >= 0)
        sl_room_remove_piece(&h->room, h->run, 0);
    free_all(h);
}
