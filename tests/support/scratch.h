/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_SCRATCH_H
#define SL_TESTS_SCRATCH_H

#include <stddef.h>
#include <stdint.h>

/* Files for one test, in a directory of their own that goes away with them. All abort with a message when they cannot. */

void scratch_open(void);         /* in /dev/shm, $TMPDIR or /tmp */
void scratch_open_on_disk(void); /* in $TMPDIR or the working directory: where there is a disk underneath, if anywhere */
void scratch_close(void);        /* with everything in it */

/* DIRECTORY/name; the text stays valid. At most 64 names in a process. */
const char *scratch_path(const char *name);

void scratch_copy(const char *from, const char *to);
void scratch_cut(const char *path, uint64_t bytes);
void scratch_write(const char *path, uint64_t offset, const void *data, size_t bytes);
void scratch_read(const char *path, uint64_t offset, void *data, size_t bytes);
void scratch_flip(const char *path, uint64_t offset, uint8_t bits);
uint64_t scratch_size(const char *path);

uint64_t scratch_used(void);                /* bytes that all files in it take on the disk */
unsigned scratch_count(const char *suffix); /* files whose names end so */

#endif
