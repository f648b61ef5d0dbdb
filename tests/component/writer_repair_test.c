/* SPDX-License-Identifier: Apache-2.0 */
/* Torn recordings made whole: what was there stays, what verify then reads is right, and a second run has nothing to do. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/make_recording.h"
#include "support/scratch.h"
#include "support/suite.h"
#include "support/verified.h"
#include "writer/recording.h"

static void note_line(void *context, const char *line)
{
    char *text = context;
    size_t used = strlen(text);

    snprintf(text + used, 4096 - used, "%s\n", line);
}

/* Repairs, then expects `frames` good frames, nothing else wrong, and a second repair that does nothing. */
static void expect_repaired(const char *path, uint64_t frames, struct sl_repair *repair, char *said)
{
    struct sl_error err = {""};
    struct sl_repair again;
    struct verified verified;
    uint64_t bytes;

    said[0] = '\0';
    ck_assert_msg(!sl_recording_repair(path, note_line, said, repair, &err), "%s", err.text);
    ck_assert_uint_eq(repair->frames, frames);
    ck_assert_uint_eq(repair->damaged, 0);
    verified_read(path, &verified);
    ck_assert_int_eq(verified.rc, 0);
    ck_assert_str_eq(verified.text, "");
    ck_assert(verified.result.info.finished);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], frames);
    ck_assert_uint_eq(verified.frames, frames);

    bytes = scratch_size(path);
    ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &again, &err), 0);
    ck_assert(again.already_whole);
    ck_assert_uint_eq(again.frames, frames);
    ck_assert_uint_eq(scratch_size(path), bytes);
}

static void expect_payloads(const char *path, const uint64_t *number, uint64_t frames)
{
    struct sl_recording *recording;
    uint64_t found = 0;

    ck_assert_int_eq(sl_recording_open(&recording, path, NULL), 0);
    for (uint64_t slot = 0; slot < sl_recording_info(recording)->slots; slot++) {
        uint32_t bytes = sl_recording_info(recording)->format.frame_bytes;
        uint8_t *wanted = malloc(bytes), *got = malloc(bytes);
        struct sl_frame_record record;

        if (sl_recording_read(recording, slot, got, &record) == SL_SLOT_GOOD) {
            ck_assert_uint_lt(found, frames);
            ck_assert_uint_eq(record.number, number ? number[found] : found);
            made_payload(record.number, wanted, bytes);
            ck_assert_mem_eq(got, wanted, bytes);
            found++;
        }
        free(got);
        free(wanted);
    }
    ck_assert_uint_eq(found, frames);
    sl_recording_close(recording);
}

static const struct made_spec open_spec = {
    .format = "YUYV", .width = 100, .height = 50, .slots = 9, .checksum = true, .behind = 3, .preformatted = 5, .extended = 1 << 20};

START_TEST(test_killed)
{
    struct made_spec spec = open_spec;
    struct made_recording made;
    struct sl_repair repair;
    char said[4096];

    for (int checksum = 0; checksum < 2; checksum++) {
        spec.checksum = checksum;
        make_recording(scratch_path("f.mkv"), &spec, &made);
        expect_repaired(scratch_path("f.mkv"), 9, &repair, said);
        expect_payloads(scratch_path("f.mkv"), NULL, 9);
        ck_assert_uint_eq(repair.torn, 0);
        ck_assert_uint_gt(repair.cut_bytes, 1 << 20);
        ck_assert_ptr_nonnull(strstr(said, "checking 9 slots"));
        ck_assert_ptr_nonnull(strstr(said, "writing the index: 9 frames"));
        ck_assert_ptr_nonnull(strstr(said, "cutting off"));
        ck_assert_ptr_nonnull(strstr(said, "writing sizes and duration: 0.150 s"));
    }
}
END_TEST

/* What repair makes is, byte for byte, what a clean end would have made. */
START_TEST(test_same_as_closed)
{
    struct made_spec spec = open_spec;
    struct made_recording made;
    struct sl_repair repair;
    char said[4096];
    uint8_t *ours, *closed;

    make_recording(scratch_path("f.mkv"), &spec, &made);
    expect_repaired(scratch_path("f.mkv"), 9, &repair, said);
    spec.finished = true;
    make_recording(scratch_path("closed.mkv"), &spec, &made);
    ck_assert_uint_eq(scratch_size(scratch_path("f.mkv")), made.file_bytes);
    ours = malloc(made.file_bytes);
    closed = malloc(made.file_bytes);
    scratch_read(scratch_path("f.mkv"), 0, ours, made.file_bytes);
    scratch_read(scratch_path("closed.mkv"), 0, closed, made.file_bytes);
    ck_assert_mem_eq(ours, closed, made.file_bytes);
    free(closed);
    free(ours);
}
END_TEST

