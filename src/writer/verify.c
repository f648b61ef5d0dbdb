/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two readers go through the file side by side: one by slots, which knows what sluice wrote, and one by elements, which knows
 * Matroska only (writer/walk.h). They must meet in every cluster. The index is a third, compared point by point.
 *
 * One pass: each byte is read from the disk once, and pages are given back to the kernel behind the reader, so that verifying
 * 100 GB does not push what others have in the page cache out of it.
 */
#include "writer/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "writer/cue_reader.h"
#include "writer/ebml_read.h"
#include "writer/recording_file.h"
#include "writer/walk.h"

#define FORGET_BYTES (16u << 20)

struct verifier {
    struct sl_recording *recording;
    const struct sl_verify_sink *sink;
    struct sl_verify_result *result;
    struct sl_audit *audit;
    uint8_t *payload; /* NULL when nobody wants to see it */
    struct sl_walk walk;
    bool walk_broken;
    struct sl_cue_reader cues; /* follows the slots */
    uint64_t cues_seen;        /* Cues elements met by the walk */
    bool cues_broken;
    uint64_t forgotten; /* file offset up to which pages were given back */
    uint64_t odd_times;
    uint64_t mendable; /* frames without the Void before their record */
};

static void __attribute__((format(printf, 2, 3))) damage(struct verifier *v, const char *format, ...)
{
    char line[512];
    va_list list;

    v->result->damages++;
    if (!v->sink->damage)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    v->sink->damage(v->sink->context, line);
}

static void __attribute__((format(printf, 2, 3))) note(struct verifier *v, const char *format, ...)
{
    char line[512];
    va_list list;

    if (!v->sink->note)
        return;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    v->sink->note(v->sink->context, line);
}

static bool has_record(enum sl_slot_verdict verdict)
{
    return verdict == SL_SLOT_GOOD || verdict == SL_SLOT_UNPROVEN || verdict == SL_SLOT_TORN;
}

/* -- The index ---------------------------------------------------------------------------------------------------------- */

/* The index must have a point for the frame in this slot next. */
static void check_cue(struct verifier *v, uint64_t slot, const struct sl_frame_record *record)
{
    uint64_t time, position;
    int rc;

    if (!v->recording->has_end || v->cues_broken)
        return;
    rc = sl_cue_reader_next(&v->cues, &time, &position);
    if (!rc && time == (uint64_t)record->time_ns && position == sl_layout_cluster_position(&v->recording->layout, slot))
        return;
    v->cues_broken = true; /* what follows would be out of step */
    if (rc == -ENOENT)
        damage(v, "index: it ends before slot %" PRIu64, slot);
    else if (rc)
        damage(v, "index: its point for slot %" PRIu64 " cannot be read", slot);
    else
        damage(v, "index: its point for slot %" PRIu64 " says time %" PRIu64 ", position %" PRIu64 " in place of %" PRId64 ", %" PRIu64,
               slot, time, position, record->time_ns, sl_layout_cluster_position(&v->recording->layout, slot));
}

/* -- The elements ------------------------------------------------------------------------------------------------------- */

static void check_seek_entry(struct verifier *v, uint64_t id, uint64_t position)
{
    struct sl_ebml_element element = {0};
    uint8_t head[SL_EBML_HEAD_MAX];
    int64_t got = -1;

    if (position < v->recording->info.file_bytes)
        got = sl_recording_read_at(v->recording, v->walk.segment_data + position, head, sizeof head);
    if (got < 1 || sl_ebml_read_head(head, (size_t)got, &element) || element.id != id)
        damage(v, "SeekHead: what it points at at byte %" PRIu64 " is not there", v->walk.segment_data + position);
}

static void check_seek_head(struct verifier *v)
{
    uint8_t content[SL_PAGE_BYTES];
    struct sl_ebml_children seeks = {content, (size_t)v->walk.element.head.size};
    struct sl_ebml_element seek, child;
    const uint8_t *inner;
    int rc = -EBADMSG;

    if (v->walk.element.head.size <= sizeof content &&
        sl_recording_read_at(v->recording, v->walk.element.at + v->walk.element.head.head_bytes, content, seeks.left) ==
            (int64_t)seeks.left)
        rc = 0;
    while (!rc && (rc = sl_ebml_next_child(&seeks, &seek, &inner)) > 0) {
        struct sl_ebml_children parts = {inner, (size_t)seek.size};
        uint64_t id = 0, position = UINT64_MAX;

        if (seek.id == SL_EBML_VOID || seek.id == SL_EBML_CRC32) {
            rc = 0;
            continue;
        }
        while ((rc = sl_ebml_next_child(&parts, &child, &inner)) > 0)
            if (sl_ebml_read_uint(inner, child.size, child.id == SL_MKV_SEEK_ID ? &id : &position))
                break;
        if (!rc)
            check_seek_entry(v, id, position);
        rc = rc ? -EBADMSG : 0;
    }
    if (rc)
        damage(v, "SeekHead at byte %" PRIu64 " cannot be read", v->walk.element.at);
}

