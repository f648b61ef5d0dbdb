/* SPDX-License-Identifier: Apache-2.0 */
#include "dma/dma.h"
#include "dma/pages.h"
#include "support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sl_memory *make(unsigned slots, size_t frame_bytes, enum sl_hugepages hugepages)
{
    struct sl_memory *memory = NULL;
    struct sl_error err = {""};
    int ret = sl_memory_host(&memory, slots, frame_bytes, hugepages, &err);

    ck_assert_msg(ret == 0, "%s", err.text);
    return memory;
}

static void check_slot(const struct sl_memory *memory, unsigned index, size_t frame_bytes)
{
    const struct sl_slot *slot = &memory->slot[index];
    const struct sl_region *region = &memory->region[slot->data_region];

    ck_assert_uint_lt(slot->data_region, memory->regions);
    ck_assert_uint_eq(slot->header_region, slot->data_region);
    ck_assert(slot->adjacent);
    ck_assert_ptr_eq(slot->data, slot->header + SL_PAGE_BYTES);
    ck_assert_uint_eq((uintptr_t)slot->header % SL_PAGE_BYTES, 0);
    ck_assert_uint_eq(slot->data_bytes % SL_PAGE_BYTES, 0);
    ck_assert_uint_ge(slot->data_bytes, frame_bytes);
    ck_assert(slot->header >= region->base);
    ck_assert(slot->data + slot->data_bytes <= region->base + region->bytes);
    ck_assert_int_eq(slot->dmabuf_fd, -1);
    for (unsigned p = 0; p < SL_MAX_PLANES; p++)
        ck_assert_ptr_null(slot->plane[p]);
}

static bool all_bytes_are(const uint8_t *data, size_t bytes, uint8_t value)
{
    return data[0] == value && memcmp(data, data + 1, bytes - 1) == 0;
}

/* Every slot whole, zeroed, and nobody else's. */
static void check_ring(unsigned slots, size_t frame_bytes, enum sl_hugepages hugepages)
{
    struct sl_memory *memory = make(slots, frame_bytes, hugepages);

    ck_assert_uint_eq(memory->slots, slots);
    ck_assert_str_eq(memory->kind, "userptr");
    ck_assert(memory->cached);
    for (unsigned i = 0; i < slots; i++) {
        const struct sl_slot *slot = &memory->slot[i];

        check_slot(memory, i, frame_bytes);
        ck_assert(all_bytes_are(slot->header, SL_PAGE_BYTES + slot->data_bytes, 0));
        memset(slot->header, (int)i + 1, SL_PAGE_BYTES + slot->data_bytes);
    }
    for (unsigned i = 0; i < slots; i++)
        ck_assert(all_bytes_are(memory->slot[i].header, SL_PAGE_BYTES + memory->slot[i].data_bytes, (uint8_t)(i + 1)));
    sl_memory_close(memory);
}

START_TEST(slots_are_whole_zeroed_and_apart)
{
    check_ring(1, 1, SL_HUGEPAGES_NO);
    check_ring(5, 4096, SL_HUGEPAGES_NO);
    check_ring(9, 1843200, SL_HUGEPAGES_AUTO);
    check_ring(6, 4147200, SL_HUGEPAGES_AUTO);
    sl_memory_close(NULL);
}
END_TEST

START_TEST(small_pages_are_small)
{
    struct sl_memory *memory = make(4, 4147200, SL_HUGEPAGES_NO);

    ck_assert_str_eq(memory->pages, "4 KiB");
    ck_assert_uint_eq(sl_pages_transparent_bytes(memory->region[0].base, memory->region[0].bytes), 0);
    sl_memory_close(memory);
}
END_TEST

/* What it says is compared with what the kernel says. */
START_TEST(pages_are_what_they_are_called)
{
    struct sl_memory *memory;
    struct sl_error err;
    size_t transparent;

    if (sl_memory_host(&memory, 4, 4147200, SL_HUGEPAGES_REQUIRE, &err)) {
        ck_assert_ptr_nonnull(strstr(err.text, "vm.nr_hugepages"));
        return; /* a machine without any huge page */
    }
    transparent = sl_pages_transparent_bytes(memory->region[0].base, memory->region[0].bytes);
    if (!strncmp(memory->pages, "hugetlb", 7))
        ck_assert_uint_eq(transparent, 0);
    else if (!strcmp(memory->pages, "THP"))
        ck_assert_uint_eq(transparent, memory->region[0].bytes);
    else
        ck_assert_msg(!strncmp(memory->pages, "THP ", 4), "%s", memory->pages);
    sl_memory_close(memory);
}
END_TEST

