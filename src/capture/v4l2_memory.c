/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Buffers of the driver's own, mapped (MMAP), and the trial of memory that is ours (USERPTR, DMABUF).
 *
 * Ownership: the memory made here belongs to the caller until its close(), which must come before the device's. It keeps a copy
 * of what it needs of the device (ops and descriptor).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "capture/v4l2_buffer.h"

#define PROBE_BYTES  (256u * 1024)
#define PROBE_PASSES 5
#define CACHED_RATIO 4

struct mapped_memory {
    struct sl_memory memory; /* first member: memory.owner == this */
    struct sl_v4l2 dev;
    uint8_t *headers;
    size_t headers_bytes;
    unsigned planes;
    size_t *plane_bytes; /* per slot and plane: length of its mapping */
};

const char *sl_v4l2_memory_name(uint32_t memory)
{
    return memory == V4L2_MEMORY_MMAP ? "MMAP" : memory == V4L2_MEMORY_USERPTR ? "USERPTR" : "DMABUF";
}

/* The driver contradicts itself; what it may have allocated is not wanted. */
static int refuse_grant(const struct sl_v4l2 *dev, const struct v4l2_requestbuffers *request, const char *name, unsigned asked,
                        struct sl_error *err)
{
    struct v4l2_requestbuffers none = {.type = request->type, .memory = request->memory};

    sl_v4l2_ioctl(dev, VIDIOC_REQBUFS, &none);
    return sl_fail(err, -EPROTO, "v4l2 %s: VIDIOC_REQBUFS(%s, %u): the driver granted %u buffers", dev->path, name, asked, request->count);
}

int sl_v4l2_request(const struct sl_v4l2 *dev, uint32_t memory, unsigned *count, struct sl_error *err)
{
    struct v4l2_requestbuffers request = {.count = *count, .type = dev->type, .memory = memory};
    const char *name = sl_v4l2_memory_name(memory);
    int ret = sl_v4l2_ioctl(dev, VIDIOC_REQBUFS, &request);

    if (ret == -EINVAL)
        return sl_v4l2_fail(dev, err, ret, "the driver does not take this kind of memory", "VIDIOC_REQBUFS(%s, %u)", name, *count);
    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_REQBUFS(%s, %u)", name, *count);
    if (*count && (!request.count || request.count > SL_V4L2_MAX_BUFFERS))
        return refuse_grant(dev, &request, name, *count, err);
    *count = request.count;
    return 0;
}

int sl_v4l2_buffer_caps(const struct sl_v4l2 *dev, uint32_t *caps, struct sl_error *err)
{
    static const struct {
        uint32_t memory, cap;
    } kinds[] = {{V4L2_MEMORY_MMAP, V4L2_BUF_CAP_SUPPORTS_MMAP},
                 {V4L2_MEMORY_USERPTR, V4L2_BUF_CAP_SUPPORTS_USERPTR},
                 {V4L2_MEMORY_DMABUF, V4L2_BUF_CAP_SUPPORTS_DMABUF}};

    *caps = 0;
    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        /* a count of 0 asks without allocating */
        struct v4l2_requestbuffers request = {.count = 0, .type = dev->type, .memory = kinds[i].memory};
        int ret = sl_v4l2_ioctl(dev, VIDIOC_REQBUFS, &request);

        if (ret < 0 && ret != -EINVAL)
            return sl_v4l2_fail(dev, err, ret, NULL, "VIDIOC_REQBUFS(0)");
        if (ret < 0)
            continue;
        if (request.capabilities) { /* since Linux 4.20 one answer says it all */
            *caps = request.capabilities;
            return 0;
        }
        *caps |= kinds[i].cap;
    }
    return 0;
}

static int64_t read_time_ns(const volatile uint64_t *words, size_t count)
{
    struct timespec from, to;
    uint64_t sum = 0;

    clock_gettime(CLOCK_MONOTONIC, &from);
    for (size_t i = 0; i < count; i++)
        sum += words[i];
    clock_gettime(CLOCK_MONOTONIC, &to);
    (void)sum;
    return (to.tv_sec - from.tv_sec) * SL_NS_PER_S + to.tv_nsec - from.tv_nsec;
}

static int64_t best_read_ns(const void *start, size_t bytes)
{
    int64_t best = INT64_MAX;

    for (int pass = 0; pass < PROBE_PASSES; pass++) {
        int64_t ns = read_time_ns(start, bytes / sizeof(uint64_t));

        best = ns < best ? ns : best;
    }
    return best;
}

