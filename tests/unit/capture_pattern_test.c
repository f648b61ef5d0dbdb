/* SPDX-License-Identifier: Apache-2.0 */
/* Strip and pattern: every pixel format, tight and padded, and every byte of them guarded by the check. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "capture/capture.h"
#include "capture/pattern.h"
#include "support/suite.h"

static const struct {
    uint32_t width, height, extra_bytes, extra_lines;
} g_shapes[] = {{1920, 1080, 0, 0}, {64, 48, 0, 0}, {642, 358, 0, 0}, {1280, 720, 64, 8}, {320, 240, 32, 2}, {1536, 2, 0, 0}};
enum { SHAPES = sizeof(g_shapes) / sizeof(g_shapes[0]) };

static size_t count_formats(void)
{
    size_t n = 0;

    while (sl_pixel_format_at(n))
        n++;
    return n;
}

static struct sl_video_format shape(const struct sl_pixel_format *pixel, unsigned i)
{
    struct sl_video_format format = {0};
    int ret = sl_video_format_tight(&format, pixel, g_shapes[i].width, g_shapes[i].height);

    ck_assert_int_eq(ret, 0);
    if (g_shapes[i].extra_bytes || g_shapes[i].extra_lines)
        ret = sl_video_format_padded(&format, pixel, g_shapes[i].width, g_shapes[i].height,
                                     format.bytesperline[0] + g_shapes[i].extra_bytes, g_shapes[i].height + g_shapes[i].extra_lines);
    ck_assert_int_eq(ret, 0);
    return format;
}

static uint8_t *picture(const struct sl_video_format *format, const struct sl_strip_content *content)
{
    struct sl_pattern pattern;
    uint8_t *data = malloc(format->frame_bytes);
    uint8_t drawn[SL_STRIP_BYTES] = {0};

    ck_assert_ptr_nonnull(data);
    memset(data, 0x5A, format->frame_bytes);
    ck_assert_int_eq(sl_pattern_init(&pattern, format, NULL), 0);
    sl_pattern_render(&pattern, content->phase, data);
    sl_pattern_stamp(&pattern, content, drawn, data);
    return data;
}

/* A strip drawn over another leaves nothing of it. */
START_TEST(strip_over_strip)
{
    struct sl_video_format format = shape(sl_pixel_format_at((size_t)_i), 0);
    struct sl_strip_content first = {.phase = 3, .number = UINT64_MAX, .time_ns = INT64_MAX};
    struct sl_strip_content second = {.phase = 3, .number = 0x0F, .time_ns = -1};
    uint8_t drawn[SL_STRIP_BYTES] = {0};
    uint8_t *expected = picture(&format, &second);
    uint8_t *data = malloc(format.frame_bytes);
    struct sl_pattern pattern;

    ck_assert_ptr_nonnull(data);
    ck_assert_int_eq(sl_pattern_init(&pattern, &format, NULL), 0);
    sl_pattern_render(&pattern, 3, data);
    sl_pattern_stamp(&pattern, &first, drawn, data);
    sl_pattern_stamp(&pattern, &second, drawn, data);
    ck_assert(!memcmp(data, expected, format.frame_bytes));
    free(expected);
    free(data);
}
END_TEST

