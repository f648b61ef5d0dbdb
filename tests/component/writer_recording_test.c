/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings read back: whole, unfinished, cut, changed, and what is none. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/make_recording.h"
#include "support/scratch.h"
#include "support/suite.h"
#include "support/verified.h"
#include "writer/recording.h"

static void expect_payload(struct sl_recording *recording, uint64_t slot, uint64_t number)
{
    uint32_t bytes = sl_recording_info(recording)->format.frame_bytes;
    uint8_t *wanted = malloc(bytes), *got = calloc(1, bytes);
    struct sl_frame_record record;

    made_payload(number, wanted, bytes);
    ck_assert_int_eq(sl_recording_payload(recording, slot, got, bytes), 0);
    ck_assert_mem_eq(got, wanted, bytes);
    memset(got, 0, bytes);
    ck_assert_int_eq(sl_recording_read(recording, slot, got, &record), SL_SLOT_GOOD);
    ck_assert_mem_eq(got, wanted, bytes);
    ck_assert_int_eq(sl_recording_payload(recording, slot, got, bytes - 1), -EINVAL);
    free(got);
    free(wanted);
}

static void expect_whole(const struct made_spec *spec)
{
    const char *path = scratch_path("whole.mkv");
    struct sl_frame_record record;
    struct made_recording made;
    struct sl_recording *recording;
    struct verified verified;

    make_recording(path, spec, &made);
    ck_assert_int_eq(sl_recording_open(&recording, path, NULL), 0);
    ck_assert_str_eq(sl_recording_info(recording)->format.pixel->name, spec->format);
    ck_assert_uint_eq(sl_recording_info(recording)->format.width, spec->width);
    ck_assert_uint_eq(sl_recording_info(recording)->format.height, spec->height);
    ck_assert_uint_eq(sl_recording_info(recording)->slots, spec->slots);
    ck_assert_uint_eq(sl_recording_info(recording)->file_bytes, made.file_bytes);
    ck_assert_str_eq(sl_recording_info(recording)->description, "a made recording");
    ck_assert(sl_recording_info(recording)->finished);
    for (uint64_t slot = 0; slot < spec->slots; slot++) {
        ck_assert_int_eq(sl_recording_slot(recording, slot, true, &record), SL_SLOT_GOOD);
        ck_assert_uint_eq(record.number, slot);
        ck_assert_uint_eq(record.slot, slot);
        expect_payload(recording, slot, slot);
    }
    ck_assert_int_eq(sl_recording_slot(recording, spec->slots, true, &record), SL_SLOT_EMPTY);
    ck_assert_int_eq(sl_recording_payload(recording, spec->slots, NULL, SIZE_MAX), -EINVAL);
    sl_recording_close(recording);

    verified_read(path, &verified);
    ck_assert_int_eq(verified.rc, 0);
    ck_assert_str_eq(verified.text, "");
    ck_assert_uint_eq(verified.result.damages, 0);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], spec->slots);
    ck_assert_uint_eq(verified.frames, spec->slots);
    ck_assert_uint_eq(verified.gaps, 0);
}

START_TEST(test_whole)
{
    static const struct {
        uint32_t width, height;
    } size[] = {{16, 2}, {64, 32}, {640, 360}, {642, 358}, {64, 64}};
    const struct sl_pixel_format *pixel;

    for (size_t i = 0; (pixel = sl_pixel_format_at(i)); i++) {
        for (size_t j = 0; j < sizeof size / sizeof *size; j++) {
            struct made_spec spec = {.format = pixel->name, .width = size[j].width, .height = size[j].height, .slots = 3, .finished = true};

            expect_whole(&spec);
            spec.checksum = true;
            expect_whole(&spec);
        }
    }
}
END_TEST

/* A payload that ends one byte before a page: its tail Void begins in the page before the last. */
START_TEST(test_whole_with_long_tail)
{
    struct made_spec spec = {.format = "GREY", .width = 4095, .height = 1, .slots = 4, .finished = true, .checksum = true};

    expect_whole(&spec);
}
END_TEST

