/* SPDX-License-Identifier: Apache-2.0 */
#include "core/format.h"
#include "support/suite.h"

#include <errno.h>
#include <linux/videodev2.h>
#include <string.h>

struct expected {
    const char *name;
    uint32_t v4l2, v4l2_mp;
    char matroska[5];
    uint32_t bytes; /* of 64 × 32 pixels */
};

static const struct expected all[] = {
    {"YUYV", V4L2_PIX_FMT_YUYV, 0, "YUY2", 4096},
    {"UYVY", V4L2_PIX_FMT_UYVY, 0, "UYVY", 4096},
    {"YVYU", V4L2_PIX_FMT_YVYU, 0, "YVYU", 4096},
    {"VYUY", V4L2_PIX_FMT_VYUY, 0, "VYUY", 4096},
    {"NV16", V4L2_PIX_FMT_NV16, V4L2_PIX_FMT_NV16M, "NV16", 4096},
    {"NV61", V4L2_PIX_FMT_NV61, V4L2_PIX_FMT_NV61M, "NV61", 4096},
    {"NV12", V4L2_PIX_FMT_NV12, V4L2_PIX_FMT_NV12M, "NV12", 3072},
    {"NV21", V4L2_PIX_FMT_NV21, V4L2_PIX_FMT_NV21M, "NV21", 3072},
    {"422P", V4L2_PIX_FMT_YUV422P, V4L2_PIX_FMT_YUV422M, "Y42B", 4096},
    {"YU12", V4L2_PIX_FMT_YUV420, V4L2_PIX_FMT_YUV420M, "I420", 3072},
    {"YV12", V4L2_PIX_FMT_YVU420, V4L2_PIX_FMT_YVU420M, "YV12", 3072},
    {"GREY", V4L2_PIX_FMT_GREY, 0, "Y800", 2048},
    {"BA81", V4L2_PIX_FMT_SBGGR8, 0, "\272BG\010", 2048},
    {"GBRG", V4L2_PIX_FMT_SGBRG8, 0, "\272GB\010", 2048},
    {"GRBG", V4L2_PIX_FMT_SGRBG8, 0, "\272GR\010", 2048},
    {"RGGB", V4L2_PIX_FMT_SRGGB8, 0, "\272RG\010", 2048},
};
static const size_t all_length = sizeof(all) / sizeof(all[0]);

static uint32_t fourcc(const char *text)
{
    const unsigned char *byte = (const unsigned char *)text;

    return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

START_TEST(the_table_has_the_kernels_values)
{
    for (size_t i = 0; i < all_length; i++) {
        const struct sl_pixel_format *pixel = sl_pixel_format_by_name(all[i].name);
        struct sl_video_format format = {0};

        ck_assert_ptr_nonnull(pixel);
        ck_assert_uint_eq(pixel->v4l2_fourcc, all[i].v4l2);
        ck_assert_uint_eq(pixel->v4l2_fourcc_mp, all[i].v4l2_mp);
        ck_assert_uint_eq(pixel->matroska_fourcc, fourcc(all[i].matroska));
        ck_assert_ptr_eq(sl_pixel_format_by_v4l2(all[i].v4l2), pixel);
        if (all[i].v4l2_mp)
            ck_assert_ptr_eq(sl_pixel_format_by_v4l2(all[i].v4l2_mp), pixel);
        ck_assert_ptr_eq(sl_pixel_format_by_matroska(fourcc(all[i].matroska)), pixel);
        ck_assert_int_eq(sl_video_format_tight(&format, pixel, 64, 32), 0);
        ck_assert_uint_eq(format.frame_bytes, all[i].bytes);
    }
    ck_assert_ptr_nonnull(sl_pixel_format_at(all_length - 1));
    ck_assert_ptr_null(sl_pixel_format_at(all_length));
}
END_TEST

START_TEST(unknown_is_null)
{
    ck_assert_ptr_null(sl_pixel_format_by_name("yuyv"));
    ck_assert_ptr_null(sl_pixel_format_by_name(""));
    ck_assert_ptr_null(sl_pixel_format_by_v4l2(0)); /* the packed formats have 0 for "no such form" */
    ck_assert_ptr_null(sl_pixel_format_by_v4l2(V4L2_PIX_FMT_MJPEG));
    ck_assert_ptr_null(sl_pixel_format_by_matroska(fourcc("YUYV")));
}
END_TEST

static void check_plane(const struct sl_video_format *format, unsigned plane, uint32_t bytesperline, uint32_t lines, uint32_t offset)
{
    ck_assert_uint_eq(format->bytesperline[plane], bytesperline);
    ck_assert_uint_eq(format->lines[plane], lines);
    ck_assert_uint_eq(format->offset[plane], offset);
}

START_TEST(tight_frames_of_1080p)
{
    struct sl_video_format format = {0};

    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("YUYV"), 1920, 1080), 0);
    check_plane(&format, 0, 3840, 1080, 0);
    check_plane(&format, 1, 0, 0, 0);
    ck_assert_uint_eq(format.frame_bytes, 4147200);
    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("NV12"), 1920, 1080), 0);
    check_plane(&format, 0, 1920, 1080, 0);
    check_plane(&format, 1, 1920, 540, 2073600);
    ck_assert_uint_eq(format.frame_bytes, 3110400);
    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("NV16"), 1920, 1080), 0);
    check_plane(&format, 1, 1920, 1080, 2073600);
    ck_assert_uint_eq(format.frame_bytes, 4147200);
    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("422P"), 1920, 1080), 0);
    check_plane(&format, 1, 960, 1080, 2073600);
    check_plane(&format, 2, 960, 1080, 2073600 + 1036800);
    ck_assert_uint_eq(format.frame_bytes, 4147200);
}
END_TEST

