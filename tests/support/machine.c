/* SPDX-License-Identifier: Apache-2.0 */
#include "support/machine.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

struct machine machine;

static void path_of(char name[512], const char *path)
{
    snprintf(name, 512, "%s%s", machine.root, path);
    for (char *slash = strchr(name + strlen(machine.root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        ck_assert(mkdir(name, 0755) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

void machine_put(const char *path, const char *format, ...)
{
    char name[512];
    va_list args;
    FILE *file;

    path_of(name, path);
    file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    va_start(args, format);
    vfprintf(file, format, args);
    va_end(args);
    fclose(file);
}

void machine_link(const char *path, const char *to)
{
    char name[512];

    path_of(name, path);
    ck_assert_int_eq(symlink(to, name), 0);
}

void machine_remove(const char *path)
{
    char name[512];

    path_of(name, path);
    ck_assert_int_eq(remove(name), 0);
}

void machine_mount(const char *fs, const char *options)
{
    machine_put("/proc/self/mountinfo",
                "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
                "23 22 0:5 / /proc rw - proc proc rw\n"
                "99 22 8:2 / %s rw,noatime shared:1 - xfs /dev/old rw,discard\n"
                "100 22 8:3 / %s rw,noatime shared:1 - %s /dev/sdb1 %s\n"
                "101 22 8:4 / %s2 rw,noatime - vfat /dev/sdc1 rw,discard\n",
                machine.disk, machine.disk, fs, options, machine.disk);
}

void machine_init(void)
{
    struct rlimit none = {8 << 20, 8 << 20}, no_priority = {0, 0};
    char *real;

    snprintf(machine.root, sizeof machine.root, "/tmp/sluice-host-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(machine.root));
    real = realpath(machine.root, NULL);
    ck_assert_ptr_nonnull(real);
    snprintf(machine.disk, sizeof machine.disk, "%.100s/disk", real);
    free(real);
    ck_assert_int_eq(mkdir(machine.disk, 0755), 0);
    machine_put("/proc/meminfo", "MemTotal:        4000000 kB\nMemAvailable:    3000000 kB\nHugepagesize:       2048 kB\n");
    machine_put("/proc/self/status", "Name:\tx\nCapInh:\t0000000000000000\nCapEff:\t000001ffffffffff\n");
    machine_put("/sys/devices/system/cpu/online", "0-1,3\n");
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "200\n");
    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "150\n");
    machine_mount("ext4", "rw");
    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &none), 0); /* counts without the capability only */
    ck_assert_int_eq(setrlimit(RLIMIT_RTPRIO, &no_priority), 0);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void machine_fini(void)
{
    nftw(machine.root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
