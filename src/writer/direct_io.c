/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel says of direct I/O on a file: statx(2), from Linux 6.1 on. A file of its own, since the C library's <sys/stat.h>
 * defines the same struct and may not know these fields yet.
 */
#include "writer/direct_io.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int sl_direct_io_alignment(int fd, uint32_t *memory_bytes, uint32_t *offset_bytes)
{
    struct statx status;

    if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) < 0)
        return -errno;
    if (!(status.stx_mask & STATX_DIOALIGN))
        return -ENOTSUP;
    *memory_bytes = status.stx_dio_mem_align;
    *offset_bytes = status.stx_dio_offset_align;
    return 0;
}
