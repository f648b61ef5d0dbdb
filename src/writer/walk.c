/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only heads are read, never content, so that a walk costs one or two pages per frame. The window covers the end of one slot and the
 * header page of the next in one read.
 *
 * A walk refuses what Matroska has at no such place rather than skip it as a lenient reader would: a wrong ID in one of our
 * files is a changed bit.
 */
#include "writer/walk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "writer/ebml.h"

void sl_window_init(struct sl_window *window, int fd, uint64_t file_bytes)
{
    window->fd = fd;
    window->file_bytes = file_bytes;
    window->start = 0;
    window->filled = 0;
}

static int window_fill(struct sl_window *window, uint64_t start)
{
    size_t want = sizeof window->data;

    window->start = start;
    window->filled = 0;
    if (want > window->file_bytes - start)
        want = (size_t)(window->file_bytes - start);
    while (window->filled < want) {
        ssize_t got = pread(window->fd, window->data + window->filled, want - window->filled, (off_t)(start + window->filled));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (!got)
            return -EIO; /* the file got shorter since it was opened */
        window->filled += (size_t)got;
    }
    return 0;
}

const uint8_t *sl_window_at(struct sl_window *window, uint64_t offset, size_t need, size_t *available, int *error)
{
    uint64_t left = offset < window->file_bytes ? window->file_bytes - offset : 0;

    *available = 0;
    if (need > left)
        need = (size_t)left;
    if (!need)
        return window->data;
    if (offset < window->start || offset - window->start > window->filled || window->filled - (offset - window->start) < need) {
        int rc = window_fill(window, offset & ~UINT64_C(4095));

        if (rc) {
            *error = rc;
            return NULL;
        }
    }
    *available = window->filled - (size_t)(offset - window->start);
    return window->data + (offset - window->start);
}

void sl_walk_init(struct sl_walk *walk, int fd, uint64_t file_bytes)
{
    memset(walk, 0, sizeof *walk);
    sl_window_init(&walk->window, fd, file_bytes);
}

static const char *element_name(uint32_t id, bool in_segment)
{
    switch (id) {
    case SL_EBML_VOID:
        return "Void";
    case SL_EBML_HEADER:
        return in_segment ? NULL : "EBML";
    case SL_MKV_SEGMENT:
        return in_segment ? NULL : "Segment";
    case SL_MKV_SEEK_HEAD:
        return in_segment ? "SeekHead" : NULL;
    case SL_MKV_INFO:
        return in_segment ? "Info" : NULL;
    case SL_MKV_TRACKS:
        return in_segment ? "Tracks" : NULL;
    case SL_MKV_CLUSTER:
        return in_segment ? "Cluster" : NULL;
    case SL_MKV_CUES:
        return in_segment ? "Cues" : NULL;
    default:
        return NULL;
    }
}

static enum sl_walk_result broken_at(struct sl_walk *walk, int code, const char *what)
{
    sl_fail(&walk->error, code, "%s at byte %" PRIu64, what, walk->at);
    walk->done = true;
    return SL_WALK_BROKEN;
}

/* End of what holds the element at walk->at. */
static uint64_t holder_end(const struct sl_walk *walk)
{
    return walk->segment_data && walk->at < walk->segment_end ? walk->segment_end : walk->window.file_bytes;
}

static enum sl_walk_result enter_segment(struct sl_walk *walk)
{
    const struct sl_ebml_element *head = &walk->element.head;

    if (walk->segment_data)
        return broken_at(walk, -EBADMSG, "a second Segment");
    walk->segment_data = walk->at + head->head_bytes;
    walk->segment_sized = head->size != SL_EBML_UNKNOWN;
    if (!walk->segment_sized)
        walk->segment_end = walk->window.file_bytes;
    else if (head->size > walk->window.file_bytes - walk->segment_data)
        return broken_at(walk, -EBADMSG, "a Segment that is longer than the file");
    else
        walk->segment_end = walk->segment_data + head->size;
    walk->element.end = walk->segment_end;
    walk->at = walk->segment_data;
    return SL_WALK_ELEMENT;
}

