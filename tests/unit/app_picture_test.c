/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app/picture.h"
#include "support/suite.h"

static struct sl_video_format format;

static void shape(const char *pixel, uint32_t width, uint32_t height)
{
    memset(&format, 0, sizeof format);
    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name(pixel), width, height), 0);
    format.fps = (struct sl_rational){60000, 1001};
    format.colour = (struct sl_colour){2, 2, 2, 0};
}

/* A 4×2 picture, in each layout. U is 1… and V is 101… by pair and line; 4:2:0 has the first line's. */
START_TEST(test_planes)
{
    static const struct {
        const char *pixel;
        uint8_t frame[16];
    } row[] = {
        {"YUYV", {10, 1, 11, 101, 12, 2, 13, 102, 14, 3, 15, 103, 16, 4, 17, 104}},
        {"YVYU", {10, 101, 11, 1, 12, 102, 13, 2, 14, 103, 15, 3, 16, 104, 17, 4}},
        {"UYVY", {1, 10, 101, 11, 2, 12, 102, 13, 3, 14, 103, 15, 4, 16, 104, 17}},
        {"VYUY", {101, 10, 1, 11, 102, 12, 2, 13, 103, 14, 3, 15, 104, 16, 4, 17}},
        {"NV16", {10, 11, 12, 13, 14, 15, 16, 17, 1, 101, 2, 102, 3, 103, 4, 104}},
        {"NV61", {10, 11, 12, 13, 14, 15, 16, 17, 101, 1, 102, 2, 103, 3, 104, 4}},
        {"422P", {10, 11, 12, 13, 14, 15, 16, 17, 1, 2, 3, 4, 101, 102, 103, 104}},
        {"NV12", {10, 11, 12, 13, 14, 15, 16, 17, 1, 101, 2, 102}},
        {"NV21", {10, 11, 12, 13, 14, 15, 16, 17, 101, 1, 102, 2}},
        {"YU12", {10, 11, 12, 13, 14, 15, 16, 17, 1, 2, 101, 102}},
        {"YV12", {10, 11, 12, 13, 14, 15, 16, 17, 101, 102, 1, 2}},
        {"GREY", {10, 11, 12, 13, 14, 15, 16, 17}},
        {"RGGB", {10, 11, 12, 13, 14, 15, 16, 17}},
    };
    static const uint8_t planes_422[] = {10, 11, 12, 13, 14, 15, 16, 17, 1, 2, 3, 4, 101, 102, 103, 104};
    static const uint8_t planes_420[] = {10, 11, 12, 13, 14, 15, 16, 17, 1, 2, 101, 102};

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t planar[17];

        shape(row[i].pixel, 4, 2);
        memset(planar, 0xEE, sizeof planar);
        sl_picture_planar(&format, row[i].frame, planar);
        ck_assert_uint_eq(sl_picture_planar_bytes(&format), format.frame_bytes);
        if (format.pixel->layout == SL_LAYOUT_BYTES)
            ck_assert_mem_eq(planar, row[i].frame, 8);
        else
            ck_assert_mem_eq(planar, format.pixel->vertical == 2 ? planes_420 : planes_422, format.frame_bytes);
        ck_assert_uint_eq(planar[format.frame_bytes], 0xEE);
    }
}
END_TEST

START_TEST(test_padded_lines)
{
    uint8_t frame[16 * 4 + 16 * 2] = {0}, planar[12];

    ck_assert_int_eq(sl_video_format_padded(&format, sl_pixel_format_by_name("NV12"), 4, 2, 16, 4), 0);
    memcpy(frame, "\x0a\x0b\x0c\x0d", 4);
    memcpy(frame + 16, "\x0e\x0f\x10\x11", 4);
    memcpy(frame + 64, "\x01\x65\x02\x66", 4);
    sl_picture_planar(&format, frame, planar);
    ck_assert_mem_eq(planar, "\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x01\x02\x65\x66", 12);
}
END_TEST

