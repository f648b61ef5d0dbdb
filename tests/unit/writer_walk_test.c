/* SPDX-License-Identifier: Apache-2.0 */
/* The reader that knows Matroska only, on files written out by hand. */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/suite.h"
#include "writer/cue_reader.h"
#include "writer/ebml_read.h"
#include "writer/walk.h"

static struct sl_walk walk;
static int fd = -1;

static void open_bytes(const void *bytes, size_t count, uint64_t file_bytes)
{
    fd = memfd_create("walk", MFD_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, count, 0), (ssize_t)count);
    ck_assert_int_eq(ftruncate(fd, (off_t)file_bytes), 0);
    sl_walk_init(&walk, fd, file_bytes);
}

static void close_bytes(void)
{
    if (fd >= 0)
        close(fd);
    fd = -1;
}

#define open_text(text) open_bytes(text, sizeof(text) - 1, sizeof(text) - 1)

static void expect_element(uint32_t id, uint64_t at, uint64_t end, bool in_segment)
{
    ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_ELEMENT);
    ck_assert_uint_eq(walk.element.head.id, id);
    ck_assert_uint_eq(walk.element.at, at);
    ck_assert_uint_eq(walk.element.end, end);
    ck_assert_int_eq(walk.element.in_segment, in_segment);
}

static void expect_broken(const char *why)
{
    ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_BROKEN);
    ck_assert_msg(strstr(walk.error.text, why) != NULL, "\"%s\" does not say \"%s\"", walk.error.text, why);
    ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_BROKEN); /* and stays there */
}

#define EBML       "\x1a\x45\xdf\xa3\x81\x00"
#define SEGMENT    "\x18\x53\x80\x67"
#define VOID_3     "\xec\x81\x00"
#define CLUSTER    "\x1f\x43\xb6\x75"
#define TIME_5     "\xe7\x81\x05"
#define BLOCK_REL1 "\xa3\x86\x81\x00\x01\x80xy"

START_TEST(test_known_size)
{
    open_text(EBML SEGMENT "\x86" VOID_3 VOID_3 VOID_3);
    expect_element(SL_EBML_HEADER, 0, 6, false);
    expect_element(SL_MKV_SEGMENT, 6, 17, false);
    expect_element(SL_EBML_VOID, 11, 14, true);
    expect_element(SL_EBML_VOID, 14, 17, true);
    expect_element(SL_EBML_VOID, 17, 20, false); /* after the Segment */
    ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_END);
    ck_assert(walk.segment_sized);
}
END_TEST

START_TEST(test_unknown_size)
{
    open_text(EBML SEGMENT "\xff" VOID_3);
    expect_element(SL_EBML_HEADER, 0, 6, false);
    expect_element(SL_MKV_SEGMENT, 6, 14, false);
    expect_element(SL_EBML_VOID, 11, 14, true);
    ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_END);
    ck_assert(!walk.segment_sized);
}
END_TEST

/* A Void of 5 GiB is one step. */
START_TEST(test_beyond_4_gib)
{
    open_bytes(SEGMENT "\xff\xec\x01\x00\x00\x01\x40\x00\x00\x00", 14, UINT64_C(14) + 0x140000000);
    expect_element(SL_MKV_SEGMENT, 0, UINT64_C(14) + 0x140000000, false);
    expect_element(SL_EBML_VOID, 5, UINT64_C(14) + 0x140000000, true);
    ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_END);
}
END_TEST

START_TEST(test_broken)
{
    static const struct {
        const char *bytes;
        size_t count;
        unsigned elements;
        const char *why;
    } row[] = {
        {"", 0, 0, NULL},
        {"\x00", 1, 0, "no element that belongs there at byte 0"},
        {EBML "\xec", 7, 1, "ends within the head of the element at byte 6"},
        {EBML "\xec\x82\x00", 9, 1, "Void at byte 6 reaches beyond the end of the file"},
        {EBML "\xec\xff\x00", 9, 1, "without a size at byte 6"},
        {EBML CLUSTER "\x80", 11, 1, "no element that belongs there at byte 6"}, /* outside of a Segment */
        {SEGMENT "\xff" EBML, 11, 1, "no element that belongs there at byte 5"}, /* inside of one */
        {SEGMENT "\xff" SEGMENT "\x80", 10, 1, "no element that belongs there at byte 5"},
        {SEGMENT "\x80" SEGMENT "\x80", 10, 1, "a second Segment at byte 5"},
        {SEGMENT "\x83" VOID_3, 8, 2, NULL},
        {SEGMENT "\x84" VOID_3, 8, 0, "a Segment that is longer than the file at byte 0"},
        {SEGMENT "\x82" VOID_3, 8, 1, "Void at byte 5 reaches beyond the end of the Segment"},
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        open_bytes(row[i].bytes, row[i].count, row[i].count);
        for (unsigned element = 0; element < row[i].elements; element++)
            ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_ELEMENT);
        if (row[i].why)
            expect_broken(row[i].why);
        else
            ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_END);
        close_bytes();
    }
}
END_TEST

/* The file got shorter after it was opened. */
START_TEST(test_shrinks)
{
    open_bytes(EBML, 6, 100000);
    ck_assert_int_eq(ftruncate(fd, 3), 0);
    expect_broken("Input/output error");
}
END_TEST

