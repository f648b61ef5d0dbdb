/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huge pages: how many of each size the ring takes, how many there are, and reserving them.
 *
 * The ring takes pages of 32 MiB, else of 2 MiB, all of one size. In a page of 32 MiB each slot of a frame up to that size is one
 * piece of physical memory, which is what a receiver without an IOMMU needs to write into it. Reserving is all or nothing for the
 * same reason: pages of a size that are too few for the ring are memory that nobody can use.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/doctor_rooms.h"

#define MB 1000000.0

static bool ring_takes(uint64_t page_bytes)
{
    for (unsigned i = 0; i < SL_NEED_PAGE_SIZES; i++)
        if (sl_need_page_sizes[i] == page_bytes)
            return true;
    return false;
}

/* As the kernel's command line has it: 64K, 2M, 32M, 1G. */
static const char *size_text(uint64_t page_bytes, char text[24])
{
    if (page_bytes >> 30)
        snprintf(text, 24, "%" PRIu64 "G", page_bytes >> 30);
    else if (page_bytes >> 20)
        snprintf(text, 24, "%" PRIu64 "M", page_bytes >> 20);
    else
        snprintf(text, 24, "%" PRIu64 "K", page_bytes >> 10);
    return text;
}

static void boot_text(const struct sl_doctor *doctor, uint64_t page_bytes, char *text, size_t bytes)
{
    char size[24];

    snprintf(text, bytes, "hugepagesz=%s hugepages=%" PRIu64, size_text(page_bytes, size), sl_need_huge_pages(&doctor->need, page_bytes));
}

/* The receiver may need slots that are one piece: its driver is not asked here, so that every camera might. */
static bool one_piece_wanted(const struct sl_doctor *doctor)
{
    return doctor->config->sensor.source == SL_SOURCE_V4L2;
}

/* Best size that this kernel has at all; NULL: neither. */
static const struct sl_host_pages *best_size(const struct sl_doctor *doctor)
{
    for (unsigned i = 0; i < SL_NEED_PAGE_SIZES; i++) {
        const struct sl_host_pages *pages = sl_host_pages_of(&doctor->host, sl_need_page_sizes[i]);

        if (pages)
            return pages;
    }
    return NULL;
}

static json_t *sizes_json(const struct sl_doctor *doctor)
{
    json_t *list = json_array();
    char boot[80];

    for (unsigned i = 0; i < doctor->host.page_sizes; i++) {
        const struct sl_host_pages *pages = &doctor->host.pages[i];

        boot_text(doctor, pages->page_bytes, boot, sizeof boot);
        json_array_append_new(list, json_pack("{s:I, s:b, s:I, s:I, s:I, s:b, s:s}", "page_bytes", (json_int_t)pages->page_bytes,
                                              "ring_takes", ring_takes(pages->page_bytes), "needed",
                                              (json_int_t)sl_need_huge_pages(&doctor->need, pages->page_bytes), "total",
                                              (json_int_t)pages->total, "free", (json_int_t)pages->free, "one_piece",
                                              sl_need_one_piece(&doctor->need, pages->page_bytes), "boot", boot));
    }
    return json_pack("{s:I, s:o}", "slots", (json_int_t)doctor->need.slots, "sizes", list);
}

static void list_sizes(const struct sl_doctor *doctor, char *text, size_t bytes)
{
    char size[24];

    for (unsigned i = 0; i < doctor->host.page_sizes; i++) {
        const struct sl_host_pages *pages = &doctor->host.pages[i];

        sl_doctor_add(text, bytes, "%s%s %" PRIu64 "/%" PRIu64 "/", i ? ", " : "", size_text(pages->page_bytes, size), pages->total,
                      pages->free);
        if (ring_takes(pages->page_bytes))
            sl_doctor_add(text, bytes, "%" PRIu64, sl_need_huge_pages(&doctor->need, pages->page_bytes));
        else
            sl_doctor_add(text, bytes, "-");
    }
}

/* Without enough of them the start fails: transparent ones count as huge, as far as the kernel finds any. */
static bool fatal(const struct sl_doctor *doctor)
{
    return doctor->config->ring.hugepages == SL_HUGEPAGES_REQUIRE && !sl_host_transparent(&doctor->host);
}