START_TEST(test_torn_in_the_middle)
{
    static const uint64_t left[] = {0, 1, 2, 3, 4, 5, 8};
    struct made_recording made;
    struct sl_repair repair;
    uint8_t page[SL_PAGE_BYTES] = {0};
    char said[4096];
    const char *path = scratch_path("f.mkv");

    make_recording(path, &open_spec, &made);
    scratch_flip(path, sl_layout_payload_at(&made.layout, 6) + 777, 1);
    scratch_write(path, sl_layout_header_at(&made.layout, 7) + 3000, page, sizeof page - 3000);
    expect_repaired(path, 7, &repair, said);
    expect_payloads(path, left, 7);
    ck_assert_uint_eq(repair.torn, 2);
    ck_assert_ptr_nonnull(strstr(said, "slot 6"));
    ck_assert_ptr_nonnull(strstr(said, "slot 7"));
}
END_TEST

START_TEST(test_torn_at_the_end)
{
    struct made_recording made;
    struct sl_repair repair;
    char said[4096];
    const char *path = scratch_path("f.mkv");

    make_recording(path, &open_spec, &made);
    scratch_flip(path, sl_layout_payload_at(&made.layout, 8) + 1, 1);
    scratch_flip(path, sl_layout_payload_at(&made.layout, 7) + 1, 1);
    expect_repaired(path, 7, &repair, said);
    expect_payloads(path, NULL, 7);
    ck_assert_uint_eq(repair.torn, 2);
    ck_assert_uint_eq(scratch_size(path), sl_layout_header_at(&made.layout, 7) + sl_layout_cues_bytes(7));
}
END_TEST

START_TEST(test_torn_first_frame)
{
    static const uint64_t left[] = {1, 2, 3};
    struct made_spec spec = open_spec;
    struct made_recording made;
    struct sl_repair repair;
    char said[4096];
    const char *path = scratch_path("f.mkv");

    spec.slots = 4;
    spec.behind = 4; /* no page vouches for the first frame yet */
    make_recording(path, &spec, &made);
    scratch_flip(path, sl_layout_payload_at(&made.layout, 0), 1);
    expect_repaired(path, 3, &repair, said);
    expect_payloads(path, left, 3);
}
END_TEST

/* The sector with the record is new, the first one of the page still that of the slot's Void: no player sees that frame, but its
 * checksum is right, and it is kept. The other way round there is a Cluster without a record. */
START_TEST(test_torn_header_page)
{
    static const uint64_t left[] = {0, 1, 2, 3, 4, 5, 6, 8};
    struct made_recording made;
    struct sl_repair repair;
    struct verified verified;
    uint8_t page[SL_PAGE_BYTES] = {0};
    char said[4096];
    const char *path = scratch_path("f.mkv");

    make_recording(path, &open_spec, &made);
    sl_layout_void(6, made.layout.slot_bytes, page);
    scratch_write(path, sl_layout_header_at(&made.layout, 6), page, 512);
    scratch_write(path, sl_layout_header_at(&made.layout, 7) + SL_LAYOUT_RECORD_VOID, page + SL_LAYOUT_RECORD_VOID, 512);
    verified_read(path, &verified);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], 7);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_DAMAGED], 2);
    ck_assert_ptr_nonnull(strstr(verified.text, "slot 6: the Void before the record of frame 6 is damaged"));
    expect_repaired(path, 8, &repair, said);
    expect_payloads(path, left, 8);
    ck_assert_uint_eq(repair.torn, 1);
    ck_assert_uint_eq(repair.mended, 1);

    /* a payload that is not right: neither is worth keeping, and nothing of the record stays behind the slot's Void */
    make_recording(path, &open_spec, &made);
    scratch_write(path, sl_layout_header_at(&made.layout, 6), page, 512);
    scratch_flip(path, sl_layout_payload_at(&made.layout, 6) + 9, 1);
    expect_repaired(path, 8, &repair, said);
    ck_assert_uint_eq(repair.torn, 1);
    ck_assert_uint_eq(repair.mended, 0);
}
END_TEST

