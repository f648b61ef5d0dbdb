/* SPDX-License-Identifier: Apache-2.0 */
#include "dma/dma.h"
#include "dma/ring_layout.h"
#include "support/suite.h"

#include <errno.h>

static const size_t kib4 = 4096;
static const size_t mib2 = (size_t)2 << 20;
static const size_t mib32 = (size_t)32 << 20;
static const size_t gib = (size_t)1 << 30;
static const size_t frame_1080p = 4147200;

START_TEST(frames_of_1080p_in_32_mib_pages)
{
    struct sl_ring_layout layout;

    ck_assert_int_eq(sl_ring_layout_init(&layout, frame_1080p, mib32), 0);
    ck_assert_uint_eq(layout.payload_bytes, 4149248);
    ck_assert_uint_eq(layout.stride, (size_t)4 << 20);
    ck_assert_uint_eq(layout.per_group, 8);
    ck_assert_uint_eq(sl_ring_layout_place(&layout, 7).offset, 7 * ((size_t)4 << 20));
    ck_assert_uint_eq(sl_ring_layout_place(&layout, 8).offset, mib32);
    ck_assert_uint_eq(sl_ring_layout_place(&layout, 255).region, 0);
    ck_assert_uint_eq(sl_ring_layout_place(&layout, 256).region, 1);
    ck_assert_uint_eq(sl_ring_layout_place(&layout, 256).offset, 0);
    ck_assert_uint_eq(sl_ring_layout_regions(&layout, 256), 1);
    ck_assert_uint_eq(sl_ring_layout_regions(&layout, 257), 2);
    ck_assert_uint_eq(sl_ring_layout_region_bytes(&layout, 257, 0), gib);
    ck_assert_uint_eq(sl_ring_layout_region_bytes(&layout, 257, 1), mib32);
    ck_assert_uint_eq(sl_ring_layout_region_bytes(&layout, 9, 0), 2 * mib32);
}
END_TEST

START_TEST(a_stride_near_2_mib_is_rounded_up_to_it)
{
    struct sl_ring_layout layout;

    ck_assert_int_eq(sl_ring_layout_init(&layout, frame_1080p, mib2), 0);
    ck_assert_uint_eq(layout.stride, 2 * mib2);
    ck_assert_int_eq(sl_ring_layout_init(&layout, frame_1080p, kib4), 0);
    ck_assert_uint_eq(layout.stride, 2 * mib2);
    /* 720p 4:2:2 would waste 14 %: back to back */
    ck_assert_int_eq(sl_ring_layout_init(&layout, 1280 * 720 * 2, mib2), 0);
    ck_assert_uint_eq(layout.stride, 4096 + 1280 * 720 * 2);
    ck_assert_uint_eq(sl_ring_layout_region_bytes(&layout, 3, 0), 3 * mib2);
}
END_TEST

/* docs/file-format.md: one page more when rounding up would leave one byte, for which no Void element is small enough. */
START_TEST(a_gap_of_one_byte_gets_another_page)
{
    struct sl_ring_layout layout;

    for (size_t pages = 1; pages < 5; pages++) {
        ck_assert_int_eq(sl_ring_layout_init(&layout, pages * 4096, kib4), 0);
        ck_assert_uint_eq(layout.payload_bytes, pages * 4096);
        ck_assert_int_eq(sl_ring_layout_init(&layout, pages * 4096 - 1, kib4), 0);
        ck_assert_uint_eq(layout.payload_bytes, (pages + 1) * 4096);
        ck_assert_int_eq(sl_ring_layout_init(&layout, pages * 4096 - 2, kib4), 0);
        ck_assert_uint_eq(layout.payload_bytes, pages * 4096);
    }
}
END_TEST

START_TEST(refuses_what_fits_no_region)
{
    struct sl_ring_layout layout;

    ck_assert_int_eq(sl_ring_layout_init(&layout, 0, kib4), -EINVAL);
    ck_assert_int_eq(sl_ring_layout_init(&layout, gib - 4096 + 1, kib4), -E2BIG);
    ck_assert_int_eq(sl_ring_layout_init(&layout, gib, mib32), -E2BIG);
    ck_assert_int_eq(sl_ring_layout_init(&layout, SIZE_MAX, kib4), -E2BIG);
    ck_assert_int_eq(sl_ring_layout_init(&layout, gib - 4096, mib32), 0);
    ck_assert_uint_eq(sl_ring_layout_regions(&layout, 3), 3);
    ck_assert_uint_eq(sl_ring_layout_region_bytes(&layout, 3, 2), gib);
}
END_TEST

static void check_slots(const struct sl_ring_layout *layout, size_t frame_bytes, size_t page_bytes, unsigned slots)
{
    size_t slot_bytes = 4096 + layout->payload_bytes;
    struct sl_place before = {0};

    ck_assert_uint_ge(layout->payload_bytes, frame_bytes);
    ck_assert_uint_eq(layout->payload_bytes % 4096, 0);
    ck_assert_uint_ne(layout->payload_bytes - frame_bytes, 1);
    for (unsigned i = 0; i < slots; i++) {
        struct sl_place place = sl_ring_layout_place(layout, i);
        size_t bytes = sl_ring_layout_region_bytes(layout, slots, place.region);

        ck_assert_uint_eq(place.offset % 4096, 0);
        ck_assert_uint_le(place.offset + slot_bytes, bytes);
        ck_assert_uint_le(bytes, gib);
        ck_assert_uint_eq(bytes % page_bytes, 0);
        if (i && place.region == before.region)
            ck_assert_uint_ge(place.offset, before.offset + slot_bytes);
        else
            ck_assert_uint_eq(place.offset, 0);
        if (page_bytes == mib32 && slot_bytes <= mib32)
            ck_assert_uint_eq(place.offset / mib32, (place.offset + slot_bytes - 1) / mib32);
        before = place;
    }
    ck_assert_uint_eq(sl_ring_layout_regions(layout, slots), before.region + 1);
}

START_TEST(slots_never_overlap_or_cross)
{
    static const size_t frames[] = {1,       4095,    4096,     4097,     76800,    1843200,  3110400,  4147200,   8294400,
                                    8388608, 8384512, 16588800, 20000001, 33550336, 33554432, 50000000, 268435456, 536870912};
    const size_t pages[] = {kib4, mib2, mib32};

    for (size_t f = 0; f < sizeof(frames) / sizeof(frames[0]); f++) {
        for (size_t p = 0; p < sizeof(pages) / sizeof(pages[0]); p++) {
            struct sl_ring_layout layout;

            ck_assert_int_eq(sl_ring_layout_init(&layout, frames[f], pages[p]), 0);
            check_slots(&layout, frames[f], pages[p], 1);
            check_slots(&layout, frames[f], pages[p], 700);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dma_ring_layout");
    TCase *tcase = tcase_create("layout");

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, frames_of_1080p_in_32_mib_pages);
    tcase_add_test(tcase, a_stride_near_2_mib_is_rounded_up_to_it);
    tcase_add_test(tcase, a_gap_of_one_byte_gets_another_page);
    tcase_add_test(tcase, refuses_what_fits_no_region);
    tcase_add_test(tcase, slots_never_overlap_or_cross);
    return sl_run_suite(suite);
}