bool sl_v4l2_is_cached(const void *start, size_t bytes)
{
    void *ordinary;
    bool cached;

    bytes = bytes > PROBE_BYTES ? PROBE_BYTES : bytes;
    ordinary = malloc(bytes);
    if (!ordinary)
        return false;
    memset(ordinary, 1, bytes);
    cached = best_read_ns(start, bytes) <= CACHED_RATIO * best_read_ns(ordinary, bytes);
    free(ordinary);
    return cached;
}

static void unmap(struct mapped_memory *mm)
{
    for (unsigned i = 0; i < mm->memory.slots; i++)
        for (unsigned p = 0; p < mm->planes; p++) {
            size_t bytes = mm->plane_bytes[i * mm->planes + p];
            uint8_t *start = mm->planes > 1 ? mm->memory.slot[i].plane[p] : mm->memory.slot[i].data;

            if (bytes)
                mm->dev.ops->munmap(mm->dev.ops->self, start, bytes);
        }
    if (mm->headers)
        munmap(mm->headers, mm->headers_bytes);
    free(mm->plane_bytes);
    free(mm->memory.slot);
    free(mm->memory.region);
    free(mm);
}

static void mapped_close(struct sl_memory *memory)
{
    struct mapped_memory *mm = memory->owner;
    struct sl_v4l2 dev = mm->dev;
    unsigned none = 0;

    unmap(mm);
    sl_v4l2_request(&dev, V4L2_MEMORY_MMAP, &none, NULL); /* can only fail when the device has gone, and then nothing is left */
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES;
}

static int map_plane(struct mapped_memory *mm, unsigned i, unsigned p, uint32_t length, uint32_t offset, struct sl_error *err)
{
    struct sl_slot *slot = &mm->memory.slot[i];
    size_t bytes = whole_pages(length); /* the kernel allocates and maps whole pages */
    void *start;
    int ret;

    if (length < mm->dev.sizeimage[p])
        return sl_fail(err, -EPROTO, "v4l2 %s: VIDIOC_QUERYBUF(%u): plane %u has %u bytes, less than the %u of a frame", mm->dev.path, i, p,
                       length, mm->dev.sizeimage[p]);
    ret = mm->dev.ops->mmap(mm->dev.ops->self, mm->dev.fd, bytes, offset, &start);
    if (ret < 0)
        return sl_v4l2_fail(&mm->dev, err, ret, NULL, "mmap of buffer %u, %zu bytes", i, bytes);
    mm->plane_bytes[i * mm->planes + p] = bytes;
    if (mm->planes > 1)
        slot->plane[p] = start;
    if (p == 0) {
        slot->data = start;
        slot->data_bytes = bytes;
    }
    return 0;
}

static int map_slot(struct mapped_memory *mm, unsigned i, struct sl_error *err)
{
    struct sl_slot *slot = &mm->memory.slot[i];
    struct sl_v4l2_buffer buffer;
    int ret;

    sl_v4l2_buffer_init(&mm->dev, &buffer, V4L2_MEMORY_MMAP);
    buffer.buffer.index = i;
    ret = sl_v4l2_ioctl(&mm->dev, VIDIOC_QUERYBUF, &buffer.buffer);
    if (ret < 0)
        return sl_v4l2_fail(&mm->dev, err, ret, NULL, "VIDIOC_QUERYBUF(%u)", i);
    for (unsigned p = 0; p < mm->planes; p++) {
        bool mp = sl_v4l2_multiplanar(&mm->dev);

        ret = map_plane(mm, i, p, mp ? buffer.plane[p].length : buffer.buffer.length,
                        mp ? buffer.plane[p].m.mem_offset : buffer.buffer.m.offset, err);
        if (ret < 0)
            return ret;
    }
    slot->header = mm->headers + (size_t)i * SL_PAGE_BYTES;
    slot->header_region = (uint16_t)mm->memory.slots;
    slot->data_region = (uint16_t)i;
    slot->dmabuf_fd = -1;
    mm->memory.region[i] = (struct sl_region){slot->data, slot->data_bytes};
    return 0;
}

static struct mapped_memory *allocate(const struct sl_v4l2 *dev, unsigned count)
{
    struct mapped_memory *mm = calloc(1, sizeof(*mm));

