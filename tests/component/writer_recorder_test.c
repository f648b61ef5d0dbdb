/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder on a store in memory and a clock that stands still: what is lost, and that nothing else is. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/recorder_rig.h"
#include "support/scratch.h"
#include "support/suite.h"

static struct rec_rig rig;
static struct rec_files found;
static struct sl_books books;

static void begin(const struct rec_spec *spec)
{
    ck_assert_int_eq(rec_open(&rig, spec), 0);
}

/* What was opened is closed, once; what is closed without a frame is gone; the rest is what there are files of. */
static void check_segments(void)
{
    unsigned with_frames = 0;

    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_SEGMENT_OPEN), rec_events(&rig, SL_EVENT_SEGMENT_CLOSE));
    for (unsigned i = 0; i < rec_events(&rig, SL_EVENT_SEGMENT_CLOSE); i++) {
        const struct sl_event *close = rec_event(&rig, SL_EVENT_SEGMENT_CLOSE, i);

        ck_assert_uint_eq(rec_events_of(&rig, SL_EVENT_SEGMENT_OPEN, close->first), 1);
        ck_assert_uint_eq(rec_events_of(&rig, SL_EVENT_SEGMENT_CLOSE, close->first), 1);
        ck_assert_uint_eq(rec_events_of(&rig, SL_EVENT_SEGMENT_GONE, close->first), close->count == 0);
        with_frames += close->count > 0;
    }
    ck_assert_uint_eq(with_frames, found.files);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_SEGMENTS), found.files);
}

/* Everything that was expected is recorded or lost, in the counters, in the files and in the events. */
static void end(int result, bool hurry)
{
    ck_assert_int_eq(rec_drain(&rig, hurry), result);
    ck_assert(sl_recorder_drained(rig.recorder));
    rec_books(&rig, &books);
    ck_assert_msg(sl_books_balanced(&books), "expected %llu, recorded %llu, lost %llu", (unsigned long long)books.expected,
                  (unsigned long long)books.recorded, (unsigned long long)sl_books_lost(&books));
    rec_read(&rig, &found);
    ck_assert_uint_eq(found.frames, books.recorded);
    for (unsigned cause = 0; cause < SL_LOSS_COUNT; cause++)
        ck_assert_uint_eq(rec_lost_in_events(&rig, (enum sl_loss)cause), books.lost[cause] - rig.lost[cause]);
    ck_assert_uint_eq(scratch_count(".next") + scratch_count(".gone") + scratch_count(".probe"), 0);
    check_segments();
}

START_TEST(test_plain)
{
    begin(&(struct rec_spec){0});
    rec_frames(&rig, 200);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 200);
    ck_assert_uint_eq(found.files, 1);
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_SEGMENT_OPEN), 1);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_SEGMENT_CLOSE, 0)->count, 200);
}
END_TEST

START_TEST(test_no_frame_no_file)
{
    begin(&(struct rec_spec){0});
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(scratch_count(".mkv"), 0);
}
END_TEST

START_TEST(test_rotation_by_time)
{
    begin(&(struct rec_spec){.cfg = {.segment_time_ns = SL_NS_PER_S / 2}});
    rec_frames(&rig, 150);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 150);
    ck_assert_uint_eq(found.files, 5);
    for (unsigned i = 0; i < 5; i++)
        ck_assert_uint_eq(found.frames_in[i], 30);
}
END_TEST

START_TEST(test_rotation_by_size)
{
    uint64_t segment_bytes = 20 * 12288 + 12 + 20 * 27; /* twenty slots and their Cues, to the byte */

    begin(&(struct rec_spec){.cfg = {.segment_bytes = segment_bytes + (_i ? 12288 : 0) - (_i == 2 ? 1 : 0)}});
    rec_frames(&rig, 100);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 100);
    ck_assert_uint_eq(found.frames_in[0], 20);
    ck_assert_uint_eq(found.files, 5);
}
END_TEST

START_TEST(test_segments_of_one_frame)
{
    begin(&(struct rec_spec){.cfg = {.segment_bytes = 1}});
    rec_frames(&rig, 40);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 40);
    ck_assert_uint_eq(found.files, 40);
}
END_TEST

/* From t = 1 s on the disk does not answer for half a second: 30 frames fall due, the ring has room for 60. */
START_TEST(test_stall_within_ring)
{
    static const struct sl_store_fault stall = {SL_STORE_FAULT_STALL, SL_NS_PER_S, SL_NS_PER_S / 2};

    begin(&(struct rec_spec){.cfg = {.fault = &stall, .faults = 1}});
    rec_frames(&rig, 240);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 240);
}
END_TEST