/* A cluster that the walk met before the end of `slot`. */
static void check_cluster(struct verifier *v, uint64_t slot, const struct sl_frame_record *record, unsigned *clusters)
{
    const struct sl_layout *layout = &v->recording->layout;
    int64_t time;

    if (sl_walk_cluster(&v->walk, &time)) {
        damage(v, "structure: %s", v->walk.error.text);
    } else if (!record) {
        damage(v, "structure: a cluster at byte %" PRIu64 ", where slot %" PRIu64 " has no frame", v->walk.element.at, slot);
    } else if (v->walk.element.at != sl_layout_header_at(layout, slot) + layout->cluster) {
        damage(v, "structure: the cluster of slot %" PRIu64 " is at byte %" PRIu64, slot, v->walk.element.at);
    } else if (time != record->time_ns) {
        damage(v, "structure: the cluster of slot %" PRIu64 " says time %" PRId64 ", its record %" PRId64, slot, time, record->time_ns);
    }
    ++*clusters;
}

static void one_element(struct verifier *v, uint64_t slot, const struct sl_frame_record *record, unsigned *clusters)
{
    switch (sl_walk_next(&v->walk)) {
    case SL_WALK_END:
        v->walk_broken = true;
        break;
    case SL_WALK_BROKEN:
        v->walk_broken = true;
        damage(v, "structure: %s", v->walk.error.text);
        break;
    case SL_WALK_ELEMENT:
        if (v->walk.element.head.id == SL_MKV_CLUSTER)
            check_cluster(v, slot, record, clusters);
        else if (v->walk.element.head.id == SL_MKV_CUES)
            v->cues_seen++;
        else if (v->walk.element.head.id == SL_MKV_SEEK_HEAD)
            check_seek_head(v);
        break;
    }
}

/* Walks to the end of a slot. `record`: of the frame that must be in it; NULL: there is none. */
static void walk_slot(struct verifier *v, uint64_t slot, const struct sl_frame_record *record)
{
    uint64_t end = sl_layout_header_at(&v->recording->layout, slot + 1);
    unsigned clusters = 0;

    while (!v->walk_broken && v->walk.at < end)
        one_element(v, slot, record, &clusters);
    if (v->walk_broken || !record)
        return;
    if (clusters != 1)
        damage(v, "structure: %u clusters in slot %" PRIu64, clusters, slot);
    if (v->walk.at != end)
        damage(v, "structure: what follows slot %" PRIu64 " begins at byte %" PRIu64 " in place of %" PRIu64, slot, v->walk.at, end);
}

static void walk_rest(struct verifier *v)
{
    unsigned clusters = 0;

    while (!v->walk_broken && v->walk.at < v->recording->info.file_bytes)
        one_element(v, v->recording->info.slots, NULL, &clusters);
}

/* -- Slots -------------------------------------------------------------------------------------------------------------- */

static void forget(struct verifier *v, uint64_t up_to, bool all)
{
    if (up_to - v->forgotten < FORGET_BYTES && !all)
        return;
    posix_fadvise(v->recording->fd, (off_t)v->forgotten, (off_t)(up_to - v->forgotten), POSIX_FADV_DONTNEED);
    v->forgotten = up_to;
}

static void report_faults(struct verifier *v, uint64_t slot, const struct sl_frame_record *record, unsigned faults)
{
    const struct sl_books *books = &record->books;

    if (faults & SL_AUDIT_NUMBER)
        damage(v, "books: slot %" PRIu64 " holds frame %" PRIu64 ", which is not after the one before", slot, record->number);
    if (faults & SL_AUDIT_EXPECTED)
        damage(v, "books: slot %" PRIu64 " expects %" PRIu64 " frames, more than the grid has up to frame %" PRIu64, slot, books->expected,
               record->number);
    if (faults & SL_AUDIT_BALANCE)
        damage(v, "books: slot %" PRIu64 ": expected %" PRIu64 " is not recorded %" PRIu64 " + lost %" PRIu64, slot, books->expected,
               books->recorded, sl_books_lost(books));
    if (faults & SL_AUDIT_BACKWARD)
        damage(v, "books: slot %" PRIu64 " knows of fewer losses than the one before", slot);
    if (faults & SL_AUDIT_TIME)
        v->odd_times++;
}