START_TEST(padding_follows_v4l2)
{
    struct sl_video_format format = {.fps = {60, 1}, .interlaced = true};

    ck_assert_int_eq(sl_video_format_padded(&format, sl_pixel_format_by_name("NV12"), 1920, 1080, 2048, 1088), 0);
    check_plane(&format, 0, 2048, 1088, 0);
    check_plane(&format, 1, 2048, 544, 2048 * 1088);
    ck_assert_uint_eq(format.frame_bytes, 2048 * 1088 + 2048 * 544);
    ck_assert_uint_eq(sl_video_format_line_bytes(&format, 0), 1920);
    ck_assert_uint_eq(sl_video_format_line_bytes(&format, 1), 1920);
    ck_assert_uint_eq(sl_video_format_plane_lines(&format, 0), 1080);
    ck_assert_uint_eq(sl_video_format_plane_lines(&format, 1), 540);
    ck_assert_int_eq(sl_video_format_padded(&format, sl_pixel_format_by_name("YU12"), 642, 358, 704, 368), 0);
    check_plane(&format, 0, 704, 368, 0);
    check_plane(&format, 1, 352, 184, 704 * 368);
    check_plane(&format, 2, 352, 184, 704 * 368 + 352 * 184);
    ck_assert_uint_eq(format.frame_bytes, 704 * 368 * 3 / 2);
    ck_assert_uint_eq(sl_video_format_line_bytes(&format, 2), 321);
    ck_assert_uint_eq(sl_video_format_plane_lines(&format, 2), 179);
    ck_assert_uint_eq(sl_video_format_line_bytes(&format, 3), 0);
    ck_assert_uint_eq(sl_video_format_plane_lines(&format, 3), 0);
    ck_assert_int_eq(sl_video_format_padded(&format, sl_pixel_format_by_name("UYVY"), 642, 358, 1344, 360), 0);
    check_plane(&format, 0, 1344, 360, 0);
    check_plane(&format, 1, 0, 0, 0);
    check_plane(&format, 2, 0, 0, 0);
    ck_assert_uint_eq(sl_video_format_line_bytes(&format, 0), 1284);
    ck_assert_uint_eq(format.fps.num, 60); /* not the shape's business */
    ck_assert(format.interlaced);
}
END_TEST

