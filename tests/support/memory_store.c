/* SPDX-License-Identifier: Apache-2.0 */
#include "support/memory_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { OPS = 1024 };

struct op {
    struct sl_store_write write;
    bool sync;
    bool submitted;
    int64_t due_ns;
};

struct memory_store {
    struct sl_store store;
    struct memory_store_cfg cfg;
    struct memory_store_stats stats;
    int fd[SL_STORE_FILES];
    struct op op[OPS];
    unsigned count;
    uint64_t calls;
};

static void need(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "memory store: %s\n", what);
    abort();
}

static struct memory_store *of(struct sl_store *store)
{
    return (struct memory_store *)store;
}

static int start(struct sl_store *store)
{
    (void)store;
    return 0;
}

static int set_file(struct sl_store *store, unsigned file, int fd)
{
    struct memory_store *m = of(store);

    need(file < SL_STORE_FILES, "no such place");
    need((fd >= 0) == (m->fd[file] < 0), "place taken or emptied twice");
    for (unsigned i = 0; i < m->count; i++)
        need(m->op[i].write.file != file, "file put away while something is in flight");
    m->fd[file] = fd;
    return 0;
}

static int add(struct memory_store *m, const struct op *op)
{
    need(op->write.file < SL_STORE_FILES && m->fd[op->write.file] >= 0, "file not open");
    if (m->count == OPS)
        return -EBUSY;
    m->op[m->count++] = *op;
    if (m->count > m->stats.in_flight_max)
        m->stats.in_flight_max = m->count;
    return 0;
}

static int write_op(struct sl_store *store, const struct sl_store_write *write)
{
    need(write->bytes > 0 && write->bytes % SL_PAGE_BYTES == 0 && write->offset % SL_PAGE_BYTES == 0 &&
             (uintptr_t)write->data % SL_PAGE_BYTES == 0,
         "a write that O_DIRECT would refuse");
    return add(of(store), &(struct op){.write = *write});
}

static int sync_op(struct sl_store *store, unsigned file, uint64_t tag)
{
    return add(of(store), &(struct op){.write = {.file = file, .tag = tag}, .sync = true});
}

static int submit(struct sl_store *store)
{
    struct memory_store *m = of(store);

    m->calls++;
    for (unsigned i = 0; i < m->count; i++) {
        if (m->op[i].submitted)
            continue;
        m->op[i].submitted = true;
        m->op[i].due_ns = sl_now_ns(&m->cfg.clock->clock) + m->cfg.latency_ns;
    }
    return 0;
}

static uint64_t next_random(struct memory_store *m)
{
    m->cfg.shuffle = m->cfg.shuffle * 6364136223846793005u + 1442695040888963407u;
    return m->cfg.shuffle >> 33;
}

/* Index of an operation that is due, or count. */
static unsigned pick(struct memory_store *m)
{
    int64_t now_ns = sl_now_ns(&m->cfg.clock->clock);
    unsigned first = m->cfg.shuffle && m->count ? (unsigned)(next_random(m) % m->count) : 0;

    for (unsigned i = 0; i < m->count; i++) {
        unsigned at = (first + i) % m->count;

        if (m->op[at].submitted && m->op[at].due_ns <= now_ns)
            return at;
    }
    return m->count;
}

static int64_t perform(struct memory_store *m, const struct op *op)
{
    int64_t judged = m->cfg.judge ? m->cfg.judge(m->cfg.self, &op->write) : 0;
    ssize_t written;

    if (judged && op->write.bytes) /* torn: its first page reaches the file nevertheless */
        need(pwrite(m->fd[op->write.file], op->write.data, SL_PAGE_BYTES, (off_t)op->write.offset) == SL_PAGE_BYTES, "pwrite");
    if (judged)
        return judged;
    if (op->sync) {
        m->stats.syncs++;
        return 0;
    }
    written = pwrite(m->fd[op->write.file], op->write.data, op->write.bytes, (off_t)op->write.offset);
    need(written == (ssize_t)op->write.bytes, "the file under the store cannot be written");
    m->stats.writes++;
    m->stats.bytes += (uint64_t)written;
    return written;
}

static unsigned reap(struct sl_store *store, struct sl_store_completion *out, unsigned max)
{
    struct memory_store *m = of(store);
    unsigned count = 0, at;

    while (count < max && (at = pick(m)) < m->count) {
        out[count++] = (struct sl_store_completion){.tag = m->op[at].write.tag, .result = perform(m, &m->op[at])};
        for (m->count--; at < m->count; at++)
            m->op[at] = m->op[at + 1];
    }
    return count;
}

static void wait_op(struct sl_store *store, int64_t timeout_ns)
{
    (void)timeout_ns;
    submit(store);
    sl_manual_clock_advance(of(store)->cfg.clock, SL_NS_PER_MS);
}

static uint64_t calls(const struct sl_store *store)
{
    return ((const struct memory_store *)store)->calls;
}

static void close_op(struct sl_store *store)
{
    free(store);
}

static const struct sl_store_ops ops = {
    .start = start,
    .set_file = set_file,
    .write = write_op,
    .sync = sync_op,
    .submit = submit,
    .reap = reap,
    .wait = wait_op,
    .calls = calls,
    .close = close_op,
};

void memory_store_open(struct sl_store **out, const struct memory_store_cfg *cfg)
{
    struct memory_store *m = calloc(1, sizeof(*m));

    need(m != NULL, "out of memory");
    m->store.ops = &ops;
    m->cfg = *cfg;
    for (unsigned i = 0; i < SL_STORE_FILES; i++)
        m->fd[i] = -1;
    *out = &m->store;
}

const struct memory_store_stats *memory_store_stats(const struct sl_store *store)
{
    return &((const struct memory_store *)store)->stats;
}