/* The disk does not answer for 1.5 s from t = 1 s on. At 60 fps the frames 60 … 149 fall due meanwhile, which are 90; what came before
 * is on the disk, so the recorder can hold 60 of them. Exactly 30 are refused. */
START_TEST(test_stall_beyond_ring)
{
    static const struct sl_store_fault stall = {SL_STORE_FAULT_STALL, SL_NS_PER_S, 3 * SL_NS_PER_S / 2};

    begin(&(struct rec_spec){.cfg = {.fault = &stall, .faults = 1}});
    rec_frames(&rig, 240);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 30);
    ck_assert_uint_eq(books.recorded, 210);
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_LOSS), 1);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_LOSS, 0)->first, 120);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_LOSS, 0)->count, 30);
}
END_TEST

static uint64_t late_with_jitter(uint64_t seed, unsigned limit)
{
    struct sl_store_fault jitter = {SL_STORE_FAULT_JITTER, seed, 12 * SL_NS_PER_MS};
    uint64_t late;

    begin(&(struct rec_spec){.limit = limit, .cfg = {.fault = &jitter, .faults = 1}});
    rec_frames(&rig, 600);
    end(-ESHUTDOWN, false);
    late = books.lost[SL_LOSS_DISK_LATE];
    ck_assert_uint_eq(books.recorded, 600 - late);
    rec_close(&rig);
    scratch_close();
    scratch_open();
    return late;
}

/* A disk that takes 12 ms a frame where 16.7 are to be had, but unevenly: what is lost is a matter of the ring's depth. */
START_TEST(test_jitter)
{
    uint64_t shallow = late_with_jitter(1, 2), middle = late_with_jitter(1, 5), deep = late_with_jitter(1, 60);

    ck_assert_uint_gt(shallow, 30);
    ck_assert_uint_lt(shallow, 300);
    ck_assert_uint_gt(shallow, 2 * middle);
    ck_assert_uint_gt(middle, 0);
    ck_assert_uint_eq(deep, 0);
    ck_assert_uint_eq(late_with_jitter(1, 2), shallow);
    ck_assert_uint_ne(late_with_jitter(2, 2), shallow);
    begin(&(struct rec_spec){.limit = 0});
}
END_TEST

/* The run ends while frames are being refused: no later frame tells of them, the books do. */
START_TEST(test_stall_to_the_end)
{
    static const struct sl_store_fault stall = {SL_STORE_FAULT_STALL, SL_NS_PER_S, 60 * SL_NS_PER_S};

    begin(&(struct rec_spec){.cfg = {.fault = &stall, .faults = 1}});
    rec_frames(&rig, 140);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 20);
    ck_assert_uint_eq(books.recorded, 120);
}
END_TEST

START_TEST(test_losses_of_capture_are_not_ours)
{
    static const struct sl_store_fault stall = {SL_STORE_FAULT_STALL, SL_NS_PER_S, 3 * SL_NS_PER_S / 2};

    begin(&(struct rec_spec){.cfg = {.fault = &stall, .faults = 1}});
    rec_frames(&rig, 50);
    rec_gap(&rig, 5, SL_LOSS_SENSOR_GAP);
    rec_frames(&rig, 30);
    rec_gap(&rig, 1, SL_LOSS_BAD_FRAME);
    rec_frames(&rig, 60);
    rec_gap(&rig, 2, SL_LOSS_DEVICE_GONE);
    rec_frames(&rig, 100);
    end(-ESHUTDOWN, false);
    /* of the 90 numbers in the stall 1 + 2 never came: 87 − 60 */
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 27);
    ck_assert_uint_eq(books.recorded, 240 - 27);
}
END_TEST

START_TEST(test_no_slot)
{
    static const struct sl_store_fault stall = {SL_STORE_FAULT_STALL, SL_NS_PER_S, 3 * SL_NS_PER_S / 2};

    begin(&(struct rec_spec){.slots = 40, .cfg = {.fault = &stall, .faults = 1}});
    rec_frames(&rig, 240);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.lost[SL_LOSS_NO_SLOT], 50);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 0);
    ck_assert_uint_eq(books.recorded, 190);
}
END_TEST

