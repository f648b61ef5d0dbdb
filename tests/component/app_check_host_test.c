/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of `sluice check` on machines that are made of files: /proc and /sys under a directory of the test's own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/check_host.h"
#include "app/host.h"
#include "support/machine.h"
#include "support/suite.h"

/* What check says of `text` (with DISK for the directory) on the machine as it is made now. Free it. */
static char *look(const char *text, unsigned *warnings)
{
    struct sl_config config;
    struct sl_error err = {{0}};
    struct sl_host host;
    char file[2048], *out = NULL;
    size_t bytes = 0;

    snprintf(file, sizeof file, "[record]\ndir = %s\n%s", machine.disk, text);
    ck_assert_msg(sl_config_parse(&config, NULL, "F", file, strlen(file), NULL, 0, &err) == 0, "%s", err.text);
    sl_host_read(&host, machine.root);

    FILE *to = open_memstream(&out, &bytes);

    ck_assert_ptr_nonnull(to);
    *warnings = sl_check_host(&config, &host, machine.root, to);
    fclose(to);
    sl_config_fini(&config);
    return out;
}

static void expect(const char *text, unsigned warnings, const char *says)
{
    unsigned count;
    char *out = look(text, &count);

    ck_assert_msg(count == warnings && (!says || strstr(out, says)), "%u warnings instead of %u, wanted \"%s\":\n%s", count, warnings,
                  says ? says : "", out);
    free(out);
}

#define PATTERN "keep_free = 1kB\n[sensor]\nsource = pattern\n"

START_TEST(a_good_machine_has_no_warnings)
{
    expect(PATTERN, 0, "note: data rate 249.2 MB/s\n");
    expect(PATTERN, 0, "note: ring of 60 frames (1.000 s) and 8 of the sensor's: 282 MB of memory\n");
    expect(PATTERN, 0, " GB free in /tmp/sluice-host-");
}
END_TEST

START_TEST(huge_pages_are_counted_as_the_ring_takes_them)
{
    /* 68 slots of two pages each */
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "136\n");
    expect(PATTERN, 0, NULL);
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "135\n");
    expect(PATTERN, 1, "takes 136 huge pages of 2 MiB and 135 are free");
    expect(PATTERN, 1, "sysctl -w vm.nr_hugepages=201\n");
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "136\n");
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "6\n"); /* promised to a mapping that has not touched them */
    expect(PATTERN, 1, "takes 136 huge pages of 2 MiB and 130 are free");
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "1\n");
    expect(PATTERN "[ring]\nhugepages = require\n", 1, "the start will fail (ring.hugepages = require)");
    machine_put("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n"); /* these count, too, and "never" stops nobody */
    expect(PATTERN "[ring]\nhugepages = require\n", 1, "transparent ones are tried, which the kernel may not have either");
    expect(PATTERN "[ring]\nhugepages = no\n", 0, NULL);
    /* pages of 32 MiB hold eight slots: nine are enough, eight are not */
    machine_put("/sys/kernel/mm/hugepages/hugepages-32768kB/nr_hugepages", "9\n");
    machine_put("/sys/kernel/mm/hugepages/hugepages-32768kB/free_hugepages", "9\n");
    expect(PATTERN, 0, NULL);
    machine_put("/sys/kernel/mm/hugepages/hugepages-32768kB/free_hugepages", "8\n");
    expect(PATTERN, 1, "echo 10 >/sys/kernel/mm/hugepages/hugepages-32768kB/nr_hugepages");
}
END_TEST

START_TEST(memory_that_is_not_there)
{
    expect(PATTERN "[ring]\nhugepages = no\ndepth = 20s\n", 1,
           "not enough memory for the ring: it takes 5017 MB and 3072 MB are available");
    machine_put("/proc/meminfo", "MemTotal: 1 kB\n"); /* a kernel that does not say: no warning made up */
    expect(PATTERN "[ring]\nhugepages = no\ndepth = 20s\n", 0, NULL);
}
END_TEST

