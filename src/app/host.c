/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at this machine through /proc, /sys and a few calls that only ask. Any thread, control path. What the kernel does not
 * tell stays 0 or "not known", so that a missing file makes a warning disappear and never makes one up.
 */
#include "app/host.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "app/host_file.h"

enum { CAP_IPC_LOCK_BIT = 14, CAP_SYS_NICE_BIT = 23 };

static uint64_t read_count(const char *root, const char *path)
{
    int64_t value = 0;

    return sl_host_number(root, path, &value) && value > 0 ? (uint64_t)value : 0;
}

static int by_size(const void *a, const void *b)
{
    const struct sl_host_pages *x = a, *y = b;

    return x->page_bytes < y->page_bytes ? -1 : x->page_bytes > y->page_bytes;
}

static void read_huge_pages(struct sl_host *host, const char *root, uint64_t default_kib)
{
    static const char dir[] = "/sys/kernel/mm/hugepages", prefix[] = "hugepages-"; /* hugepages-2048kB */
    char path[PATH_MAX];
    struct dirent *entry;
    DIR *list;

    if (snprintf(path, sizeof path, "%s%s", root, dir) >= (int)sizeof path)
        return;
    list = opendir(path);
    if (!list)
        return;
    while ((entry = readdir(list)) != NULL && host->page_sizes < SL_HOST_MAX_PAGE_SIZES) {
        struct sl_host_pages *pages = &host->pages[host->page_sizes];
        uint64_t reserved;
        uint64_t kib = strncmp(entry->d_name, prefix, sizeof prefix - 1) ? 0 : strtoull(entry->d_name + sizeof prefix - 1, NULL, 10);

        if (kib == 0 || kib > UINT64_MAX / 1024)
            continue;
        pages->page_bytes = kib * 1024;
        pages->is_default = kib == default_kib;
        snprintf(path, sizeof path, "%s/%s/nr_hugepages", dir, entry->d_name);
        pages->total = read_count(root, path);
        snprintf(path, sizeof path, "%s/%s/free_hugepages", dir, entry->d_name);
        pages->free = read_count(root, path);
        snprintf(path, sizeof path, "%s/%s/resv_hugepages", dir, entry->d_name);
        reserved = read_count(root, path);
        pages->free -= reserved < pages->free ? reserved : pages->free;
        host->page_sizes++;
    }
    closedir(list);
    qsort(host->pages, host->page_sizes, sizeof *host->pages, by_size);
}

