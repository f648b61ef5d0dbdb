/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that misbehaves on purpose, over one that does not.
 *
 * Thread: as the store it wraps. Writes are passed on, shortened, or answered with an error here without being made; completions
 * wait in `held` until the fault lets them out. A stall holds every completion, whatever it belongs to, as a disk would.
 *
 * Faults count frames' first tries, so that a write that was refused once (EAGAIN, a short one) succeeds when it is tried again.
 *
 * Jitter is a disk that serves one frame after the other and takes a random time for each. Half of the times are below two thirds of the
 * mean, and the share above halves with every two thirds more: nearly an exponential distribution, in integers. The time depends on
 * seed and frame alone, so that another run of the same seed meets the same disk.
 */
#include <errno.h>
#include <stdlib.h>

#include "writer/store.h"

enum { HELD = 1024, LATE = 64 };

struct held {
    struct sl_store_completion completion;
    int64_t due_ns;
};

struct fault_store {
    struct sl_store store;
    struct sl_store *inner;
    const struct sl_clock *clock;
    const struct sl_store_fault *fault;
    unsigned faults;
    struct sl_store_fault_place *place;
    int64_t busy_until_ns; /* jitter: what came before is served by then */
    unsigned held_count;
    struct held held[HELD];
    unsigned late_count;
    struct held late[LATE]; /* writes that are not to complete before due_ns */
};

static struct fault_store *fault_of(struct sl_store *store)
{
    return (struct fault_store *)store;
}

static int fault_start(struct sl_store *store)
{
    struct sl_store *inner = fault_of(store)->inner;

    return inner->ops->start(inner);
}

static int fault_set_file(struct sl_store *store, unsigned file, int fd)
{
    struct sl_store *inner = fault_of(store)->inner;

    return inner->ops->set_file(inner, file, fd);
}

static int refuse(struct fault_store *f, uint64_t tag, int error)
{
    if (f->held_count == HELD)
        return -EBUSY;
    f->held[f->held_count++] = (struct held){.completion = {.tag = tag, .result = error}, .due_ns = sl_now_ns(f->clock)};
    return 0;
}

static bool hits(const struct sl_store_fault *fault, uint64_t frame)
{
    uint64_t count = fault->kind == SL_STORE_FAULT_LATE ? 1 : fault->count;

    if (fault->kind == SL_STORE_FAULT_JITTER)
        return true;
    return fault->kind != SL_STORE_FAULT_STALL && frame >= fault->at && frame - fault->at < count;
}

/* Whole pages, at least one, and fewer than there were unless it was one already. */
static uint32_t half_of(uint32_t bytes)
{
    uint32_t half = bytes / 2 / SL_PAGE_BYTES * SL_PAGE_BYTES;

    return half ? half : SL_PAGE_BYTES;
}