START_TEST(limits_without_capabilities)
{
    machine_put("/proc/self/status", "CapEff:\t0000000000000000\n");
    expect(PATTERN, 1, "the memory-lock limit is 8.4 MB and the ring takes 282 MB: its buffers cannot be registered");
    expect(PATTERN "[realtime]\nlock_memory = yes\n", 1, "the start will fail (realtime.lock_memory = yes)");
    expect(PATTERN "[realtime]\npriority = 20\n", 2, "realtime.priority = 20 is above what this user may ask for (0)");
    machine_put("/proc/self/status", "CapEff:\t0000000000804000\n"); /* CAP_SYS_NICE and CAP_IPC_LOCK */
    expect(PATTERN "[realtime]\npriority = 20\n", 0, NULL);
}
END_TEST

START_TEST(cpus_that_are_not_there)
{
    expect(PATTERN "[realtime]\ncapture_cpu = 3\nwriter_cpu = 0\n", 0, NULL);
    expect(PATTERN "[realtime]\ncapture_cpu = 2\n", 1, "realtime.capture_cpu = 2: this machine's CPUs are 0-1,3: the start will fail");
    expect(PATTERN "[realtime]\nwriter_cpu = 1023\n", 1, "realtime.writer_cpu = 1023");
    expect(PATTERN "[realtime]\ncapture_cpu = 1\nwriter_cpu = 1\n", 1, "are the same CPU");
}
END_TEST

START_TEST(file_systems_and_mount_options)
{
    machine_mount("tmpfs", "rw,size=1g");
    expect(PATTERN, 1, "record.dir is on tmpfs");
    machine_mount("btrfs", "rw,discard=async,space_cache=v2");
    expect(PATTERN, 2, "chattr +C");
    expect(PATTERN, 2, "is mounted with discard");
    machine_mount("ext4", "rw,nodiscard,errors=remount-ro");
    expect(PATTERN, 0, NULL);
}
END_TEST

START_TEST(mount_points_are_told_apart)
{
    struct sl_host_dir dir;
    char spaced[160], escaped[192];

    snprintf(spaced, sizeof spaced, "%s/my disk", machine.disk);
    snprintf(escaped, sizeof escaped, "%s/my\\040disk", machine.disk);
    ck_assert_int_eq(mkdir(spaced, 0755), 0);
    machine_put("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / %s rw - xfs /dev/b rw\nnonsense\n3 1 8:3 /\n", escaped);
    sl_host_read_dir(&dir, machine.root, spaced);
    ck_assert_str_eq(dir.mount, spaced);
    ck_assert_str_eq(dir.fs, "xfs");
    ck_assert(!dir.error && dir.writable && !dir.discard);
    sl_host_read_dir(&dir, machine.root, machine.disk);
    ck_assert_str_eq(dir.fs, "ext4");
    /* a mount point that only begins like the path is another place */
    machine_put("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / %.*s rw - xfs /dev/b rw\n",
                (int)strlen(machine.disk) - 1, machine.disk);
    sl_host_read_dir(&dir, machine.root, machine.disk);
    ck_assert_str_eq(dir.fs, "ext4");
}
END_TEST

START_TEST(directories_that_are_missing_or_none)
{
    ck_assert_int_eq(rmdir(machine.disk), 0);
    expect(PATTERN, 1, ": No such file or directory; make it: mkdir -p");
    machine_put("/disk", "x");
    expect(PATTERN, 1, ": Not a directory");
    ck_assert_int_eq(access(machine.disk, F_OK), 0);
}
END_TEST

START_TEST(space_that_is_kept_free)
{
    expect("keep_free = 1024TiB\n[sensor]\nsource = pattern\n", 1, "recording will stop at once");
    expect("keep_free = 1024TiB\nwhen_full = overwrite-oldest\n[sensor]\nsource = pattern\n", 1, "old recordings will be removed at once");
}
END_TEST