static void read_transparent(struct sl_host *host, const char *root)
{
    char text[64];

    if (sl_host_word(root, "/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text) && sl_host_choice(text))
        snprintf(host->transparent, sizeof host->transparent, "%.15s", text);
}

bool sl_host_transparent(const struct sl_host *host)
{
    return host->transparent[0] != '\0';
}

const struct sl_host_pages *sl_host_pages_of(const struct sl_host *host, uint64_t page_bytes)
{
    for (unsigned i = 0; i < host->page_sizes; i++)
        if (host->pages[i].page_bytes == page_bytes)
            return &host->pages[i];
    return NULL;
}

/* "0-3,6" */
static void read_cpus(struct sl_host *host, const char *root)
{
    char *text = sl_host_text(root, "/sys/devices/system/cpu/online"), *at = text;

    if (!text)
        return;
    at[strcspn(at, "\n")] = '\0';
    snprintf(host->online_text, sizeof host->online_text, "%s", text);
    while (*at >= '0' && *at <= '9') {
        unsigned long first = strtoul(at, &at, 10), last = *at == '-' ? strtoul(at + 1, &at, 10) : first;

        for (unsigned long cpu = first; cpu <= last && cpu < SL_HOST_MAX_CPUS; cpu++)
            host->cpus_known = host->online[cpu] = true;
        at += *at == ',';
    }
    free(text);
}

static void read_limits(struct sl_host *host, const char *root)
{
    char *status = sl_host_text(root, "/proc/self/status");
    uint64_t capabilities = 0;
    struct rlimit limit;

    if (status)
        sl_host_number_of(status, "CapEff", 16, &capabilities);
    free(status);
    host->memlock_bytes = UINT64_MAX;
    if (!(capabilities >> CAP_IPC_LOCK_BIT & 1) && getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        host->memlock_bytes = limit.rlim_cur;
    if (capabilities >> CAP_SYS_NICE_BIT & 1)
        host->rt_priority = 99;
    else if (getrlimit(RLIMIT_RTPRIO, &limit) == 0)
        host->rt_priority = limit.rlim_cur > 99 ? 99 : (unsigned)limit.rlim_cur;
}

void sl_host_read(struct sl_host *host, const char *root)
{
    char *memory = sl_host_text(root, "/proc/meminfo");
    uint64_t kib, default_kib = 0;

    memset(host, 0, sizeof *host);
    if (memory && sl_host_number_of(memory, "MemAvailable", 10, &kib))
        host->memory_available = kib * 1024;
    if (memory)
        sl_host_number_of(memory, "Hugepagesize", 10, &default_kib);
    free(memory);
    read_huge_pages(host, root, default_kib);
    read_transparent(host, root);
    read_cpus(host, root);
    read_limits(host, root);
}

/* mountinfo writes blanks and the like as \040. In place. */
static void decode_octal(char *text)
{
    char *out = text;

    while (*text) {
        if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] >= '0' && text[2] <= '7' && text[3] >= '0' && text[3] <= '7') {
            *out++ = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
            text += 4;
        } else {
            *out++ = *text++;
        }
    }
    *out = '\0';
}

bool sl_host_mount_has(const struct sl_host_dir *dir, const char *option)
{
    const char *options = dir->options;
    size_t length = strlen(option);

    for (const char *at = options; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
        if (!strncmp(at, option, length) && (at[length] == ',' || at[length] == '=' || !at[length]))
            return true;
    return false;
}

static bool is_below(const char *path, const char *mount)
{
    size_t length = strlen(mount);

    return !strncmp(path, mount, length) && (length == 1 || path[length] == '/' || !path[length]);
}

/* One line: id parent device root MOUNT OPTIONS [tag…] - TYPE source OPTIONS. The longest mount point above `path`
 * is its file system, and of two at the same place the later one. */
static void consider_mount(struct sl_host_dir *dir, const char *path, char *line)
{
    char *field[6], *save = NULL, *tail = strstr(line, " - ");
    char *type, *source, *super;

    if (!tail)
        return;
    *tail = '\0';
    for (unsigned i = 0; i < 6; i++)
        if (!(field[i] = strtok_r(i ? NULL : line, " ", &save)))
            return;
    type = strtok_r(tail + 3, " ", &save);
    source = type ? strtok_r(NULL, " ", &save) : NULL;
    super = source ? strtok_r(NULL, " ", &save) : NULL;
    decode_octal(field[4]);
    if (!super || !is_below(path, field[4]) || strlen(field[4]) < strlen(dir->mount))
        return;
    snprintf(dir->mount, sizeof dir->mount, "%s", field[4]);
    snprintf(dir->fs, sizeof dir->fs, "%s", type);
    snprintf(dir->device, sizeof dir->device, "%s", field[2]);
    snprintf(dir->source, sizeof dir->source, "%s", source);
    snprintf(dir->options, sizeof dir->options, "%s,%s", field[5], super);
    dir->discard = sl_host_mount_has(dir, "discard");
}

static void find_mount(struct sl_host_dir *dir, const char *root, const char *path)
{
    char *text = sl_host_text(root, "/proc/self/mountinfo"), *save = NULL;

    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save))
        consider_mount(dir, path, line);
    free(text);
}

void sl_host_read_dir(struct sl_host_dir *dir, const char *root, const char *path)
{
    char real[PATH_MAX];
    struct statvfs fs;
    struct stat st;

    memset(dir, 0, sizeof *dir);
    if (!realpath(path, real) || stat(real, &st) < 0 || statvfs(real, &fs) < 0) {
        dir->error = errno;
        return;
    }
    if (!S_ISDIR(st.st_mode)) {
        dir->error = ENOTDIR;
        return;
    }
    dir->writable = faccessat(AT_FDCWD, real, W_OK | X_OK, AT_EACCESS) == 0;
    dir->free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
    find_mount(dir, root, real);
}
