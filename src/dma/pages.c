/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one file that asks the kernel for memory pages of a given size.
 *
 * hugetlb memory is a memfd, not MAP_ANONYMOUS: equally fast, and a descriptor is what /dev/udmabuf exports. The mapping keeps
 * the memory, so the descriptor is closed at once. Reservation happens in mmap: without free pages it fails there, with
 * -ENOMEM, and not by SIGBUS in the middle of a recording.
 *
 * All memory is left out of forks and core dumps: a page that the device or the disk writes while copy-on-write moves it
 * would be lost, and a ring of frames has no place in a dump.
 */
#include "dma/pages.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

/* Faults all pages in now. Unlike a plain touch, madvise turns "no page to be had" into an error. */
static int populate(uint8_t *base, size_t bytes)
{
    while (madvise(base, bytes, MADV_POPULATE_WRITE)) {
        if (errno == EINVAL) { /* before Linux 5.14 */
            memset(base, 0, bytes);
            return 0;
        }
        if (errno != EAGAIN && errno != EINTR)
            return errno == EFAULT ? -ENOMEM : -errno;
    }
    return 0;
}

static int map_hugetlb(uint8_t **out, size_t bytes, size_t page_bytes)
{
    unsigned shift = (unsigned)__builtin_ctzll(page_bytes);
    int fd = memfd_create("sluice-frames", MFD_CLOEXEC | MFD_HUGETLB | shift << MAP_HUGE_SHIFT);
    uint8_t *base;
    int ret = 0;

    if (fd < 0)
        return -errno;
    if (ftruncate(fd, (off_t)bytes)) {
        ret = -errno;
        goto close_fd;
    }
    base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        ret = -errno;
    else
        *out = base;
close_fd:
    close(fd);
    return ret;
}

/* Anonymous memory that begins at a multiple of `align`: mapped with room to spare, and the ends given back. */
static int map_aligned(uint8_t **out, size_t bytes, size_t align)
{
    uint8_t *raw = mmap(NULL, bytes + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    size_t before;

    if (raw == MAP_FAILED)
        return -errno;
    before = (align - (uintptr_t)raw % align) % align;
    if (before)
        munmap(raw, before);
    if (align - before)
        munmap(raw + before + bytes, align - before);
    *out = raw + before;
    return 0;
}

int sl_pages_map(uint8_t **out, size_t bytes, enum sl_page_kind kind, size_t page_bytes)
{
    uint8_t *base = MAP_FAILED;
    int ret;

    ret = kind == SL_PAGES_HUGETLB ? map_hugetlb(&base, bytes, page_bytes) : map_aligned(&base, bytes, page_bytes);
    if (ret)
        return ret;
    if (kind != SL_PAGES_HUGETLB && /* -EINVAL: a kernel without transparent huge pages */
        madvise(base, bytes, kind == SL_PAGES_TRANSPARENT ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) && kind == SL_PAGES_TRANSPARENT) {
        ret = -errno;
        goto unmap;
    }
    ret = populate(base, bytes);
    if (ret)
        goto unmap;
    if (kind == SL_PAGES_TRANSPARENT && sl_pages_transparent_bytes(base, bytes) < bytes)
        (void)!madvise(base, bytes, MADV_COLLAPSE); /* a second try; what came of it is counted, not assumed */
    if (madvise(base, bytes, MADV_DONTFORK) || madvise(base, bytes, MADV_DONTDUMP)) {
        ret = -errno;
        goto unmap;
    }
    *out = base;
    return 0;

unmap:
    munmap(base, bytes);
    return ret;
}

void sl_pages_unmap(uint8_t *base, size_t bytes)
{
    munmap(base, bytes);
}

size_t sl_pages_transparent_bytes(const uint8_t *base, size_t bytes)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    uintptr_t from = (uintptr_t)base;
    bool ours = false;
    size_t found = 0;
    char line[512];

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file)) {
        uintptr_t start, end;
        size_t kib;

        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2)
            ours = start < from + bytes && end > from;
        else if (ours && sscanf(line, "AnonHugePages: %zu kB", &kib) == 1)
            found += kib * 1024;
    }
    fclose(file);
    return found < bytes ? found : bytes; /* the kernel may have merged us with a neighbour */
}

size_t sl_pages_available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    size_t available = SIZE_MAX;
    char line[256];
    size_t kib;

    if (!file)
        return SIZE_MAX;
    while (fgets(line, sizeof(line), file))
        if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1)
            available = kib < SIZE_MAX / 1024 ? kib * 1024 : SIZE_MAX;
    fclose(file);
    return available;
}

static bool read_pages(size_t page_bytes, const char *name, size_t *value)
{
    char path[128];
    FILE *file;
    bool good;

    snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/%s", page_bytes / 1024, name);
    file = fopen(path, "re");
    if (!file)
        return false;
    good = fscanf(file, "%zu", value) == 1;
    fclose(file);
    return good;
}

struct sl_hugetlb_state sl_pages_hugetlb_state(size_t page_bytes)
{
    struct sl_hugetlb_state state = {0};
    size_t unused, reserved;

    if (!read_pages(page_bytes, "nr_hugepages", &state.total) || !read_pages(page_bytes, "free_hugepages", &unused) ||
        !read_pages(page_bytes, "resv_hugepages", &reserved))
        return (struct sl_hugetlb_state){0};
    state.offered = true;
    state.usable = unused > reserved ? unused - reserved : 0;
    return state;
}
