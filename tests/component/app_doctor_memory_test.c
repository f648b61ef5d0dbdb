/* SPDX-License-Identifier: Apache-2.0 */
/* sluice doctor on machines made of files: memory, and reserving huge pages on kernels that give all, some or none. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/host_file.h"
#include "support/doctor_rig.h"
#include "support/suite.h"

#define HUGE      "/sys/kernel/mm/hugepages/hugepages-"
#define REQUIRED  "[ring]\nhugepages = require\n"
#define THP       "/sys/kernel/mm/transparent_hugepage/enabled"
#define CAMERA    "device = /dev/video0\n"
#define NO_LIMITS "CapEff:\t0000000000000000\n"

static void pages_2m(unsigned total, unsigned unused)
{
    machine_put(HUGE "2048kB/nr_hugepages", "%u\n", total);
    machine_put(HUGE "2048kB/free_hugepages", "%u\n", unused);
}

static void pages_32m(unsigned total, unsigned unused)
{
    machine_put(HUGE "32768kB/nr_hugepages", "%u\n", total);
    machine_put(HUGE "32768kB/free_hugepages", "%u\n", unused);
}

static int64_t total_of(const char *size)
{
    char path[128];
    int64_t total = -1;

    snprintf(path, sizeof path, HUGE "%s/nr_hugepages", size);
    ck_assert(sl_host_number(machine.root, path, &total));
    return total;
}

START_TEST(huge_pages_that_are_there)
{
    doctor_expect("", "huge-pages", SL_DOCTOR_OK, "136 of 2M for 68 slots, and 150 are free");
    pages_32m(9, 9);
    doctor_expect("", "huge-pages", SL_DOCTOR_OK, "9 of 32M for 68 slots, and 9 are free");
    doctor_expect(CAMERA, "huge-pages", SL_DOCTOR_OK, "2M 200/150/136, 32M 9/9/9");
}
END_TEST

START_TEST(huge_pages_that_are_missing)
{
    pages_2m(10, 5);
    doctor_expect("", "huge-pages", SL_DOCTOR_WARNING, "too few for 68 slots; sizes (there/free/needed): 2M 10/5/136");
    doctor_expect("", "huge-pages", SL_DOCTOR_WARNING, "up to 1014 pieces for the disk");
    doctor_expect("", "huge-pages", SL_DOCTOR_WARNING, "hugepagesz=2M hugepages=136");
    doctor_expect("", "huge-pages", SL_DOCTOR_WARNING, "echo 141 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
    doctor_expect(REQUIRED, "huge-pages", SL_DOCTOR_WARNING, "falls back to transparent"); /* which count as huge */
    machine_remove(THP);
    doctor_expect(REQUIRED, "huge-pages", SL_DOCTOR_PROBLEM, "the start will fail");
    doctor_expect("[ring]\nhugepages = no\n", "huge-pages", SL_DOCTOR_OK, "not used");
    pages_32m(0, 0);
    doctor_expect("", "huge-pages", SL_DOCTOR_WARNING, "hugepagesz=32M hugepages=9;");
    doctor_expect("", "huge-pages", SL_DOCTOR_WARNING,
                  "pages of 2M do for receivers that take scattered memory: hugepagesz=2M hugepages=136");
}
END_TEST

/* A camera's receiver may need frames in one piece; the pattern does not. */
START_TEST(frames_in_one_piece_for_a_camera)
{
    pages_32m(0, 0);
    doctor_expect("", "huge-pages", SL_DOCTOR_OK, NULL);
    doctor_expect(CAMERA, "huge-pages", SL_DOCTOR_NOTE, "a receiver without an IOMMU cannot write into it");
    doctor_expect(CAMERA "memory = mmap\n", "huge-pages", SL_DOCTOR_OK, "sensor.memory = mmap");
    doctor_expect(CAMERA "size = 4096x4000\nfps = 10\n", "huge-pages", SL_DOCTOR_WARNING, "32M 0/0/18"); /* one in each */
}
END_TEST

