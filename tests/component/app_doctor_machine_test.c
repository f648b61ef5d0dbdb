/* SPDX-License-Identifier: Apache-2.0 */
/* sluice doctor on machines made of files: cores, kernel, limits, disks and links. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/host_file.h"
#include "support/doctor_rig.h"
#include "support/suite.h"

#define CPUFREQ "/sys/devices/system/cpu/cpufreq/"
#define THERMAL "/sys/class/thermal/"
#define QUEUE   "/sys/block/sdb/queue/"

/* -- Cores ---------------------------------------------------------------------------------------------------------------- */

static void policy(unsigned number, const char *governor, const char *driver, unsigned cap_mhz)
{
    char path[128];

    for (unsigned i = 0; i < 6; i++) {
        static const char *const file[] = {"scaling_governor", "scaling_driver",   "scaling_available_governors",
                                           "scaling_max_freq", "cpuinfo_min_freq", "cpuinfo_max_freq"};

        snprintf(path, sizeof path, CPUFREQ "policy%u/%s", number, file[i]);
        switch (i) {
        case 0:
            machine_put(path, "%s\n", governor);
            break;
        case 1:
            machine_put(path, "%s\n", driver);
            break;
        case 2:
            machine_put(path, "conservative ondemand powersave performance schedutil \n");
            break;
        default:
            machine_put(path, "%u\n", i == 3 ? cap_mhz * 1000 : i == 4 ? 300000 : 1200000);
        }
    }
}

START_TEST(governors)
{
    doctor_expect("", "governor", SL_DOCTOR_UNKNOWN, "no cpufreq");
    policy(0, "performance", "cpufreq-dt", 1200);
    doctor_expect("", "governor", SL_DOCTOR_OK, "policy0 performance, 300 to 1200 MHz");
    policy(4, "schedutil", "cpufreq-dt", 1200);
    doctor_expect("", "governor", SL_DOCTOR_NOTE, "each frame has 16.7 ms");
    policy(4, "powersave", "intel_pstate", 1200);
    doctor_expect("", "governor", SL_DOCTOR_NOTE, NULL); /* which follows the load */
    policy(0, "powersave", "cpufreq-dt", 1200);
    doctor_expect("", "governor", SL_DOCTOR_WARNING, "the cores stay at 300 of 1200 MHz: every step of a frame takes 4.0 times as long");
}
END_TEST

START_TEST(fixing_the_governor)
{
    const struct sl_doctor_result *result;

    policy(0, "powersave", "cpufreq-dt", 1200);
    policy(10, "ondemand", "cpufreq-dt", 1200);
    policy(2, "performance", "cpufreq-dt", 1200);
    ck_assert_uint_eq(doctor_examine("", true)->steps, 2);
    result = doctor_result("governor");
    ck_assert_int_eq(result->finding.state, SL_DOCTOR_OK);
    ck_assert_str_eq(result->repair.step[0].undo, "echo powersave >" CPUFREQ "policy0/scaling_governor");
    ck_assert_str_eq(result->repair.step[1].undo, "echo ondemand >" CPUFREQ "policy10/scaling_governor");
    policy(0, "powersave", "cpufreq-dt", 1200);
    machine_put(CPUFREQ "policy0/scaling_available_governors", "powersave userspace\n");
    ck_assert_uint_eq(doctor_examine("", true)->steps, 0);
    ck_assert_str_eq(doctor_result("governor")->repair.failed, "policy0 has no governor \"performance\"");
}
END_TEST