START_TEST(test_whole_with_padded_lines)
{
    struct made_spec spec = {
        .format = "NV12", .width = 60, .height = 30, .bytesperline = 64, .lines = 32, .slots = 4, .finished = true, .checksum = true};

    expect_whole(&spec);
}
END_TEST

START_TEST(test_losses_are_no_damage)
{
    static const uint64_t holes[] = {4, 5};
    static const struct made_gap gaps[] = {{2, 3, SL_LOSS_SENSOR_GAP, false}, {8, 7, SL_LOSS_NO_SLOT, false}};
    const struct made_spec spec = {.format = "YUYV",
                                   .width = 16,
                                   .height = 2,
                                   .slots = 10,
                                   .checksum = true,
                                   .finished = true,
                                   .hole = holes,
                                   .holes = 2,
                                   .gap = gaps,
                                   .gaps = 2};
    struct made_recording made;
    struct verified verified;

    make_recording(scratch_path("lossy.mkv"), &spec, &made);
    verified_read(scratch_path("lossy.mkv"), &verified);
    ck_assert_str_eq(verified.text, "");
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], 8);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_EMPTY], 2);
    ck_assert_uint_eq(verified.result.lost[SL_LOSS_SENSOR_GAP], 3);
    ck_assert_uint_eq(verified.result.lost[SL_LOSS_NO_SLOT], 7);
    ck_assert_uint_eq(verified.result.lost[SL_LOSS_DISK_ERROR], 2);
    ck_assert_uint_eq(verified.result.last.number, 19);
    ck_assert_uint_eq(verified.gaps, 3);
    ck_assert_uint_eq(verified.gap.first, 11);
    ck_assert_uint_eq(verified.gap.count, 7);
    ck_assert_uint_eq(verified.gap.booked[SL_LOSS_NO_SLOT], 7);
}
END_TEST

START_TEST(test_unbooked_loss_is_damage)
{
    static const struct made_gap gap = {5, 2, SL_LOSS_SENSOR_GAP, true};
    const struct made_spec spec = {
        .format = "YUYV", .width = 16, .height = 2, .slots = 10, .checksum = true, .finished = true, .gap = &gap, .gaps = 1};
    struct made_recording made;
    struct verified verified;

    make_recording(scratch_path("lying.mkv"), &spec, &made);
    verified_read(scratch_path("lying.mkv"), &verified);
    ck_assert_uint_eq(verified.result.damages, 1);
    ck_assert_ptr_nonnull(strstr(verified.text, "2 frames are missing without a cause"));
}
END_TEST

START_TEST(test_unfinished)
{
    struct made_spec spec = {.format = "YUYV", .width = 16, .height = 2, .slots = 10, .behind = 3, .preformatted = 6, .extended = 1 << 20};
    struct made_recording made;
    struct verified verified;

    for (int checksum = 0; checksum < 2; checksum++) {
        spec.checksum = checksum;
        make_recording(scratch_path("open.mkv"), &spec, &made);
        verified_read(scratch_path("open.mkv"), &verified);
        ck_assert_int_eq(verified.rc, 0);
        ck_assert(!verified.result.info.finished);
        ck_assert_uint_eq(verified.result.info.slots, 10);
        ck_assert_uint_eq(verified.result.completed, 7);
        ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], checksum ? 10 : 7);
        ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_UNPROVEN], checksum ? 0 : 3);
        ck_assert_uint_eq(verified.result.damages, 1); /* that it was not closed; structure and books are right */
        ck_assert_ptr_nonnull(strstr(verified.text, "not closed"));
        ck_assert_ptr_nonnull(strstr(verified.text, "keep 10 frames"));
    }
}
END_TEST

