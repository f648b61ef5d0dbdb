/* SPDX-License-Identifier: Apache-2.0 */
#include "core/spsc.h"
#include "support/suite.h"

#include <errno.h>

struct wide {
    uint64_t number;
    unsigned char pad[33];
};

START_TEST(rounds_capacity_up_to_a_power_of_two)
{
    static const size_t asked[] = {1, 2, 3, 5, 8, 9, 1000};
    static const size_t got[] = {1, 2, 4, 8, 8, 16, 1024};

    for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
        struct sl_spsc ring = {0};

        ck_assert_int_eq(sl_spsc_init(&ring, asked[i], sizeof(int)), 0);
        ck_assert_uint_eq(ring.capacity, got[i]);
        sl_spsc_fini(&ring);
    }
}
END_TEST

START_TEST(refuses_nothing_and_too_much)
{
    struct sl_spsc ring = {0};

    ck_assert_int_eq(sl_spsc_init(&ring, 0, 8), -EINVAL);
    ck_assert_int_eq(sl_spsc_init(&ring, 8, 0), -EINVAL);
    ck_assert_int_eq(sl_spsc_init(&ring, SIZE_MAX, 1), -ENOMEM);
    ck_assert_int_eq(sl_spsc_init(&ring, 4, SIZE_MAX / 2), -ENOMEM);
    ck_assert_ptr_null(ring.items);
    sl_spsc_fini(&ring);
}
END_TEST

START_TEST(full_and_empty_write_nothing)
{
    struct sl_spsc ring = {0};
    int value;

    ck_assert_int_eq(sl_spsc_init(&ring, 4, sizeof(int)), 0);
    value = 77;
    ck_assert(!sl_spsc_pop(&ring, &value));
    ck_assert_int_eq(value, 77);
    for (int i = 0; i < 4; i++)
        ck_assert(sl_spsc_push(&ring, &i));
    ck_assert(!sl_spsc_push(&ring, &value));
    ck_assert_uint_eq(sl_spsc_count(&ring), 4);
    for (int i = 0; i < 4; i++) {
        ck_assert(sl_spsc_pop(&ring, &value));
        ck_assert_int_eq(value, i);
    }
    ck_assert(!sl_spsc_pop(&ring, &value));
    ck_assert_uint_eq(sl_spsc_count(&ring), 0);
    sl_spsc_fini(&ring);
}
END_TEST

/* Every fill level at every place of the ring, with an item that is no power of two long. */
START_TEST(wraps_in_order)
{
    struct sl_spsc ring = {0};
    struct wide item = {0};
    uint64_t pushed = 0;
    uint64_t popped = 0;

    ck_assert_int_eq(sl_spsc_init(&ring, 8, sizeof(item)), 0);
    for (unsigned level = 1; level <= 8; level++) {
        for (unsigned turn = 0; turn < 19; turn++) {
            for (unsigned i = 0; i < level; i++) {
                item.number = pushed++;
                memset(item.pad, (int)(item.number & 0xff), sizeof(item.pad));
                ck_assert(sl_spsc_push(&ring, &item));
            }
            for (unsigned i = 0; i < level; i++) {
                ck_assert(sl_spsc_pop(&ring, &item));
                ck_assert_uint_eq(item.number, popped++);
                ck_assert_uint_eq(item.pad[sizeof(item.pad) - 1], item.number & 0xff);
            }
        }
    }
    sl_spsc_fini(&ring);
}
END_TEST

/* Indices count on for ever; their wrap at SIZE_MAX must not show. */
START_TEST(survives_the_wrap_of_its_indices)
{
    struct sl_spsc ring = {0};
    unsigned value;

    ck_assert_int_eq(sl_spsc_init(&ring, 4, sizeof(value)), 0);
    atomic_store(&ring.head, SIZE_MAX - 1);
    atomic_store(&ring.tail, SIZE_MAX - 1);
    ring.head_seen = ring.tail_seen = SIZE_MAX - 1;
    for (unsigned i = 0; i < 4; i++)
        ck_assert(sl_spsc_push(&ring, &i));
    ck_assert(!sl_spsc_push(&ring, &value));
    ck_assert_uint_eq(sl_spsc_count(&ring), 4);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(sl_spsc_pop(&ring, &value));
        ck_assert_uint_eq(value, i);
    }
    ck_assert(!sl_spsc_pop(&ring, &value));
    sl_spsc_fini(&ring);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core_spsc");
    TCase *tcase = tcase_create("spsc");

    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, rounds_capacity_up_to_a_power_of_two);
    tcase_add_test(tcase, refuses_nothing_and_too_much);
    tcase_add_test(tcase, full_and_empty_write_nothing);
    tcase_add_test(tcase, wraps_in_order);
    tcase_add_test(tcase, survives_the_wrap_of_its_indices);
    return sl_run_suite(suite);
}