START_TEST(throttled_cores)
{
    doctor_expect("", "throttling", SL_DOCTOR_UNKNOWN, NULL);
    machine_put(THERMAL "thermal_zone0/type", "cpu-thermal\n");
    machine_put(THERMAL "thermal_zone0/temp", "54321\n");
    doctor_expect("", "throttling", SL_DOCTOR_OK, "cpu-thermal 54 degrees C");
    machine_put(THERMAL "thermal_zone0/trip_point_0_type", "critical\n");
    machine_put(THERMAL "thermal_zone0/trip_point_0_temp", "55000\n");
    doctor_expect("", "throttling", SL_DOCTOR_OK, NULL); /* far away or not: at that one it is switched off */
    machine_put(THERMAL "thermal_zone0/trip_point_1_type", "passive\n");
    machine_put(THERMAL "thermal_zone0/trip_point_1_temp", "80000\n");
    doctor_expect("", "throttling", SL_DOCTOR_OK, "slows down at 80");
    machine_put(THERMAL "thermal_zone0/temp", "76000\n");
    doctor_expect("", "throttling", SL_DOCTOR_WARNING, "76 degrees C, slows down at 80");
    machine_put(THERMAL "cooling_device0/type", "pwm-fan\n");
    machine_put(THERMAL "cooling_device0/cur_state", "2\n");
    doctor_expect("", "throttling", SL_DOCTOR_WARNING, NULL); /* a fan that turns slows nothing down */
    machine_put(THERMAL "cooling_device1/type", "cpufreq-cpu0\n");
    machine_put(THERMAL "cooling_device1/cur_state", "0\n");
    doctor_expect("", "throttling", SL_DOCTOR_WARNING, NULL);
    machine_put(THERMAL "cooling_device1/cur_state", "3\n");
    doctor_expect("", "throttling", SL_DOCTOR_PROBLEM, "cpufreq-cpu0 is slowed down for heat now (step 3)");
}
END_TEST

START_TEST(caps_and_firmware)
{
    policy(0, "performance", "cpufreq-dt", 600);
    doctor_expect("", "throttling", SL_DOCTOR_WARNING, "policy0 is capped at 600 of 1200 MHz");
    policy(0, "performance", "cpufreq-dt", 1200);
    machine_put("/sys/devices/platform/soc/soc:firmware/get_throttled", "0\n");
    doctor_expect("", "throttling", SL_DOCTOR_UNKNOWN, NULL);
    machine_put("/sys/devices/platform/soc/soc:firmware/get_throttled", "50000\n");
    doctor_expect("", "throttling", SL_DOCTOR_WARNING, "the supply's voltage is low: not now, but since the boot");
    doctor_expect("", "throttling", SL_DOCTOR_WARNING, "the firmware throttles the cores: not now, but since the boot");
    machine_put("/sys/devices/platform/soc/soc:firmware/get_throttled", "50005\n");
    doctor_expect("", "throttling", SL_DOCTOR_PROBLEM, "the firmware throttles the cores now");
}
END_TEST

static void interrupts(unsigned disk0, unsigned disk1)
{
    machine_put("/proc/interrupts",
                "           CPU0       CPU1       \n"
                " 11:    9000000    9000000     GICv2  27 Level     arch_timer\n"
                " 36: %10u %10u     GICv2  79 Edge      virtio1-req.0\n"
                " 40:         10          5     GICv2  80 Edge      ttyAMA0\n"
                "IPI0:      1234       4321       Rescheduling interrupts\n",
                disk0, disk1);
}

START_TEST(interrupts_and_pinned_threads)
{
    doctor_expect("", "interrupts", SL_DOCTOR_UNKNOWN, NULL);
    interrupts(90000, 10000);
    doctor_expect("", "interrupts", SL_DOCTOR_OK, "100015 of devices since the boot, 90 % of them on CPU 0, mostly 36 (virtio1-req.0)");
    doctor_expect("[realtime]\nwriter_cpu = 1\n", "interrupts", SL_DOCTOR_OK, NULL);
    doctor_expect("[realtime]\nwriter_cpu = 0\n", "interrupts", SL_DOCTOR_WARNING,
                  "echo 1 >/proc/irq/36/smp_affinity_list; or another realtime.writer_cpu");
    doctor_expect("[realtime]\ncapture_cpu = 0\n", "interrupts", SL_DOCTOR_WARNING, "or another realtime.capture_cpu");
    doctor_expect("[realtime]\ncapture_cpu = 0\nwriter_cpu = 1\n", "interrupts", SL_DOCTOR_OK, NULL); /* nowhere else to go */
    interrupts(900, 100);
    doctor_expect("[realtime]\nwriter_cpu = 0\n", "interrupts", SL_DOCTOR_OK, NULL); /* too few to say */
    machine_put("/proc/interrupts", "garbage\n");
    doctor_expect("", "interrupts", SL_DOCTOR_UNKNOWN, NULL);
}
END_TEST

