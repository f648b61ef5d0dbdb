/* SPDX-License-Identifier: Apache-2.0 */
/* What a config takes of a machine: sums, and which huge pages will do. */
#include <check.h>
#include <string.h>

#include "app/need.h"
#include "support/suite.h"

#define MIB (UINT64_C(1) << 20)

static struct sl_config config;

/* `text` comes behind a sensor of 1080p60 YUYV. */
static void load(const char *text)
{
    struct sl_error err = {""};
    char file[512];

    snprintf(file, sizeof file, "[record]\ndir = /x\n[sensor]\nsource = v4l2\ndevice = /dev/video0\n%s", text);
    ck_assert_msg(sl_config_parse(&config, NULL, "F", file, strlen(file), NULL, 0, &err) == 0, "%s", err.text);
}

static void teardown(void)
{
    sl_config_fini(&config);
}

START_TEST(a_second_of_1080p60)
{
    struct sl_need need;

    load("");
    ck_assert(sl_need_of(&need, &config));
    ck_assert_uint_eq(need.frame_bytes, 4147200);
    ck_assert_uint_eq(need.slot_bytes, 4153344); /* 1 + 1012.5 pages, rounded up */
    ck_assert_uint_eq(need.ring_frames, 60);
    ck_assert_uint_eq(need.slots, 68);
    ck_assert(need.own_memory);
    ck_assert_double_eq_tol(need.bytes_per_s, 249200640, 1);
    ck_assert_uint_eq(sl_need_ring_bytes(&need), 68 * UINT64_C(4153344));
    ck_assert_uint_eq(sl_need_huge_pages(&need, 32 * MIB), 9);  /* 8 in each */
    ck_assert_uint_eq(sl_need_huge_pages(&need, 2 * MIB), 136); /* 2 for each */
    ck_assert(sl_need_one_piece(&need, 32 * MIB) && !sl_need_one_piece(&need, 2 * MIB));
}
END_TEST

START_TEST(small_frames_lie_back_to_back_in_small_pages)
{
    struct sl_need need;

    load("size = 640x480\nfps = 30\nbuffers = 4\n[ring]\ndepth = 16\n");
    ck_assert(sl_need_of(&need, &config));
    ck_assert_uint_eq(need.slot_bytes, 151 * 4096);
    ck_assert_uint_eq(need.slots, 20);
    ck_assert_uint_eq(sl_need_huge_pages(&need, 2 * MIB), 6);  /* 20 × 604 KiB */
    ck_assert_uint_eq(sl_need_huge_pages(&need, 32 * MIB), 1); /* 54 fit */
    ck_assert(!sl_need_one_piece(&need, 2 * MIB));
}
END_TEST

START_TEST(the_drivers_buffers_are_all_there_is_with_mmap)
{
    struct sl_need need;

    load("memory = mmap\nbuffers = 12\n");
    ck_assert(sl_need_of(&need, &config));
    ck_assert(!need.own_memory);
    ck_assert_uint_eq(need.slots, 12);
}
END_TEST

START_TEST(a_shape_that_is_the_devices_is_not_known)
{
    struct sl_need need = {.slots = 7};

    load("size = auto\n");
    ck_assert(!sl_need_of(&need, &config));
    ck_assert_uint_eq(need.slots, 7);
    sl_need_assume(&need, &config, 1000, (struct sl_rational){30, 1});
    ck_assert_uint_eq(need.slot_bytes, 8192);
    ck_assert_uint_eq(need.slots, 38);
}
END_TEST

START_TEST(the_best_size_that_is_there_in_full)
{
    struct sl_host host = {.page_sizes = 3,
                           .pages = {{.page_bytes = 2 * MIB, .total = 200, .free = 136},
                                     {.page_bytes = 32 * MIB, .total = 20, .free = 9},
                                     {.page_bytes = 1024 * MIB, .total = 4, .free = 4}}};
    struct sl_need need;

    load("");
    ck_assert(sl_need_of(&need, &config));
    ck_assert_ptr_eq(sl_need_pages_there(&need, &host), &host.pages[1]);
    host.pages[1].free = 8;
    ck_assert_ptr_eq(sl_need_pages_there(&need, &host), &host.pages[0]);
    host.pages[0].free = 135;
    ck_assert_ptr_null(sl_need_pages_there(&need, &host)); /* pages of 1 GiB the ring does not take */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app/need");
    TCase *tc = tcase_create("need");

    tcase_add_checked_fixture(tc, NULL, teardown);
    tcase_add_test(tc, a_second_of_1080p60);
    tcase_add_test(tc, small_frames_lie_back_to_back_in_small_pages);
    tcase_add_test(tc, the_drivers_buffers_are_all_there_is_with_mmap);
    tcase_add_test(tc, a_shape_that_is_the_devices_is_not_known);
    tcase_add_test(tc, the_best_size_that_is_there_in_full);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