/* One colour all over; what must come out is from the definitions of the standards, worked out by hand. */
START_TEST(test_colours)
{
    static const struct {
        uint8_t matrix, range;
        uint32_t height;
        uint8_t yuv[3], rgb[3];
    } row[] = {
        {1, 1, 2, {16, 128, 128}, {0, 0, 0}},        {1, 1, 2, {235, 128, 128}, {255, 255, 255}},
        {1, 2, 2, {255, 128, 128}, {255, 255, 255}}, {1, 2, 2, {100, 128, 128}, {100, 100, 100}},
        {1, 1, 2, {63, 102, 240}, {255, 1, 0}},      /* red in BT.709 */
        {1, 1, 2, {173, 42, 26}, {0, 255, 1}},       /* green */
        {1, 1, 2, {32, 240, 118}, {1, 0, 255}},      /* blue */
        {6, 1, 2, {81, 90, 240}, {254, 0, 0}},       /* red in BT.601 */
        {5, 1, 2, {145, 54, 34}, {0, 255, 1}},       /* green */
        {6, 1, 2, {41, 240, 110}, {0, 0, 255}},      /* blue */
        {9, 1, 2, {74, 97, 240}, {255, 0, 0}},       /* red in BT.2020 */
        {2, 0, 2, {81, 90, 240}, {254, 0, 0}},       /* not recorded, few lines: BT.601 */
        {2, 0, 720, {63, 102, 240}, {255, 1, 0}},    /* many: BT.709 */
        {1, 1, 2, {255, 255, 255}, {255, 184, 255}}, /* what is out of range is cut */
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t *planar, *rgb;
        size_t pixels;

        shape("YU12", 4, row[i].height);
        format.colour.matrix = row[i].matrix;
        format.colour.range = row[i].range;
        pixels = (size_t)4 * row[i].height;
        planar = malloc(pixels * 3 / 2);
        rgb = malloc(pixels * 3);
        memset(planar, row[i].yuv[0], pixels);
        memset(planar + pixels, row[i].yuv[1], pixels / 4);
        memset(planar + pixels + pixels / 4, row[i].yuv[2], pixels / 4);
        sl_picture_rgb(&format, planar, rgb);
        for (size_t at = 0; at < pixels * 3; at++)
            ck_assert_msg(abs(rgb[at] - row[i].rgb[at % 3]) <= 1, "row %zu, component %zu: %u in place of %u", i, at % 3, rgb[at],
                          row[i].rgb[at % 3]);
        free(rgb);
        free(planar);
    }
}
END_TEST

/* Chroma sits on the left pixel of its pair: there it is taken as it is, on the right one it is the mean with the next. */
START_TEST(test_chroma_position)
{
    static const uint8_t planar[] = {100, 100, 100, 100, 128, 128, 28, 228}; /* Y, U, V of one line 4:2:2 */
    uint8_t rgb[12];

    shape("422P", 4, 1);
    format.colour.matrix = 1;
    format.colour.range = 2;
    sl_picture_rgb(&format, planar, rgb);
    ck_assert_uint_eq(rgb[0], 0);   /* V −100 */
    ck_assert_uint_eq(rgb[3], 100); /* V 0 */
    ck_assert_uint_eq(rgb[6], 255); /* V +100 */
    ck_assert_uint_eq(rgb[9], 255); /* the last pair has no next */
    ck_assert_uint_eq(sl_picture_channels(&format), 3);
}
END_TEST

/* 4:2:0: between two chroma lines three parts come from the nearer one. */
START_TEST(test_chroma_lines)
{
    uint8_t planar[8 + 2 + 2], rgb[24];
    int v[4];

    shape("YU12", 2, 4);
    format.colour.matrix = 1;
    format.colour.range = 2;
    memset(planar, 100, 8);
    planar[8] = planar[9] = 128;
    planar[10] = 108;
    planar[11] = 148;
    sl_picture_rgb(&format, planar, rgb);
    for (unsigned line = 0; line < 4; line++)
        v[line] = rgb[6 * line] - 100;
    ck_assert_int_eq(v[0], -31); /* −20 · 1.5748 */
    ck_assert_int_eq(v[1], -16); /* −10 · 1.5748 */
    ck_assert_int_eq(v[2], 16);
    ck_assert_int_eq(v[3], 31);
}
END_TEST

START_TEST(test_grey)
{
    static const uint8_t frame[] = {0, 255, 7, 9};
    uint8_t out[4];

    shape("GREY", 2, 2);
    format.colour.range = 1;
    sl_picture_rgb(&format, frame, out);
    ck_assert_mem_eq(out, frame, 4);
    ck_assert_uint_eq(sl_picture_channels(&format), 1);
}
END_TEST

START_TEST(test_y4m_header)
{
    char text[128];

    shape("YUYV", 1920, 1080);
    format.colour.range = 1;
    ck_assert_int_eq(sl_picture_y4m_header(&format, text, sizeof text), 0);
    ck_assert_str_eq(text, "YUV4MPEG2 W1920 H1080 F60000:1001 Ip A1:1 C422 XCOLORRANGE=LIMITED\n");
    shape("NV12", 640, 480);
    format.interlaced = true;
    format.fps = (struct sl_rational){0, 1};
    format.colour.range = 2;
    ck_assert_int_eq(sl_picture_y4m_header(&format, text, sizeof text), 0);
    ck_assert_str_eq(text, "YUV4MPEG2 W640 H480 F0:0 I? A1:1 C420mpeg2 XCOLORRANGE=FULL\n");
    shape("GREY", 640, 480);
    ck_assert_int_eq(sl_picture_y4m_header(&format, text, sizeof text), 0);
    ck_assert_str_eq(text, "YUV4MPEG2 W640 H480 F60000:1001 Ip A1:1 Cmono\n");
    ck_assert_int_eq(sl_picture_y4m_header(&format, text, 40), -ENOSPC);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app picture");
    TCase *tcase = tcase_create("picture");

    tcase_add_test(tcase, test_planes);
    tcase_add_test(tcase, test_padded_lines);
    tcase_add_test(tcase, test_colours);
    tcase_add_test(tcase, test_chroma_position);
    tcase_add_test(tcase, test_chroma_lines);
    tcase_add_test(tcase, test_grey);
    tcase_add_test(tcase, test_y4m_header);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
