/* SPDX-License-Identifier: Apache-2.0 */
/* What doctor asks the kernel by trying. Leaves nothing behind: no ring is made, and the file has no name. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/doctor_check.h"
#include "writer/direct_io.h"

/* errno belongs to a call that failed, not to one that wrote too little. */
static int written(ssize_t got, size_t bytes)
{
    if (got < 0)
        return -errno;
    return (size_t)got == bytes ? 0 : -EIO;
}

static int kernel_write(void *self, const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), rc;
    size_t bytes = strlen(text);

    (void)self;
    if (fd < 0)
        return -errno;
    rc = written(write(fd, text, bytes), bytes);
    close(fd);
    return rc;
}

/* Parameters at no address: a kernel that would make a ring says EFAULT. */
static int kernel_io_uring(void *self)
{
    (void)self;
    return syscall(SYS_io_uring_setup, 1, NULL) < 0 && errno != EFAULT ? -errno : 0;
}

static int kernel_direct_io(void *self, const char *dir, uint32_t *memory_bytes, uint32_t *offset_bytes)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600), rc = 0;
    void *page = NULL;

    (void)self;
    *memory_bytes = *offset_bytes = 0;
    if (fd < 0)
        return -errno;
    (void)sl_direct_io_alignment(fd, memory_bytes, offset_bytes);
    if (posix_memalign(&page, SL_PAGE_BYTES, SL_PAGE_BYTES) == 0) {
        memset(page, 0, SL_PAGE_BYTES);
        rc = written(pwrite(fd, page, SL_PAGE_BYTES, 0), SL_PAGE_BYTES);
    } else {
        rc = -ENOMEM;
    }
    free(page);
    close(fd);
    return rc;
}

const struct sl_doctor_ops sl_doctor_kernel = {.write = kernel_write, .io_uring = kernel_io_uring, .direct_io = kernel_direct_io};