START_TEST(clocks)
{
    doctor_expect("", "clock-source", SL_DOCTOR_UNKNOWN, NULL);
    machine_put("/sys/devices/system/clocksource/clocksource0/available_clocksource", "arch_sys_counter jiffies \n");
    machine_put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "arch_sys_counter\n");
    doctor_expect("", "clock-source", SL_DOCTOR_OK, "arch_sys_counter (there are: arch_sys_counter jiffies)");
    machine_put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "jiffies\n");
    doctor_expect("", "clock-source", SL_DOCTOR_WARNING, "at 60 frames a second no gap can be told from a late frame");
    machine_put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    doctor_expect("", "clock-source", SL_DOCTOR_WARNING, "slow register");
}
END_TEST

/* -- Kernel and limits ---------------------------------------------------------------------------------------------------- */

START_TEST(io_uring_that_cannot_be_used)
{
    doctor_expect("", "io-uring", SL_DOCTOR_OK, "Linux 6.12.1");
    machine_put("/proc/sys/kernel/osrelease", "5.15.0-rpi\n");
    doctor_expect("", "io-uring", SL_DOCTOR_PROBLEM, "since Linux 6.1");
    machine_put("/proc/sys/kernel/osrelease", "6.1.0-57-arm64\n");
    doctor_expect("", "io-uring", SL_DOCTOR_OK, NULL);
    doctor_rig.io_uring = -EPERM;
    doctor_expect("", "io-uring", SL_DOCTOR_PROBLEM, "seccomp");
    machine_put("/proc/sys/kernel/io_uring_disabled", "2\n");
    doctor_expect("", "io-uring", SL_DOCTOR_PROBLEM, "sysctl -w kernel.io_uring_disabled=0");
    machine_put("/proc/sys/kernel/io_uring_disabled", "1\n");
    doctor_expect("", "io-uring", SL_DOCTOR_PROBLEM, "kernel.io_uring_group");
    doctor_rig.io_uring = -ENOSYS;
    doctor_expect("", "io-uring", SL_DOCTOR_PROBLEM, "CONFIG_IO_URING");
}
END_TEST

START_TEST(perf_events)
{
    doctor_expect("", "perf-events", SL_DOCTOR_UNKNOWN, NULL);
    machine_put("/proc/sys/kernel/perf_event_paranoid", "2\n");
    doctor_expect("", "perf-events", SL_DOCTOR_NOTE, "kernel.perf_event_paranoid=0");
    machine_put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
    doctor_expect("", "perf-events", SL_DOCTOR_OK, "paranoid is -1");
}
END_TEST

START_TEST(priorities)
{
    doctor_expect("", "real-time", SL_DOCTOR_NOTE, "8 frames (133 ms)");
    doctor_expect("[realtime]\npriority = 20\n", "real-time", SL_DOCTOR_OK, "may ask for 99");
    machine_put("/proc/self/status", "CapEff:\t0000000000000000\n");
    doctor_expect("[realtime]\npriority = 20\n", "real-time", SL_DOCTOR_PROBLEM, "LimitRTPRIO=20");
    doctor_expect("", "real-time", SL_DOCTOR_NOTE, "with LimitRTPRIO=10 in the systemd unit");
}
END_TEST

START_TEST(descriptors)
{
    doctor_expect("", "open-files", SL_DOCTOR_UNKNOWN, NULL);
    machine_put("/proc/self/limits", "Limit                     Soft Limit           Hard Limit           Units     \n"
                                     "Max open files            1024                 524288               files     \n");
    doctor_expect("", "open-files", SL_DOCTOR_OK, "may have 1024; a ring shared as dmabufs takes 132");
    doctor_expect("[ring]\ndepth = 1000\n", "open-files", SL_DOCTOR_WARNING, "LimitNOFILE=1072");
}
END_TEST

