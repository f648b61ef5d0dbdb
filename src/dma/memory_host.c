/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frame memory of our own: for devices that write into user pointers, and for sources that are not devices.
 *
 * Thread: control. Ownership: one allocation holds struct, slots and regions; close unmaps and frees them.
 *
 * The kinds of page are tried from the largest to the smallest, and a ring is of one kind throughout: a mixed ring would be
 * as slow as its worst part now and then, which is harder to find than a ring that is slow and says so. Nothing is reserved
 * system-wide here; when huge pages are wanted the error names the number and the command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "dma/dma.h"
#include "dma/pages.h"
#include "dma/ring_layout.h"

struct kind {
    const char *name;
    enum sl_page_kind kind;
    size_t page_bytes;
};

static const struct kind kinds[] = {
    {"hugetlb 32 MiB", SL_PAGES_HUGETLB, 32 * SL_MIB},
    {"hugetlb 2 MiB", SL_PAGES_HUGETLB, 2 * SL_MIB},
    {"THP", SL_PAGES_TRANSPARENT, 2 * SL_MIB},
    {"4 KiB", SL_PAGES_SMALL, SL_PAGE_BYTES},
};

static void host_close(struct sl_memory *memory)
{
    for (unsigned r = 0; r < memory->regions; r++)
        sl_pages_unmap(memory->region[r].base, memory->region[r].bytes);
    free(memory->region);
    free(memory->slot);
    free(memory);
}

void sl_memory_close(struct sl_memory *memory)
{
    if (memory)
        memory->close(memory);
}

static size_t ring_bytes(const struct sl_ring_layout *layout, unsigned slots)
{
    size_t bytes = 0;

    for (unsigned r = 0; r < sl_ring_layout_regions(layout, slots); r++)
        bytes += sl_ring_layout_region_bytes(layout, slots, r);
    return bytes;
}

static int map_regions(struct sl_memory *memory, const struct sl_ring_layout *layout, const struct kind *kind)
{
    unsigned regions = sl_ring_layout_regions(layout, memory->slots);
    int ret;

    memory->region = calloc(regions, sizeof(*memory->region));
    if (!memory->region)
        return -ENOMEM;
    for (memory->regions = 0; memory->regions < regions; memory->regions++) {
        struct sl_region *region = &memory->region[memory->regions];

        region->bytes = sl_ring_layout_region_bytes(layout, memory->slots, memory->regions);
        ret = sl_pages_map(&region->base, region->bytes, kind->kind, kind->page_bytes);
        if (ret)
            return ret; /* host_close unmaps those that are there */
    }
    return 0;
}

static int map_slots(struct sl_memory *memory, const struct sl_ring_layout *layout)
{
    memory->slot = calloc(memory->slots, sizeof(*memory->slot));
    if (!memory->slot)
        return -ENOMEM;
    for (unsigned i = 0; i < memory->slots; i++) {
        struct sl_place place = sl_ring_layout_place(layout, i);
        uint8_t *header = memory->region[place.region].base + place.offset;

        memory->slot[i] = (struct sl_slot){
            .header = header,
            .data = header + SL_PAGE_BYTES,
            .data_bytes = layout->payload_bytes,
            .data_region = (uint16_t)place.region,
            .header_region = (uint16_t)place.region,
            .adjacent = true,
            .dmabuf_fd = -1,
        };
    }
    return 0;
}

/* Says what pages it really is: transparent ones are a wish that the kernel may grant in part. */
static int name_pages(struct sl_memory *memory, const struct kind *kind)
{
    size_t all = 0;
    size_t huge = 0;

    snprintf(memory->pages, sizeof(memory->pages), "%s", kind->name);
    if (kind->kind != SL_PAGES_TRANSPARENT)
        return 0;
    for (unsigned r = 0; r < memory->regions; r++) {
        all += memory->region[r].bytes;
        huge += sl_pages_transparent_bytes(memory->region[r].base, memory->region[r].bytes);
    }
    if (!huge)
        return -ENOMEM;
    if (huge < all)
        snprintf(memory->pages, sizeof(memory->pages), "THP %u %%", (unsigned)(huge * 100 / all) % 100);
    return 0;
}