static void audit_frame(struct verifier *v, uint64_t slot, const struct sl_frame_record *record)
{
    struct sl_audit_gap gap;
    unsigned faults = sl_audit_frame(v->audit, record, &gap);
    bool moved = gap.count || gap.holes;

    report_faults(v, slot, record, faults);
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        moved |= gap.booked[i] != 0;
    if (moved && v->sink->gap)
        v->sink->gap(v->sink->context, &gap);
}

/* The part of a header page that no checksum covers is one Void of zeros, or the file head. */
static void check_padding(struct verifier *v, uint64_t slot)
{
    uint8_t page[SL_PAGE_BYTES];

    if (!slot)
        return; /* check_file_head does that */
    sl_layout_header(&v->recording->layout, slot, 0, page);
    if (memcmp(page, v->recording->page, SL_LAYOUT_RECORD_VOID) != 0)
        damage(v, "slot %" PRIu64 ": the Void at its start has changed", slot);
}

static void check_file_head(struct verifier *v)
{
    const struct sl_recording *recording = v->recording;
    uint8_t there[SL_LAYOUT_RECORD_VOID], wanted[SL_PAGE_BYTES];

    if (!recording->info.finished && recording->has_end)
        return;
    if (sl_recording_read_at(recording, 0, there, sizeof there) != (int64_t)sizeof there ||
        sl_recording_file_head(recording, recording->has_end ? &recording->end : NULL, wanted) || memcmp(there, wanted, sizeof there) != 0)
        damage(v, "head: EBML header, Info or Tracks are not what the recording says of itself further on");
}

static void count_frame(struct sl_verify_result *result, const struct sl_frame_record *record)
{
    if (!result->frames++)
        result->first = *record;
    result->last = *record;
    if (record->time_ns > result->highest_ns)
        result->highest_ns = record->time_ns;
}

static void report_damaged_page(struct verifier *v, uint64_t slot)
{
    struct sl_frame_record record;

    if (sl_recording_behind_void(v->recording, slot, &record) != SL_SLOT_GOOD) {
        damage(v, "slot %" PRIu64 ": its header page is damaged", slot);
        return;
    }
    v->mendable++;
    damage(v, "slot %" PRIu64 ": the Void before the record of frame %" PRIu64 " is damaged; \"sluice repair\" writes it again", slot,
           record.number);
}

static void report_bad_slot(struct verifier *v, uint64_t slot, enum sl_slot_verdict verdict, const struct sl_frame_record *record)
{
    uint64_t end = sl_layout_payload_at(&v->recording->layout, slot) + v->recording->layout.frame_bytes;

    if (verdict == SL_SLOT_DAMAGED)
        report_damaged_page(v, slot);
    else if (end > v->recording->info.file_bytes)
        damage(v, "slot %" PRIu64 ": frame %" PRIu64 " is cut off by the end of the file", slot, record->number);
    else
        damage(v, "slot %" PRIu64 ": frame %" PRIu64 " does not match its checksum, or cannot be read", slot, record->number);
}

static int verify_slot(struct verifier *v, uint64_t slot)
{
    struct sl_frame_record record;
    enum sl_slot_verdict verdict = sl_recording_read(v->recording, slot, v->payload, &record);
    int rc = 0;

    v->result->verdicts[verdict]++;
    v->result->holes_at_end = has_record(verdict) ? 0 : v->result->holes_at_end + 1;
    if (has_record(verdict)) {
        check_padding(v, slot);
        count_frame(v->result, &record);
        check_cue(v, slot, &record);
    }
    if (verdict == SL_SLOT_GOOD || verdict == SL_SLOT_UNPROVEN) {
        audit_frame(v, slot, &record);
        sl_marked_add(&v->result->marked, &record);
        if (v->sink->frame)
            rc = v->sink->frame(v->sink->context, &record, v->payload);
    } else {
        /* a torn or damaged one is told of by itself */
        sl_audit_hole(v->audit, verdict == SL_SLOT_EMPTY && sl_recording_must_hold(v->recording, slot));
        v->result->undone += verdict != SL_SLOT_EMPTY && slot < v->result->completed;
        if (verdict != SL_SLOT_EMPTY)
            report_bad_slot(v, slot, verdict, &record);
    }
    walk_slot(v, slot, has_record(verdict) ? &record : NULL);
    forget(v, sl_layout_header_at(&v->recording->layout, slot + 1), false);
    return rc;
}

/* -- The whole ---------------------------------------------------------------------------------------------------------- */