START_TEST(the_service)
{
    doctor_expect("", "service", SL_DOCTOR_OK, "not installed");
    machine_put("/usr/lib/systemd/system/sluice@.service", "[Service]\nLimitMEMLOCK=infinity\nLimitRTPRIO=99\n");
    doctor_expect("[realtime]\npriority = 20\n", "service", SL_DOCTOR_OK,
                  "/usr/lib/systemd/system/sluice@.service: LimitMEMLOCK=infinity LimitRTPRIO=99");
    machine_put("/etc/systemd/system/sluice@.service.d/10-less.conf", "[Service]\nLimitRTPRIO=0\n");
    doctor_expect("[realtime]\npriority = 20\n", "service", SL_DOCTOR_PROBLEM, "LimitRTPRIO=0");
    doctor_expect("", "service", SL_DOCTOR_OK, NULL); /* no priority is asked for */
    machine_put("/etc/systemd/system/sluice@.service.d/20-more.conf", "[Service]\nLimitRTPRIO=infinity\nLimitMEMLOCK=64M\n");
    doctor_expect("[realtime]\npriority = 20\n", "service", SL_DOCTOR_WARNING, "LimitMEMLOCK=64M");
    machine_put("/etc/systemd/system/sluice@.service", "[Service]\nLimitMEMLOCK=infinity\n"); /* takes the place of the other */
    doctor_expect("", "service", SL_DOCTOR_WARNING, "/etc/systemd/system/sluice@.service: LimitMEMLOCK=64M");
}
END_TEST

/* -- Disk ----------------------------------------------------------------------------------------------------------------- */

/* sdb1 is the partition 8:3 that the machine's disk is on. */
static void disk(void)
{
    machine_put(QUEUE "scheduler", "none [mq-deadline] bfq\n");
    machine_put(QUEUE "write_cache", "write back\n");
    machine_put(QUEUE "max_sectors_kb", "1280\n");
    machine_put(QUEUE "max_hw_sectors_kb", "32767\n");
    machine_put("/sys/block/sdb/sdb1/partition", "1\n");
    machine_link("/sys/dev/block/8:3", "../../block/sdb/sdb1");
}

START_TEST(directories)
{
    doctor_expect("", "directory", SL_DOCTOR_OK, " (ext4)");
    machine_remove("/disk");
    doctor_expect("", "directory", SL_DOCTOR_PROBLEM, "mkdir -p ");
    ck_assert_int_eq(doctor_result("mount")->finding.state, SL_DOCTOR_UNKNOWN);
    ck_assert_int_eq(doctor_result("free-space")->finding.state, SL_DOCTOR_UNKNOWN);
    ck_assert_int_eq(doctor_result("direct-io")->finding.state, SL_DOCTOR_UNKNOWN);
    ck_assert_int_eq(doctor_result("scheduler")->finding.state, SL_DOCTOR_UNKNOWN);
    machine_put("/disk", "x");
    doctor_expect("", "directory", SL_DOCTOR_PROBLEM, "Not a directory");
}
END_TEST

START_TEST(mount_options)
{
    doctor_expect("", "mount", SL_DOCTOR_OK, " ext4 from /dev/sdb1: rw,noatime,rw");
    machine_mount("ext4", "rw,discard");
    doctor_expect("", "mount", SL_DOCTOR_WARNING,
                  "discard: deleting a segment trims it at once, which can hold up writes for a second; a second is 60 frames");
    doctor_expect("", "mount", SL_DOCTOR_WARNING, "mount -o remount,nodiscard ");
    machine_mount("ext4", "rw,nodiscard,data=journal");
    doctor_expect("", "mount", SL_DOCTOR_WARNING, "everything is written twice");
    machine_mount("ext4", "rw,barrier=0");
    doctor_expect("", "mount", SL_DOCTOR_NOTE, "barrier=1");
    machine_mount("btrfs", "rw,compress=zstd:3,discard=async");
    doctor_expect("", "mount", SL_DOCTOR_WARNING, "; compress: frames are compressed by the CPU");
    machine_mount("ext4", "rw,data=ordered,errors=remount-ro");
    doctor_expect("", "mount", SL_DOCTOR_OK, NULL);
}
END_TEST

