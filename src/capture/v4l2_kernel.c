/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's V4L2 through libv4l2, without its format conversion: frames must be the device's own bytes. What is left of the
 * library is its plugins, which some devices need for their controls. With conversion off v4l2_ioctl() takes no lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <libv4l2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/probe.h"
#include "capture/v4l2_device.h"

static int kernel_open(void *self, const char *path)
{
    struct v4l2_capability cap;
    int fd, ret;

    (void)self;
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    /* The library writes to stderr about what is no V4L2 device. Such a file it does not get to see; it hands the ioctls of a
     * descriptor that it does not know to the kernel, so that the caller's own QUERYCAP tells. */
    if (ioctl(fd, VIDIOC_QUERYCAP, &cap) < 0 || v4l2_fd_open(fd, V4L2_DISABLE_CONVERSION) >= 0)
        return fd;
    ret = -errno;
    close(fd);
    return ret;
}

static int kernel_ioctl(void *self, int fd, unsigned long request, void *arg)
{
    (void)self;
    return v4l2_ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static int kernel_mmap(void *self, int fd, size_t bytes, uint32_t offset, void **out)
{
    void *start = v4l2_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

    (void)self;
    if (start == MAP_FAILED)
        return -errno;
    *out = start;
    return 0;
}

static void kernel_munmap(void *self, void *start, size_t bytes)
{
    (void)self;
    v4l2_munmap(start, bytes);
}

static int kernel_poll_fd(void *self, int fd)
{
    (void)self;
    return fd;
}

static void kernel_close(void *self, int fd)
{
    (void)self;
    v4l2_close(fd);
}

static int kernel_node(void *self, unsigned n, char *path, size_t bytes)
{
    int ret = -ENOENT;
    char **list;
    int count = sl_probe_list(&list, NULL);

    (void)self;
    if (count < 0)
        return count;
    if (n < (unsigned)count)
        ret = snprintf(path, bytes, "%s", list[n]) < (int)bytes ? 0 : -ENAMETOOLONG;
    for (int i = 0; i < count; i++)
        free(list[i]);
    free(list);
    return ret;
}

/* The path may be a link that udev made; sysfs knows the node by its kernel name. */
static int kernel_node_index(void *self, const char *path)
{
    char *real = realpath(path, NULL);
    char attribute[128];
    FILE *file = NULL;
    int index = -ENOENT;

    (void)self;
    if (real && snprintf(attribute, sizeof(attribute), "/sys/class/video4linux/%.64s/index", strrchr(real, '/') + 1) > 0)
        file = fopen(attribute, "re");
    if (file) {
        if (fscanf(file, "%d", &index) != 1)
            index = -ENODATA;
        fclose(file);
    }
    free(real);
    return index;
}

const struct sl_v4l2_ops sl_v4l2_kernel = {
    .open = kernel_open,
    .ioctl = kernel_ioctl,
    .mmap = kernel_mmap,
    .munmap = kernel_munmap,
    .poll_fd = kernel_poll_fd,
    .close = kernel_close,
    .node = kernel_node,
    .node_index = kernel_node_index,
};