START_TEST(test_clusters)
{
    static const struct {
        const char *bytes;
        size_t count;
        bool good;
    } row[] = {
        {CLUSTER "\x8b" TIME_5 BLOCK_REL1, 16, true},
        {CLUSTER "\x91\xbf\x84"
                 "CRCs" TIME_5 BLOCK_REL1,
         22, true},
        {CLUSTER "\x80", 5, false},
        {CLUSTER "\x83" TIME_5, 8, false},
        {CLUSTER "\x88" BLOCK_REL1, 13, false},                          /* no time */
        {CLUSTER "\x8e" TIME_5 TIME_5 BLOCK_REL1, 19, false},            /* two */
        {CLUSTER "\x8e" TIME_5 BLOCK_REL1 VOID_3, 19, false},            /* something after the block */
        {CLUSTER "\x8b" TIME_5 "\xa3\x86\x82\x00\x01\x80xy", 16, false}, /* track 2 */
        {CLUSTER "\x8b" TIME_5 "\xa3\x87\x81\x00\x01\x80xy", 16, false}, /* a block that reaches out of the Cluster */
        {CLUSTER "\x86" TIME_5 "\xa3\x81\x81", 11, false},               /* a block without a head */
        {CLUSTER "\x84\xe7\x89\x00\x00", 9, false},                      /* a time of nine bytes, of which two are there */
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char bytes[64] = SEGMENT "\xff";
        int64_t time = -1;

        memcpy(bytes + 5, row[i].bytes, row[i].count);
        open_bytes(bytes, row[i].count + 5, row[i].count + 5);
        ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_ELEMENT);
        ck_assert_int_eq(sl_walk_next(&walk), SL_WALK_ELEMENT);
        ck_assert_msg(sl_walk_cluster(&walk, &time) == (row[i].good ? 0 : -EBADMSG), "row %zu", i);
        ck_assert_int_eq(time, row[i].good ? 6 : -1);
        close_bytes();
    }
}
END_TEST

START_TEST(test_cues)
{
    static const char bytes[] = "\xbb\x8b\xb3\x81\x07\xb7\x86\xf7\x81\x01\xf1\x81\x09"     /* time 7, position 9 */
                                "\xbb\x8c\xb3\x82\x01\x00\xb7\x86\xf7\x81\x01\xf1\x81\xff" /* 256, 255 */
                                "\xbb\x8b\xb3\x81\x07\xb7\x86\xf7\x81\x02\xf1\x81\x09"     /* track 2 */
                                "\xbb\x89\xb3\x81\x07\xb7\x84\xf7\x81\x01\xf2"             /* half an element */
                                "\xbb\x8a\xb3\x89\x00\x00\x00\x00\x00\x00\x00\x00";        /* a time of nine bytes */
    const uint64_t count = sizeof bytes - 1;
    struct sl_cue_reader cues;
    uint64_t time, position;

    open_bytes(bytes, count, count);
    sl_cue_reader_init(&cues, fd, count, 0, count);
    ck_assert_int_eq(sl_cue_reader_next(&cues, &time, &position), 0);
    ck_assert_uint_eq(time, 7);
    ck_assert_uint_eq(position, 9);
    ck_assert_int_eq(sl_cue_reader_next(&cues, &time, &position), 0);
    ck_assert_uint_eq(time, 256);
    ck_assert_uint_eq(position, 255);
    for (unsigned i = 0; i < 3; i++)
        ck_assert_int_eq(sl_cue_reader_next(&cues, &time, &position), -EBADMSG);
    sl_cue_reader_init(&cues, fd, count, count, count);
    ck_assert_int_eq(sl_cue_reader_next(&cues, &time, &position), -ENOENT);
}
END_TEST

START_TEST(test_children)
{
    struct sl_ebml_children children = {(const uint8_t *)"\xec\x81\x05\x42\x86\x80\xec\x82\x01", 9};
    struct sl_ebml_element element;
    const uint8_t *content;
    uint64_t value;

    ck_assert_int_eq(sl_ebml_next_child(&children, &element, &content), 1);
    ck_assert_uint_eq(element.id, SL_EBML_VOID);
    ck_assert_int_eq(sl_ebml_read_uint(content, element.size, &value), 0);
    ck_assert_uint_eq(value, 5);
    ck_assert_int_eq(sl_ebml_next_child(&children, &element, &content), 1);
    ck_assert_uint_eq(element.id, SL_EBML_VERSION);
    ck_assert_int_eq(sl_ebml_read_uint(content, 0, &value), 0);
    ck_assert_uint_eq(value, 0);
    ck_assert_int_eq(sl_ebml_next_child(&children, &element, &content), -EBADMSG);
    children.left = 0;
    ck_assert_int_eq(sl_ebml_next_child(&children, &element, &content), 0);
    ck_assert_int_eq(sl_ebml_read_uint(content, 9, &value), -EBADMSG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer walk");
    TCase *tcase = tcase_create("walk");

    tcase_add_checked_fixture(tcase, NULL, close_bytes);
    tcase_add_test(tcase, test_known_size);
    tcase_add_test(tcase, test_unknown_size);
    tcase_add_test(tcase, test_beyond_4_gib);
    tcase_add_test(tcase, test_broken);
    tcase_add_test(tcase, test_shrinks);
    tcase_add_test(tcase, test_clusters);
    tcase_add_test(tcase, test_cues);
    tcase_add_test(tcase, test_children);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