static void say_missing(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    if (fatal(doctor))
        sl_doctor_why(finding, "ring.hugepages = require, and no transparent ones either: the start will fail, and every frame is lost");
    else
        sl_doctor_why(
            finding,
            "the ring falls back to transparent or ordinary pages: a frame is then up to %" PRIu64
            " pieces for the disk instead of 1 to 3, and a receiver that needs one piece costs one copy a frame, %.0f MB/s through "
            "the CPU",
            doctor->need.slot_bytes / SL_PAGE_BYTES, doctor->need.bytes_per_s / MB);
}

/* The commands, for the best size the kernel has: now, and at each boot. */
static void say_cure(const struct sl_doctor *doctor, const struct sl_host_pages *pages, struct sl_doctor_finding *finding)
{
    char boot[80], size[24];

    boot_text(doctor, pages->page_bytes, boot, sizeof boot);
    sl_doctor_cure(finding,
                   "at boot, on the kernel's command line: %s; now, as root: echo %" PRIu64 " >/sys/kernel/mm/hugepages/hugepages-%" PRIu64
                   "kB/nr_hugepages, which may give fewer (--fix does it and looks)",
                   boot, pages->total - pages->free + sl_need_huge_pages(&doctor->need, pages->page_bytes), pages->page_bytes / 1024);
    if (pages->page_bytes > sl_need_page_sizes[1] && sl_host_pages_of(&doctor->host, sl_need_page_sizes[1])) {
        boot_text(doctor, sl_need_page_sizes[1], boot, sizeof boot);
        sl_doctor_add(finding->cure, sizeof finding->cure, "; pages of %s do for receivers that take scattered memory: %s",
                      size_text(sl_need_page_sizes[1], size), boot);
    }
}

static bool wanted(const struct sl_doctor *doctor)
{
    return doctor->need.own_memory && doctor->config->ring.hugepages != SL_HUGEPAGES_NO;
}

void sl_doctor_huge_pages(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    const struct sl_host_pages *there = sl_need_pages_there(&doctor->need, &doctor->host), *best = best_size(doctor);
    char size[24];

    finding->detail = sizes_json(doctor);
    if (!wanted(doctor)) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "not used: %s", doctor->need.own_memory ? "ring.hugepages = no" : "sensor.memory = mmap");
        return;
    }
    if (!best) {
        sl_doctor_found(finding, fatal(doctor) ? SL_DOCTOR_PROBLEM : SL_DOCTOR_WARNING, "this kernel has no huge pages of 32 MiB or 2 MiB");
        say_missing(doctor, finding);
        sl_doctor_cure(finding, "a kernel with CONFIG_HUGETLBFS");
        return;
    }
    if (there) {
        sl_doctor_found(
            finding, SL_DOCTOR_OK, "%" PRIu64 " of %s for %" PRIu64 " slots, and %" PRIu64 " are free; all sizes (there/free/needed): ",
            sl_need_huge_pages(&doctor->need, there->page_bytes), size_text(there->page_bytes, size), doctor->need.slots, there->free);
        list_sizes(doctor, finding->found, sizeof finding->found);
        if (one_piece_wanted(doctor) && there != best && sl_need_one_piece(&doctor->need, best->page_bytes)) {
            finding->state = SL_DOCTOR_NOTE;
            sl_doctor_why(
                finding,
                "in pages of %s a frame is not one piece of memory: a receiver without an IOMMU cannot write into it, and each frame "
                "is copied, %.0f MB/s through the CPU; sluice probe tells whether yours can",
                size_text(there->page_bytes, size), doctor->need.bytes_per_s / MB);
            say_cure(doctor, best, finding);
        }
        return;
    }
    sl_doctor_found(finding, fatal(doctor) ? SL_DOCTOR_PROBLEM : SL_DOCTOR_WARNING,
                    "too few for %" PRIu64 " slots; sizes (there/free/needed): ", doctor->need.slots);
    list_sizes(doctor, finding->found, sizeof finding->found);
    say_missing(doctor, finding);
    say_cure(doctor, best, finding);
}

/* -- Reserving ------------------------------------------------------------------------------------------------------------ */

