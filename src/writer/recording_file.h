/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_RECORDING_FILE_H
#define SL_WRITER_RECORDING_FILE_H

/* Inside of struct sl_recording, for the files of this module that read and repair recordings. */

#include "writer/layout.h"
#include "writer/recording.h"

/* Payloads are read and summed in pieces of this size: they stay in the cache between the two, and a frame size out of an
 * untrusted file makes nothing large. */
#define SL_RECORDING_CHUNK (256u << 10)

struct sl_recording {
    int fd;
    struct sl_recording_info info;
    struct sl_stream_record stream;
    struct sl_layout layout;
    uint64_t completed;     /* slots below this one were complete on the store */
    uint64_t watermark;     /* the same as the frames' own pages say, also in a file that was closed */
    bool has_end;           /* page 0 says where the file ends, and an index is there */
    struct sl_file_end end; /* then */
    uint8_t *page;          /* SL_PAGE_BYTES: header page read last */
    uint8_t *chunk;         /* SL_RECORDING_CHUNK */
};

/* Bytes from `offset` on: how many there are, at most `bytes`; negative errno. */
int64_t sl_recording_read_at(const struct sl_recording *recording, uint64_t offset, void *data, size_t bytes);

/* Header page of a slot into recording->page. 0: it is a frame's, by seal, session, segment and slot; -ENOENT: it is not;
 * -EUCLEAN: it is, but the Void before its record is not as it must be, and *record is written; else negative errno of the read (-ENODATA:
 * the file ends before). */
int sl_recording_read_page(struct sl_recording *recording, uint64_t slot, struct sl_frame_record *record);

/* A slot that sl_recording_slot calls DAMAGED for the Void before its record alone: GOOD when its frame is worth a new Void (its
 * checksum is right, or there is none and a later page vouches for it; in a closed file, where the index knows it, the payload is not
 * read), TORN when it is not, DAMAGED when there is more amiss. */
enum sl_slot_verdict sl_recording_behind_void(struct sl_recording *recording, uint64_t slot, struct sl_frame_record *record);

/* The first SL_LAYOUT_RECORD_VOID bytes of page 0 as they must be: `end` NULL, before the file was closed. 0, -EINVAL. */
int sl_recording_file_head(const struct sl_recording *recording, const struct sl_file_end *end, uint8_t *page);

/* Sets info.slots, completed, has_end, end and info.finished. 0 or negative errno. */
int sl_recording_find_end(struct sl_recording *recording, const uint8_t *page0);

/* The same checks on a file that is already open; takes fd only when it succeeds. */
int sl_recording_open_fd(struct sl_recording **out, int fd, const char *path, struct sl_error *err);

#endif