START_TEST(test_nothing_recorded_yet)
{
    const struct made_spec spec = {.format = "YUYV", .width = 16, .height = 2, .preformatted = 4, .extended = 1 << 20};
    struct made_recording made;
    struct verified verified;

    make_recording(scratch_path("new.mkv"), &spec, &made);
    verified_read(scratch_path("new.mkv"), &verified);
    ck_assert_int_eq(verified.rc, 0);
    ck_assert_uint_eq(verified.result.info.slots, 0);
    ck_assert_uint_eq(verified.result.damages, 1);
    ck_assert_ptr_nonnull(strstr(verified.text, "there is no frame in it"));
}
END_TEST

/* The payload of slot 6 was torn: without a checksum only the pages after it could have told. */
START_TEST(test_torn_payload)
{
    const struct made_spec spec = {
        .format = "YUYV", .width = 64, .height = 64, .slots = 8, .checksum = true, .behind = 4, .preformatted = 2};
    struct made_recording made;
    struct sl_recording *recording;
    struct sl_frame_record record;
    struct verified verified;
    static const uint8_t zeros[4096];

    make_recording(scratch_path("torn.mkv"), &spec, &made);
    scratch_write(scratch_path("torn.mkv"), sl_layout_payload_at(&made.layout, 6) + 4096, zeros, sizeof zeros);
    verified_read(scratch_path("torn.mkv"), &verified);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_TORN], 1);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], 7);
    ck_assert_uint_eq(verified.result.completed, 4);
    ck_assert_uint_eq(verified.result.undone, 0);
    ck_assert_ptr_nonnull(strstr(verified.text, "slot 6: frame 6 does not match its checksum"));

    /* also when nobody asks for the payload: no later page says that slot 6 was complete */
    ck_assert_int_eq(sl_recording_open(&recording, scratch_path("torn.mkv"), NULL), 0);
    ck_assert_int_eq(sl_recording_slot(recording, 6, false, &record), SL_SLOT_TORN);
    ck_assert_uint_eq(record.number, 6);
    sl_recording_close(recording);

    scratch_write(scratch_path("torn.mkv"), sl_layout_payload_at(&made.layout, 3) + 4096, zeros, sizeof zeros);
    verified_read(scratch_path("torn.mkv"), &verified);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_TORN], 2);
    ck_assert_uint_eq(verified.result.undone, 1); /* slot 3: the last page says that it was complete */
}
END_TEST

/* Blocks that held another recording of the same shape, not formatted and not yet written. */
START_TEST(test_stale_pages)
{
    struct made_spec spec = {.format = "YUYV", .width = 16, .height = 2, .slots = 12, .checksum = true, .session = 1};
    struct made_recording made;
    struct verified verified;
    uint8_t *slot;

    make_recording(scratch_path("old.mkv"), &spec, &made);
    spec.session = 2;
    spec.slots = 5;
    make_recording(scratch_path("new.mkv"), &spec, &made);
    slot = malloc(made.layout.slot_bytes);
    for (uint64_t i = 5; i < 12; i++) {
        scratch_read(scratch_path("old.mkv"), i * made.layout.slot_bytes, slot, made.layout.slot_bytes);
        scratch_write(scratch_path("new.mkv"), i * made.layout.slot_bytes, slot, made.layout.slot_bytes);
    }
    verified_read(scratch_path("new.mkv"), &verified);
    ck_assert_uint_eq(verified.result.info.slots, 5);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], 5);

    /* the same before the last frame, where a slot was given out and never written */
    scratch_read(scratch_path("old.mkv"), 3 * made.layout.slot_bytes, slot, made.layout.slot_bytes);
    scratch_write(scratch_path("new.mkv"), 3 * made.layout.slot_bytes, slot, made.layout.slot_bytes);
    verified_read(scratch_path("new.mkv"), &verified);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], 4);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_DAMAGED], 1); /* a later page says that slot 3 was complete */
    free(slot);
}
END_TEST

