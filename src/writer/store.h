/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_STORE_H
#define SL_WRITER_STORE_H

/*
 * Where the recorder's writes go: io_uring, or something in its place. One thread (the recorder agent) calls everything from
 * start on; open, add_regions and close belong to the control thread, before and after it.
 *
 * write and sync only queue; submit or wait hands them to the kernel. Each ends in exactly one completion, in any order. The
 * bytes of a write stay as they are until then. Nothing here allocates after open.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/wake.h"
#include "dma/dma.h"
#include "writer/place.h"
#include "writer/store_fault.h"
#include "writer/writer.h"

#define SL_STORE_NO_REGION UINT32_MAX
#define SL_STORE_FILES     4 /* places in the table of open files */

struct sl_store_write {
    const uint8_t *data;
    uint32_t bytes;
    uint32_t region; /* that `data` lies in, or SL_STORE_NO_REGION */
    unsigned file;   /* place in the table */
    bool frame;      /* the first try of a frame's payload: what scripted faults count */
    uint64_t offset;
    uint64_t tag;
};

struct sl_store_completion {
    uint64_t tag;
    int64_t result; /* bytes, or negative errno */
};

struct sl_store;

struct sl_store_ops {
    int (*start)(struct sl_store *store);                           /* first call in the agent's thread */
    int (*set_file)(struct sl_store *store, unsigned file, int fd); /* -1 empties the place; no write of it may be in flight */
    int (*write)(struct sl_store *store, const struct sl_store_write *write);
    int (*sync)(struct sl_store *store, unsigned file, uint64_t tag); /* fdatasync, beside the writes */
    int (*submit)(struct sl_store *store);
    unsigned (*reap)(struct sl_store *store, struct sl_store_completion *out, unsigned max);
    void (*wait)(struct sl_store *store, int64_t timeout_ns); /* submits; returns at a completion, at the wake, or in time */
    uint64_t (*calls)(const struct sl_store *store);          /* system calls made so far */
    void (*close)(struct sl_store *store);
};

/* First member of each store. */
struct sl_store {
    const struct sl_store_ops *ops;
};

struct sl_uring_cfg {
    unsigned entries;     /* that can be queued or in flight at once */
    struct sl_wake *wake; /* borrowed until close: ends a wait */
};

/* -ENOSYS, -EPERM: this kernel has no io_uring, or not for us. */
int sl_uring_open(struct sl_store **out, const struct sl_uring_cfg *cfg, struct sl_error *err);
/* Pins memory as region 0 … count − 1. Fails as a whole: -EFAULT or -EOPNOTSUPP when it cannot be pinned, -ENOMEM when the
 * memory-lock limit forbids it. Before start; once it succeeded, never again. */
int sl_uring_add_regions(struct sl_store *store, const struct sl_region *region, unsigned count);

/* Scripted faults over `inner`, which it takes. `fault` and `place`, from where they count on, are borrowed until close. */
int sl_store_fault_open(struct sl_store **out, struct sl_store *inner, const struct sl_clock *clock, const struct sl_store_fault *fault,
                        unsigned faults, struct sl_store_fault_place *place, struct sl_error *err);

#endif