START_TEST(room)
{
    doctor_expect("", "free-space", SL_DOCTOR_OK, " at 249.2 MB/s");
    doctor_expect("[record]\nkeep_free = 1024TiB\n", "free-space", SL_DOCTOR_WARNING, "old recordings are removed at once");
    doctor_expect("[record]\nkeep_free = 1024TiB\nwhen_full = stop\n", "free-space", SL_DOCTOR_PROBLEM, "an hour is 897 GB");
}
END_TEST

START_TEST(direct_io)
{
    doctor_expect("", "direct-io", SL_DOCTOR_OK, "memory at multiples of 512, offsets of 512, and ours are of 4096");
    doctor_rig.offset_align = 16384;
    doctor_expect("", "direct-io", SL_DOCTOR_WARNING, "offsets of 16384");
    doctor_rig.memory_align = doctor_rig.offset_align = 0; /* the kernel does not tell */
    doctor_expect("", "direct-io", SL_DOCTOR_OK, "works");
    machine_mount("btrfs", "rw");
    doctor_expect("", "direct-io", SL_DOCTOR_WARNING, "chattr +C");
    machine_mount("ext4", "rw");
    doctor_rig.direct_io = -EINVAL;
    doctor_expect("", "direct-io", SL_DOCTOR_WARNING, "249 MB/s through the CPU");
    doctor_rig.direct_io = -EOPNOTSUPP;
    doctor_expect("", "direct-io", SL_DOCTOR_UNKNOWN, "not tried");
}
END_TEST

START_TEST(schedulers)
{
    doctor_expect("", "scheduler", SL_DOCTOR_UNKNOWN, NULL);
    disk();
    doctor_expect("", "scheduler", SL_DOCTOR_OK, "sdb mq-deadline");
    machine_put(QUEUE "scheduler", "none\n");
    doctor_expect("", "scheduler", SL_DOCTOR_OK, "sdb none");
    machine_put(QUEUE "scheduler", "mq-deadline [bfq] none\n");
    doctor_expect("", "scheduler", SL_DOCTOR_WARNING, "echo mq-deadline >/sys/block/sdb/queue/scheduler");
    ck_assert_uint_eq(doctor_examine("", true)->steps, 1);
    ck_assert_int_eq(doctor_result("scheduler")->finding.state, SL_DOCTOR_OK);
    ck_assert_str_eq(doctor_result("scheduler")->repair.step[0].undo, "echo bfq >/sys/block/sdb/queue/scheduler");
}
END_TEST

/* A volume over two disks: what counts is below it. */
START_TEST(volumes)
{
    machine_put(QUEUE "scheduler", "mq-deadline [bfq] none\n");
    machine_put("/sys/block/sdb/sdb1/partition", "1\n");
    machine_put("/sys/block/nvme0n1/queue/scheduler", "[none] mq-deadline\n");
    machine_put("/sys/block/dm-0/queue/scheduler", "none\n");
    machine_link("/sys/block/dm-0/slaves/sdb1", "../../sdb/sdb1");
    machine_link("/sys/block/dm-0/slaves/nvme0n1", "../../nvme0n1");
    machine_link("/sys/dev/block/8:3", "../../block/dm-0");
    doctor_expect("", "scheduler", SL_DOCTOR_WARNING, "nvme0n1 none; sdb bfq");
}
END_TEST

/* btrfs shows a number of its own; its source names the partition. */
START_TEST(file_systems_without_a_device_number)
{
    disk();
    machine_link("/sys/class/block/sdb1", "../../block/sdb/sdb1");
    machine_put("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:33 / %s rw - btrfs /dev/sdb1 rw\n", machine.disk);
    doctor_expect("", "scheduler", SL_DOCTOR_OK, "sdb mq-deadline");
    machine_put("/proc/self/mountinfo", "1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:33 / %s rw - tmpfs tmpfs rw\n", machine.disk);
    doctor_expect("", "scheduler", SL_DOCTOR_UNKNOWN, "no block device is known");
}
END_TEST