START_TEST(hugetlb_pages_are_mapped_whole_or_refused)
{
    struct sl_hugetlb_state before = sl_pages_hugetlb_state(2 * SL_MIB);
    uint8_t *base = NULL;
    int ret;

    if (!before.offered)
        return;
    ret = sl_pages_map(&base, (before.total + 1) * 2 * SL_MIB, SL_PAGES_HUGETLB, 2 * SL_MIB);
    if (before.total == before.usable) /* else more pages may be given out beyond the reserved ones */
        ck_assert_msg(ret == 0 || ret == -ENOMEM, "%d", ret);
    if (!ret)
        sl_pages_unmap(base, (before.total + 1) * 2 * SL_MIB);
    ret = sl_pages_map(&base, 4 * SL_MIB, SL_PAGES_HUGETLB, 2 * SL_MIB);
    if (ret) {
        ck_assert_int_eq(ret, -ENOMEM);
        return; /* none reserved, or another process was faster */
    }
    ck_assert_uint_eq((uintptr_t)base % (2 * SL_MIB), 0);
    ck_assert(all_bytes_are(base, 4 * SL_MIB, 0));
    sl_pages_unmap(base, 4 * SL_MIB);
}
END_TEST

START_TEST(unknown_huge_pages_are_not_offered)
{
    uint8_t *base = NULL;

    ck_assert(!sl_pages_hugetlb_state(3 * SL_MIB).offered);
    ck_assert_uint_eq(sl_pages_hugetlb_state(3 * SL_MIB).usable, 0);
    ck_assert_int_lt(sl_pages_map(&base, 512 * SL_MIB, SL_PAGES_HUGETLB, 512 * SL_MIB), 0);
    ck_assert_ptr_null(base);
}
END_TEST

/* A byte in each page; uninstrumented, since a sanitizer's shadow memory has page faults of its own. */
__attribute__((noinline, no_sanitize("address", "thread"))) static void write_each_page(uint8_t *base, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 4096)
        base[i] = 1;
}

START_TEST(no_page_fault_is_left)
{
    static const enum sl_hugepages kinds[] = {SL_HUGEPAGES_NO, SL_HUGEPAGES_AUTO};

    for (unsigned k = 0; k < 2; k++) {
        struct sl_memory *memory = make(8, 4147200, kinds[k]);
        struct rusage before, after;

        getrusage(RUSAGE_SELF, &before);
        for (unsigned r = 0; r < memory->regions; r++)
            write_each_page(memory->region[r].base, memory->region[r].bytes);
        getrusage(RUSAGE_SELF, &after);
        ck_assert_int_lt(after.ru_minflt - before.ru_minflt, 8); /* of 8192 small pages, or 16 huge ones */
        sl_memory_close(memory);
    }
}
END_TEST

START_TEST(a_fork_does_not_get_the_ring)
{
    struct sl_memory *memory = make(2, 4147200, SL_HUGEPAGES_AUTO);
    int status = 0;
    pid_t child;

    child = fork();
    ck_assert_int_ge(child, 0);
    if (!child) {
        int zero = open("/dev/zero", O_RDONLY);

        /* the kernel reports an unmapped page as EFAULT, without a signal */
        _exit(read(zero, memory->slot[0].data, 1) < 0 && errno == EFAULT ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    sl_memory_close(memory);
}
END_TEST

static void check_refused(unsigned slots, size_t frame_bytes, enum sl_hugepages hugepages, int code, const char *text)
{
    struct sl_memory *memory = NULL;
    struct sl_error err = {""};

    ck_assert_int_eq(sl_memory_host(&memory, slots, frame_bytes, hugepages, &err), code);
    ck_assert_ptr_null(memory);
    ck_assert_msg(strstr(err.text, text) != NULL, "\"%s\" does not say \"%s\"", err.text, text);
}

START_TEST(refusals_say_why)
{
    check_refused(0, 4096, SL_HUGEPAGES_AUTO, -EINVAL, "0 slots");
    check_refused(4, 0, SL_HUGEPAGES_AUTO, -EINVAL, "0 bytes");
    check_refused(4, (size_t)1 << 30, SL_HUGEPAGES_AUTO, -E2BIG, "1 GiB");
    check_refused(UINT32_MAX, 1000000000, SL_HUGEPAGES_AUTO, -EINVAL, "too many");
    /* 8 TiB: more than is available, and nothing is killed to find out */
    check_refused(8000, 1073741824 - 4096, SL_HUGEPAGES_AUTO, -ENOMEM, "8192000 MiB");
    check_refused(8000, 1073741824 - 4096, SL_HUGEPAGES_NO, -ENOMEM, "are available");
    check_refused(8000, 1073741824 - 4096, SL_HUGEPAGES_REQUIRE, -ENOMEM, "4096000 of 2 MiB are needed");
    check_refused(8000, 1073741824 - 4096, SL_HUGEPAGES_REQUIRE, -ENOMEM, "sysctl -w vm.nr_hugepages=4096");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("dma_memory");
    TCase *tcase = tcase_create("memory");

    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, slots_are_whole_zeroed_and_apart);
    tcase_add_test(tcase, small_pages_are_small);
    tcase_add_test(tcase, pages_are_what_they_are_called);
    tcase_add_test(tcase, hugetlb_pages_are_mapped_whole_or_refused);
    tcase_add_test(tcase, unknown_huge_pages_are_not_offered);
    tcase_add_test(tcase, no_page_fault_is_left);
    tcase_add_test(tcase, a_fork_does_not_get_the_ring);
    tcase_add_test(tcase, refusals_say_why);
    return sl_run_suite(suite);
}