START_TEST(strip_round_trip)
{
    struct sl_strip_content in = {.phase = 0xBEEF, .number = UINT64_C(0x0123456789ABCDEF), .time_ns = -2};
    struct sl_strip_content out;
    uint8_t bytes[SL_STRIP_BYTES];

    sl_strip_encode(&in, bytes);
    ck_assert_uint_eq(bytes[0], 'S');
    ck_assert_uint_eq(bytes[1], 'L');
    ck_assert_uint_eq(bytes[4], 0x01); /* big-endian: read from left to right */
    ck_assert_int_eq(sl_strip_decode(bytes, &out), 0);
    ck_assert_uint_eq(out.phase, in.phase);
    ck_assert_uint_eq(out.number, in.number);
    ck_assert_int_eq(out.time_ns, in.time_ns);
    for (unsigned bit = 0; bit < 8 * SL_STRIP_BYTES; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_eq(sl_strip_decode(bytes, &out), -EBADMSG);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}
END_TEST

/* The CRC is the one everybody knows: the check value of "123456789" cannot be had through the interface, that of a strip can. */
START_TEST(strip_crc_is_ieee)
{
    struct sl_strip_content in = {.phase = 1, .number = 2, .time_ns = 3};
    uint8_t bytes[SL_STRIP_BYTES];
    uint32_t crc = UINT32_MAX;

    sl_strip_encode(&in, bytes);
    for (unsigned i = 0; i < 20; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    crc = ~crc;
    ck_assert_uint_eq(crc, (uint32_t)bytes[20] << 24 | (uint32_t)bytes[21] << 16 | (uint32_t)bytes[22] << 8 | bytes[23]);
}
END_TEST

START_TEST(every_format_checks)
{
    const struct sl_pixel_format *pixel = sl_pixel_format_at((size_t)_i);

    for (unsigned i = 0; i < SHAPES; i++) {
        struct sl_video_format format = shape(pixel, i);
        struct sl_strip_content content = {.phase = (uint16_t)(3 + i), .number = 1000 + i, .time_ns = 123456789012 + i};
        uint8_t *data = picture(&format, &content);
        struct sl_strip strip;
        uint64_t bad;

        ck_assert_msg(sl_pattern_check(&format, data, format.frame_bytes, &strip, &bad) == 0, "%s shape %u", pixel->name, i);
        ck_assert_uint_eq(strip.number, content.number);
        ck_assert_int_eq(strip.time_ns, content.time_ns);
        free(data);
    }
}
END_TEST

START_TEST(every_byte_is_guarded)
{
    const struct sl_pixel_format *pixel = sl_pixel_format_at((size_t)_i);
    struct sl_video_format format = shape(pixel, 4);
    struct sl_strip_content content = {.phase = 77, .number = 5, .time_ns = 6};
    uint8_t *data = picture(&format, &content);
    struct sl_strip strip;
    uint64_t bad;

    for (uint32_t at = 0; at < format.frame_bytes; at += at < 4096 ? 1 : 97) {
        data[at] ^= 1; /* too little to change a cell of the strip: the picture must tell */
        ck_assert_msg(sl_pattern_check(&format, data, format.frame_bytes, &strip, &bad) == -EIO, "%s byte %u", pixel->name, at);
        ck_assert_uint_eq(bad, at);
        data[at] ^= 1;
    }
    free(data);
}
END_TEST

START_TEST(pages_in_the_wrong_place_show)
{
    struct sl_video_format format = shape(sl_pixel_format_by_name("YUYV"), 0);
    struct sl_strip_content content = {.phase = 1};
    uint8_t *data = picture(&format, &content);
    uint32_t pages = format.frame_bytes / 4096;
    unsigned same = 0;

    /* of a sample of pairs of pages hardly any two may be equal */
    for (uint32_t a = 1; a < pages; a += 7)
        for (uint32_t b = a + 1; b < pages; b += 3)
            same += !memcmp(data + (size_t)a * 4096, data + (size_t)b * 4096, 4096);
    ck_assert_uint_le(same, 30);
    free(data);
}
END_TEST

START_TEST(phases_differ_everywhere)
{
    struct sl_video_format format = shape(sl_pixel_format_by_name("UYVY"), 0);
    struct sl_strip_content one = {.phase = 1}, two = {.phase = 2};
    uint8_t *a = picture(&format, &one);
    uint8_t *b = picture(&format, &two);
    uint32_t differ = 0;

    for (uint32_t i = 0; i < format.frame_bytes; i++)
        differ += a[i] != b[i];
    ck_assert_uint_gt(differ, format.frame_bytes / 2);
    free(a);
    free(b);
}
END_TEST

START_TEST(no_strip_no_check)
{
    struct sl_video_format format = shape(sl_pixel_format_by_name("NV12"), 1);
    struct sl_strip_content content = {.number = 9};
    uint8_t *data = picture(&format, &content);
    struct sl_strip strip;
    uint64_t bad;

    ck_assert_int_eq(sl_pattern_check(&format, data, format.frame_bytes - 1, &strip, &bad), -EBADMSG);
    data[0] ^= 0xFF; /* a cell is read in its middle: the strip is right, the picture is not */
    ck_assert_int_eq(sl_pattern_check(&format, data, format.frame_bytes, &strip, &bad), -EIO);
    memset(data, 0, format.frame_bytes);
    ck_assert_int_eq(sl_pattern_check(&format, data, format.frame_bytes, &strip, &bad), -EBADMSG);
    free(data);
}
END_TEST

START_TEST(a_format_that_lies)
{
    struct sl_video_format format = shape(sl_pixel_format_by_name("NV12"), 4);
    struct sl_strip_content content = {.number = 9};
    uint8_t *data = picture(&format, &content);
    struct sl_video_format bad[5] = {format, format, format, format, format};
    struct sl_strip strip;
    uint64_t at;

    bad[0].bytesperline[1] = 1u << 20;
    bad[1].bytesperline[0] = format.width - 1;
    bad[2].lines[1] = format.height;
    bad[3].offset[1] = format.frame_bytes;
    bad[4].lines[0] = format.height - 2;
    for (unsigned i = 0; i < 5; i++)
        ck_assert_int_eq(sl_pattern_check(&bad[i], data, format.frame_bytes, &strip, &at), -EBADMSG);
    ck_assert_int_eq(sl_pattern_check(&format, data, format.frame_bytes, &strip, &at), 0);
    free(data);
}
END_TEST

START_TEST(too_small_for_a_strip)
{
    struct sl_video_format format = {0};
    struct sl_pattern pattern;
    struct sl_error err;

    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("YUYV"), 64, 46), 0);
    ck_assert_int_eq(sl_pattern_init(&pattern, &format, &err), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "64x46"));
    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("YUYV"), 30, 1000), 0);
    ck_assert_int_eq(sl_pattern_init(&pattern, &format, &err), -EINVAL);
}
END_TEST

int main(void)
{
    int formats = (int)count_formats();
    Suite *suite = suite_create("capture_pattern");
    TCase *tcase = tcase_create("pattern");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, strip_round_trip);
    tcase_add_test(tcase, strip_crc_is_ieee);
    tcase_add_loop_test(tcase, every_format_checks, 0, formats);
    tcase_add_loop_test(tcase, strip_over_strip, 0, formats);
    tcase_add_loop_test(tcase, every_byte_is_guarded, 0, formats);
    tcase_add_test(tcase, pages_in_the_wrong_place_show);
    tcase_add_test(tcase, phases_differ_everywhere);
    tcase_add_test(tcase, no_strip_no_check);
    tcase_add_test(tcase, a_format_that_lies);
    tcase_add_test(tcase, too_small_for_a_strip);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