START_TEST(test_eio)
{
    struct sl_store_fault fault = {SL_STORE_FAULT_EIO, _i == 0 ? 0 : 100, 1};

    begin(&(struct rec_spec){.latency_ns = _i == 2 ? 40 * SL_NS_PER_MS : 0, .cfg = {.fault = &fault, .faults = 1}});
    rec_frames(&rig, 200);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_ERROR], 1);
    ck_assert_uint_eq(books.recorded, 199);
    ck_assert_uint_eq(found.files, _i == 0 ? 1 : 2);
    ck_assert_int_eq(rec_event(&rig, SL_EVENT_LOSS, 0)->error, -EIO);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_LOSS, 0)->first, fault.at);
    ck_assert_int_eq(rec_event(&rig, SL_EVENT_SEGMENT_CLOSE, 0)->error, -EIO);
}
END_TEST

START_TEST(test_eio_for_a_while)
{
    struct sl_store_fault fault = {SL_STORE_FAULT_EIO, 60, 25};

    begin(&(struct rec_spec){.cfg = {.fault = &fault, .faults = 1, .queue_depth = 8}});
    rec_frames(&rig, 200);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_ERROR], 25);
    ck_assert_uint_eq(found.files, 2);
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_LOSS), 1); /* one line for all of them */
}
END_TEST

START_TEST(test_disk_full_stop)
{
    struct sl_store_fault fault = {SL_STORE_FAULT_ENOSPC, 100, 1};

    begin(&(struct rec_spec){.cfg = {.fault = &fault, .faults = 1}});
    rec_frames(&rig, 200);
    end(-ENOSPC, false);
    ck_assert_uint_eq(books.recorded, 100);
    /* those too that the sink refused because nobody emptied it any more */
    ck_assert_uint_gt(sl_sink_counter(rig.sink, SL_SINK_REFUSED), 0);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_FULL], 100);
    ck_assert_uint_eq(found.files, 1);
}
END_TEST

/* A real lack of space: 1,000 slots of 12 KiB on a disk of 6 MiB, in segments of about 1 MiB and in one. */
START_TEST(test_small_disk_stop)
{
    begin(&(struct rec_spec){.disk_bytes = 6 << 20, .cfg = {.segment_bytes = _i ? 1 << 20 : 0}});
    rec_frames(&rig, 1000);
    end(-ENOSPC, false);
    ck_assert_uint_gt(books.recorded, (6 << 20) / 12288 * 8 / 10);
    ck_assert_uint_le(found.bytes, 6 << 20);
    ck_assert_uint_gt(books.lost[SL_LOSS_DISK_FULL], 0);
    ck_assert_uint_eq(found.last_number, books.recorded - 1); /* what was written is the beginning, without a hole */
}
END_TEST

/* One write into the last segment takes two seconds: as long as it is not finished, space may come back, and frames wait for that until
 * the sink refuses more. What they wait for is space. */
START_TEST(test_refused_for_want_of_space)
{
    struct rec_spec spec = {.disk_bytes = 6 << 20, .limit = 20, .cfg = {.segment_bytes = 1 << 20}};
    struct sl_store_fault fault = {SL_STORE_FAULT_LATE, 0, 2 * SL_NS_PER_S};

    begin(&spec);
    rec_frames(&rig, 1000);
    end(-ENOSPC, false);
    fault.at = books.recorded - 2;
    rec_close(&rig);
    scratch_close();

    scratch_open();
    spec.cfg.fault = &fault;
    spec.cfg.faults = 1;
    begin(&spec);
    rec_frames(&rig, 1000);
    end(-ENOSPC, false);
    ck_assert_uint_gt(rec_count(&rig, SL_RECORDER_REFUSED_FULL), 60);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_LATE], 0);
    ck_assert_uint_eq(books.lost[SL_LOSS_DISK_FULL], 1000 - books.recorded);
}
END_TEST

START_TEST(test_keep_free_stop)
{
    begin(&(struct rec_spec){.disk_bytes = 12 << 20, .cfg = {.segment_bytes = 1 << 20, .keep_free_bytes = 6 << 20}});
    rec_frames(&rig, 1000);
    end(-ENOSPC, false);
    ck_assert_uint_gt(books.recorded, 300);
    ck_assert_uint_le(found.bytes, 6 << 20);
}
END_TEST

