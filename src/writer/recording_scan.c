/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a recording ends.
 *
 * A closed one says so in page 0. One that was torn is longer than what it holds: up to 256 MiB of extents without data, and
 * pre-formatted slots before them. Its end is the last header page that carries this file's session, segment and slot. It is
 * searched for backwards from the last byte that is no hole, because a search from the front would have to decide how many
 * unwritten slots in a row are the end, and a bisection would trip over any of them.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writer/ebml.h"
#include "writer/recording_file.h"

/* How far back from the last frame the header pages may be that know most: the recorder's longest queue, twice. */
#define WATERMARK_SLOTS 128

/* Slots whose header page lies within the first `bytes` bytes of a file. */
static uint64_t slots_within(const struct sl_layout *layout, uint64_t bytes)
{
    return bytes < SL_PAGE_BYTES ? 0 : (bytes - SL_PAGE_BYTES) / layout->slot_bytes + 1;
}

/* An offset at or behind which there is no data. A file system that cannot tell says that there is data everywhere. */
static uint64_t end_of_data(int fd, uint64_t file_bytes)
{
    uint64_t with = 0, without = file_bytes;
    off_t first = lseek(fd, 0, SEEK_DATA);

    if (first < 0)
        return errno == ENXIO ? 0 : file_bytes;
    with = (uint64_t)first;
    while (without - with > SL_PAGE_BYTES) {
        uint64_t middle = with + (without - with) / 2;
        off_t found = lseek(fd, (off_t)middle, SEEK_DATA);

        if (found < 0 && errno != ENXIO)
            return file_bytes;
        if (found < 0)
            without = middle;
        else
            with = (uint64_t)found < without ? (uint64_t)found : middle;
    }
    return without;
}

static int find_last_frame(struct sl_recording *recording, uint64_t *slots)
{
    uint64_t slot = slots_within(&recording->layout, end_of_data(recording->fd, recording->info.file_bytes));
    struct sl_frame_record record;

    for (; slot > 0; slot--) {
        int rc = sl_recording_read_page(recording, slot - 1, &record);

        if (!rc || rc == -EUCLEAN)
            break;
        if (rc != -ENOENT && rc != -ENODATA && rc != -EIO)
            return rc;
    }
    *slots = slot;
    return 0;
}

/* True when page 0 speaks of a place where an index is that fits. */
static bool end_is_there(const struct sl_recording *recording, const struct sl_file_end *end)
{
    uint8_t head[SL_LAYOUT_CUES_HEAD_BYTES];
    struct sl_ebml_element element;

    if (end->cues_at % recording->layout.slot_bytes || end->cues_at >= end->file_bytes || end->file_bytes > recording->info.file_bytes)
        return false;
    if (sl_recording_read_at(recording, end->cues_at, head, sizeof head) != (int64_t)sizeof head)
        return false;
    return !sl_ebml_read_head(head, sizeof head, &element) && element.id == SL_MKV_CUES &&
           element.size == end->file_bytes - end->cues_at - element.head_bytes;
}

static void find_watermark(struct sl_recording *recording)
{
    uint64_t slots = recording->info.slots;
    uint64_t first = slots > WATERMARK_SLOTS ? slots - WATERMARK_SLOTS : 0;
    struct sl_frame_record record;

    recording->watermark = 0;
    for (uint64_t slot = first; slot < slots; slot++) {
        int rc = sl_recording_read_page(recording, slot, &record);

        if ((!rc || rc == -EUCLEAN) && record.completed > recording->watermark)
            recording->watermark = record.completed;
    }
    if (recording->watermark > slots)
        recording->watermark = slots;
}

int sl_recording_find_end(struct sl_recording *recording, const uint8_t *page0)
{
    struct sl_recording_info *info = &recording->info;
    struct sl_file_end end;
    int rc;

    recording->has_end = !sl_layout_file_end(page0, &end) && end_is_there(recording, &end);
    if (recording->has_end) {
        recording->end = end;
        info->slots = end.cues_at / recording->layout.slot_bytes;
        info->finished = end.file_bytes == info->file_bytes;
        find_watermark(recording);
        recording->completed = info->slots;
        return 0;
    }
    info->finished = false;
    rc = find_last_frame(recording, &info->slots);
    if (!rc)
        find_watermark(recording);
    recording->completed = recording->watermark;
    return rc;
}