START_TEST(a_kernel_without_huge_pages)
{
    machine_remove(HUGE "2048kB/nr_hugepages");
    machine_remove(HUGE "2048kB/free_hugepages");
    machine_remove("/sys/kernel/mm/hugepages/hugepages-2048kB");
    doctor_expect("", "huge-pages", SL_DOCTOR_WARNING, "CONFIG_HUGETLBFS");
    doctor_expect(REQUIRED, "huge-pages", SL_DOCTOR_WARNING, "CONFIG_HUGETLBFS");
    machine_remove(THP);
    doctor_expect(REQUIRED, "huge-pages", SL_DOCTOR_PROBLEM, "CONFIG_HUGETLBFS");
    doctor_examine("", true);
    ck_assert_uint_eq(doctor_rig.writes, 0);
}
END_TEST

START_TEST(fixing_reserves_what_is_missing)
{
    const struct sl_doctor_result *result;

    pages_2m(10, 5);
    ck_assert_uint_eq(doctor_examine(REQUIRED, true)->steps, 1);
    result = doctor_result("huge-pages");
    ck_assert_int_eq(result->finding.state, SL_DOCTOR_OK);
    ck_assert(result->tried && !result->repair.failed[0]);
    ck_assert_str_eq(result->repair.step[0].did,
                     "wrote 141 to " HUGE "2048kB/nr_hugepages, which was 10; 141 are there now, 136 of them free");
    ck_assert_str_eq(result->repair.step[0].undo, "echo 10 >" HUGE "2048kB/nr_hugepages");
    ck_assert_int_eq(total_of("2048kB"), 141);
    ck_assert_uint_eq(doctor_examine(REQUIRED, true)->steps, 0); /* nothing more to do */
    ck_assert_uint_eq(doctor_rig.writes, 1);
}
END_TEST

START_TEST(looking_changes_nothing)
{
    pages_2m(0, 0);
    machine_remove(THP);
    ck_assert_uint_eq(doctor_examine(REQUIRED, false)->steps, 0);
    ck_assert_uint_eq(doctor_rig.writes, 0);
    ck_assert_int_eq(sl_doctor_exit(doctor_examine(REQUIRED, false)), 3);
}
END_TEST

START_TEST(a_kernel_that_gives_fewer_gets_them_back_and_the_next_size_is_tried)
{
    const struct sl_doctor_result *result;

    pages_2m(0, 0);
    pages_32m(2, 2);
    doctor_rig.most_32m = 5;
    ck_assert_uint_eq(doctor_examine("", true)->steps, 1);
    result = doctor_result("huge-pages");
    ck_assert_str_eq(result->repair.failed, "the kernel gave 5 of 9 pages of 32M and the ring cannot use fewer: given back");
    ck_assert_int_eq(total_of("32768kB"), 2);
    ck_assert_int_eq(total_of("2048kB"), 136);
    ck_assert_int_eq(result->finding.state, SL_DOCTOR_OK);
    ck_assert_str_eq(result->repair.step[0].undo, "echo 0 >" HUGE "2048kB/nr_hugepages");
}
END_TEST

START_TEST(a_kernel_that_gives_none)
{
    const struct sl_doctor_result *result;

    pages_2m(0, 0);
    doctor_rig.most_2m = 100;
    ck_assert_uint_eq(doctor_examine("", true)->steps, 0);
    result = doctor_result("huge-pages");
    ck_assert_int_eq(result->finding.state, SL_DOCTOR_WARNING);
    ck_assert_str_eq(result->repair.failed, "the kernel gave 100 of 136 pages of 2M and the ring cannot use fewer: given back");
    ck_assert_int_eq(total_of("2048kB"), 0);
}
END_TEST

START_TEST(what_cannot_be_given_back_is_told)
{
    const struct sl_doctor_result *result;

    pages_2m(0, 0);
    doctor_rig.most_2m = 100;
    doctor_rig.refuse = -EIO;
    doctor_rig.taken = 1;
    ck_assert_uint_eq(doctor_examine("", true)->steps, 1);
    result = doctor_result("huge-pages");
    ck_assert_int_eq(total_of("2048kB"), 100);
    ck_assert_str_eq(result->repair.step[0].undo, "echo 0 >" HUGE "2048kB/nr_hugepages");
    ck_assert_ptr_nonnull(strstr(result->repair.failed, "writing 0: Input/output error"));
}
END_TEST

START_TEST(a_user_who_may_not)
{
    pages_2m(0, 0);
    doctor_rig.refuse = -EACCES;
    ck_assert_uint_eq(doctor_examine("", true)->steps, 0);
    ck_assert_ptr_nonnull(strstr(doctor_result("huge-pages")->repair.failed, "Permission denied; --fix needs root"));
}
END_TEST

