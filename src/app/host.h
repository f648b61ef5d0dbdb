/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_HOST_H
#define SL_APP_HOST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * What this machine has and allows: memory, huge pages, CPUs, limits, the file system under a directory. Looks, and changes
 * nothing. `root` is put before /proc and /sys, so that tests can show it another machine; "" in earnest.
 */

enum { SL_HOST_MAX_PAGE_SIZES = 8, SL_HOST_MAX_CPUS = 1024 };

struct sl_host_pages {
    uint64_t page_bytes;
    uint64_t total;  /* pages reserved for the system */
    uint64_t free;   /* and not promised to a mapping */
    bool is_default; /* vm.nr_hugepages is about this size */
};

struct sl_host {
    uint64_t memory_available; /* bytes; 0: not known */
    uint64_t memlock_bytes;    /* UINT64_MAX: no limit */
    unsigned rt_priority;      /* the highest SCHED_FIFO priority this process may ask for; 0: none */
    unsigned page_sizes;
    struct sl_host_pages pages[SL_HOST_MAX_PAGE_SIZES]; /* huge ones, smallest first */
    char transparent[16];                               /* "always", "madvise", "never"; "": the kernel has none */
    bool cpus_known;
    bool online[SL_HOST_MAX_CPUS];
    char online_text[128]; /* "0-3" */
};

void sl_host_read(struct sl_host *host, const char *root);

/* Can memory be had in transparent huge pages, as far as the kernel finds them? "never" does not stop that: the ring asks for them by
 * MADV_COLLAPSE, which looks at memory alone (seen on Linux 6.1, 6.12 and 6.18). */
bool sl_host_transparent(const struct sl_host *host);
/* NULL when the kernel has no huge pages of this size. */
const struct sl_host_pages *sl_host_pages_of(const struct sl_host *host, uint64_t page_bytes);

struct sl_host_dir {
    int error; /* why it cannot be looked at: errno, ENOTDIR; 0: all below is right */
    bool writable;
    uint64_t free_bytes; /* for this user */
    char mount[256];     /* where its file system is mounted; "" when not known */
    char fs[32];         /* "ext4" */
    char device[24];     /* "8:3", "0:21" when no block device is directly below */
    char source[128];    /* "/dev/sda3" */
    char options[512];   /* of the mount, then of the file system: "rw,noatime,rw,discard" */
    bool discard;        /* mounted so that deleting a file trims at once */
};

bool sl_host_mount_has(const struct sl_host_dir *dir, const char *option); /* "data=journal", or "discard" with any value or none */

void sl_host_read_dir(struct sl_host_dir *dir, const char *root, const char *path);

#endif
