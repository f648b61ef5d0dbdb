/* SPDX-License-Identifier: Apache-2.0 */
#include "support/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[256];

static void need(int good, const char *what)
{
    if (good)
        return;
    perror(what);
    abort();
}

void scratch_open(void)
{
    /* memory first: verify gives pages back to the kernel, which on a disk means writing them, thousands of times */
    const char *base = access("/dev/shm", W_OK) ? getenv("TMPDIR") : "/dev/shm";

    snprintf(directory, sizeof directory, "%s/sluice-test-XXXXXX", base ? base : "/tmp");
    need(mkdtemp(directory) != NULL, directory);
}

void scratch_open_on_disk(void)
{
    const char *base = getenv("TMPDIR");

    snprintf(directory, sizeof directory, "%s/sluice-test-XXXXXX", base ? base : ".");
    need(mkdtemp(directory) != NULL, directory);
    need(!chmod(directory, 0777), directory);
}

void scratch_close(void)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;

    need(dir != NULL, directory);
    while ((entry = readdir(dir)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            need(!unlinkat(dirfd(dir), entry->d_name, 0) || !unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR), entry->d_name);
    closedir(dir);
    need(!rmdir(directory), directory);
}

const char *scratch_path(const char *name)
{
    static char paths[64][512];
    char path[512];

    snprintf(path, sizeof path, "%s/%s", directory, name);
    for (unsigned i = 0; i < 64; i++) {
        if (!paths[i][0])
            strcpy(paths[i], path);
        if (!strcmp(paths[i], path))
            return paths[i];
    }
    need(0, "more than 64 names");
    return NULL;
}

void scratch_copy(const char *from, const char *to)
{
    uint64_t bytes = scratch_size(from);
    char *data = malloc(bytes + 1);
    int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    need(data && fd >= 0, to);
    scratch_read(from, 0, data, bytes);
    need(write(fd, data, bytes) == (ssize_t)bytes, to);
    close(fd);
    free(data);
}

void scratch_cut(const char *path, uint64_t bytes)
{
    need(!truncate(path, (off_t)bytes), path);
}

void scratch_write(const char *path, uint64_t offset, const void *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

    need(fd >= 0, path);
    need(pwrite(fd, data, bytes, (off_t)offset) == (ssize_t)bytes, path);
    close(fd);
}

void scratch_read(const char *path, uint64_t offset, void *data, size_t bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    need(fd >= 0, path);
    need(pread(fd, data, bytes, (off_t)offset) == (ssize_t)bytes, path);
    close(fd);
}

void scratch_flip(const char *path, uint64_t offset, uint8_t bits)
{
    uint8_t byte;

    scratch_read(path, offset, &byte, 1);
    byte ^= bits;
    scratch_write(path, offset, &byte, 1);
}

uint64_t scratch_size(const char *path)
{
    struct stat status;

    need(!stat(path, &status), path);
    return (uint64_t)status.st_size;
}

uint64_t scratch_used(void)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    struct stat stat;
    uint64_t bytes = 0;

    need(dir != NULL, directory);
    while ((entry = readdir(dir)))
        if (!fstatat(dirfd(dir), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW) && S_ISREG(stat.st_mode))
            bytes += (uint64_t)stat.st_blocks * 512;
    closedir(dir);
    return bytes;
}

unsigned scratch_count(const char *suffix)
{
    DIR *dir = opendir(directory);
    struct dirent *entry;
    unsigned count = 0;

    need(dir != NULL, directory);
    while ((entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), end = strlen(suffix);

        count += entry->d_name[0] != '.' && length >= end && strcmp(entry->d_name + length - end, suffix) == 0;
    }
    closedir(dir);
    return count;
}