START_TEST(refuses_what_cannot_be_and_changes_nothing)
{
    const struct sl_pixel_format *yuyv = sl_pixel_format_by_name("YUYV");
    const struct sl_pixel_format *nv12 = sl_pixel_format_by_name("NV12");
    const struct sl_pixel_format *planar = sl_pixel_format_by_name("YU12");
    struct sl_video_format format, before;

    memset(&format, 0xa5, sizeof(format));
    memcpy(&before, &format, sizeof(before));
    ck_assert_int_eq(sl_video_format_tight(&format, yuyv, 0, 1080), -EINVAL);
    ck_assert_int_eq(sl_video_format_tight(&format, yuyv, 1920, 0), -EINVAL);
    ck_assert_int_eq(sl_video_format_tight(&format, yuyv, 1921, 1080), -EINVAL);
    ck_assert_int_eq(sl_video_format_tight(&format, nv12, 1920, 1081), -EINVAL);
    ck_assert_int_eq(sl_video_format_tight(&format, yuyv, 16386, 1080), -EINVAL);
    ck_assert_int_eq(sl_video_format_tight(&format, yuyv, 1920, 16385), -EINVAL);
    ck_assert_int_eq(sl_video_format_tight(&format, yuyv, UINT32_MAX - 1, UINT32_MAX - 1), -EINVAL);
    ck_assert_int_eq(sl_video_format_padded(&format, yuyv, 1920, 1080, 3839, 1080), -EINVAL);
    ck_assert_int_eq(sl_video_format_padded(&format, yuyv, 1920, 1080, 65537, 1080), -EINVAL);
    ck_assert_int_eq(sl_video_format_padded(&format, yuyv, 1920, 1080, UINT32_MAX, 1080), -EINVAL);
    ck_assert_int_eq(sl_video_format_padded(&format, yuyv, 1920, 1080, 3840, 1079), -EINVAL);
    ck_assert_int_eq(sl_video_format_padded(&format, yuyv, 1920, 1080, 3840, UINT32_MAX), -EINVAL);
    ck_assert_int_eq(sl_video_format_padded(&format, nv12, 1920, 1080, 1920, 1081), -EINVAL);
    ck_assert_int_eq(sl_video_format_padded(&format, planar, 1920, 1080, 1921, 1080), -EINVAL);
    /* 64 KiB × 32768 lines × 2 planes is 2³²: does not fit frame_bytes */
    ck_assert_int_eq(sl_video_format_padded(&format, sl_pixel_format_by_name("NV16"), 16, 16, 65536, 32768), -EINVAL);
    ck_assert_int_eq(memcmp(&format, &before, sizeof(before)), 0);
}
END_TEST

START_TEST(the_largest_frames_fit)
{
    struct sl_video_format format = {0};

    ck_assert_int_eq(sl_video_format_tight(&format, sl_pixel_format_by_name("UYVY"), 16384, 16384), 0);
    ck_assert_uint_eq(format.frame_bytes, 536870912);
    ck_assert_int_eq(sl_video_format_padded(&format, sl_pixel_format_by_name("YU12"), 16384, 16384, 65536, 16384), 0);
    ck_assert_uint_eq(format.offset[2], 65536u * 16384 + 32768u * 8192);
    ck_assert_uint_eq(format.frame_bytes, 1610612736);
}
END_TEST

/* Planes never overlap and end where the frame ends, whatever the numbers. */
START_TEST(planes_lie_back_to_back)
{
    for (size_t i = 0; i < all_length; i++) {
        for (uint32_t pad = 0; pad < 128; pad += 2) {
            const struct sl_pixel_format *pixel = sl_pixel_format_at(i);
            struct sl_video_format format = {0};
            uint32_t end = 0;

            ck_assert_int_eq(sl_video_format_padded(&format, pixel, 320, 200, 640 + pad, 200 + pad), 0);
            for (unsigned p = 0; p < pixel->planes; p++) {
                ck_assert_uint_eq(format.offset[p], end);
                ck_assert_uint_le(sl_video_format_line_bytes(&format, p), format.bytesperline[p]);
                ck_assert_uint_le(sl_video_format_plane_lines(&format, p), format.lines[p]);
                end += format.bytesperline[p] * format.lines[p];
            }
            ck_assert_uint_eq(end, format.frame_bytes);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_format");
    TCase *tcase = tcase_create("format");

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, the_table_has_the_kernels_values);
    tcase_add_test(tcase, unknown_is_null);
    tcase_add_test(tcase, tight_frames_of_1080p);
    tcase_add_test(tcase, padding_follows_v4l2);
    tcase_add_test(tcase, refuses_what_cannot_be_and_changes_nothing);
    tcase_add_test(tcase, the_largest_frames_fit);
    tcase_add_test(tcase, planes_lie_back_to_back);
    return sl_run_suite(suite);
}
