/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "support/scratch.h"
#include "support/suite.h"
#include "writer/files.h"
#include "writer/segment.h"

static int dir_fd;

static void make(const char *name)
{
    scratch_write(scratch_path(name), 0, "x", 1);
}

START_TEST(test_stamp_and_name)
{
    char text[64];

    sl_files_stamp(text, sizeof(text), 0);
    ck_assert_str_eq(text, "19700101T000000Z");
    sl_files_stamp(text, sizeof(text), 1767323045 * SL_NS_PER_S + 999999999);
    ck_assert_str_eq(text, "20260102T030405Z");
    ck_assert_int_eq(sl_files_name(text, sizeof(text), "cam", "20260102T030405Z", 7, ".next"), 0);
    ck_assert_str_eq(text, "cam-20260102T030405Z-0007.mkv.next");
    ck_assert_int_eq(sl_files_name(text, sizeof(text), "cam", "20260102T030405Z", 123456, ""), 0);
    ck_assert_str_eq(text, "cam-20260102T030405Z-123456.mkv");
    ck_assert_int_eq(sl_files_name(text, 20, "cam", "20260102T030405Z", 1, ""), -ENAMETOOLONG);
}
END_TEST

START_TEST(test_parse)
{
    static const char *const no[] = {"",
                                     "cam",
                                     "cam-",
                                     "cam-20260102T030405Z",
                                     "cam-20260102T030405Z-",
                                     "cam-20260102T030405Z-.mkv",
                                     "cam-20260102T030405Z-1.mk",
                                     "cam-20260102T030405Z-1.mkv.next",
                                     "cam-20260102T030405Z-1.mkv.bak",
                                     "cam-20260102t030405Z-1.mkv",
                                     "cam-2026010xT030405Z-1.mkv",
                                     "cam2-20260102T030405Z-1.mkv",
                                     "ca-20260102T030405Z-1.mkv",
                                     "cam-20260102T030405Z--1.mkv",
                                     "cam-20260102T030405Z.ledger",
                                     "cam-extra-20260102T030405Z-1.mkv"};
    struct sl_file_id id;

    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        ck_assert_msg(!sl_files_parse(no[i], "cam", "", &id), "%s", no[i]);
    ck_assert(sl_files_parse("cam-20260102T030405Z-0012.mkv", "cam", "", &id));
    ck_assert_str_eq(id.stamp, "20260102T030405Z");
    ck_assert_uint_eq(id.number, 12);
    ck_assert(sl_files_parse("cam-20260102T030405Z-12.mkv.gone", "cam", ".gone", &id));
    ck_assert(sl_files_parse("a-b-20260102T030405Z-12.mkv", "a-b", "", &id));
}
END_TEST

START_TEST(test_split)
{
    static const char *const no[] = {"",
                                     "cam",
                                     "cam-20260102T030405Z.ledger",
                                     "-20260102T030405Z-0001.mkv",
                                     "20260102T030405Z-0001.mkv",
                                     "cam-20260102T030405Z-0001.mkv.next",
                                     "cam-0001.mkv"};
    char name[24];
    struct sl_file_id id;

    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        ck_assert_msg(!sl_files_split(no[i], name, sizeof(name), &id), "%s", no[i]);
    ck_assert(sl_files_split("cam-2-20260102T030405Z-0012.mkv", name, sizeof(name), &id));
    ck_assert_str_eq(name, "cam-2");
    ck_assert_str_eq(id.stamp, "20260102T030405Z");
    ck_assert_uint_eq(id.number, 12);
    ck_assert(sl_files_split("a-20250102T030405Z-20260102T030405Z-0001.mkv", name, sizeof(name), &id));
    ck_assert_str_eq(name, "a-20250102T030405Z");
    ck_assert(!sl_files_split("a-name-that-is-too-long-for-it-20260102T030405Z-0001.mkv", name, sizeof(name), &id));
}
END_TEST

START_TEST(test_taken)
{
    ck_assert_int_eq(sl_files_taken(dir_fd, "cam", "20260102T030405Z"), 0);
    make("cam-20260102T030405Z.ledger");
    ck_assert_int_eq(sl_files_taken(dir_fd, "cam", "20260102T030405Z"), 1);
    ck_assert_int_eq(sl_files_taken(dir_fd, "ca", "20260102T030405Z"), 0);
    make("cam-20260102T030406Z-0001.mkv");
    ck_assert_int_eq(sl_files_taken(dir_fd, "cam", "20260102T030406Z"), 1);
    ck_assert_int_lt(sl_files_taken(-1, "cam", "20260102T030406Z"), 0);
}
END_TEST

START_TEST(test_oldest)
{
    struct sl_file_id id;
    char name[SL_FILE_NAME_BYTES];
    int fd, locked;

    make("cam-20260102T030405Z-0010.mkv");
    make("cam-20260102T030405Z-0009.mkv");
    make("cam-20260101T030405Z-0100.mkv");
    make("cam-20260102T030405Z-0011.mkv");
    make("other-20200101T000000Z-0001.mkv");
    fd = sl_files_oldest(dir_fd, "cam", "20260102T030405Z", 11, &id, name, sizeof(name));
    ck_assert_int_ge(fd, 0);
    ck_assert_str_eq(name, "cam-20260101T030405Z-0100.mkv");
    close(fd);
    unlink(scratch_path("cam-20260101T030405Z-0100.mkv"));
    locked = open(scratch_path("cam-20260102T030405Z-0009.mkv"), O_RDONLY | O_CLOEXEC); /* somebody records into it */
    ck_assert_int_eq(flock(locked, LOCK_EX), 0);
    fd = sl_files_oldest(dir_fd, "cam", "20260102T030405Z", 11, &id, name, sizeof(name));
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(id.number, 10);
    close(fd);
    unlink(scratch_path("cam-20260102T030405Z-0010.mkv"));
    ck_assert_int_eq(sl_files_oldest(dir_fd, "cam", "20260102T030405Z", 11, &id, name, sizeof(name)), -ENOENT);
    close(locked);
}
END_TEST