/* Two segments of a run, and what lies between them. */
START_TEST(test_continuity)
{
    struct made_spec first = {.format = "YUYV", .width = 16, .height = 2, .slots = 6, .checksum = true, .finished = true, .session = 9};
    struct made_spec second = first;
    static const struct made_gap booked = {0, 4, SL_LOSS_DISK_LATE, false};
    static const struct made_gap unbooked = {0, 4, SL_LOSS_DISK_LATE, true};
    struct sl_audit audit = {0};
    struct made_recording made;
    struct verified verified;

    make_recording(scratch_path("1.mkv"), &first, &made);
    second.segment = 2;
    second.number = made.next_number;
    second.books = made.books;
    second.gaps = 1;
    for (int lie = 0; lie < 2; lie++) {
        second.gap = lie ? &unbooked : &booked;
        make_recording(scratch_path("2.mkv"), &second, &made);
        verified_read(scratch_path("2.mkv"), &verified); /* alone: nothing can be said of what was before */
        ck_assert_str_eq(verified.text, "");
        memset(&audit, 0, sizeof audit);
        verified_read_on(scratch_path("1.mkv"), &audit, &verified);
        ck_assert_str_eq(verified.text, "");
        verified_read_on(scratch_path("2.mkv"), &audit, &verified);
        ck_assert_uint_eq(verified.gap.first, 6);
        ck_assert_uint_eq(verified.gap.count, 4);
        ck_assert_uint_eq(verified.result.lost[SL_LOSS_DISK_LATE], lie ? 0 : 4);
        ck_assert_uint_eq(verified.result.damages, lie);
    }
}
END_TEST

static void expect_foreign(const char *path, const char *what)
{
    struct sl_recording *recording = NULL;
    struct sl_error err = {""};

    ck_assert_int_eq(sl_recording_open(&recording, path, &err), -EBADMSG);
    ck_assert_ptr_null(recording);
    ck_assert_msg(strstr(err.text, what) != NULL, "\"%s\" does not say \"%s\"", err.text, what);
}

START_TEST(test_foreign)
{
    static const uint8_t zeros[10000];
    static const uint8_t matroska[] = {0x1A, 0x45, 0xDF, 0xA3, 0x84, 0x42, 0x86, 0x81, 0x01};
    struct sl_recording *recording;
    struct sl_error err;

    scratch_write(scratch_path("empty"), 0, "", 0);
    expect_foreign(scratch_path("empty"), "an empty file");
    scratch_write(scratch_path("zeros"), 0, zeros, sizeof zeros);
    expect_foreign(scratch_path("zeros"), "nothing but zeros");
    scratch_write(scratch_path("text"), 0, "some text", 9);
    expect_foreign(scratch_path("text"), "no Matroska file");
    scratch_write(scratch_path("zeros"), 0, matroska, sizeof matroska);
    expect_foreign(scratch_path("zeros"), "not one that sluice recorded");
    scratch_write(scratch_path("zeros"), 0, "RIFF1234AVI ", 12);
    expect_foreign(scratch_path("zeros"), "AVI");
    scratch_write(scratch_path("zeros"), 0, "YUV4MPEG2 W4", 12);
    expect_foreign(scratch_path("zeros"), "YUV4MPEG2");
    mkdir(scratch_path("dir"), 0755);
    expect_foreign(scratch_path("dir"), "a directory");
    mkfifo(scratch_path("fifo"), 0644);
    expect_foreign(scratch_path("fifo"), "no regular file");
    ck_assert_int_eq(sl_recording_open(&recording, scratch_path("absent"), &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "absent"));
}
END_TEST