/* Nothing is kept of a file without a frame, closed or not. */
static bool tell_without_frames(struct verifier *v)
{
    const uint64_t *verdicts = v->result->verdicts;

    if (verdicts[SL_SLOT_GOOD] || verdicts[SL_SLOT_UNPROVEN] || verdicts[SL_SLOT_DAMAGED])
        return false;
    if (verdicts[SL_SLOT_TORN] && v->recording->info.finished)
        return false;
    damage(v, "there is no %sframe in it; unless a run is still writing it, it can be deleted", verdicts[SL_SLOT_TORN] ? "whole " : "");
    return true;
}

static void check_end(struct verifier *v)
{
    const struct sl_recording *recording = v->recording;
    const struct sl_verify_result *result = v->result;
    int64_t duration = sl_layout_duration_ns(recording->info.format.fps, result->frames, result->highest_ns);

    if (tell_without_frames(v))
        return;
    if (!recording->info.finished) {
        damage(v,
               "not closed: \"sluice repair\" would keep %" PRIu64
               " frames, void what is torn, write index, sizes and duration, and cut off what "
               "was only reserved",
               result->verdicts[SL_SLOT_GOOD] + result->verdicts[SL_SLOT_UNPROVEN] + v->mendable);
        return;
    }
    if (!v->walk_broken && !v->walk.segment_sized)
        damage(v, "structure: the size of the Segment is not there");
    if (!v->walk_broken && v->cues_seen != 1)
        damage(v, "structure: %" PRIu64 " indexes", v->cues_seen);
    if (!v->cues_broken && v->cues.at != v->cues.end)
        damage(v, "index: it goes on after the last frame");
    /* a frame that was lost at the very end may have counted when the duration was written */
    if (result->holes_at_end ? recording->end.duration_ns < duration : (double)recording->end.duration_ns != (double)duration)
        damage(v, "duration: %" PRId64 " ns in place of %" PRId64, recording->end.duration_ns, duration);
}

static void continue_audit(struct verifier *v)
{
    const struct sl_recording_info *info = &v->recording->info;
    const struct sl_audit *audit = v->audit;

    if (audit->frames && !memcmp(audit->last.session, info->session, sizeof info->session) && audit->last.segment + 1 == info->segment)
        return;
    sl_audit_init(v->audit, info->segment == 1);
}

static int verify_open(struct verifier *v, const char *path, struct sl_error *err)
{
    int rc = sl_recording_open(&v->recording, path, err);
    uint64_t frame_bytes;

    if (rc)
        return rc;
    v->result->info = v->recording->info;
    v->result->completed = v->recording->completed;
    frame_bytes = v->recording->layout.frame_bytes;
    if (v->sink->frame && frame_bytes <= v->recording->info.file_bytes) {
        v->payload = malloc(frame_bytes);
        if (!v->payload) {
            sl_recording_close(v->recording);
            return sl_fail(err, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
        }
    }
    posix_fadvise(v->recording->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    sl_walk_init(&v->walk, v->recording->fd, v->recording->info.file_bytes);
    if (v->recording->has_end)
        sl_cue_reader_init(&v->cues, v->recording->fd, v->recording->info.file_bytes, v->recording->end.cues_at + SL_LAYOUT_CUES_HEAD_BYTES,
                           v->recording->end.file_bytes);
    return 0;
}

int sl_verify_file(const char *path, struct sl_audit *audit, const struct sl_verify_sink *sink, struct sl_verify_result *result,
                   struct sl_error *err)
{
    struct verifier v = {.sink = sink, .result = result, .audit = audit};
    uint64_t unexplained, lost[SL_LOSS_COUNT];
    int rc;

    memset(result, 0, sizeof *result);
    rc = verify_open(&v, path, err);
    if (rc)
        return rc;
    continue_audit(&v);
    unexplained = sl_audit_unexplained(audit);
    memcpy(lost, audit->lost, sizeof lost);

    check_file_head(&v);
    for (uint64_t slot = 0; slot < v.recording->info.slots && !rc; slot++)
        rc = verify_slot(&v, slot);
    if (rc) {
        sl_fail(err, rc, "%s: %s", path, strerror(-rc));
        goto close;
    }
    walk_rest(&v);
    check_end(&v);
    if (sl_audit_unexplained(audit) > unexplained)
        damage(&v, "books: %" PRIu64 " frames are missing without a cause", sl_audit_unexplained(audit) - unexplained);
    if (sl_audit_overbooked(audit))
        note(&v, "books: %" PRIu64 " losses more than frames missing", sl_audit_overbooked(audit));
    if (v.odd_times)
        note(&v, "%" PRIu64 " frames are stamped no later than the one before", v.odd_times);
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        result->lost[i] = audit->lost[i] - lost[i];
    forget(&v, v.recording->info.file_bytes, true);

close:
    free(v.payload);
    sl_recording_close(v.recording);
    return rc;
}