/* The size of the Void before an intact record is garbage: the frame is kept, in a torn file and in a closed one. */
START_TEST(test_damaged_void)
{
    static const uint8_t garbage[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct made_spec spec = open_spec;
    struct made_recording made;
    struct verified verified;
    struct sl_repair repair;
    char said[4096];
    const char *path = scratch_path("f.mkv");

    for (int kind = 0; kind < 4; kind++) {
        uint64_t slot = kind < 2 ? 2 : 8;

        spec.finished = kind & 1;
        make_recording(path, &spec, &made);
        scratch_write(path, sl_layout_header_at(&made.layout, slot) + 6, garbage, sizeof garbage);
        verified_read(path, &verified);
        ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_DAMAGED], 1);
        ck_assert_ptr_null(strstr(verified.text, "without a cause"));
        expect_repaired(path, 9, &repair, said);
        expect_payloads(path, NULL, 9);
        ck_assert_uint_eq(repair.mended, 1);
        ck_assert_uint_eq(repair.torn, 0);
        ck_assert_ptr_nonnull(strstr(said, "writing the Void before the record"));
        ck_assert_ptr_null(strstr(said, "index or head"));
    }
}
END_TEST

/* A slot that held a frame, as later pages say, and holds none: repair cannot bring it back, and verify does not call the rest whole. */
START_TEST(test_missing_frame)
{
    struct made_recording made;
    struct verified verified;
    struct sl_repair repair;
    struct sl_error err = {""};
    uint8_t page[SL_PAGE_BYTES] = {0};
    const char *path = scratch_path("f.mkv");

    for (uint64_t slot = 2; slot < 9; slot += 4) { /* the last page says that slots below 6 are complete */
        make_recording(path, &open_spec, &made);
        memset(page, 0, sizeof page);
        sl_layout_void(slot, made.layout.slot_bytes, page);
        scratch_write(path, sl_layout_header_at(&made.layout, slot), page, sizeof page);
        for (int closed = 0; closed < 2; closed++) {
            verified_read(path, &verified);
            ck_assert_int_eq(strstr(verified.text, "books: 1 frames are missing without a cause") != NULL, slot == 2);
            ck_assert_uint_eq(verified.gap.unbooked, slot == 2);
            ck_assert_msg(!sl_recording_repair(path, NULL, NULL, &repair, &err), "%s", err.text);
            ck_assert_uint_eq(repair.frames, 8);
        }
        ck_assert_uint_eq(verified.result.damages, slot == 2);
    }
}
END_TEST

/* Slots that were given out and never formatted: zeros, between frames and after them. */
START_TEST(test_unformatted)
{
    static const uint64_t left[] = {0, 1, 2, 3, 4, 5, 6, 8};
    struct made_recording made;
    struct sl_repair repair;
    uint8_t page[SL_PAGE_BYTES] = {0};
    char said[4096];
    const char *path = scratch_path("f.mkv");

    make_recording(path, &open_spec, &made);
    scratch_write(path, sl_layout_header_at(&made.layout, 7), page, sizeof page);
    for (uint64_t slot = 9; slot < 12; slot++)
        scratch_write(path, sl_layout_header_at(&made.layout, slot), page, sizeof page);
    expect_repaired(path, 8, &repair, said);
    expect_payloads(path, left, 8);
    ck_assert_uint_eq(repair.torn, 0);
}
END_TEST

/* Without a whole frame there is nothing to repair: refused, not a byte changed, and verify says as much. */
static void expect_refused(const char *path, const char *text)
{
    uint64_t bytes = scratch_size(path);
    uint8_t *before = malloc(bytes), *after = malloc(bytes);
    struct sl_error err = {""};
    struct verified verified;
    struct sl_repair repair;

    scratch_read(path, 0, before, bytes);
    ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), -ENODATA);
    ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
    ck_assert_uint_eq(scratch_size(path), bytes);
    scratch_read(path, 0, after, bytes);
    ck_assert_mem_eq(before, after, bytes);
    verified_read(path, &verified);
    ck_assert_msg(strstr(verified.text, "frame in it; unless") != NULL, "%s", verified.text);
    free(after);
    free(before);
}

