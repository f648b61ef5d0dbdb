/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_MACHINE_H
#define TESTS_SUPPORT_MACHINE_H

/* A machine made of files: /proc and /sys below a directory of the test's own. One at a time. */

struct machine {
    char root[64];
    char disk[128]; /* a directory "on" the file system that /proc/self/mountinfo names */
};
extern struct machine machine;

/* 4 GB of memory, CPUs 0, 1 and 3, 150 of 200 huge pages of 2 MiB free, every capability, ext4 on `disk`. */
void machine_init(void);
void machine_fini(void);

/* Writes text to root/path, with the directories above it. */
void machine_put(const char *path, const char *format, ...) __attribute__((format(printf, 2, 3)));
void machine_link(const char *path, const char *to);
void machine_remove(const char *path);
/* `disk` is on this file system, and so are other places on others. */
void machine_mount(const char *fs, const char *options);

#endif