START_TEST(devices_and_rings)
{
    static const char v4l2[] = "keep_free = 0\n[sensor]\ndevice = /no/device\n";
    char text[256];

    expect(v4l2, 1, "warning: /no/device: No such file or directory\n");
    expect(v4l2, 1,
           "note: if the device does not take userptr (sluice probe tells), the ring is the driver's 8 buffers, at most 0.133 s\n");
    snprintf(text, sizeof text, "%smemory = mmap\n", v4l2);
    expect(text, 2, "the ring is shorter than asked: with memory = mmap it is the driver's 8 buffers, at most 0.133 s, and 60 frames");
    snprintf(text, sizeof text, "%smemory = mmap\nbuffers = 16\n[ring]\ndepth = 16\n", v4l2);
    expect(text, 1, NULL);
    snprintf(text, sizeof text, "%sfps = auto\n", v4l2);
    expect(text, 1, "note: format, size or rate is the device's: no rates are worked out\n");
    snprintf(text, sizeof text, "keep_free = 0\n[sensor]\ndevice = %.100s/proc/meminfo\n", machine.root);
    expect(text, 1, "is not a device");
}
END_TEST

START_TEST(formats_that_no_player_decodes)
{
    expect(PATTERN "format = NV16\n", 1, "warning: sensor.format = NV16: FFmpeg and GStreamer cannot decode it from Matroska; use another");
    expect(PATTERN "format = NV61\n", 1, "warning: sensor.format = NV61: ");
    expect(PATTERN "format = VYUY\n", 1, "FFmpeg takes it for YUYV and shows a wrong picture");
    expect(PATTERN "format = VYUY\n", 1, "or play it by sluice export FILE --to y4m -\n");
    expect(PATTERN "format = UYVY\n", 0, NULL);
    expect(PATTERN "format = NV12\n", 0, NULL);
}
END_TEST

START_TEST(triggers_and_faults)
{
    char text[256];

    snprintf(text, sizeof text, "prerecord = 1s\ntrigger = %.100s/proc/meminfo\n" PATTERN, machine.root);
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "400\n");
    expect(text, 1, "/proc/meminfo is there and is no FIFO");
    expect(PATTERN "[fault]\nsensor = gap@1\n", 1, "[fault] is on: frames will be lost on purpose");
}
END_TEST

/* Nothing known: few words, no crash, and no warning about what is not known. */
START_TEST(a_machine_that_tells_nothing)
{
    struct sl_host host;

    sl_host_read(&host, "/no/such/root");
    ck_assert(!host.memory_available && !host.page_sizes && !host.cpus_known && !host.rt_priority);
    machine_put("/sys/devices/system/cpu/online", "garbage");
    machine_put("/sys/kernel/mm/hugepages/hugepages-xkB/nr_hugepages", "1");
    sl_host_read(&host, machine.root);
    ck_assert(!host.cpus_known && host.page_sizes == 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app/check_host");
    TCase *tc = tcase_create("check");

    tcase_add_checked_fixture(tc, machine_init, machine_fini);
    tcase_add_test(tc, a_good_machine_has_no_warnings);
    tcase_add_test(tc, huge_pages_are_counted_as_the_ring_takes_them);
    tcase_add_test(tc, memory_that_is_not_there);
    tcase_add_test(tc, limits_without_capabilities);
    tcase_add_test(tc, cpus_that_are_not_there);
    tcase_add_test(tc, file_systems_and_mount_options);
    tcase_add_test(tc, mount_points_are_told_apart);
    tcase_add_test(tc, directories_that_are_missing_or_none);
    tcase_add_test(tc, space_that_is_kept_free);
    tcase_add_test(tc, devices_and_rings);
    tcase_add_test(tc, formats_that_no_player_decodes);
    tcase_add_test(tc, triggers_and_faults);
    tcase_add_test(tc, a_machine_that_tells_nothing);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
