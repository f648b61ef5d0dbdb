/* SPDX-License-Identifier: Apache-2.0 */
#include "app/need.h"

#define PAGE_2M (UINT64_C(2) << 20)

const uint64_t sl_need_page_sizes[SL_NEED_PAGE_SIZES] = {UINT64_C(32) << 20, PAGE_2M};

void sl_need_assume(struct sl_need *need, const struct sl_config *config, uint64_t frame_bytes, struct sl_rational fps)
{
    need->frame_bytes = frame_bytes;
    need->slot_bytes = SL_PAGE_BYTES + (frame_bytes + SL_PAGE_BYTES - 1) / SL_PAGE_BYTES * SL_PAGE_BYTES;
    need->frames_per_s = (double)fps.num / fps.den;
    need->bytes_per_s = (double)need->slot_bytes * need->frames_per_s;
    need->ring_frames = sl_config_ring_frames(config, fps);
    need->own_memory = config->sensor.memory != SL_MEMORY_MMAP;
    need->slots = (uint64_t)config->sensor.buffers + (need->own_memory ? need->ring_frames : 0);
}

bool sl_need_of(struct sl_need *need, const struct sl_config *config)
{
    const struct sl_pixel_format *pixel = config->sensor.format ? sl_pixel_format_by_name(config->sensor.format) : NULL;
    struct sl_video_format format;

    if (config->sensor.source == SL_SOURCE_REPLAY || !config->sensor.fps.num || !pixel ||
        sl_video_format_tight(&format, pixel, config->sensor.width, config->sensor.height) < 0)
        return false;
    sl_need_assume(need, config, format.frame_bytes, config->sensor.fps);
    return true;
}

uint64_t sl_need_ring_bytes(const struct sl_need *need)
{
    return need->slots * need->slot_bytes;
}

uint64_t sl_need_huge_pages(const struct sl_need *need, uint64_t page_bytes)
{
    uint64_t slot = need->slot_bytes, rounded = (slot + PAGE_2M - 1) / PAGE_2M * PAGE_2M;

    if (page_bytes > PAGE_2M && slot <= page_bytes)
        return (need->slots + page_bytes / slot - 1) / (page_bytes / slot);
    if (rounded - slot <= slot / 32)
        slot = rounded;
    return (need->slots * slot + page_bytes - 1) / page_bytes;
}

const struct sl_host_pages *sl_need_pages_there(const struct sl_need *need, const struct sl_host *host)
{
    for (unsigned i = 0; i < SL_NEED_PAGE_SIZES; i++) {
        const struct sl_host_pages *pages = sl_host_pages_of(host, sl_need_page_sizes[i]);

        if (pages && pages->free >= sl_need_huge_pages(need, pages->page_bytes))
            return pages;
    }
    return NULL;
}

bool sl_need_one_piece(const struct sl_need *need, uint64_t page_bytes)
{
    return need->slot_bytes <= page_bytes && page_bytes > PAGE_2M;
}
