/* SPDX-License-Identifier: Apache-2.0 */
#include "support/holds.h"

#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct holds holds_now(void)
{
    struct holds holds = {0};
    DIR *dir = opendir("/proc/self/fd");
    FILE *statm = fopen("/proc/self/statm", "r");
    long page_kib = sysconf(_SC_PAGESIZE) / 1024;

    if (!dir || !statm || fscanf(statm, "%ld %ld", &holds.mapped_kib, &holds.present_kib) != 2)
        abort();
    fclose(statm);
    holds.mapped_kib *= page_kib;
    holds.present_kib *= page_kib;
    while (readdir(dir))
        holds.fds++;
    closedir(dir);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct mallinfo2 heap = mallinfo2();

    holds.heap_bytes = heap.uordblks + heap.hblkhd;
#endif
    return holds;
}

void holds_most(struct holds *most, const struct holds *now)
{
    if (most->fds < now->fds)
        most->fds = now->fds;
    if (most->heap_bytes < now->heap_bytes)
        most->heap_bytes = now->heap_bytes;
    if (most->mapped_kib < now->mapped_kib)
        most->mapped_kib = now->mapped_kib;
    if (most->present_kib < now->present_kib)
        most->present_kib = now->present_kib;
}
