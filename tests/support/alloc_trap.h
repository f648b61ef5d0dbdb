/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_ALLOC_TRAP_H
#define SL_TESTS_ALLOC_TRAP_H

/*
 * Proves that a piece of code neither allocates nor locks.
 *
 *     sl_trap_arm();
 *     for (i = 0; i < 1000; i++)
 *         agent->do_work(agent->self);
 *     sl_trap_disarm();
 *     ck_assert_uint_eq(sl_trap_allocations(), 0);
 *
 * Counts are per thread, so other threads of the test may do as they like. To watch an agent inside its own thread, wrap
 * its on_start and on_stop.
 *
 * The test executable's own malloc … replace the C library's, for shared libraries too. They are defined in this header, in
 * short form, because a definition in the archive of test support would be linked into every test that calls malloc. Include
 * it from the one .c file of a test, nowhere else. Under a sanitizer, which replaces the same functions, nothing is trapped
 * and sl_trap_available() says so.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __has_feature
#define SL_TRAP_FEATURE(name) __has_feature(name)
#else
#define SL_TRAP_FEATURE(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || SL_TRAP_FEATURE(address_sanitizer) ||                                 \
    SL_TRAP_FEATURE(thread_sanitizer) || SL_TRAP_FEATURE(memory_sanitizer)
#define SL_TRAP_AVAILABLE 0
#else
#define SL_TRAP_AVAILABLE 1
#endif

static inline bool sl_trap_available(void)
{
    return SL_TRAP_AVAILABLE;
}

void sl_trap_arm(void);                 /* this thread: counts from 0 */
void sl_trap_disarm(void);              /* this thread: the counts stay readable */
uint64_t sl_trap_allocations(void);     /* calls into the heap, free included, while armed */
uint64_t sl_trap_locks(void);           /* mutexes and read-write locks, while armed */
const void *sl_trap_first_caller(void); /* address of the first such call's return, for addr2line; NULL: none */

/* What the definitions below call. */
void *sl_trap_malloc(size_t bytes, const void *caller);
void *sl_trap_calloc(size_t count, size_t bytes, const void *caller);
void *sl_trap_realloc(void *old, size_t bytes, const void *caller);
void *sl_trap_memalign(size_t align, size_t bytes, const void *caller);
void sl_trap_free(void *old, const void *caller);
int sl_trap_lock(const char *function, void *lock, const void *caller);

#if SL_TRAP_AVAILABLE && !defined(SL_TRAP_ONLY_DECLARE)

void *malloc(size_t bytes)
{
    return sl_trap_malloc(bytes, __builtin_return_address(0));
}

void *calloc(size_t count, size_t bytes)
{
    return sl_trap_calloc(count, bytes, __builtin_return_address(0));
}

void *realloc(void *old, size_t bytes)
{
    return sl_trap_realloc(old, bytes, __builtin_return_address(0));
}

void free(void *old)
{
    sl_trap_free(old, __builtin_return_address(0));
}

void *aligned_alloc(size_t align, size_t bytes)
{
    return sl_trap_memalign(align, bytes, __builtin_return_address(0));
}

int posix_memalign(void **out, size_t align, size_t bytes)
{
    void *memory;

    if (align < sizeof(void *) || (align & (align - 1)))
        return 22; /* EINVAL */
    memory = sl_trap_memalign(align, bytes, __builtin_return_address(0));
    if (!memory)
        return 12; /* ENOMEM */
    *out = memory;
    return 0;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return sl_trap_lock("pthread_mutex_lock", mutex, __builtin_return_address(0));
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return sl_trap_lock("pthread_rwlock_rdlock", lock, __builtin_return_address(0));
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return sl_trap_lock("pthread_rwlock_wrlock", lock, __builtin_return_address(0));
}

#endif

#endif