enum sl_walk_result sl_walk_next(struct sl_walk *walk)
{
    struct sl_walk_element *element = &walk->element;
    size_t available;
    int error = 0;
    const uint8_t *bytes;
    const char *name;
    int rc;

    if (walk->done)
        return SL_WALK_BROKEN;
    if (walk->at == walk->window.file_bytes)
        return SL_WALK_END;
    bytes = sl_window_at(&walk->window, walk->at, SL_EBML_HEAD_MAX, &available, &error);
    if (!bytes)
        return broken_at(walk, error, strerror(-error));
    rc = sl_ebml_read_head(bytes, available, &element->head);
    if (rc == -EAGAIN)
        return broken_at(walk, rc, "the file ends within the head of the element");
    element->in_segment = walk->segment_data && walk->at < walk->segment_end;
    name = rc ? NULL : element_name(element->head.id, element->in_segment);
    if (!name)
        return broken_at(walk, -EBADMSG, "no element that belongs there");
    element->at = walk->at;
    if (element->head.id == SL_MKV_SEGMENT)
        return enter_segment(walk);
    if (element->head.size == SL_EBML_UNKNOWN)
        return broken_at(walk, -EBADMSG, "an element without a size");
    if (holder_end(walk) - walk->at < element->head.head_bytes ||
        element->head.size > holder_end(walk) - walk->at - element->head.head_bytes) {
        sl_fail(&walk->error, -EBADMSG, "%s at byte %" PRIu64 " reaches beyond the end of the %s", name, walk->at,
                holder_end(walk) == walk->window.file_bytes ? "file" : "Segment");
        walk->done = true;
        return SL_WALK_BROKEN;
    }
    element->end = walk->at + element->head.head_bytes + element->head.size;
    walk->at = element->end;
    return SL_WALK_ELEMENT;
}

static int bad_cluster(struct sl_walk *walk, const char *why)
{
    return sl_fail(&walk->error, -EBADMSG, "Cluster at byte %" PRIu64 ": %s", walk->element.at, why);
}

int sl_walk_cluster(struct sl_walk *walk, int64_t *time)
{
    const struct sl_walk_element *cluster = &walk->element;
    uint64_t at = cluster->at + cluster->head.head_bytes;
    bool timed = false;
    uint64_t value = 0;

    for (;;) {
        struct sl_ebml_element head;
        size_t available;
        int error = 0;
        const uint8_t *bytes = sl_window_at(&walk->window, at, 32, &available, &error);

        if (!bytes)
            return bad_cluster(walk, strerror(-error));
        if (sl_ebml_read_head(bytes, available, &head) || cluster->end - at < head.head_bytes ||
            head.size > cluster->end - at - head.head_bytes)
            return bad_cluster(walk, "what it holds does not fit into it");
        bytes += head.head_bytes;
        available -= head.head_bytes;
        at += head.head_bytes + head.size;
        if (head.id == SL_MKV_SIMPLE_BLOCK && timed) {
            if (head.size < 4 || available < 4 || bytes[0] != 0x81 || at != cluster->end)
                return bad_cluster(walk, "its block is not the last thing in it, or not of track 1");
            *time = (int64_t)(value + (uint64_t)(int64_t)(int16_t)(bytes[1] << 8 | bytes[2]));
            return 0;
        }
        if (head.size > available)
            return bad_cluster(walk, "it does not begin with a time and a block");
        if (head.id == SL_MKV_TIMESTAMP && !timed && !sl_ebml_read_uint(bytes, head.size, &value))
            timed = true;
        else if (head.id != SL_EBML_CRC32 || timed || head.size != 4)
            return bad_cluster(walk, "it does not begin with a time and a block");
    }
}
