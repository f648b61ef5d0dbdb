/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts and passes on. The heap is reached by glibc's __libc_ names, so that nothing has to be looked up before the first
 * allocation; locks have no such names and are looked up at their first use, in a table that needs no lock.
 *
 * The trapped functions are not defined here: this file is in the archive that all tests are linked with.
 */
#define SL_TRAP_ONLY_DECLARE
#include "support/alloc_trap.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *old);

static _Thread_local struct {
    bool armed;
    uint64_t allocations;
    uint64_t locks;
    const void *first_caller;
} trap;

void sl_trap_arm(void)
{
    trap.allocations = 0;
    trap.locks = 0;
    trap.first_caller = NULL;
    trap.armed = true;
}

void sl_trap_disarm(void)
{
    trap.armed = false;
}

uint64_t sl_trap_allocations(void)
{
    return trap.allocations;
}

uint64_t sl_trap_locks(void)
{
    return trap.locks;
}

const void *sl_trap_first_caller(void)
{
    return trap.first_caller;
}

static void note(uint64_t *count, const void *caller)
{
    if (!trap.armed)
        return;
    ++*count;
    if (!trap.first_caller)
        trap.first_caller = caller;
}

void *sl_trap_malloc(size_t bytes, const void *caller)
{
    note(&trap.allocations, caller);
    return __libc_malloc(bytes);
}

void *sl_trap_calloc(size_t count, size_t bytes, const void *caller)
{
    note(&trap.allocations, caller);
    return __libc_calloc(count, bytes);
}

void *sl_trap_realloc(void *old, size_t bytes, const void *caller)
{
    note(&trap.allocations, caller);
    return __libc_realloc(old, bytes);
}

void *sl_trap_memalign(size_t align, size_t bytes, const void *caller)
{
    note(&trap.allocations, caller);
    return __libc_memalign(align, bytes);
}

void sl_trap_free(void *old, const void *caller)
{
    if (old)
        note(&trap.allocations, caller);
    __libc_free(old);
}

typedef int lock_function(void *lock);

/* Two threads may look the same name up at once; both find the same address. */
static lock_function *real_lock(const char *function)
{
    static struct {
        const char *name;
        _Atomic(lock_function *) address;
    } known[] = {{.name = "pthread_mutex_lock"}, {.name = "pthread_rwlock_rdlock"}, {.name = "pthread_rwlock_wrlock"}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        lock_function *address;

        if (strcmp(known[i].name, function) != 0)
            continue;
        address = atomic_load_explicit(&known[i].address, memory_order_relaxed);
        if (!address) {
            void *found = dlsym(RTLD_NEXT, function);

            memcpy(&address, &found, sizeof(address));
            atomic_store_explicit(&known[i].address, address, memory_order_relaxed);
        }
        return address;
    }
    return NULL;
}

int sl_trap_lock(const char *function, void *lock, const void *caller)
{
    lock_function *real = real_lock(function);

    note(&trap.locks, caller);
    if (!real)
        abort();
    return real(lock);
}
