/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_ERROR_H
#define SL_CORE_ERROR_H

/*
 * Errors of the control path: a negative errno for the program and one line for a person.
 *
 * A function that can fail for a reason worth telling takes a `struct sl_error *` (borrowed, may be NULL) and returns
 * what sl_fail() returns. Each layer above adds its own context in front: "record: open /data: Permission denied".
 * Any thread; nothing is allocated. The hot path does not use this: it counts.
 */

struct sl_error {
    char text[4096]; /* a bad config has many lines */
};

/* Sets the text (the old one is lost) and returns `code`, so that `return sl_fail(err, -ENODEV, "…")` reads well. */
int sl_fail(struct sl_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Puts "CONTEXT: " in front of the text that is there and returns `code`. */
int sl_fail_context(struct sl_error *err, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Clang's analyzer sees one file at a time and would take a failure for a possible 0. */
#ifdef __clang_analyzer__
#define sl_fail(err, code, ...)         ((void)(sl_fail)((err), (code), __VA_ARGS__), (code))
#define sl_fail_context(err, code, ...) ((void)(sl_fail_context)((err), (code), __VA_ARGS__), (code))
#endif

#endif