/* A page 0 that is right in itself and promises frames of 512 MiB: nothing of that size may be touched. */
START_TEST(test_huge_promise)
{
    const char *path = scratch_path("huge.mkv");
    struct sl_stream_record stream = {.segment = 1};
    struct sl_frame_record record = {.segment = 1};
    uint8_t pages[2 * SL_PAGE_BYTES] = {0};
    struct sl_layout layout;
    struct sl_recording *recording;
    struct verified verified;

    ck_assert_int_eq(sl_video_format_tight(&stream.format, sl_pixel_format_by_name("YUYV"), 16384, 16384), 0);
    stream.format.fps = (struct sl_rational){60, 1};
    ck_assert_uint_gt(stream.format.frame_bytes, 500000000);
    ck_assert_int_eq(sl_layout_init(&layout, stream.format.frame_bytes, false), 0);
    stream.slot_bytes = layout.slot_bytes;
    ck_assert_int_eq(sl_layout_file_head(&layout, &stream, pages), 0);
    sl_layout_header(&layout, 0, 0, pages);
    sl_layout_seal(pages, &record);
    scratch_write(path, 0, pages, sizeof pages);

    ck_assert_int_eq(sl_recording_open(&recording, path, NULL), 0);
    ck_assert_uint_eq(sl_recording_info(recording)->slots, 1);
    ck_assert_int_eq(sl_recording_slot(recording, 0, true, &record), SL_SLOT_TORN);
    ck_assert_int_eq(sl_recording_slot(recording, UINT64_MAX, true, &record), SL_SLOT_EMPTY);
    sl_recording_close(recording);
    verified_read(path, &verified);
    ck_assert_int_eq(verified.rc, 0);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_TORN], 1);
}
END_TEST

/* Frames on both sides of 4 GiB, in a file that is mostly hole. */
START_TEST(test_beyond_4_gib)
{
    const uint64_t far = 1100;
    struct made_spec spec = {.format = "YUYV", .width = 1920, .height = 1080, .slots = 1, .checksum = true};
    const char *path = scratch_path("large.mkv");
    struct sl_frame_record record;
    struct made_recording made;
    struct sl_recording *recording;
    uint8_t *slot;

    make_recording(path, &spec, &made);
    slot = malloc(made.layout.slot_bytes);
    scratch_read(path, 0, slot, made.layout.slot_bytes);
    ck_assert_int_eq(sl_layout_open_seal(slot, &record), 0);
    record.slot = record.number = far;
    record.time_ns = record.monotonic_ns = 18333333333;
    record.completed = 1;
    sl_layout_header(&made.layout, far, record.time_ns, slot);
    record.payload_crc = sl_layout_cluster_crc(&made.layout, slot, slot + SL_PAGE_BYTES);
    sl_layout_set_cluster_crc(slot, record.payload_crc);
    sl_layout_seal(slot, &record);
    scratch_write(path, far * made.layout.slot_bytes, slot, made.layout.slot_bytes);
    scratch_cut(path, UINT64_C(1) << 40); /* and a terabyte of nothing behind them */

    ck_assert_int_eq(sl_recording_open(&recording, path, NULL), 0);
    ck_assert_uint_gt(far * made.layout.slot_bytes, UINT64_C(1) << 32);
    ck_assert_uint_eq(sl_recording_info(recording)->slots, far + 1);
    ck_assert_int_eq(sl_recording_slot(recording, 0, true, &record), SL_SLOT_GOOD);
    ck_assert_int_eq(sl_recording_slot(recording, far, true, &record), SL_SLOT_GOOD);
    ck_assert_uint_eq(record.number, far);
    ck_assert_int_eq(sl_recording_slot(recording, far - 1, true, &record), SL_SLOT_EMPTY);
    sl_recording_close(recording);
    free(slot);
}
END_TEST

/* Every bit that is changed is noticed, but for what is inside the Void after a payload. */
static void flip_everywhere(const struct made_spec *spec)
{
    const char *path = scratch_path("flip.mkv");
    struct made_recording made;
    struct verified verified;

    make_recording(path, spec, &made);
    for (uint64_t at = 0; at < made.file_bytes; at++) {
        uint64_t in_slot = at % made.layout.slot_bytes;
        uint64_t tail = SL_PAGE_BYTES + made.layout.frame_bytes;
        uint8_t bit = (uint8_t)(1u << at % 8);

        if (at < made.end_of_slots && in_slot >= tail + 8)
            continue;
        scratch_flip(path, at, bit);
        verified_read(path, &verified);
        ck_assert_msg(verified.rc == -EBADMSG || verified.rc == -EUCLEAN || (!verified.rc && verified.result.damages),
                      "bit %u of byte %llu (slot %llu, byte %llu) changed and was not noticed", (unsigned)(at % 8), (unsigned long long)at,
                      (unsigned long long)(at / made.layout.slot_bytes), (unsigned long long)in_slot);
        /* what is changed after page 0 must not keep a recording from being read */
        ck_assert_msg(at < SL_PAGE_BYTES || !verified.rc, "byte %llu changed, and the file cannot be opened: %s", (unsigned long long)at,
                      verified.error);
        scratch_flip(path, at, bit);
    }
    verified_read(path, &verified);
    ck_assert_str_eq(verified.text, "");
}