START_TEST(test_small_disk_overwrite)
{
    begin(&(struct rec_spec){.disk_bytes = 8 << 20,
                             .cfg = {.segment_bytes = 1 << 20, .keep_free_bytes = 1 << 20, .when_full = SL_WHEN_FULL_OVERWRITE_OLDEST}});
    rec_frames(&rig, 3000); /* 37 MB */
    ck_assert_int_eq(rec_drain(&rig, false), -ESHUTDOWN);
    rec_books(&rig, &books);
    ck_assert(sl_books_balanced(&books));
    ck_assert_uint_eq(books.recorded, 3000);
    rec_read(&rig, &found);
    ck_assert_uint_eq(found.last_number, 2999);
    ck_assert_uint_eq(found.last_number - found.first_number + 1, found.frames); /* the newest, without a hole */
    ck_assert_uint_gt(found.frames, 300);
    ck_assert_uint_le(scratch_used(), 7 << 20);
    ck_assert_uint_gt(rec_events(&rig, SL_EVENT_SEGMENT_GONE), 20);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_SEGMENTS), rec_events(&rig, SL_EVENT_SEGMENT_OPEN));
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_SEGMENT_GONE) + found.files, rec_events(&rig, SL_EVENT_SEGMENT_OPEN));
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_SEGMENT_GONE, 0)->first, 1);
}
END_TEST

/* Segments of 72 KiB on a disk of 8 MiB, which is less than what a file grows by where there is room. */
START_TEST(test_overwrite_no_more_than_needed)
{
    begin(&(struct rec_spec){.disk_bytes = 8 << 20,
                             .cfg = {.segment_time_ns = 100 * SL_NS_PER_MS, .when_full = SL_WHEN_FULL_OVERWRITE_OLDEST}});
    rec_frames(&rig, 400); /* 5 MB */
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_SEGMENT_GONE), 0);
    rec_frames(&rig, 1600); /* 25 MB in all */
    ck_assert_int_eq(rec_drain(&rig, false), -ESHUTDOWN);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_RECORDED), 2000);
    rec_read(&rig, &found);
    ck_assert_uint_eq(found.last_number, 1999);
    ck_assert_uint_eq(found.last_number - found.first_number + 1, found.frames);
    ck_assert_uint_gt(found.bytes, 5 << 20);
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_SEGMENT_GONE) + found.files, rec_events(&rig, SL_EVENT_SEGMENT_OPEN));
}
END_TEST

/* Somebody else fills the disk: whatever is removed is not enough, and what was written last stays. */
START_TEST(test_overwrite_keeps_the_newest)
{
    begin(&(struct rec_spec){.disk_bytes = 8 << 20, .cfg = {.segment_bytes = 1 << 20, .when_full = SL_WHEN_FULL_OVERWRITE_OLDEST}});
    rec_frames(&rig, 1000);
    rig.spec.others_bytes = 8 << 20;
    rec_frames(&rig, 1000);
    ck_assert_int_eq(rec_drain(&rig, false), -ENOSPC);
    rec_books(&rig, &books);
    ck_assert(sl_books_balanced(&books));
    rec_read(&rig, &found);
    ck_assert_uint_eq(found.files, 1);
    ck_assert_uint_eq(found.last_number, books.recorded - 1);
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_SEGMENT_GONE) + found.files, rec_events(&rig, SL_EVENT_SEGMENT_OPEN));
}
END_TEST

/* More of them than replies can wait for the recorder, which does not run yet; and the younger ones stay. */
START_TEST(test_overwrite_many_before_the_start)
{
    static uint8_t junk[256 << 10];
    char name[64];

    for (unsigned i = 1; i <= 50; i++) {
        snprintf(name, sizeof(name), "cam-20200101T000000Z-%04u.mkv", i);
        scratch_write(scratch_path(name), 0, junk, i <= 40 ? 4096 : sizeof(junk));
    }
    begin(
        &(struct rec_spec){.disk_bytes = scratch_used(), .cfg = {.segment_bytes = 256 << 10, .when_full = SL_WHEN_FULL_OVERWRITE_OLDEST}});
    ck_assert_uint_ge(rec_events(&rig, SL_EVENT_SEGMENT_GONE), 40);
    rec_frames(&rig, 10);
    ck_assert_int_eq(rec_drain(&rig, false), -ESHUTDOWN);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_RECORDED), 10);
    ck_assert_uint_eq(scratch_count("cam-20200101T000000Z-0040.mkv"), 0);
    ck_assert_uint_eq(scratch_count("cam-20200101T000000Z-0050.mkv"), 1);
}
END_TEST

