/* SPDX-License-Identifier: Apache-2.0 */
#include "app/replay_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct replay {
    struct sl_recording *recording;
    struct sl_frame_cursor cursor;
};

void sl_frame_cursor_init(struct sl_frame_cursor *cursor, struct sl_recording *recording)
{
    cursor->recording = recording;
    cursor->index = 0;
    cursor->slot = 0;
}

int sl_frame_cursor_find(struct sl_frame_cursor *cursor, uint64_t index, uint64_t *slot, struct sl_frame_record *record)
{
    uint64_t slots = sl_recording_info(cursor->recording)->slots;

    if (index < cursor->index)
        sl_frame_cursor_init(cursor, cursor->recording);
    for (; cursor->slot < slots; cursor->slot++) {
        enum sl_slot_verdict verdict = sl_recording_slot(cursor->recording, cursor->slot, false, record);

        if (verdict != SL_SLOT_GOOD && verdict != SL_SLOT_UNPROVEN)
            continue;
        if (cursor->index == index) {
            *slot = cursor->slot;
            return 0; /* and stays here: the same frame is often asked for twice */
        }
        cursor->index++;
    }
    return -ENOENT;
}

static int replay_read(void *self, uint64_t index, uint8_t *data, size_t bytes, int64_t *time_ns, uint32_t *sequence, uint32_t *flags)
{
    struct replay *replay = self;
    struct sl_frame_record record;
    uint64_t slot;
    int rc = sl_frame_cursor_find(&replay->cursor, index, &slot, &record);

    if (rc)
        return rc;
    rc = sl_recording_payload(replay->recording, slot, data, bytes);
    if (rc)
        return rc;
    *time_ns = record.time_ns;
    *sequence = record.sequence;
    *flags = record.flags;
    return 0;
}

static uint64_t count_frames(struct sl_recording *recording)
{
    struct sl_frame_cursor cursor;
    struct sl_frame_record record;
    uint64_t slot;

    sl_frame_cursor_init(&cursor, recording);
    sl_frame_cursor_find(&cursor, UINT64_MAX, &slot, &record);
    return cursor.index;
}

int sl_replay_reader_open(struct sl_replay_reader *reader, const char *path, struct sl_error *err)
{
    struct replay *replay = calloc(1, sizeof *replay);
    uint64_t frames;
    int rc;

    if (!replay)
        return sl_fail(err, -ENOMEM, "replay %s: %s", path, strerror(ENOMEM));
    rc = sl_recording_open(&replay->recording, path, err);
    if (rc)
        goto free_replay;
    frames = count_frames(replay->recording);
    if (!frames) {
        rc = sl_fail(err, -ENODATA, "replay %s: there is no frame in it", path);
        goto close_recording;
    }
    sl_frame_cursor_init(&replay->cursor, replay->recording);
    reader->self = replay;
    reader->format = &sl_recording_info(replay->recording)->format;
    reader->frames = frames;
    reader->read = replay_read;
    return 0;

close_recording:
    sl_recording_close(replay->recording);
free_replay:
    free(replay);
    return rc;
}

void sl_replay_reader_close(struct sl_replay_reader *reader)
{
    struct replay *replay = reader->self;

    if (!replay)
        return;
    sl_recording_close(replay->recording);
    free(replay);
    memset(reader, 0, sizeof *reader);
}