START_TEST(memory_that_others_need_is_not_reserved)
{
    pages_2m(0, 0);
    machine_put("/proc/meminfo", "MemAvailable: 300000 kB\nHugepagesize: 2048 kB\n"); /* the ring would take 285 MB of 307 */
    ck_assert_uint_eq(doctor_examine("", true)->steps, 0);
    ck_assert_uint_eq(doctor_rig.writes, 0);
    ck_assert_str_eq(doctor_result("huge-pages")->repair.failed, "136 more pages of 2M are 285 MB, and 307 MB are available: not reserved");
}
END_TEST

START_TEST(figures_for_programs)
{
    json_t *report, *check, *size;
    size_t i;

    pages_32m(9, 8);
    report = sl_doctor_json(doctor_examine("", false), "F");
    ck_assert_ptr_nonnull(report);
    json_array_foreach(json_object_get(report, "checks"), i, check)
    {
        if (strcmp(json_string_value(json_object_get(check, "name")), "huge-pages") != 0)
            continue;
        size = json_array_get(json_object_get(json_object_get(check, "detail"), "sizes"), 1);
        ck_assert_int_eq(json_integer_value(json_object_get(size, "page_bytes")), 32 << 20);
        ck_assert_int_eq(json_integer_value(json_object_get(size, "needed")), 9);
        ck_assert_int_eq(json_integer_value(json_object_get(size, "total")), 9);
        ck_assert_int_eq(json_integer_value(json_object_get(size, "free")), 8);
        ck_assert_str_eq(json_string_value(json_object_get(size, "boot")), "hugepagesz=32M hugepages=9");
        json_decref(report);
        return;
    }
    ck_abort_msg("no check huge-pages");
}
END_TEST

START_TEST(transparent_pages)
{
    doctor_expect("", "transparent-huge-pages", SL_DOCTOR_OK, "madvise");
    pages_2m(0, 0);
    machine_put(THP, "always madvise [never]\n");
    doctor_expect("", "transparent-huge-pages", SL_DOCTOR_OK, "never: the ring falls back to them");
    machine_remove(THP);
    doctor_expect("", "transparent-huge-pages", SL_DOCTOR_WARNING, "1014 pieces a frame");
    doctor_expect("[ring]\nhugepages = no\n", "transparent-huge-pages", SL_DOCTOR_OK, "does not need them");
}
END_TEST

START_TEST(memory_and_its_limit)
{
    doctor_expect("", "free-memory", SL_DOCTOR_OK, "the ring's 282 MB are reserved as huge pages, and 3072 MB more are available");
    pages_2m(0, 0);
    doctor_expect("", "free-memory", SL_DOCTOR_OK, "3072 MB available, and the ring takes 282 MB");
    doctor_expect("[ring]\ndepth = 20s\n", "free-memory", SL_DOCTOR_PROBLEM, "3072 MB available, and the ring takes 5017 MB");
    doctor_expect("", "memory-lock", SL_DOCTOR_OK, "no limit");
    machine_put("/proc/self/status", NO_LIMITS);
    doctor_expect("", "memory-lock", SL_DOCTOR_WARNING, "this user may lock 8.4 MB, and the ring takes 282 MB");
    doctor_expect("[realtime]\nlock_memory = yes\n", "memory-lock", SL_DOCTOR_PROBLEM, "the start will fail");
    doctor_expect("size = 64x64\n[ring]\ndepth = 8\n", "memory-lock", SL_DOCTOR_OK, "8 MB, and the ring takes 0 MB");
    machine_put("/proc/meminfo", "nothing\n");
    doctor_expect("", "free-memory", SL_DOCTOR_UNKNOWN, NULL);
}
END_TEST

START_TEST(swap)
{
    doctor_expect("", "swap", SL_DOCTOR_OK, "this kernel has none");
    machine_put("/proc/swaps", "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n");
    doctor_expect("", "swap", SL_DOCTOR_OK, "none on a disk");
    machine_put("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1000000 0 100\n");
    doctor_expect("", "swap", SL_DOCTOR_OK, "none on a disk");
    machine_put("/proc/swaps", "Filename Type Size Used Priority\n/dev/zram0 partition 1000000 0 100\n/var/swap file 500000 12 -2\n");
    doctor_expect("", "swap", SL_DOCTOR_WARNING, "512 MB, /var/swap first");
    doctor_expect("", "swap", SL_DOCTOR_WARNING, "50 ms are 3 frames");
    doctor_expect("[realtime]\nlock_memory = yes\n", "swap", SL_DOCTOR_OK, "keeps the program out of it");
}
END_TEST

