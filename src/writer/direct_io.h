/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_DIRECT_IO_H
#define SL_WRITER_DIRECT_IO_H

#include <stdint.h>

/* Alignment that direct I/O on the file asks of memory, and of offset and length; both 0: it cannot be done. -ENOTSUP: kernel or file
 * system does not say; another negative errno: it failed. Any thread. */
int sl_direct_io_alignment(int fd, uint32_t *memory_bytes, uint32_t *offset_bytes);

#endif
