/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_WALK_H
#define SL_WRITER_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "writer/ebml_read.h"

/*
 * A Matroska file as any reader sees it: element after element, from the first byte to the last, knowing nothing of slots. What
 * this gets through, players get through. One thread per struct.
 */

/* The bytes around the place that is being read. */
struct sl_window {
    int fd; /* borrowed */
    uint64_t file_bytes;
    uint64_t start;
    size_t filled;
    uint8_t data[8192];
};

void sl_window_init(struct sl_window *window, int fd, uint64_t file_bytes);
/* Bytes from `offset` on, *available of them: at least `need` (≤ 4096), unless the file ends before. Valid until the next call.
 * NULL: the read failed, *error is its negative errno. */
const uint8_t *sl_window_at(struct sl_window *window, uint64_t offset, size_t need, size_t *available, int *error);

enum sl_walk_result {
    SL_WALK_END,     /* the elements end exactly where the file does */
    SL_WALK_ELEMENT, /* walk->element */
    SL_WALK_BROKEN   /* a plain reader gets no further: the text says where and why */
};

struct sl_walk_element {
    struct sl_ebml_element head;
    uint64_t at;     /* of the element's first byte in the file */
    uint64_t end;    /* behind its last byte */
    bool in_segment; /* child of the Segment; else top level */
};

struct sl_walk {
    struct sl_window window;
    uint64_t at;           /* of the next element */
    uint64_t segment_data; /* first byte inside the Segment; 0: not there yet */
    uint64_t segment_end;  /* behind its last byte */
    bool segment_sized;    /* its size is known */
    bool done;
    struct sl_walk_element element;
    struct sl_error error;
};

void sl_walk_init(struct sl_walk *walk, int fd, uint64_t file_bytes);
enum sl_walk_result sl_walk_next(struct sl_walk *walk);

/* Checks the inside of the Cluster that sl_walk_next has just given: optional CRC-32, Timestamp, one SimpleBlock, which end where the
 * Cluster does. 0 and the block's time; -EBADMSG with walk->error. */
int sl_walk_cluster(struct sl_walk *walk, int64_t *time);

#endif