/* What bears the name of a recording but is something else is left alone, and does not stop the search. */
START_TEST(test_oldest_passes_over_strange_things)
{
    struct sl_file_id id;
    char name[SL_FILE_NAME_BYTES];
    int fd;

    ck_assert_int_eq(mkdirat(dir_fd, "cam-20200101T000000Z-0001.mkv", 0755), 0);
    ck_assert_int_eq(symlinkat("/etc/passwd", dir_fd, "cam-20200101T000000Z-0002.mkv"), 0);
    ck_assert_int_eq(mkfifoat(dir_fd, "cam-20200101T000000Z-0003.mkv", 0600), 0);
    make("cam-20200101T000000Z-0004.mkv");
    fd = sl_files_oldest(dir_fd, "cam", "x", 0, &id, name, sizeof(name));
    ck_assert_int_ge(fd, 0);
    ck_assert_uint_eq(id.number, 4);
    close(fd);
}
END_TEST

START_TEST(test_clean)
{
    int locked;

    make("cam-20260102T030405Z-0001.mkv");
    make("cam-20260102T030405Z-0002.mkv.next");
    make("cam-20260102T030405Z-0000.mkv.gone");
    make("cam-20260102T030405Z-0003.mkv.next");
    make("other-20260102T030405Z-0001.mkv.next");
    locked = open(scratch_path("cam-20260102T030405Z-0003.mkv.next"), O_RDONLY | O_CLOEXEC);
    ck_assert_int_eq(flock(locked, LOCK_EX), 0);
    ck_assert_uint_gt(sl_files_clean(dir_fd, "cam", NULL, NULL, NULL), 0);
    ck_assert_uint_eq(scratch_count(""), 3);
    ck_assert_uint_eq(scratch_count("-0003.mkv.next"), 1);
    ck_assert_uint_eq(scratch_count("-0001.mkv"), 1);
    close(locked);
}
END_TEST

START_TEST(test_slots_in)
{
    struct sl_layout layout;

    ck_assert_int_eq(sl_layout_init(&layout, _i ? 4147200 : 1, false), 0);
    for (uint64_t bytes = 0; bytes < (_i ? 1ULL << 34 : 1ULL << 22); bytes += _i ? (1 << 27) + 4096 : 4096) {
        uint64_t slots = sl_slots_in(&layout, bytes);

        ck_assert_uint_le(slots * layout.slot_bytes + (slots ? sl_cues_reserve(slots) : 0), bytes);
        ck_assert_uint_gt((slots + 2) * layout.slot_bytes + sl_cues_reserve(slots + 2), bytes); /* and not much less than it could */
    }
}
END_TEST

START_TEST(test_sizes)
{
    static const struct {
        uint32_t frame_bytes;
        unsigned depth;
        uint64_t segment_bytes;
    } row[] = {{4147200, 4, 0},         {4147200, 64, 0},  {6144, 4, 0},      {6144, 4, 1},
               {4147200, 4, 100 << 20}, {500 << 20, 4, 0}, {500 << 20, 64, 1}};

    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct sl_run run = {.cfg = {.queue_depth = row[i].depth, .segment_bytes = row[i].segment_bytes}};

        ck_assert_int_eq(sl_layout_init(&run.layout, row[i].frame_bytes, true), 0);
        sl_run_size(&run);
        ck_assert_uint_gt(run.ahead_slots, run.cfg.queue_depth);
        ck_assert_uint_le(run.initial_bytes, run.limit_bytes);
        ck_assert_uint_le(run.chunk_bytes, run.limit_bytes);
        ck_assert_uint_eq(run.chunk_bytes % SL_PAGE_BYTES, 0);
        ck_assert_uint_eq(run.initial_bytes % SL_PAGE_BYTES, 0);
        ck_assert_uint_ge(sl_slots_in(&run.layout, run.initial_bytes), 1);
        if (row[i].segment_bytes > run.layout.slot_bytes + 4096)
            ck_assert_uint_le(run.limit_slots * run.layout.slot_bytes + sl_layout_cues_bytes(run.limit_slots), row[i].segment_bytes);
        ck_assert_uint_eq(run.rotates, row[i].segment_bytes > 0);
    }
}
END_TEST

static void setup(void)
{
    scratch_open();
    dir_fd = open(scratch_path("."), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(dir_fd, 0);
}

static void teardown(void)
{
    close(dir_fd);
    scratch_close();
}

int main(void)
{
    Suite *suite = suite_create("writer files");
    TCase *tcase = tcase_create("files");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, test_stamp_and_name);
    tcase_add_test(tcase, test_parse);
    tcase_add_test(tcase, test_split);
    tcase_add_test(tcase, test_taken);
    tcase_add_test(tcase, test_oldest);
    tcase_add_test(tcase, test_oldest_passes_over_strange_things);
    tcase_add_test(tcase, test_clean);
    tcase_add_loop_test(tcase, test_slots_in, 0, 2);
    tcase_add_test(tcase, test_sizes);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
