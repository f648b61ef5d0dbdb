/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/cue_reader.h"

#include <errno.h>

#include "writer/ebml_read.h"
#include "writer/layout.h"

void sl_cue_reader_init(struct sl_cue_reader *cues, int fd, uint64_t file_bytes, uint64_t at, uint64_t end)
{
    sl_window_init(&cues->window, fd, file_bytes);
    cues->at = at;
    cues->end = end;
}

static int parse_cue_positions(const uint8_t *content, size_t bytes, uint64_t *position)
{
    struct sl_ebml_children children = {content, bytes};
    struct sl_ebml_element child;
    uint64_t track = 0;
    int rc;

    while ((rc = sl_ebml_next_child(&children, &child, &content)) > 0) {
        if (child.id == SL_MKV_CUE_TRACK)
            rc = sl_ebml_read_uint(content, child.size, &track);
        else if (child.id == SL_MKV_CUE_CLUSTER_POSITION)
            rc = sl_ebml_read_uint(content, child.size, position);
        else
            rc = -EBADMSG;
        if (rc < 0)
            return rc;
    }
    return !rc && track == 1 ? 0 : -EBADMSG;
}

static int parse_cue(const uint8_t *content, size_t bytes, uint64_t *time, uint64_t *position)
{
    struct sl_ebml_children children = {content, bytes};
    struct sl_ebml_element child;
    int rc;

    while ((rc = sl_ebml_next_child(&children, &child, &content)) > 0) {
        if (child.id == SL_MKV_CUE_TIME)
            rc = sl_ebml_read_uint(content, child.size, time);
        else if (child.id == SL_MKV_CUE_TRACK_POSITIONS)
            rc = parse_cue_positions(content, (size_t)child.size, position);
        else
            rc = -EBADMSG;
        if (rc < 0)
            return rc;
    }
    return rc;
}

int sl_cue_reader_next(struct sl_cue_reader *cues, uint64_t *time, uint64_t *position)
{
    struct sl_ebml_element element;
    size_t available;
    const uint8_t *bytes;
    int error = 0;

    if (cues->at >= cues->end)
        return -ENOENT;
    bytes = sl_window_at(&cues->window, cues->at, 2 * SL_LAYOUT_CUE_POINT_BYTES, &available, &error);
    if (!bytes)
        return error;
    if (sl_ebml_read_head(bytes, available, &element) || element.id != SL_MKV_CUE_POINT || element.size > available - element.head_bytes)
        return -EBADMSG;
    *time = *position = UINT64_MAX;
    cues->at += element.head_bytes + element.size;
    return parse_cue(bytes + element.head_bytes, (size_t)element.size, time, position);
}