    if (!mm)
        return NULL;
    mm->dev = *dev;
    mm->planes = dev->memory_planes;
    mm->memory = (struct sl_memory){.kind = "mmap", .pages = "driver", .slots = count, .regions = count + 1, .owner = mm};
    mm->memory.close = mapped_close;
    mm->memory.slot = calloc(count, sizeof(*mm->memory.slot));
    mm->memory.region = calloc(count + 1, sizeof(*mm->memory.region));
    mm->plane_bytes = calloc((size_t)count * mm->planes, sizeof(*mm->plane_bytes));
    mm->headers_bytes = (size_t)count * SL_PAGE_BYTES;
    mm->headers = mmap(NULL, mm->headers_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (mm->headers == MAP_FAILED)
        mm->headers = NULL;
    if (mm->memory.slot && mm->memory.region && mm->plane_bytes && mm->headers)
        return mm;
    mm->memory.slots = 0; /* nothing is mapped yet */
    unmap(mm);
    return NULL;
}

int sl_v4l2_map(struct sl_v4l2 *dev, unsigned *count, struct sl_memory **out, struct sl_error *err)
{
    struct mapped_memory *mm;
    unsigned none = 0;
    int ret = sl_v4l2_request(dev, V4L2_MEMORY_MMAP, count, err);

    if (ret < 0)
        return ret;
    mm = allocate(dev, *count);
    if (!mm) {
        ret = sl_fail(err, -ENOMEM, "v4l2 %s: out of memory", dev->path);
        goto give_back;
    }
    for (unsigned i = 0; i < *count && !ret; i++)
        ret = map_slot(mm, i, err);
    if (ret < 0) {
        unmap(mm);
        goto give_back;
    }
    mm->memory.region[*count] = (struct sl_region){mm->headers, mm->headers_bytes};
    mm->memory.cached = sl_v4l2_is_cached(mm->memory.slot[0].data, mm->memory.slot[0].data_bytes);
    *out = &mm->memory;
    return 0;

give_back:
    sl_v4l2_request(dev, V4L2_MEMORY_MMAP, &none, NULL);
    return ret;
}

/* Can a frame of this format lie in one slot of imported memory? */
static int check_slot(const struct sl_v4l2 *dev, const struct sl_slot *slot, struct sl_error *err)
{
    size_t need = dev->memory_planes > 1 ? dev->format.frame_bytes : dev->sizeimage[0];

    if (slot->data_bytes < need)
        return sl_fail(err, -EINVAL, "v4l2 %s: a slot holds %zu bytes, the driver needs %zu", dev->path, slot->data_bytes, need);
    for (unsigned p = 0; dev->memory_planes > 1 && p < dev->memory_planes; p++)
        if (dev->sizeimage[p] != dev->format.bytesperline[p] * dev->format.lines[p] && p + 1 < dev->memory_planes)
            return sl_fail(err, -ENOTSUP,
                           "v4l2 %s: plane %u takes %u bytes for a picture of %u: the planes cannot lie one after the other in a slot; use "
                           "memory=mmap",
                           dev->path, p, dev->sizeimage[p], dev->format.bytesperline[p] * dev->format.lines[p]);
    return 0;
}

int sl_v4l2_try_memory(const struct sl_v4l2 *dev, const struct sl_memory *memory, struct sl_error *err)
{
    const struct sl_slot *slot = &memory->slot[0];
    uint32_t kind = sl_v4l2_memory_of(slot);
    struct sl_v4l2_buffer buffer;
    unsigned count = 1, none = 0;
    int ret = check_slot(dev, slot, err);

    if (!ret)
        ret = sl_v4l2_request(dev, kind, &count, err);
    if (ret < 0)
        return ret;
    sl_v4l2_buffer_fill(dev, &buffer, kind, 0, slot);
    ret = sl_v4l2_ioctl(dev, VIDIOC_QBUF, &buffer.buffer);
    if (ret < 0)
        sl_v4l2_fail(dev, err, ret,
                     ret == -EFAULT ? "the receiver cannot reach these pages (it may need physically contiguous memory); use memory=mmap"
                                    : NULL,
                     "VIDIOC_QBUF(%s)", memory->kind);
    sl_v4l2_request(dev, kind, &none, NULL); /* gives the queued buffer back as well */
    return ret;
}