/* Memory that must stay for everything else: an eighth of what is available now. */
static bool affordable(const struct sl_doctor *doctor, uint64_t bytes)
{
    return !doctor->host.memory_available || bytes <= doctor->host.memory_available / 8 * 7;
}

/* True: the ring has its pages now. Where the kernel gives fewer, those are given back. */
static bool reserve(const struct sl_doctor *doctor, const struct sl_host_pages *pages, struct sl_doctor_repair *repair)
{
    uint64_t needed = sl_need_huge_pages(&doctor->need, pages->page_bytes), target = pages->total - pages->free + needed;
    char path[128], value[24], size[24], before[24];
    struct sl_host after;
    const struct sl_host_pages *now;

    size_text(pages->page_bytes, size);
    if (!affordable(doctor, (needed - pages->free) * pages->page_bytes)) {
        sl_doctor_failed(repair, "%" PRIu64 " more pages of %s are %.0f MB, and %.0f MB are available: not reserved", needed - pages->free,
                         size, (double)((needed - pages->free) * pages->page_bytes) / MB, (double)doctor->host.memory_available / MB);
        return false;
    }
    snprintf(path, sizeof path, "/sys/kernel/mm/hugepages/hugepages-%" PRIu64 "kB/nr_hugepages", pages->page_bytes / 1024);
    snprintf(value, sizeof value, "%" PRIu64, target);
    snprintf(before, sizeof before, "%" PRIu64, pages->total);
    if (sl_doctor_set(doctor, repair, path, value) < 0)
        return false;
    sl_host_read(&after, doctor->root);
    now = sl_host_pages_of(&after, pages->page_bytes);
    if (now && now->free >= needed) {
        sl_doctor_add(repair->step[repair->steps - 1].did, sizeof repair->step[0].did,
                      "; %" PRIu64 " are there now, %" PRIu64 " of them free", now->total, now->free);
        return true;
    }
    sl_doctor_failed(repair, "the kernel gave %" PRIu64 " of %" PRIu64 " pages of %s and the ring cannot use fewer: given back",
                     now ? now->total : 0, target, size);
    if (sl_doctor_set(doctor, repair, path, before) == 0)
        repair->steps -= 2; /* nothing is changed any more; otherwise the first one stands, and its undo */
    return false;
}

void sl_doctor_fix_huge_pages(const struct sl_doctor *doctor, struct sl_doctor_repair *repair)
{
    struct sl_doctor_repair first = {.steps = 0};

    for (unsigned i = 0; i < SL_NEED_PAGE_SIZES; i++) {
        const struct sl_host_pages *pages = sl_host_pages_of(&doctor->host, sl_need_page_sizes[i]);

        if (!pages)
            continue;
        if (reserve(doctor, pages, repair)) {
            /* what a larger size failed with is worth knowing, too */
            memcpy(repair->failed, first.failed, sizeof repair->failed);
            return;
        }
        if (!first.failed[0])
            memcpy(first.failed, repair->failed, sizeof first.failed);
    }
    if (first.failed[0])
        memcpy(repair->failed, first.failed, sizeof repair->failed);
}

/* -- Transparent huge pages ----------------------------------------------------------------------------------------------- */

void sl_doctor_transparent_pages(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    bool used = wanted(doctor) && !sl_need_pages_there(&doctor->need, &doctor->host);
    const char *fallback = used ? ": the ring falls back to them, as far as the kernel finds any" : "";

    if (sl_host_transparent(&doctor->host)) {
        sl_doctor_found(finding, SL_DOCTOR_OK, "%s%s", doctor->host.transparent, fallback);
        return;
    }
    sl_doctor_found(finding, used ? SL_DOCTOR_WARNING : SL_DOCTOR_OK, "this kernel has none%s",
                    used ? "" : ", and the ring does not need them");
    if (!used)
        return;
    sl_doctor_why(finding, "without reserved huge pages the ring is made of pages of 4 KiB: %" PRIu64 " pieces a frame for the disk",
                  doctor->need.slot_bytes / SL_PAGE_BYTES);
    sl_doctor_cure(finding, "reserve huge pages; or a kernel with CONFIG_TRANSPARENT_HUGEPAGE");
}
