/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_RECORDING_H
#define SL_WRITER_RECORDING_H

/*
 * Recordings, read back. Every byte of the file is untrusted: lengths and offsets are checked before use, nothing of the
 * file's size is allocated. One thread at a time per struct.
 */

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/format.h"
#include "core/loss.h"

/* One frame's record: what the header page before each payload carries (docs/file-format.md has the bytes). */
struct sl_frame_record {
    uint8_t session[16];  /* random per run: tells our slots from what lay on the disk before */
    uint32_t segment;     /* number in the run, from 1 */
    uint64_t slot;        /* place in this file, from 0 */
    uint64_t number;      /* place on the run's time grid */
    int64_t time_ns;      /* from the first frame of this file (= the block's timestamp) */
    int64_t monotonic_ns; /* as the driver stamped it */
    uint32_t sequence;    /* the device's own */
    uint32_t flags;       /* enum sl_frame_flags */
    uint32_t bytesused;   /* what the device delivered; the payload in the file is always frame_bytes long */
    bool has_crc;
    uint32_t payload_crc;  /* the cluster's EBML CRC-32, over Timestamp, block head and payload */
    uint64_t completed;    /* slots of this file below this one were known complete when this page was written */
    struct sl_books books; /* of the run up to and with this frame */
};

/* What is wrong with a slot, worst last. */
enum sl_slot_verdict {
    SL_SLOT_GOOD,     /* header page right; payload CRC right, or there is none and its completion is vouched for by a later page */
    SL_SLOT_UNPROVEN, /* header page right, no CRC, and no later page vouches for it */
    SL_SLOT_EMPTY,    /* pre-formatted, never written */
    SL_SLOT_TORN,     /* header page right, payload CRC wrong or cut short */
    SL_SLOT_DAMAGED   /* header page not as it must be where a frame ought to be */
};

struct sl_recording_info {
    struct sl_video_format format;
    char description[256]; /* device and driver, as recorded */
    char writer[64];
    uint8_t session[16];
    uint32_t segment;
    int64_t utc_ns; /* of time 0; 0: unknown */
    uint64_t slot_bytes;
    uint64_t file_bytes;
    uint64_t slots; /* slots of which the file holds at least the header page */
    bool finished;  /* Cues, sizes and Duration are there and right */
    bool checksum;  /* payload CRCs are on */
};

struct sl_recording;

/* -EBADMSG: not one of our recordings (the text says what it is instead, as far as can be told). -EUCLEAN: one of ours, but what
 * its first page says of the frames is damaged. */
int sl_recording_open(struct sl_recording **out, const char *path, struct sl_error *err);
const struct sl_recording_info *sl_recording_info(const struct sl_recording *recording);

/* Slots below this one were complete on the store, as far as the file says: all, in a file that was closed. */
uint64_t sl_recording_completed(const struct sl_recording *recording);

/* True when a slot without a frame must have held one: frames written later say that it was complete. Not so for the last ones before
 * a crash, which may never have been written. */
bool sl_recording_must_hold(const struct sl_recording *recording, uint64_t slot);

/* Record of slot `slot`; *record is written for GOOD, UNPROVEN and TORN. Reads the payload only when `check_payload`, or when it has
 * a checksum and nothing else vouches for it. */
enum sl_slot_verdict sl_recording_slot(struct sl_recording *recording, uint64_t slot, bool check_payload, struct sl_frame_record *record);

/* The same, and the payload into `payload` (frame_bytes long; NULL: it is only checked), all in one reading. */
enum sl_slot_verdict sl_recording_read(struct sl_recording *recording, uint64_t slot, uint8_t *payload, struct sl_frame_record *record);

/* Payload of a slot, frame_bytes long, into data, unchecked. 0 or negative errno. */
int sl_recording_payload(struct sl_recording *recording, uint64_t slot, uint8_t *data, size_t bytes);
void sl_recording_close(struct sl_recording *recording);

struct sl_repair {
    uint64_t frames;    /* kept and indexed */
    uint64_t torn;      /* turned into Void */
    uint64_t damaged;   /* in a file that was closed: left as they are */
    uint64_t mended;    /* of `frames`: the Void before their record was written again */
    uint64_t cut_bytes; /* removed from the end */
    uint64_t leftovers; /* files of the same run removed beside it: `.next` and `.gone` that no process holds */
    bool payloads_read; /* not those of a file that was closed */
    bool already_whole;
};
/* Makes the file whole in place: voids torn slots, writes Cues, SeekHead, sizes and Duration, cuts pre-formatted slots off.
 * `say` (may be NULL) gets one line per step before it is done. Never touches a complete frame's payload. -ENODATA, and nothing is changed:
 * there is no whole frame in it. Removes as well what the run, when it was killed, left in the directory without a frame in it. */
int sl_recording_repair(const char *path, void (*say)(void *context, const char *line), void *context, struct sl_repair *repair,
                        struct sl_error *err);

#endif