START_TEST(test_flips)
{
    static const uint64_t hole = 1;
    struct made_spec spec = {.format = "YUYV", .width = 16, .height = 2, .slots = 3, .checksum = true, .finished = true};

    flip_everywhere(&spec);
    spec.hole = &hole;
    spec.holes = 0;
    spec.slots = 2;
    spec.width = 64; /* 4096 bytes: no tail */
    spec.height = 32;
    flip_everywhere(&spec);
}
END_TEST

static void cut_at(const char *path, const struct made_recording *made, uint64_t bytes)
{
    uint64_t whole = 0;
    struct verified verified;

    scratch_copy(path, scratch_path("cut.mkv"));
    scratch_cut(scratch_path("cut.mkv"), bytes);
    while (sl_layout_payload_at(&made->layout, whole) + made->layout.frame_bytes <= bytes && whole < made->frames)
        whole++;
    verified_read(scratch_path("cut.mkv"), &verified);
    if (bytes < SL_PAGE_BYTES) {
        ck_assert_int_eq(verified.rc, -EBADMSG);
        return;
    }
    ck_assert_int_eq(verified.rc, 0);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_GOOD], whole);
    ck_assert_uint_eq(verified.result.verdicts[SL_SLOT_DAMAGED], 0);
    ck_assert_uint_gt(verified.result.damages, 0);
}

START_TEST(test_cuts)
{
    struct made_spec spec = {.format = "YUYV", .width = 100, .height = 50, .slots = 5, .checksum = true, .preformatted = 2};
    struct made_recording made;
    uint64_t last;

    for (int finished = 0; finished < 2; finished++) {
        spec.finished = finished;
        make_recording(scratch_path("all.mkv"), &spec, &made);
        for (uint64_t bytes = 0; bytes < made.file_bytes; bytes += 512)
            cut_at(scratch_path("all.mkv"), &made, bytes);
    }
    spec.width = 16;
    spec.height = 2;
    spec.slots = 2;
    for (int finished = 0; finished < 2; finished++) {
        spec.finished = finished;
        make_recording(scratch_path("all.mkv"), &spec, &made);
        last = sl_layout_header_at(&made.layout, 1);
        for (uint64_t bytes = last; bytes < made.file_bytes; bytes++)
            cut_at(scratch_path("all.mkv"), &made, bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer_recording");
    TCase *tests = tcase_create("all");

    tcase_add_checked_fixture(tests, scratch_open, scratch_close);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, test_whole);
    tcase_add_test(tests, test_whole_with_long_tail);
    tcase_add_test(tests, test_whole_with_padded_lines);
    tcase_add_test(tests, test_losses_are_no_damage);
    tcase_add_test(tests, test_unbooked_loss_is_damage);
    tcase_add_test(tests, test_unfinished);
    tcase_add_test(tests, test_nothing_recorded_yet);
    tcase_add_test(tests, test_torn_payload);
    tcase_add_test(tests, test_stale_pages);
    tcase_add_test(tests, test_continuity);
    tcase_add_test(tests, test_foreign);
    tcase_add_test(tests, test_huge_promise);
    tcase_add_test(tests, test_beyond_4_gib);
    tcase_add_test(tests, test_flips);
    tcase_add_test(tests, test_cuts);
    suite_add_tcase(suite, tests);
    return sl_run_suite(suite);
}
