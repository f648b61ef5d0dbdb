/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_NEED_H
#define SL_APP_NEED_H

#include <stdbool.h>
#include <stdint.h>

#include "app/config.h"
#include "app/host.h"

/* What a config takes of a machine, worked out before anything is opened. Pure; any thread. */

enum { SL_NEED_PAGE_SIZES = 2 };
extern const uint64_t sl_need_page_sizes[SL_NEED_PAGE_SIZES]; /* that the ring takes, best first: 32 MiB, 2 MiB */

struct sl_need {
    uint64_t frame_bytes;
    uint64_t slot_bytes; /* with its header page, in whole pages: what goes to the disk for each frame */
    double frames_per_s;
    double bytes_per_s;   /* to the disk */
    unsigned ring_frames; /* that wait for the disk */
    uint64_t slots;       /* these and the sensor's; with the driver's buffers these alone */
    bool own_memory;      /* the ring is our memory; false: the driver's buffers, sensor.memory = mmap */
};

/* False, with nothing written, when format, size or rate is the device's or the recording's. */
bool sl_need_of(struct sl_need *need, const struct sl_config *config);
/* The same as if the sensor gave this. */
void sl_need_assume(struct sl_need *need, const struct sl_config *config, uint64_t frame_bytes, struct sl_rational fps);

uint64_t sl_need_ring_bytes(const struct sl_need *need);
/* Close to what the ring takes: in whole pages, no slot across two pages of 32 MiB, and a slot that nearly fills pages of 2 MiB rounded
 * up to them. */
uint64_t sl_need_huge_pages(const struct sl_need *need, uint64_t page_bytes);
/* The best size of which enough are free, which the ring will take; NULL: none. */
const struct sl_host_pages *sl_need_pages_there(const struct sl_need *need, const struct sl_host *host);
/* Does a slot lie in one page of this size, so that it is one piece of physical memory? */
bool sl_need_one_piece(const struct sl_need *need, uint64_t page_bytes);

#endif
