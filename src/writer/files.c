/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/files.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

enum { STAMP_CHARS = 16 };

void sl_files_stamp(char *out, size_t bytes, int64_t utc_ns)
{
    time_t seconds = (time_t)(utc_ns / SL_NS_PER_S);
    struct tm tm;

    if (!gmtime_r(&seconds, &tm) || strftime(out, bytes, "%Y%m%dT%H%M%SZ", &tm) == 0)
        snprintf(out, bytes, "19700101T000000Z");
}

int sl_files_name(char *out, size_t bytes, const char *name, const char *stamp, uint64_t number, const char *suffix)
{
    int length = snprintf(out, bytes, "%s-%s-%04llu.mkv%s", name, stamp, (unsigned long long)number, suffix);

    return length < 0 || (size_t)length >= bytes ? -ENAMETOOLONG : 0;
}

static bool is_stamp(const char *text)
{
    for (unsigned i = 0; i < STAMP_CHARS; i++) {
        bool right = i == 8 ? text[i] == 'T' : i == 15 ? text[i] == 'Z' : isdigit((unsigned char)text[i]) != 0;

        if (!right)
            return false;
    }
    return true;
}

bool sl_files_parse(const char *file, const char *name, const char *suffix, struct sl_file_id *id)
{
    size_t name_length = strlen(name);
    const char *at = file + name_length + 1;
    char *end;

    if (strlen(file) < name_length + 1 + STAMP_CHARS + 2 || strncmp(file, name, name_length) != 0 || file[name_length] != '-')
        return false;
    if (!is_stamp(at) || at[STAMP_CHARS] != '-' || !isdigit((unsigned char)at[STAMP_CHARS + 1]))
        return false;
    id->number = strtoull(at + STAMP_CHARS + 1, &end, 10);
    if (strncmp(end, ".mkv", 4) != 0 || strcmp(end + 4, suffix) != 0)
        return false;
    memset(id->stamp, 0, sizeof(id->stamp));
    memcpy(id->stamp, at, STAMP_CHARS);
    return true;
}

bool sl_files_split(const char *file, char *name, size_t bytes, struct sl_file_id *id)
{
    size_t length = strlen(file);

    /* The stamp is searched from the end: a name may look as if it had one, too. */
    for (size_t at = length; at-- > 1;) {
        if (file[at] != '-' || at >= bytes || length - at <= STAMP_CHARS || !is_stamp(file + at + 1))
            continue;
        memcpy(name, file, at);
        name[at] = '\0';
        return sl_files_parse(file, name, "", id);
    }
    return false;
}

/* A stream over the directory that leaves dir_fd's own position alone; NULL: errno says why. */
static DIR *open_listing(int dir_fd)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    int error = errno;

    if (!dir && fd >= 0)
        close(fd);
    errno = error;
    return dir;
}

int sl_files_taken(int dir_fd, const char *name, const char *stamp)
{
    char prefix[SL_FILE_NAME_BYTES];
    const struct dirent *entry;
    DIR *dir;
    int taken = 0;
    int length = snprintf(prefix, sizeof(prefix), "%s-%s", name, stamp);

    if (length < 0 || (size_t)length >= sizeof(prefix))
        return -ENAMETOOLONG;
    dir = open_listing(dir_fd);
    if (!dir)
        return -errno;
    while (!taken && (entry = readdir(dir)))
        taken = strncmp(entry->d_name, prefix, (size_t)length) == 0 &&
                (entry->d_name[length] == '-' || entry->d_name[length] == '.' || entry->d_name[length] == '\0');
    closedir(dir);
    return taken;
}

static bool older(const struct sl_file_id *a, const struct sl_file_id *b)
{
    int order = strcmp(a->stamp, b->stamp);

    return order < 0 || (order == 0 && a->number < b->number);
}

/* Opens and locks, unless somebody else holds the lock. Only regular files: whatever else bears the name is not ours. */
static int open_idle(int dir_fd, const char *file)
{
    int fd = openat(dir_fd, file, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat stat;

    if (fd < 0)
        return -errno;
    if (fstat(fd, &stat) || !S_ISREG(stat.st_mode) || (flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK)) {
        close(fd);
        return -EBUSY;
    }
    return fd;
}

/* Name of the oldest recording younger than `after`; false: there is none. */
static bool find_oldest(DIR *dir, const char *name, const char *stamp, uint64_t keep_from, const struct sl_file_id *after,
                        struct sl_file_id *best, char *out, size_t bytes)
{
    const struct dirent *entry;
    struct sl_file_id seen;
    bool found = false;

    while ((entry = readdir(dir))) {
        if (!sl_files_parse(entry->d_name, name, "", &seen) || strlen(entry->d_name) >= bytes)
            continue;
        if (strcmp(seen.stamp, stamp) == 0 && seen.number >= keep_from)
            continue;
        if (!older(after, &seen) || (found && !older(&seen, best)))
            continue;
        found = true;
        *best = seen;
        strcpy(out, entry->d_name);
    }
    return found;
}

int sl_files_oldest(int dir_fd, const char *name, const char *stamp, uint64_t keep_from, struct sl_file_id *id, char *out, size_t bytes)
{
    struct sl_file_id after = {.stamp = ""};

    for (;;) { /* those that somebody is writing are passed over */
        DIR *dir = open_listing(dir_fd);
        struct sl_file_id best;
        bool found;
        int fd;

        if (!dir)
            return -errno;
        found = find_oldest(dir, name, stamp, keep_from, &after, &best, out, bytes);
        closedir(dir);
        if (!found)
            return -ENOENT;
        fd = open_idle(dir_fd, out);
        if (fd >= 0) {
            *id = best;
            return fd;
        }
        after = best;
    }
}

uint64_t sl_files_bytes(int dir_fd, const char *name)
{
    DIR *dir = open_listing(dir_fd);
    const struct dirent *entry;
    struct sl_file_id id;
    struct stat status;
    uint64_t bytes = 0;

    while (dir && (entry = readdir(dir)))
        if (sl_files_parse(entry->d_name, name, "", &id) && !fstatat(dir_fd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
            bytes += (uint64_t)status.st_blocks * 512;
    if (dir)
        closedir(dir);
    return bytes;
}

unsigned sl_files_clean(int dir_fd, const char *name, const char *stamp, void (*say)(void *context, const char *file), void *context)
{
    DIR *dir = open_listing(dir_fd);
    const struct dirent *entry;
    struct sl_file_id id;
    unsigned removed = 0;

    if (!dir)
        return 0;
    while ((entry = readdir(dir))) {
        int fd;

        if (!sl_files_parse(entry->d_name, name, ".next", &id) && !sl_files_parse(entry->d_name, name, ".gone", &id))
            continue;
        if (stamp && strcmp(id.stamp, stamp) != 0)
            continue;
        fd = open_idle(dir_fd, entry->d_name);
        if (fd < 0)
            continue;
        if (say)
            say(context, entry->d_name);
        removed += unlinkat(dir_fd, entry->d_name, 0) == 0;
        close(fd);
    }
    closedir(dir);
    return removed;
}