START_TEST(test_nothing_recorded)
{
    struct made_spec spec = open_spec;
    struct made_recording made;
    const char *path = scratch_path("f.mkv");

    spec.slots = 0;
    make_recording(path, &spec, &made);
    expect_refused(path, "there is no frame in it; it can be deleted");
    scratch_cut(path, SL_PAGE_BYTES);
    expect_refused(path, "there is no frame in it; it can be deleted");

    spec.slots = 1;
    make_recording(path, &spec, &made);
    scratch_flip(path, sl_layout_payload_at(&made.layout, 0) + 5, 1);
    expect_refused(path, "there is no whole frame in it, 1 are torn");
}
END_TEST

/* Repair, or the recorder's own end, broken off between its steps. */
START_TEST(test_broken_off)
{
    struct made_spec spec = open_spec;
    struct made_recording made, closed;
    struct sl_repair repair;
    uint8_t *cues, head[SL_LAYOUT_RECORD_VOID];
    size_t cues_bytes;
    char said[4096];
    const char *path = scratch_path("f.mkv");

    spec.finished = true;
    make_recording(scratch_path("closed.mkv"), &spec, &closed);
    cues_bytes = (size_t)(closed.file_bytes - closed.end_of_slots);
    cues = malloc(cues_bytes);
    scratch_read(scratch_path("closed.mkv"), closed.end_of_slots, cues, cues_bytes);
    scratch_read(scratch_path("closed.mkv"), 0, head, sizeof head);

    make_recording(path, &open_spec, &made); /* half of the index */
    scratch_write(path, made.end_of_slots, cues, cues_bytes / 2);
    expect_repaired(path, 9, &repair, said);

    make_recording(path, &open_spec, &made); /* the index, not cut */
    scratch_write(path, made.end_of_slots, cues, cues_bytes);
    expect_repaired(path, 9, &repair, said);

    make_recording(path, &open_spec, &made); /* cut, but page 0 does not know it */
    scratch_write(path, made.end_of_slots, cues, cues_bytes);
    scratch_cut(path, closed.file_bytes);
    expect_repaired(path, 9, &repair, said);
    ck_assert_uint_eq(repair.cut_bytes, 0);

    make_recording(path, &open_spec, &made); /* page 0 knows, but the file is long: not an order we write in */
    scratch_write(path, made.end_of_slots, cues, cues_bytes);
    scratch_write(path, 0, head, sizeof head);
    expect_repaired(path, 9, &repair, said);
    ck_assert_uint_gt(repair.cut_bytes, 0);
    free(cues);
}
END_TEST

static void repair_cut(const struct made_recording *made, uint64_t bytes)
{
    const char *path = scratch_path("cut.mkv");
    struct sl_repair repair;
    struct sl_error err;
    uint64_t whole = 0;
    char said[4096];

    scratch_copy(scratch_path("all.mkv"), path);
    scratch_cut(path, bytes);
    while (sl_layout_payload_at(&made->layout, whole) + made->layout.frame_bytes <= bytes && whole < made->frames)
        whole++;
    if (bytes < SL_PAGE_BYTES) {
        ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), -EBADMSG);
        ck_assert_uint_eq(scratch_size(path), bytes);
        return;
    }
    if (!whole) {
        ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), -ENODATA);
        ck_assert_uint_eq(scratch_size(path), bytes);
        return;
    }
    expect_repaired(path, whole, &repair, said);
    expect_payloads(path, NULL, whole);
}

START_TEST(test_cuts)
{
    struct made_spec spec = open_spec;
    struct made_recording made;
    uint64_t last;

    spec.slots = 4;
    spec.extended = 0;
    spec.preformatted = 2;
    for (int finished = 0; finished < 2; finished++) {
        spec.finished = finished;
        make_recording(scratch_path("all.mkv"), &spec, &made);
        for (uint64_t bytes = 0; bytes <= made.file_bytes; bytes += 512)
            repair_cut(&made, bytes);
    }
    spec.width = 16;
    spec.height = 2;
    spec.slots = 2;
    spec.finished = false;
    make_recording(scratch_path("all.mkv"), &spec, &made);
    last = sl_layout_header_at(&made.layout, 1);
    for (uint64_t bytes = last; bytes <= made.end_of_slots + 1; bytes++)
        repair_cut(&made, bytes);
}
END_TEST