/* Recordings of an earlier run go first; those of another name, and whatever else lies there, stay. */
START_TEST(test_overwrite_takes_the_right_files)
{
    static const char *const stays[] = {"other-20200101T000000Z-0001.mkv", "cam-notes.mkv", "cam-20200101T000000Z-0001.mkv.bak",
                                        "cam2-20200101T000000Z-0001.mkv"};
    static uint8_t junk[1 << 20];

    for (unsigned i = 0; i < 4; i++)
        scratch_write(scratch_path(stays[i]), 0, junk, 4096);
    scratch_write(scratch_path("cam-20200101T000000Z-0002.mkv"), 0, junk, sizeof(junk));
    scratch_write(scratch_path("cam-20190101T000000Z-0001.mkv"), 0, junk, sizeof(junk));
    begin(&(struct rec_spec){.disk_bytes = 6 << 20, .cfg = {.segment_bytes = 1 << 20, .when_full = SL_WHEN_FULL_OVERWRITE_OLDEST}});
    rec_frames(&rig, 1000);
    ck_assert_int_eq(rec_drain(&rig, false), -ESHUTDOWN);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_RECORDED), 1000);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(scratch_size(scratch_path(stays[i])), 4096);
    ck_assert_uint_eq(scratch_count("cam-20200101T000000Z-0002.mkv") + scratch_count("cam-20190101T000000Z-0001.mkv"), 0);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_SEGMENT_GONE, 0)->first, 0);
}
END_TEST

START_TEST(test_enospc_overwrite_loses_nothing)
{
    struct sl_store_fault fault = {SL_STORE_FAULT_ENOSPC, 100, 3};

    begin(&(struct rec_spec){.disk_bytes = 64 << 20, .cfg = {.fault = &fault, .faults = 1, .when_full = SL_WHEN_FULL_OVERWRITE_OLDEST}});
    rec_frames(&rig, 200);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 200);
}
END_TEST

START_TEST(test_short_eagain_late)
{
    struct sl_store_fault fault[] = {
        {SL_STORE_FAULT_SHORT, 50, 10}, {SL_STORE_FAULT_EAGAIN, 80, 10}, {SL_STORE_FAULT_LATE, 120, 700 * SL_NS_PER_MS}};

    begin(&(struct rec_spec){.cfg = {.fault = fault, .faults = 3}});
    rec_frames(&rig, 240);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 240);
    ck_assert_uint_ge(rec_count(&rig, SL_RECORDER_SHORT_WRITES), 10);
    ck_assert_uint_ge(sl_histogram_quantile(sl_recorder_write_us(rig.recorder), 1.0), 700000);
}
END_TEST

START_TEST(test_prerecord)
{
    begin(&(struct rec_spec){.cfg = {.prerecord_ns = SL_NS_PER_S / 2}});
    rec_frames(&rig, 100);
    ck_assert_uint_eq(scratch_count(".mkv"), 0);
    sl_recorder_trigger(rig.recorder, true);
    rec_turn(&rig);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_RECORDED), 31); /* 69 … 99: half a second is thirty intervals */
    rec_frames(&rig, 50);
    sl_recorder_trigger(rig.recorder, false);
    rec_turn(&rig);
    ck_assert_uint_eq(scratch_count(".mkv"), 1);
    rec_frames(&rig, 100);
    sl_recorder_trigger(rig.recorder, true);
    rec_frames(&rig, 20);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(found.files, 2);
    ck_assert_uint_eq(found.frames_in[0], 31 + 50);
    ck_assert_uint_eq(found.frames_in[1], 31 + 20);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_UNTRIGGERED), 270 - 132);
    ck_assert_uint_eq(books.expected, 132);
}
END_TEST

START_TEST(test_prerecord_never_triggered)
{
    begin(&(struct rec_spec){.cfg = {.prerecord_ns = SL_NS_PER_S / 2}});
    rec_frames(&rig, 100);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.expected, 0);
    ck_assert_uint_eq(scratch_count(".mkv"), 0);
}
END_TEST

START_TEST(test_prerecord_longer_than_ring)
{
    ck_assert_int_eq(rec_open(&rig, &(struct rec_spec){.cfg = {.prerecord_ns = 2 * SL_NS_PER_S}}), -EINVAL);
    ck_assert_uint_eq(scratch_count(""), 0);
}
END_TEST

START_TEST(test_hurry)
{
    static const struct sl_store_fault stall = {SL_STORE_FAULT_STALL, SL_NS_PER_S, 2 * SL_NS_PER_S};

    begin(&(struct rec_spec){.cfg = {.fault = &stall, .faults = 1}});
    rec_frames(&rig, 90);
    end(-ESHUTDOWN, true);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_ABANDONED), 30 - 4); /* four were in flight and are waited for */
    ck_assert_uint_eq(books.recorded, 64);
    ck_assert_uint_eq(found.frames, 64);
}
END_TEST

