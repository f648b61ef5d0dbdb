/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_FILES_H
#define SL_WRITER_FILES_H

/*
 * Names of recordings in their directory: NAME-YYYYMMDDTHHMMSSZ-NNNN.mkv, and with `.next` behind it while the file is ready but
 * holds no frame, `.gone` while it is being removed. A file that somebody is writing is locked with flock. Control or
 * house-keeper's thread; may block.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_FILE_NAME_BYTES 256

struct sl_file_id {
    char stamp[24];
    uint64_t number;
};

/* "20260102T030405Z" of a time in ns since 1970. */
void sl_files_stamp(char *out, size_t bytes, int64_t utc_ns);
/* NAME-STAMP-NNNN.mkv plus suffix. -ENAMETOOLONG. */
int sl_files_name(char *out, size_t bytes, const char *name, const char *stamp, uint64_t number, const char *suffix);
/* Whether `file` is called as a recording of `name` is, with exactly that suffix. */
bool sl_files_parse(const char *file, const char *name, const char *suffix, struct sl_file_id *id);
/* Whether a file of that name and stamp exists, recording or ledger; 1, 0, or negative errno. */
int sl_files_taken(int dir_fd, const char *name, const char *stamp);
/* The oldest recording of `name` that is not of run `stamp` with a number from `keep_from` on, and that nobody is writing. Opened for
 * writing and locked: returns the descriptor, file name in `out`; -ENOENT: there is none. */
int sl_files_oldest(int dir_fd, const char *name, const char *stamp, uint64_t keep_from, struct sl_file_id *id, char *out, size_t bytes);
/* What all recordings of `name` take on the disk. */
uint64_t sl_files_bytes(int dir_fd, const char *name);
/* The parts of a recording's file name; false: it is not called as one. `name` has room for `bytes`. */
bool sl_files_split(const char *file, char *name, size_t bytes, struct sl_file_id *id);
/* Removes `.next` and `.gone` files of `name`, and of run `stamp` only unless that is NULL, that an earlier process left behind: those that
 * nobody has locked. Returns how many; each is told to `say` (may be NULL) before it goes. */
unsigned sl_files_clean(int dir_fd, const char *name, const char *stamp, void (*say)(void *context, const char *file), void *context);

#endif