/* A closed file: the index and the head can be made again, frames are left alone. */
START_TEST(test_closed)
{
    struct made_spec spec = open_spec;
    struct made_recording made;
    struct sl_repair repair;
    struct sl_error err;
    struct verified verified;
    char said[4096];
    const char *path = scratch_path("f.mkv");

    spec.finished = true;
    make_recording(path, &spec, &made);
    scratch_flip(path, made.end_of_slots + SL_LAYOUT_CUES_HEAD_BYTES + 40, 1); /* index */
    scratch_flip(path, 300, 1);                                                /* Tracks */
    expect_repaired(path, 9, &repair, said);
    ck_assert_ptr_nonnull(strstr(said, "writing them again"));
    scratch_flip(path, 164, 0x10); /* Duration: its exponent */
    verified_read(path, &verified);
    ck_assert_str_eq(verified.text, "duration: 299999998 ns in place of 149999999\n");
    expect_repaired(path, 9, &repair, said);

    scratch_flip(path, sl_layout_payload_at(&made.layout, 4), 1);
    ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), 0);
    ck_assert_uint_eq(repair.frames, 9); /* a frame with a changed bit is still a frame */
    verified_read(path, &verified);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_TORN], 1);
    scratch_flip(path, sl_layout_payload_at(&made.layout, 4), 1);

    scratch_flip(path, sl_layout_header_at(&made.layout, 4) + 4000, 1);
    ck_assert_int_eq(sl_recording_repair(path, note_line, said, &repair, &err), 0);
    ck_assert_uint_eq(repair.damaged, 1);
    ck_assert_uint_eq(repair.frames, 8);
    ck_assert(!repair.already_whole);
    ck_assert_uint_eq(scratch_size(path), made.file_bytes);
}
END_TEST

/* The last write failed: its slot stays Void, and the recorder may have counted it into Duration. */
START_TEST(test_closed_after_a_lost_frame)
{
    static const uint64_t last = 8;
    struct made_spec spec = open_spec;
    struct made_recording made;
    struct sl_repair repair;
    struct sl_file_end end;
    uint8_t page[SL_PAGE_BYTES];
    struct verified verified;
    char said[4096];
    const char *path = scratch_path("f.mkv");

    spec.finished = true;
    spec.hole = &last;
    spec.holes = 1;
    make_recording(path, &spec, &made);
    expect_repaired(path, 8, &repair, said);
    ck_assert(repair.already_whole);
    scratch_read(path, 0, page, sizeof page);
    ck_assert_int_eq(sl_layout_file_end(page, &end), 0);
    end.duration_ns = 150000000;
    ck_assert_int_eq(sl_layout_file_finish(page, &end), 0);
    scratch_write(path, 0, page, sizeof page);
    expect_repaired(path, 8, &repair, said);
    ck_assert(repair.already_whole);
    end.duration_ns = 1;
    ck_assert_int_eq(sl_layout_file_finish(page, &end), 0);
    scratch_write(path, 0, page, sizeof page);
    verified_read(path, &verified);
    ck_assert_uint_eq(verified.result.damages, 1);
    expect_repaired(path, 8, &repair, said);
    ck_assert(!repair.already_whole);
}
END_TEST

