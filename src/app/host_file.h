/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_HOST_FILE_H
#define SL_APP_HOST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Small files below /proc and /sys, below `root` as in app/host.h. Any thread, control path. */

/* The whole file as text, at most 64 KiB of it (returned, free() it); NULL: it cannot be read. */
char *sl_host_text(const char *root, const char *path);
/* Its first line, without blanks at the end. False: it cannot be read or is empty; the word is "" then. */
bool sl_host_word(const char *root, const char *path, char *word, size_t bytes);
/* The decimal number it begins with; *out is written only then. */
bool sl_host_number(const char *root, const char *path, int64_t *out);
/* Where a file shows every choice, "always [madvise] never", leaves the one in brackets, in place. False: none is, the text is as it was.
 */
bool sl_host_choice(char *text);
/* The number behind "KEY:" at the start of a line of `text`, which may be NULL. */
bool sl_host_number_of(const char *text, const char *key, int base, uint64_t *out);

/* Names in the directory that begin with `prefix`, in the order of the alphabet with numbers by value: policy2 before policy10.
 * Returns how many; free() each, and *names. 0 when it cannot be read. */
unsigned sl_host_list(const char *root, const char *path, const char *prefix, char ***names);
void sl_host_list_free(char **names, unsigned count);

#endif