START_TEST(test_drain_writes_all)
{
    static const struct sl_store_fault stall = {SL_STORE_FAULT_STALL, SL_NS_PER_S, 2 * SL_NS_PER_S};

    begin(&(struct rec_spec){.cfg = {.fault = &stall, .faults = 1}});
    rec_frames(&rig, 90);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 90);
}
END_TEST

/* Closed as it is, without a drain: what was in flight is whole, what was queued is given up, the file is finished. */
START_TEST(test_close_without_drain)
{
    char path[1024];

    begin(&(struct rec_spec){.latency_ns = 30 * SL_NS_PER_MS});
    rec_frames(&rig, 90);
    ck_assert_int_eq(sl_recorder_segment_path(rig.recorder, 1, path, sizeof(path)), 0);
    sl_recorder_agent(rig.recorder)->on_stop(rig.recorder);
    sl_recorder_drain(rig.recorder, false);
    rec_turn(&rig); /* the house-keeper finishes the file */
    rec_books(&rig, &books);
    ck_assert(sl_books_balanced(&books));
    rec_read(&rig, &found);
    ck_assert_uint_eq(found.frames, books.recorded);
    ck_assert_uint_ge(found.frames, 85);
}
END_TEST

START_TEST(test_stop_before_anything)
{
    begin(&(struct rec_spec){0});
    rec_close(&rig);
    ck_assert_uint_eq(scratch_count(""), 0);
}
END_TEST

START_TEST(test_open_fails_clean)
{
    ck_assert_int_eq(rec_open(&rig, &(struct rec_spec){.disk_bytes = 16384}), -ENOSPC);
    ck_assert_uint_eq(scratch_count(""), 0);
}
END_TEST

START_TEST(test_names_do_not_collide)
{
    /* the rig's clock: 2026-01-02T00:16:40Z */
    scratch_write(scratch_path("cam-20260102T001640Z-0001.mkv"), 0, "x", 1);
    scratch_write(scratch_path("cam-20260102T001641Z.ledger"), 0, "x", 1);
    scratch_write(scratch_path("cam-20191231T235959Z-0007.mkv.next"), 0, "x", 1);
    begin(&(struct rec_spec){0});
    rec_frames(&rig, 1);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(scratch_count("cam-20260102T001642Z-0001.mkv"), 1);
    ck_assert_str_eq(strrchr(sl_recorder_ledger_path(rig.recorder), '/'), "/cam-20260102T001642Z.ledger");
}
END_TEST

START_TEST(test_checksum_off_and_shapes)
{
    static const struct {
        const char *format;
        uint32_t width, height;
    } shape[] = {{"UYVY", 642, 10}, {"NV12", 64, 64}, {"YUYV", 64, 32}, {"GREY", 63, 65}, {"NV16", 128, 96}};

    begin(&(struct rec_spec){.format = shape[_i].format,
                             .width = shape[_i].width,
                             .height = shape[_i].height,
                             .shuffle = 99,
                             .latency_ns = 20 * SL_NS_PER_MS,
                             .cfg = {.checksum = SL_CHECKSUM_NONE}});
    rec_frames(&rig, 100);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 100);
    ck_assert(!sl_recorder_path(rig.recorder)->checksum);
}
END_TEST

/* Frames an hour apart from the first: times in the file are those of the grid, to the nanosecond, whatever the rate. */
START_TEST(test_hours)
{
    static const struct sl_rational fps[] = {{25, 1}, {60000, 1001}, {60, 1}};

    begin(&(struct rec_spec){.fps = fps[_i]});
    for (unsigned i = 0; i < 40; i++) {
        rec_frame(&rig);
        rec_gap(&rig, 9999, SL_LOSS_SENSOR_GAP);
    }
    end(-ESHUTDOWN, false); /* check_frame compares each time with the grid's */
    ck_assert_uint_eq(found.last_number, 390000);
    ck_assert_uint_eq(books.recorded, 40);
}
END_TEST

START_TEST(test_many_slots_extend_and_index)
{
    begin(&(struct rec_spec){.width = 32, .height = 32}); /* 8 KiB a slot; grows by 1024 slots; a block of times is 4095 */
    rec_frames(&rig, 9000);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 9000);
    ck_assert_uint_eq(found.files, 1);
}
END_TEST