static int try_kind(struct sl_memory **out, unsigned slots, size_t frame_bytes, const struct kind *kind)
{
    struct sl_ring_layout layout;
    struct sl_memory *memory;
    int ret;

    ret = sl_ring_layout_init(&layout, frame_bytes, kind->page_bytes);
    if (ret)
        return ret;
    if (kind->kind != SL_PAGES_HUGETLB && ring_bytes(&layout, slots) > sl_pages_available_bytes())
        return -ENOMEM; /* else the kernel would kill some process to make room */
    memory = calloc(1, sizeof(*memory));
    if (!memory)
        return -ENOMEM;
    memory->kind = "userptr";
    memory->cached = true;
    memory->slots = slots;
    memory->owner = memory;
    memory->close = host_close;
    ret = map_regions(memory, &layout, kind);
    if (!ret)
        ret = map_slots(memory, &layout);
    if (!ret)
        ret = name_pages(memory, kind);
    if (ret) {
        host_close(memory);
        return ret;
    }
    *out = memory;
    return 0;
}

/* How to get the pages: those in use by others stay, so the number is the system's total, not ours. */
static int say_how_to_reserve(unsigned slots, size_t frame_bytes, struct sl_error *err)
{
    struct sl_hugetlb_state mid = sl_pages_hugetlb_state(2 * SL_MIB);
    struct sl_hugetlb_state large = sl_pages_hugetlb_state(32 * SL_MIB);
    struct sl_ring_layout layout;
    size_t need;
    char other[192] = "";

    sl_ring_layout_init(&layout, frame_bytes, 32 * SL_MIB);
    need = ring_bytes(&layout, slots) / (32 * SL_MIB);
    if (large.offered)
        snprintf(other, sizeof(other),
                 ", or, better, %zu of 32 MiB with `echo %zu >/sys/kernel/mm/hugepages/hugepages-32768kB/nr_hugepages`", need,
                 large.total - large.usable + need);
    sl_ring_layout_init(&layout, frame_bytes, 2 * SL_MIB);
    need = ring_bytes(&layout, slots) / (2 * SL_MIB);
    if (!mid.offered)
        return sl_fail(err, -ENOMEM, "huge pages for %u slots: this kernel has none of 2 MiB%s", slots, other);
    return sl_fail(err, -ENOMEM,
                   "huge pages for %u slots: %zu of 2 MiB are needed, %zu are free; reserve them with `sysctl -w vm.nr_hugepages=%zu`%s",
                   slots, need, mid.usable, mid.total - mid.usable + need, other);
}

static bool wanted(const struct kind *kind, enum sl_hugepages hugepages)
{
    return hugepages == SL_HUGEPAGES_AUTO || (hugepages == SL_HUGEPAGES_NO) == (kind->kind == SL_PAGES_SMALL);
}

int sl_memory_host(struct sl_memory **out, unsigned slots, size_t frame_bytes, enum sl_hugepages hugepages, struct sl_error *err)
{
    struct sl_ring_layout layout;
    int ret;

    ret = slots ? sl_ring_layout_init(&layout, frame_bytes, SL_PAGE_BYTES) : -EINVAL;
    if (ret)
        return sl_fail(err, ret, "frame memory: %u slots of %zu bytes: a ring has slots, and a slot fits 1 GiB", slots, frame_bytes);
    if (sl_ring_layout_regions(&layout, slots) > UINT16_MAX / 2)
        return sl_fail(err, -EINVAL, "frame memory: %u slots of %zu bytes are too many", slots, frame_bytes);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!wanted(&kinds[i], hugepages))
            continue;
        ret = try_kind(out, slots, frame_bytes, &kinds[i]);
        if (!ret)
            return 0;
        sl_log(SL_LOG_DEBUG, "frame memory: %s pages: %s", kinds[i].name, strerror(-ret));
    }
    if (hugepages == SL_HUGEPAGES_REQUIRE)
        return say_how_to_reserve(slots, frame_bytes, err);
    return sl_fail(err, -ENOMEM, "frame memory: %u slots of %zu bytes need %zu MiB, %zu MiB are available: make [ring] depth smaller",
                   slots, frame_bytes, ring_bytes(&layout, slots) / SL_MIB, sl_pages_available_bytes() / SL_MIB);
}
