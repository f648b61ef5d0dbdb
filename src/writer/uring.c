/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store that is io_uring.
 *
 * Thread: made and closed by the control thread, used by the recorder agent alone. The ring is made disabled and enabled by the
 * agent, because with SINGLE_ISSUER the thread that enables it is the only one that may submit.
 *
 * System calls: one io_uring_enter both submits what is queued and waits; the wake-up is a multishot poll on its eventfd that is
 * never read, so that a frame costs one enter when its write is queued and one when it has completed, and nothing else.
 *
 * Rejected: SQPOLL and IOPOLL (no faster here, and they spin a core), a read of the eventfd (it is non-blocking, so io_uring
 * completes the read with EAGAIN instead of waiting), linked or drained fdatasync (it stalls the writes behind it).
 */
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "writer/store.h"

static const uint64_t wake_tag = UINT64_MAX;

struct uring {
    struct sl_store store;
    struct io_uring ring;
    struct sl_wake *wake;
    bool disabled; /* until start */
    bool multishot;
    bool wake_due; /* the poll on the wake-up is to be queued (again) */
    uint64_t calls;
};

static struct uring *uring_of(struct sl_store *store)
{
    return (struct uring *)store;
}

static struct io_uring_sqe *get_sqe(struct uring *u)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&u->ring);

    if (sqe)
        return sqe;
    u->calls++;
    if (io_uring_submit(&u->ring) < 0)
        return NULL;
    return io_uring_get_sqe(&u->ring);
}

static void queue_wake(struct uring *u)
{
    struct io_uring_sqe *sqe = u->wake_due ? get_sqe(u) : NULL;

    if (!sqe)
        return;
    if (u->multishot)
        io_uring_prep_poll_multishot(sqe, u->wake->fd, POLLIN);
    else
        io_uring_prep_poll_add(sqe, u->wake->fd, POLLIN);
    io_uring_sqe_set_data64(sqe, wake_tag);
    u->wake_due = false;
}

static int uring_start(struct sl_store *store)
{
    struct uring *u = uring_of(store);

    if (u->disabled) {
        /* not io_uring_enable_rings: liburing 2.3 declares it and does not export it */
        if (syscall(__NR_io_uring_register, u->ring.ring_fd, IORING_REGISTER_ENABLE_RINGS, NULL, 0) < 0)
            return -errno;
        u->disabled = false;
    }
    io_uring_register_ring_fd(&u->ring); /* saves the lookup of the descriptor; older kernels do without */
    queue_wake(u);
    return 0;
}

static int uring_set_file(struct sl_store *store, unsigned file, int fd)
{
    int rc = io_uring_register_files_update(&uring_of(store)->ring, file, &fd, 1);

    uring_of(store)->calls++;
    return rc < 0 ? rc : 0;
}

static int uring_write(struct sl_store *store, const struct sl_store_write *write)
{
    struct io_uring_sqe *sqe = get_sqe(uring_of(store));

    if (!sqe)
        return -EBUSY;
    if (write->region == SL_STORE_NO_REGION)
        io_uring_prep_write(sqe, (int)write->file, write->data, write->bytes, write->offset);
    else
        io_uring_prep_write_fixed(sqe, (int)write->file, write->data, write->bytes, write->offset, (int)write->region);
    io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data64(sqe, write->tag);
    return 0;
}

static int uring_sync(struct sl_store *store, unsigned file, uint64_t tag)
{
    struct io_uring_sqe *sqe = get_sqe(uring_of(store));

    if (!sqe)
        return -EBUSY;
    io_uring_prep_fsync(sqe, (int)file, IORING_FSYNC_DATASYNC);
    io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data64(sqe, tag);
    return 0;
}

static int uring_submit(struct sl_store *store)
{
    struct uring *u = uring_of(store);
    int rc;

    queue_wake(u);
    if (io_uring_sq_ready(&u->ring) == 0)
        return 0;
    u->calls++;
    rc = io_uring_submit_and_get_events(&u->ring);
    return rc < 0 ? rc : 0;
}

static void take_wake(struct uring *u, const struct io_uring_cqe *cqe)
{
    if (cqe->flags & IORING_CQE_F_MORE)
        return;
    if (cqe->res == -EINVAL && u->multishot)
        u->multishot = false; /* before Linux 5.13 */
    sl_wake_drain(u->wake);
    u->wake_due = true;
}