START_TEST(test_sync_once_a_second)
{
    begin(&(struct rec_spec){.cfg = {.sync = SL_SYNC_INTERVAL, .sync_interval_ns = SL_NS_PER_S}});
    rec_frames(&rig, 301);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_SYNCS), 5);
    rec_pass(&rig, 3 * SL_NS_PER_S);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_SYNCS), 6); /* the last frames too, and then no more */
    end(-ESHUTDOWN, false);
}
END_TEST

/* A power cut at any moment: the elements lead from one to the next and to the end, and the frames are those that were completed. */
START_TEST(test_file_leads_to_its_end)
{
    struct sl_store_fault fault = {SL_STORE_FAULT_EIO, _i == 1 ? 90 : UINT64_MAX, 1};

    begin(&(struct rec_spec){.width = 32, .height = 32, .cfg = {.fault = &fault, .faults = 1, .segment_bytes = _i == 2 ? 1 << 20 : 0}});
    for (unsigned frame = 1; frame <= 1400; frame++) {
        rec_frame(&rig);
        if (rec_count(&rig, SL_RECORDER_SEGMENTS) > 1)
            break;
        if (frame < 200 || (frame > 500 && frame < 700) || frame > 1300)
            ck_assert_uint_eq(rec_walk(&rig, 1), rec_count(&rig, SL_RECORDER_RECORDED));
    }
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_SEGMENTS), _i ? 2 : 1);
    end(-ESHUTDOWN, false);
}
END_TEST

static int64_t fail_one(void *self, const struct sl_store_write *write)
{
    (void)self;
    return write->frame && write->offset == 50 * 12288 ? -EIO : 0;
}

/* A write that fails after its first page, the frame's header, has reached the disk, in the middle of frames that are there: the slot must
 * be a Void again. */
START_TEST(test_lost_slot_is_void)
{
    begin(&(struct rec_spec){.latency_ns = 50 * SL_NS_PER_MS, .judge = fail_one});
    rec_frames(&rig, 70);
    ck_assert_uint_eq(rec_count(&rig, SL_RECORDER_DISK_ERROR), 1);
    ck_assert_uint_gt(rec_walk(&rig, 1), 50); /* frames behind it were on their way */
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(found.frames, 69);
    ck_assert_uint_eq(rec_walk(&rig, 1), found.frames_in[0]);
}
END_TEST

/* The first ones are the path's, and depend on where the tests run. */
static uint32_t last_step(void)
{
    return rec_event(&rig, SL_EVENT_STEP_DOWN, rec_events(&rig, SL_EVENT_STEP_DOWN) - 1)->code;
}

static int64_t no_voids(void *self, const struct sl_store_write *write)
{
    (void)self;
    return !write->frame && write->bytes < 12288 && write->offset > 100 * 12288 && write->offset < 200 * 12288 ? -EIO : 0;
}

/* The Voids behind slot 100 cannot be written: the segment ends there, the next one takes over, no frame is lost. */
START_TEST(test_format_fails)
{
    begin(&(struct rec_spec){.judge = no_voids});
    rec_frames(&rig, 150);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 150);
    ck_assert_uint_eq(found.files, 2);
    ck_assert_uint_le(found.frames_in[0], 100);
    ck_assert_uint_ge(found.frames_in[0], 80);
    ck_assert_uint_eq(last_step(), SL_STEP_FORMAT_FAILED);
}
END_TEST

static int64_t no_sync(void *self, const struct sl_store_write *write)
{
    struct rec_rig *of = self;

    return write->bytes == 0 && of->number > 100 && of->number < 130 ? -EIO : 0;
}

START_TEST(test_sync_fails)
{
    begin(&(struct rec_spec){.judge = no_sync, .cfg = {.sync_interval_ns = SL_NS_PER_S}});
    rec_frames(&rig, 200);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(books.recorded, 200);
    ck_assert_uint_eq(found.files, 2);
    ck_assert_uint_eq(last_step(), SL_STEP_SYNC_FAILED);
    ck_assert_int_eq(rec_event(&rig, SL_EVENT_SEGMENT_CLOSE, 0)->error, -EIO);
}
END_TEST