START_TEST(caches_and_requests)
{
    disk();
    doctor_expect("", "write-cache", SL_DOCTOR_OK, "sdb: write back");
    doctor_expect("[record]\nsync = none\n", "write-cache", SL_DOCTOR_NOTE, "a power cut");
    machine_put(QUEUE "write_cache", "write through\n");
    doctor_expect("[record]\nsync = none\n", "write-cache", SL_DOCTOR_OK, "write through");
    doctor_expect("", "request-size", SL_DOCTOR_NOTE, "sdb: at most 1280 KiB, 4 a frame");
    doctor_expect("", "request-size", SL_DOCTOR_NOTE, "echo 4056 >/sys/block/sdb/queue/max_sectors_kb");
    machine_put(QUEUE "max_hw_sectors_kb", "1280\n");
    doctor_expect("", "request-size", SL_DOCTOR_OK, NULL);
}
END_TEST

/* -- Network -------------------------------------------------------------------------------------------------------------- */

static void link_up(const char *name, int speed)
{
    static const char net[] = "/sys/class/net";
    char path[128];

    snprintf(path, sizeof path, "%s/%s/type", net, name);
    machine_put(path, "1\n");
    snprintf(path, sizeof path, "%s/%s/operstate", net, name);
    machine_put(path, "up\n");
    snprintf(path, sizeof path, "%s/%s/mtu", net, name);
    machine_put(path, "1500\n");
    snprintf(path, sizeof path, "%s/%s/speed", net, name);
    machine_put(path, "%d\n", speed);
}

START_TEST(links)
{
    doctor_expect("", "links", SL_DOCTOR_OK, "no link is up");
    link_up("eth0", 1000);
    link_up("veth1", -1);
    machine_put("/sys/class/net/lo/type", "772\n");
    doctor_expect("", "links", SL_DOCTOR_OK,
                  "eth0 MTU 1500, 1000 Mb/s: at most 30 of 60 raw frames a second; veth1 MTU 1500, speed not known");
    machine_mount("nfs4", "rw,vers=4.2");
    doctor_expect("", "links", SL_DOCTOR_PROBLEM, "the recording is 1994 Mb/s");
    link_up("eth0", 10000);
    doctor_expect("", "links", SL_DOCTOR_WARNING, "ring.depth covers 1.0 s");
}
END_TEST

START_TEST(socket_buffers)
{
    doctor_expect("", "socket-buffers", SL_DOCTOR_UNKNOWN, NULL);
    machine_put("/proc/sys/net/core/rmem_max", "212992\n");
    machine_put("/proc/sys/net/core/wmem_max", "212992\n");
    doctor_expect("", "socket-buffers", SL_DOCTOR_NOTE, "net.core.rmem_max=8294400");
    machine_put("/proc/sys/net/core/rmem_max", "8388608\n");
    machine_put("/proc/sys/net/core/wmem_max", "8388608\n");
    doctor_expect("", "socket-buffers", SL_DOCTOR_OK, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app/doctor_machine");
    TCase *tc = tcase_create("machine");

    tcase_add_checked_fixture(tc, doctor_rig_init, doctor_rig_fini);
    tcase_add_test(tc, governors);
    tcase_add_test(tc, fixing_the_governor);
    tcase_add_test(tc, throttled_cores);
    tcase_add_test(tc, caps_and_firmware);
    tcase_add_test(tc, interrupts_and_pinned_threads);
    tcase_add_test(tc, clocks);
    tcase_add_test(tc, io_uring_that_cannot_be_used);
    tcase_add_test(tc, perf_events);
    tcase_add_test(tc, priorities);
    tcase_add_test(tc, descriptors);
    tcase_add_test(tc, the_service);
    tcase_add_test(tc, directories);
    tcase_add_test(tc, mount_options);
    tcase_add_test(tc, room);
    tcase_add_test(tc, direct_io);
    tcase_add_test(tc, schedulers);
    tcase_add_test(tc, volumes);
    tcase_add_test(tc, file_systems_without_a_device_number);
    tcase_add_test(tc, caches_and_requests);
    tcase_add_test(tc, links);
    tcase_add_test(tc, socket_buffers);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
