/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>

#include "support/suite.h"
#include "writer/ebml.h"

START_TEST(test_heads)
{
    uint8_t bytes[64];
    struct sl_ebml ebml;

    sl_ebml_init(&ebml, bytes, sizeof(bytes));
    sl_ebml_head(&ebml, SL_MKV_SEGMENT, SL_EBML_UNKNOWN, 8);
    sl_ebml_head(&ebml, SL_MKV_SEEK, 126, 1);
    sl_ebml_head(&ebml, SL_MKV_TIMESTAMP_SCALE, 127, 2);
    sl_ebml_head(&ebml, SL_EBML_VOID, SL_EBML_MAX_SIZE, 8);
    ck_assert(!ebml.overflow);
    ck_assert_mem_eq(
        bytes, "\x18\x53\x80\x67\x01\xff\xff\xff\xff\xff\xff\xff\x4d\xbb\xfe\x2a\xd7\xb1\x40\x7f\xec\x01\xff\xff\xff\xff\xff\xff\xfe", 29);
    sl_ebml_head(&ebml, SL_MKV_SEEK, 127, 1); /* all ones would mean unknown */
    ck_assert(ebml.overflow);
}
END_TEST

START_TEST(test_values)
{
    uint8_t bytes[64];
    struct sl_ebml ebml;

    sl_ebml_init(&ebml, bytes, sizeof(bytes));
    sl_ebml_uint(&ebml, SL_MKV_TRACK_NUMBER, 0);
    sl_ebml_uint(&ebml, SL_MKV_PIXEL_WIDTH, 1920);
    sl_ebml_uint(&ebml, SL_MKV_TRACK_UID, UINT64_MAX);
    sl_ebml_float(&ebml, SL_MKV_DURATION, 1.0);
    sl_ebml_string(&ebml, SL_EBML_DOC_TYPE, "matroska");
    ck_assert_uint_eq(sl_ebml_length(&ebml), 3 + 4 + 11 + 11 + 11);
    ck_assert_mem_eq(bytes,
                     "\xd7\x81\x00\xb0\x82\x07\x80\x73\xc5\x88\xff\xff\xff\xff\xff\xff\xff\xff\x44\x89\x88\x3f\xf0\x00\x00\x00\x00\x00\x00"
                     "\x42\x82\x88matroska",
                     40);
}
END_TEST

START_TEST(test_overflow_writes_nothing)
{
    uint8_t bytes[8] = {0};
    struct sl_ebml ebml;

    sl_ebml_init(&ebml, bytes, 6);
    sl_ebml_uint(&ebml, SL_MKV_TRACK_UID, 0x11223344);
    ck_assert(ebml.overflow);
    ck_assert_uint_eq(bytes[6] | bytes[7], 0);
    sl_ebml_uint(&ebml, SL_MKV_TRACK_NUMBER, 1); /* would fit, but must not follow what is missing */
    ck_assert_uint_eq(sl_ebml_length(&ebml), 3);
}
END_TEST

START_TEST(test_void)
{
    static const uint64_t total[] = {2, 7, 8, 9, 127, 4096, 1ULL << 40};
    struct sl_ebml_element element;
    uint8_t bytes[16];
    struct sl_ebml ebml;

    for (size_t i = 0; i < sizeof(total) / sizeof(total[0]); i++) {
        sl_ebml_init(&ebml, bytes, sizeof(bytes));
        sl_ebml_void(&ebml, total[i]);
        ck_assert(!ebml.overflow);
        ck_assert_int_eq(sl_ebml_read_head(bytes, sizeof(bytes), &element), 0);
        ck_assert_uint_eq(element.id, SL_EBML_VOID);
        ck_assert_uint_eq(element.head_bytes, total[i] < 8 ? 2 : 8);
        ck_assert_uint_eq(element.head_bytes + element.size, total[i]);
    }
    sl_ebml_init(&ebml, bytes, sizeof(bytes));
    sl_ebml_void(&ebml, 1);
    ck_assert(ebml.overflow);
}
END_TEST

START_TEST(test_masters_nest)
{
    uint8_t bytes[32];
    struct sl_ebml ebml;
    uint8_t *outer, *inner;

    sl_ebml_init(&ebml, bytes, sizeof(bytes));
    outer = sl_ebml_begin(&ebml, SL_MKV_TRACKS);
    inner = sl_ebml_begin(&ebml, SL_MKV_TRACK_ENTRY);
    sl_ebml_uint(&ebml, SL_MKV_TRACK_NUMBER, 1);
    sl_ebml_end(&ebml, inner);
    sl_ebml_end(&ebml, outer);
    ck_assert_mem_eq(bytes, "\x16\x54\xae\x6b\x40\x06\xae\x40\x03\xd7\x81\x01", 12);
}
END_TEST

START_TEST(test_read_head_hostile)
{
    struct sl_ebml_element element;
    static const uint8_t cut[] = {0x1A, 0x45, 0xDF, 0xA3, 0x01, 0, 0};

    ck_assert_int_eq(sl_ebml_read_head(cut, 0, &element), -EAGAIN);
    for (size_t bytes = 1; bytes <= sizeof(cut); bytes++)
        ck_assert_int_eq(sl_ebml_read_head(cut, bytes, &element), -EAGAIN);
    ck_assert_int_eq(sl_ebml_read_head((const uint8_t[]){0, 1, 2}, 3, &element), -EBADMSG);
    ck_assert_int_eq(sl_ebml_read_head((const uint8_t[]){0x0F, 1, 2}, 3, &element), -EBADMSG);
    ck_assert_int_eq(sl_ebml_read_head((const uint8_t[]){0xEC, 0, 2}, 3, &element), -EBADMSG);
    ck_assert_int_eq(sl_ebml_read_head((const uint8_t[]){0xEC, 0xFF}, 2, &element), 0);
    ck_assert_uint_eq(element.size, SL_EBML_UNKNOWN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer ebml");
    TCase *tcase = tcase_create("ebml");

    tcase_add_test(tcase, test_heads);
    tcase_add_test(tcase, test_values);
    tcase_add_test(tcase, test_overflow_writes_nothing);
    tcase_add_test(tcase, test_void);
    tcase_add_test(tcase, test_masters_nest);
    tcase_add_test(tcase, test_read_head_hostile);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