/* Frame 40 takes 700 ms: as long as it is on its way, no later page says that it is complete. */
START_TEST(test_completed_is_never_too_high)
{
    struct sl_store_fault fault = {SL_STORE_FAULT_LATE, 40, 700 * SL_NS_PER_MS};
    struct sl_frame_record record;

    begin(&(struct rec_spec){.cfg = {.fault = &fault, .faults = 1}});
    rec_frames(&rig, 120);
    end(-ESHUTDOWN, false);
    for (uint64_t slot = 0; slot < 120; slot++) {
        rec_record(&rig, 1, slot, &record);
        if (slot > 40 && slot < 80)
            ck_assert_uint_eq(record.completed, 40);
        ck_assert_uint_le(record.completed, slot);
        ck_assert(slot <= 41 || record.completed >= 40);
        ck_assert(slot <= 90 || record.completed == slot); /* nothing else is slow */
    }
}
END_TEST

/* Losses that do not touch each other are told apart, also within the moment in which they are gathered; those that do are one event. */
START_TEST(test_loss_events)
{
    const uint64_t second = _i == 0 ? 30 : 23;
    struct sl_store_fault fault[] = {{SL_STORE_FAULT_EIO, 20, 2}, {SL_STORE_FAULT_EIO, second, 1}};

    begin(&(struct rec_spec){.cfg = {.fault = fault, .faults = 2}});
    rec_frames(&rig, 50);
    end(-ESHUTDOWN, false);
    ck_assert_uint_eq(rec_events(&rig, SL_EVENT_LOSS), 2);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_LOSS, 0)->first, 20);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_LOSS, 0)->count, 2);
    ck_assert_uint_eq(rec_event(&rig, SL_EVENT_LOSS, 1)->first, second);
}
END_TEST

static void setup(void)
{
    scratch_open();
    memset(&rig, 0, sizeof(rig));
}

static void teardown(void)
{
    if (rig.pool)
        rec_close(&rig);
    scratch_close();
}

int main(void)
{
    Suite *suite = suite_create("writer recorder");
    TCase *tcase = tcase_create("recorder");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, test_plain);
    tcase_add_test(tcase, test_no_frame_no_file);
    tcase_add_test(tcase, test_rotation_by_time);
    tcase_add_loop_test(tcase, test_rotation_by_size, 0, 3);
    tcase_add_test(tcase, test_segments_of_one_frame);
    tcase_add_test(tcase, test_stall_within_ring);
    tcase_add_test(tcase, test_stall_beyond_ring);
    tcase_add_test(tcase, test_jitter);
    tcase_add_test(tcase, test_stall_to_the_end);
    tcase_add_test(tcase, test_losses_of_capture_are_not_ours);
    tcase_add_test(tcase, test_no_slot);
    tcase_add_loop_test(tcase, test_eio, 0, 3);
    tcase_add_test(tcase, test_eio_for_a_while);
    tcase_add_test(tcase, test_disk_full_stop);
    tcase_add_loop_test(tcase, test_small_disk_stop, 0, 2);
    tcase_add_test(tcase, test_refused_for_want_of_space);
    tcase_add_test(tcase, test_keep_free_stop);
    tcase_add_test(tcase, test_small_disk_overwrite);
    tcase_add_test(tcase, test_overwrite_no_more_than_needed);
    tcase_add_test(tcase, test_overwrite_keeps_the_newest);
    tcase_add_test(tcase, test_overwrite_many_before_the_start);
    tcase_add_test(tcase, test_overwrite_takes_the_right_files);
    tcase_add_test(tcase, test_enospc_overwrite_loses_nothing);
    tcase_add_test(tcase, test_short_eagain_late);
    tcase_add_test(tcase, test_prerecord);
    tcase_add_test(tcase, test_prerecord_never_triggered);
    tcase_add_test(tcase, test_prerecord_longer_than_ring);
    tcase_add_test(tcase, test_hurry);
    tcase_add_test(tcase, test_drain_writes_all);
    tcase_add_test(tcase, test_close_without_drain);
    tcase_add_test(tcase, test_stop_before_anything);
    tcase_add_test(tcase, test_open_fails_clean);
    tcase_add_test(tcase, test_names_do_not_collide);
    tcase_add_loop_test(tcase, test_checksum_off_and_shapes, 0, 5);
    tcase_add_loop_test(tcase, test_hours, 0, 3);
    tcase_add_test(tcase, test_many_slots_extend_and_index);
    tcase_add_test(tcase, test_sync_once_a_second);
    tcase_add_loop_test(tcase, test_file_leads_to_its_end, 0, 3);
    tcase_add_test(tcase, test_lost_slot_is_void);
    tcase_add_test(tcase, test_format_fails);
    tcase_add_test(tcase, test_sync_fails);
    tcase_add_test(tcase, test_completed_is_never_too_high);
    tcase_add_loop_test(tcase, test_loss_events, 0, 2);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