static uint64_t random_of(uint64_t seed, uint64_t frame)
{
    uint64_t x = seed * UINT64_C(0xd1342543de82ef95) + frame * UINT64_C(0x9e3779b97f4a7c15) + 1;

    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static int64_t service_ns(const struct sl_store_fault *fault, uint64_t frame)
{
    enum { PARTS = 1024 };
    uint64_t random = random_of(fault->at, frame);
    uint64_t halvings = (uint64_t)__builtin_ctzll(random | UINT64_C(1) << 40);
    uint64_t parts = halvings * PARTS + (random >> 54); /* of two thirds of the mean; the top ten bits, which the other part never uses */

    return (int64_t)((unsigned __int128)fault->count * 2 * parts / (UINT64_C(3) * PARTS));
}

static void complete_late(struct fault_store *f, uint64_t tag, int64_t due_ns)
{
    if (f->late_count < LATE)
        f->late[f->late_count++] = (struct held){.completion.tag = tag, .due_ns = due_ns};
}

static void serve(struct fault_store *f, const struct sl_store_fault *fault, uint64_t frame, uint64_t tag)
{
    int64_t now_ns = sl_now_ns(f->clock);

    if (f->busy_until_ns < now_ns)
        f->busy_until_ns = now_ns;
    f->busy_until_ns += service_ns(fault, frame);
    complete_late(f, tag, f->busy_until_ns);
}

static int fault_write(struct sl_store *store, const struct sl_store_write *asked)
{
    struct fault_store *f = fault_of(store);
    struct sl_store_write write = *asked;
    uint64_t frame = f->place->frames;

    if (!asked->frame)
        return f->inner->ops->write(f->inner, &write);
    if (f->place->frames++ == 0)
        f->place->first_ns = sl_now_ns(f->clock);
    for (unsigned i = 0; i < f->faults; i++) {
        if (!hits(&f->fault[i], frame))
            continue;
        switch (f->fault[i].kind) {
        case SL_STORE_FAULT_EIO:
            return refuse(f, write.tag, -EIO);
        case SL_STORE_FAULT_ENOSPC:
            return refuse(f, write.tag, -ENOSPC);
        case SL_STORE_FAULT_EAGAIN:
            return refuse(f, write.tag, -EAGAIN);
        case SL_STORE_FAULT_SHORT:
            write.bytes = half_of(write.bytes);
            break;
        case SL_STORE_FAULT_LATE:
            complete_late(f, write.tag, sl_now_ns(f->clock) + (int64_t)f->fault[i].count);
            break;
        case SL_STORE_FAULT_JITTER:
            serve(f, &f->fault[i], frame, write.tag);
            break;
        case SL_STORE_FAULT_STALL:
            break;
        }
    }
    return f->inner->ops->write(f->inner, &write);
}

static int fault_sync(struct sl_store *store, unsigned file, uint64_t tag)
{
    struct sl_store *inner = fault_of(store)->inner;

    return inner->ops->sync(inner, file, tag);
}

static int fault_submit(struct sl_store *store)
{
    struct sl_store *inner = fault_of(store)->inner;

    return inner->ops->submit(inner);
}

/* When the stall that holds at `now_ns` ends; now_ns when none does. */
static int64_t stall_end_ns(const struct fault_store *f, int64_t now_ns)
{
    int64_t end_ns = now_ns;

    for (unsigned i = 0; i < f->faults && f->place->frames > 0; i++) {
        const struct sl_store_fault *fault = &f->fault[i];
        uint64_t since_ns = (uint64_t)(now_ns - f->place->first_ns);

        if (fault->kind != SL_STORE_FAULT_STALL || since_ns < fault->at || since_ns - fault->at >= fault->count)
            continue;
        uint64_t left_ns = fault->count - (since_ns - fault->at);
        int64_t stall_ns = left_ns < (uint64_t)(INT64_MAX - now_ns) ? now_ns + (int64_t)left_ns : INT64_MAX;

        if (stall_ns > end_ns)
            end_ns = stall_ns;
    }
    return end_ns;
}

static int64_t due_of(struct fault_store *f, uint64_t tag, int64_t now_ns)
{
    for (unsigned i = 0; i < f->late_count; i++) {
        int64_t due_ns = f->late[i].due_ns;

        if (f->late[i].completion.tag != tag)
            continue;
        f->late[i] = f->late[--f->late_count];
        return due_ns;
    }
    return now_ns;
}

static unsigned fault_reap(struct sl_store *store, struct sl_store_completion *out, unsigned max)
{
    struct fault_store *f = fault_of(store);
    int64_t now_ns = sl_now_ns(f->clock);
    struct sl_store_completion got;
    unsigned count = 0, kept = 0;

    while (f->held_count < HELD && f->inner->ops->reap(f->inner, &got, 1) == 1)
        f->held[f->held_count++] = (struct held){.completion = got, .due_ns = due_of(f, got.tag, now_ns)};
    if (stall_end_ns(f, now_ns) > now_ns)
        return 0;
    for (unsigned i = 0; i < f->held_count; i++) {
        if (count < max && f->held[i].due_ns <= now_ns)
            out[count++] = f->held[i].completion;
        else
            f->held[kept++] = f->held[i];
    }
    f->held_count = kept;
    return count;
}

static void fault_wait(struct sl_store *store, int64_t timeout_ns)
{
    struct fault_store *f = fault_of(store);
    int64_t now_ns = sl_now_ns(f->clock);
    int64_t stall_ns = stall_end_ns(f, now_ns) - now_ns;

    for (unsigned i = 0; i < f->held_count; i++) {
        int64_t due_in_ns = f->held[i].due_ns - now_ns;

        if (due_in_ns < stall_ns)
            due_in_ns = stall_ns;
        if (due_in_ns < timeout_ns)
            timeout_ns = due_in_ns > 0 ? due_in_ns : 0;
    }
    f->inner->ops->wait(f->inner, timeout_ns);
}

static uint64_t fault_calls(const struct sl_store *store)
{
    const struct sl_store *inner = ((const struct fault_store *)store)->inner;

    return inner->ops->calls(inner);
}

static void fault_close(struct sl_store *store)
{
    struct sl_store *inner = fault_of(store)->inner;

    inner->ops->close(inner);
    free(store);
}

static const struct sl_store_ops fault_ops = {
    .start = fault_start,
    .set_file = fault_set_file,
    .write = fault_write,
    .sync = fault_sync,
    .submit = fault_submit,
    .reap = fault_reap,
    .wait = fault_wait,
    .calls = fault_calls,
    .close = fault_close,
};

int sl_store_fault_open(struct sl_store **out, struct sl_store *inner, const struct sl_clock *clock, const struct sl_store_fault *fault,
                        unsigned faults, struct sl_store_fault_place *place, struct sl_error *err)
{
    struct fault_store *f = calloc(1, sizeof(*f));

    if (!f)
        return sl_fail(err, -ENOMEM, "scripted faults: out of memory");
    f->store.ops = &fault_ops;
    f->inner = inner;
    f->clock = clock;
    f->fault = fault;
    f->faults = faults;
    f->place = place;
    *out = &f->store;
    return 0;
}