START_TEST(contiguous_memory)
{
    doctor_expect("", "cma", SL_DOCTOR_OK, "no driver");
    doctor_expect(CAMERA, "cma", SL_DOCTOR_NOTE, "33 MB for 8 of them");
    machine_put("/proc/meminfo", "MemAvailable: 3000000 kB\nCmaTotal: 65536 kB\nCmaFree: 60000 kB\n");
    doctor_expect(CAMERA, "cma", SL_DOCTOR_OK, "61 of 67 MB free, and the driver's 8 buffers take 33 MB");
    machine_put("/proc/meminfo", "MemAvailable: 3000000 kB\nCmaTotal: 65536 kB\nCmaFree: 20000 kB\n");
    doctor_expect(CAMERA, "cma", SL_DOCTOR_NOTE, "each is 16.7 ms of ring");
    doctor_expect(CAMERA "memory = mmap\n", "cma", SL_DOCTOR_WARNING, "cma=107M"); /* 31 MiB + 44 in use + 32 */
}
END_TEST

START_TEST(shared_memory)
{
    doctor_expect("", "udmabuf", SL_DOCTOR_OK, "this kernel has no /dev/udmabuf");
    doctor_expect(CAMERA, "udmabuf", SL_DOCTOR_NOTE, "a copy is 249 MB/s through the CPU");
    machine_put("/dev/udmabuf", "%s", "");
    doctor_expect(CAMERA, "udmabuf", SL_DOCTOR_OK, "/dev/udmabuf");
    machine_put("/sys/module/udmabuf/parameters/size_limit_mb", "64\n");
    machine_put("/sys/module/udmabuf/parameters/list_limit", "1024\n");
    doctor_expect(CAMERA, "udmabuf", SL_DOCTOR_OK, "size_limit_mb 64 (a slot takes 4), list_limit 1024");
    machine_put("/sys/module/udmabuf/parameters/size_limit_mb", "2\n");
    doctor_expect(CAMERA, "udmabuf", SL_DOCTOR_WARNING, "udmabuf.size_limit_mb=4");
    doctor_examine(CAMERA, true);
    ck_assert_int_eq(doctor_result("udmabuf")->finding.state, SL_DOCTOR_OK);
    ck_assert_str_eq(doctor_result("udmabuf")->repair.step[0].undo, "echo 2 >/sys/module/udmabuf/parameters/size_limit_mb");
    doctor_expect("", "dma-heap", SL_DOCTOR_OK, "none");
    machine_put("/dev/dma_heap/system", "%s", "");
    machine_put("/dev/dma_heap/linux,cma", "%s", "");
    doctor_expect("", "dma-heap", SL_DOCTOR_OK, "/dev/dma_heap: linux,cma system");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app/doctor_memory");
    TCase *tc = tcase_create("memory");

    tcase_add_checked_fixture(tc, doctor_rig_init, doctor_rig_fini);
    tcase_add_test(tc, huge_pages_that_are_there);
    tcase_add_test(tc, huge_pages_that_are_missing);
    tcase_add_test(tc, frames_in_one_piece_for_a_camera);
    tcase_add_test(tc, a_kernel_without_huge_pages);
    tcase_add_test(tc, fixing_reserves_what_is_missing);
    tcase_add_test(tc, looking_changes_nothing);
    tcase_add_test(tc, a_kernel_that_gives_fewer_gets_them_back_and_the_next_size_is_tried);
    tcase_add_test(tc, a_kernel_that_gives_none);
    tcase_add_test(tc, what_cannot_be_given_back_is_told);
    tcase_add_test(tc, a_user_who_may_not);
    tcase_add_test(tc, memory_that_others_need_is_not_reserved);
    tcase_add_test(tc, figures_for_programs);
    tcase_add_test(tc, transparent_pages);
    tcase_add_test(tc, memory_and_its_limit);
    tcase_add_test(tc, swap);
    tcase_add_test(tc, contiguous_memory);
    tcase_add_test(tc, shared_memory);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