/* What the run left beside the file goes too; what another run left, or what somebody holds, stays. */
START_TEST(test_leftovers)
{
    static const char *const gone[] = {"cam-20260102T030405Z-0002.mkv.next", "cam-20260102T030405Z-0001.mkv.gone"};
    static const char *const stays[] = {"cam-20260102T030405Z-0003.mkv.next", "cam-20260102T030406Z-0002.mkv.next",
                                        "cam2-20260102T030405Z-0002.mkv.next", "cam-20260102T030405Z.ledger"};
    const struct made_spec spec = {.format = "YUYV", .width = 16, .height = 2, .slots = 5, .checksum = true, .preformatted = 3};
    const char *path = scratch_path("cam-20260102T030405Z-0001.mkv");
    struct made_recording made;
    struct sl_repair repair;
    struct sl_error err = {""};
    char said[4096] = "";
    int held;

    make_recording(path, &spec, &made);
    for (unsigned i = 0; i < 2; i++)
        scratch_write(scratch_path(gone[i]), 0, "x", 1);
    for (unsigned i = 0; i < 4; i++)
        scratch_write(scratch_path(stays[i]), 0, "x", 1);
    held = open(scratch_path(stays[0]), O_RDWR | O_CLOEXEC);
    ck_assert_int_eq(flock(held, LOCK_EX), 0);

    ck_assert_msg(!sl_recording_repair(path, note_line, said, &repair, &err), "%s", err.text);
    ck_assert_uint_eq(repair.frames, 5);
    ck_assert_uint_eq(repair.leftovers, 2);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_ptr_nonnull(strstr(said, gone[i]));
        ck_assert_int_lt(access(scratch_path(gone[i]), F_OK), 0);
    }
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(scratch_size(scratch_path(stays[i])), 1);
    close(held);
    ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), 0);
    ck_assert(repair.already_whole);
    ck_assert_uint_eq(repair.leftovers, 1); /* nobody holds it any more */
}
END_TEST

/* The kernel lets go of a killed recorder's file a moment after the process is gone. */
START_TEST(test_waits_for_the_lock)
{
    struct made_recording made;
    struct sl_repair repair;
    struct sl_error err = {""};
    const char *path = scratch_path("f.mkv");
    pid_t child;

    for (int flags = 0; flags < 2; flags++) {
        int ready[2];
        char byte;

        make_recording(path, &open_spec, &made);
        ck_assert_int_eq(pipe(ready), 0);
        child = fork();
        if (!child) {
            int fd = open(path, flags ? O_RDWR : O_RDONLY); /* with a lock alone, or open for writing as well */

            if (fd < 0 || flock(fd, LOCK_EX) || write(ready[1], "x", 1) != 1)
                _exit(1);
            usleep(300000);
            _exit(0);
        }
        close(ready[1]);
        ck_assert_int_eq(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        ck_assert_msg(!sl_recording_repair(path, NULL, NULL, &repair, &err), "%s", err.text);
        ck_assert_uint_eq(repair.frames, 9);
        ck_assert_int_eq(waitpid(child, NULL, 0), child);
    }
}
END_TEST

START_TEST(test_refuses)
{
    struct made_recording made;
    struct sl_repair repair;
    struct sl_error err;
    const char *path = scratch_path("f.mkv");
    int fd;

    ck_assert_int_eq(sl_recording_repair(scratch_path("absent"), NULL, NULL, &repair, &err), -ENOENT);
    scratch_write(scratch_path("text"), 0, "some text", 9);
    ck_assert_int_eq(sl_recording_repair(scratch_path("text"), NULL, NULL, &repair, &err), -EBADMSG);
    ck_assert_uint_eq(scratch_size(scratch_path("text")), 9);

    make_recording(path, &open_spec, &made);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), -EBUSY);
    ck_assert_ptr_nonnull(strstr(err.text, "still being written"));
    close(fd);
    fd = open(path, O_RDONLY | O_CLOEXEC); /* as another recorder would hold it, seen through a file system without leases */
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), -EBUSY);
    close(fd);
    ck_assert_uint_eq(scratch_size(path), made.file_bytes);
    ck_assert_int_eq(sl_recording_repair(path, NULL, NULL, &repair, &err), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer repair");
    TCase *tests = tcase_create("repair");

    tcase_add_checked_fixture(tests, scratch_open, scratch_close);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_killed);
    tcase_add_test(tests, test_same_as_closed);
    tcase_add_test(tests, test_torn_in_the_middle);
    tcase_add_test(tests, test_torn_at_the_end);
    tcase_add_test(tests, test_torn_first_frame);
    tcase_add_test(tests, test_torn_header_page);
    tcase_add_test(tests, test_damaged_void);
    tcase_add_test(tests, test_missing_frame);
    tcase_add_test(tests, test_unformatted);
    tcase_add_test(tests, test_nothing_recorded);
    tcase_add_test(tests, test_broken_off);
    tcase_add_test(tests, test_cuts);
    tcase_add_test(tests, test_closed);
    tcase_add_test(tests, test_closed_after_a_lost_frame);
    tcase_add_test(tests, test_leftovers);
    tcase_add_test(tests, test_waits_for_the_lock);
    tcase_add_test(tests, test_refuses);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