static unsigned uring_reap(struct sl_store *store, struct sl_store_completion *out, unsigned max)
{
    struct uring *u = uring_of(store);
    struct io_uring_cqe *cqe;
    unsigned head, seen = 0, count = 0;

    if (IO_URING_READ_ONCE(*u->ring.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) {
        u->calls++;
        io_uring_get_events(&u->ring);
    }
    io_uring_for_each_cqe(&u->ring, head, cqe)
    {
        if (count == max)
            break;
        seen++;
        if (io_uring_cqe_get_data64(cqe) == wake_tag)
            take_wake(u, cqe);
        else
            out[count++] = (struct sl_store_completion){.tag = io_uring_cqe_get_data64(cqe), .result = cqe->res};
    }
    io_uring_cq_advance(&u->ring, seen);
    return count;
}

static void uring_wait(struct sl_store *store, int64_t timeout_ns)
{
    struct uring *u = uring_of(store);
    struct __kernel_timespec timeout = {.tv_sec = timeout_ns / SL_NS_PER_S, .tv_nsec = timeout_ns % SL_NS_PER_S};
    struct io_uring_cqe *cqe;

    queue_wake(u);
    u->calls++;
    io_uring_submit_and_wait_timeout(&u->ring, &cqe, 1, &timeout, NULL); /* whatever ended it, reap finds what there is */
}

static uint64_t uring_calls(const struct sl_store *store)
{
    return ((const struct uring *)store)->calls;
}

static void uring_close(struct sl_store *store)
{
    io_uring_queue_exit(&uring_of(store)->ring);
    free(store);
}

static const struct sl_store_ops uring_ops = {
    .start = uring_start,
    .set_file = uring_set_file,
    .write = uring_write,
    .sync = uring_sync,
    .submit = uring_submit,
    .reap = uring_reap,
    .wait = uring_wait,
    .calls = uring_calls,
    .close = uring_close,
};

/* The best set-up that this kernel knows. */
static int init_ring(struct uring *u, unsigned entries)
{
    static const unsigned setups[] = {
        IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED, /* 6.1 */
        IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_R_DISABLED,                               /* 5.19 */
        IORING_SETUP_R_DISABLED,                                                                                       /* 5.10 */
        0,
    };
    int rc = -EINVAL;

    for (size_t i = 0; i < sizeof(setups) / sizeof(setups[0]) && rc == -EINVAL; i++) {
        struct io_uring_params params = {.flags = setups[i] | IORING_SETUP_CQSIZE, .cq_entries = 4 * entries};

        rc = io_uring_queue_init_params(entries, &u->ring, &params);
        u->disabled = setups[i] & IORING_SETUP_R_DISABLED;
    }
    return rc;
}

static const char *remedy(int rc)
{
    if (rc == -ENOSYS || rc == -EPERM)
        return " (the kernel needs CONFIG_IO_URING, and sysctl kernel.io_uring_disabled must be 0)";
    if (rc == -ENOMEM)
        return " (the memory-lock limit may be too low: raise `ulimit -l`, or LimitMEMLOCK= of the service)";
    return "";
}

int sl_uring_open(struct sl_store **out, const struct sl_uring_cfg *cfg, struct sl_error *err)
{
    static const int none[SL_STORE_FILES] = {-1, -1, -1, -1};
    struct uring *u = calloc(1, sizeof(*u));
    int rc;

    if (!u)
        return sl_fail(err, -ENOMEM, "io_uring: out of memory");
    *u = (struct uring){.store.ops = &uring_ops, .wake = cfg->wake, .multishot = true, .wake_due = true};
    rc = init_ring(u, cfg->entries);
    if (rc < 0) {
        sl_fail(err, rc, "io_uring: %s%s", strerror(-rc), remedy(rc));
        goto free_memory;
    }
    rc = io_uring_register_files(&u->ring, none, SL_STORE_FILES);
    if (rc < 0) {
        sl_fail(err, rc, "io_uring: table of files: %s", strerror(-rc));
        goto exit_ring;
    }
    *out = &u->store;
    return 0;

exit_ring:
    io_uring_queue_exit(&u->ring);
free_memory:
    free(u);
    return rc;
}

int sl_uring_add_regions(struct sl_store *store, const struct sl_region *region, unsigned count)
{
    struct iovec *iovec = calloc(count, sizeof(*iovec));
    int rc;

    if (!iovec)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++)
        iovec[i] = (struct iovec){.iov_base = region[i].base, .iov_len = region[i].bytes};
    rc = io_uring_register_buffers(&uring_of(store)->ring, iovec, count);
    free(iovec);
    return rc < 0 ? rc : 0;
}
