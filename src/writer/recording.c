/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings, opened and read slot by slot.
 *
 * Nothing but page 0 says how large a slot is, and nothing but a slot's own header page says what it holds: no index is needed
 * to read a file, and a torn file is read like any other. pread with a small buffer, not mmap: an unreadable sector then is an
 * error code in place of a signal.
 *
 * Without O_DIRECT: a recording that is looked at is often small or freshly copied, and then is in the page cache. Who reads all
 * of a large one says so (verify) and gives the pages back behind itself.
 */
#include "writer/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc.h"
#include "writer/ebml_read.h"
#include "writer/recording_file.h"

/* 104 days: Matroska's Duration, a double, holds every nanosecond up to here. No file of ours is longer. */
#define MAX_TIME_NS (INT64_C(1) << 53)

int64_t sl_recording_read_at(const struct sl_recording *recording, uint64_t offset, void *data, size_t bytes)
{
    uint8_t *to = data;
    size_t done = 0;

    if (offset > INT64_MAX - bytes)
        return 0;
    while (done < bytes) {
        ssize_t got = pread(recording->fd, to + done, bytes - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (!got)
            break;
        done += (size_t)got;
    }
    return (int64_t)done;
}

/* The seal says that page and record belong together, not that the sizes in it are those of this file's slots. */
static bool elements_fit(const struct sl_recording *recording, uint64_t slot, const struct sl_frame_record *record)
{
    const struct sl_layout *layout = &recording->layout;
    uint8_t page[SL_PAGE_BYTES];

    if (record->time_ns > MAX_TIME_NS || record->has_crc != layout->crc)
        return false;
    sl_layout_header(layout, slot, record->time_ns, page);
    if (record->has_crc)
        sl_layout_set_cluster_crc(page, record->payload_crc);
    return !memcmp(page + SL_LAYOUT_RECORD_VOID, recording->page + SL_LAYOUT_RECORD_VOID, SL_LAYOUT_FRAME_RECORD - SL_LAYOUT_RECORD_VOID) &&
           !memcmp(page + layout->cluster, recording->page + layout->cluster, SL_PAGE_BYTES - layout->cluster);
}

int sl_recording_read_page(struct sl_recording *recording, uint64_t slot, struct sl_frame_record *record)
{
    uint64_t at = sl_layout_header_at(&recording->layout, slot);
    int64_t got = sl_recording_read_at(recording, at, recording->page, SL_PAGE_BYTES);

    if (got != SL_PAGE_BYTES) {
        memset(recording->page, 0, SL_PAGE_BYTES); /* not what the slot before had */
        return got < 0 ? (int)got : -ENODATA;
    }
    if (sl_layout_open_record(recording->page, record))
        return -ENOENT;
    if (record->slot != slot || record->segment != recording->info.segment ||
        memcmp(record->session, recording->info.session, sizeof record->session) != 0)
        return -ENOENT; /* what lay in these disk blocks before */
    if (!elements_fit(recording, slot, record))
        return -ENOENT;
    return !slot || sl_layout_void_bytes(slot, recording->page) == SL_LAYOUT_RECORD_VOID ? 0 : -EUCLEAN;
}

/* What a file is that is none of ours, for the error text. */
static const char *describe_foreign(const uint8_t *page, size_t bytes)
{
    struct sl_ebml_element element;
    bool zero = true;

    for (size_t i = 0; i < bytes && zero; i++)
        zero = !page[i];
    if (!bytes)
        return "an empty file";
    if (zero)
        return "nothing but zeros where a recording begins";
    if (!sl_ebml_read_head(page, bytes, &element) && element.id == SL_EBML_HEADER)
        return "a Matroska or WebM file, but not one that sluice recorded";
    if (bytes >= 12 && !memcmp(page + 4, "ftyp", 4))
        return "an MP4 or MOV file";
    if (bytes >= 12 && !memcmp(page, "RIFF", 4))
        return "a RIFF (AVI, WAV) file";
    if (!memcmp(page, "YUV4MPEG2", bytes < 9 ? bytes : 9))
        return "a YUV4MPEG2 file";
    return "no Matroska file";
}

/* Stream record of page 0, or why there is none. */
static int read_stream(const uint8_t *page, size_t bytes, struct sl_stream_record *stream, const char *path, struct sl_error *err)
{
    struct sl_frame_record frame;
    const uint8_t *record = page + SL_LAYOUT_STREAM_RECORD;
    int rc;

    if (bytes < SL_PAGE_BYTES)
        return sl_fail(err, -EBADMSG, "%s: not a recording: %s", path, describe_foreign(page, bytes));
    rc = sl_stream_record_decode(record, stream);
    if (rc == -ENOTSUP)
        return sl_fail(err, rc, "%s: its pixel format is not known to this version", path);
    if (rc &&
        (!memcmp(record, "SLUSTREA", 8) || !memcmp(page + SL_LAYOUT_FRAME_RECORD, "SLUFRAME", 8) || !sl_layout_open_seal(page, &frame)))
        return sl_fail(err, -EUCLEAN, "%s: a recording whose first page is damaged: what it says of the frames cannot be trusted", path);
    if (rc)
        return sl_fail(err, -EBADMSG, "%s: not a recording: %s", path, describe_foreign(page, bytes));
    return 0;
}

static int take_stream(struct sl_recording *recording, const struct sl_stream_record *stream, const char *path, struct sl_error *err)
{
    struct sl_recording_info *info = &recording->info;

    if (sl_layout_init(&recording->layout, stream->format.frame_bytes, stream->checksum) ||
        recording->layout.slot_bytes != stream->slot_bytes)
        return sl_fail(err, -EUCLEAN, "%s: a slot of %" PRIu64 " bytes does not fit frames of %u", path, stream->slot_bytes,
                       stream->format.frame_bytes);
    recording->stream = *stream;
    info->format = stream->format;
    sl_layout_text(info->description, sizeof info->description, stream->description);
    sl_layout_text(info->writer, sizeof info->writer, stream->writer);
    memcpy(info->session, stream->session, sizeof info->session);
    info->segment = stream->segment;
    info->utc_ns = stream->utc_ns;
    info->slot_bytes = stream->slot_bytes;
    info->checksum = stream->checksum;
    return 0;
}

int sl_recording_file_head(const struct sl_recording *recording, const struct sl_file_end *end, uint8_t *page)
{
    int rc = sl_layout_file_head(&recording->layout, &recording->stream, page);

    return rc || !end ? rc : sl_layout_file_finish(page, end);
}

int sl_recording_open_fd(struct sl_recording **out, int fd, const char *path, struct sl_error *err)
{
    struct sl_recording *recording = calloc(1, sizeof *recording);
    uint8_t page0[SL_PAGE_BYTES] = {0};
    struct sl_stream_record stream;
    struct stat status;
    int64_t got;
    int rc;

    if (!recording || !(recording->page = malloc(SL_PAGE_BYTES)) || !(recording->chunk = malloc(SL_RECORDING_CHUNK))) {
        rc = sl_fail(err, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
        goto free_recording;
    }
    if (fstat(fd, &status)) {
        rc = -errno;
        sl_fail(err, rc, "%s: %s", path, strerror(-rc));
        goto free_recording;
    }
    if (!S_ISREG(status.st_mode)) {
        rc = sl_fail(err, -EBADMSG, "%s: not a recording: %s", path, S_ISDIR(status.st_mode) ? "a directory" : "no regular file");
        goto free_recording;
    }
    recording->fd = fd;
    recording->info.file_bytes = (uint64_t)status.st_size;
    got = sl_recording_read_at(recording, 0, page0, sizeof page0);
    rc = got < 0 ? sl_fail(err, (int)got, "read %s: %s", path, strerror((int)-got)) : 0;
    if (!rc)
        rc = read_stream(page0, (size_t)got, &stream, path, err);
    if (!rc)
        rc = take_stream(recording, &stream, path, err);
    if (rc)
        goto free_recording;
    rc = sl_recording_find_end(recording, page0);
    if (rc) {
        sl_fail(err, rc, "read %s: %s", path, strerror(-rc));
        goto free_recording;
    }
    *out = recording;
    return 0;

free_recording:
    if (recording) {
        free(recording->chunk);
        free(recording->page);
    }
    free(recording);
    return rc;
}

int sl_recording_open(struct sl_recording **out, const char *path, struct sl_error *err)
{
    /* O_NONBLOCK: not to wait for the other end of a FIFO that was named by mistake */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    int rc;

    if (fd < 0) {
        rc = -errno;
        return sl_fail(err, rc, "open %s: %s", path, strerror(-rc));
    }
    rc = sl_recording_open_fd(out, fd, path, err);
    if (rc)
        close(fd);
    return rc;
}

const struct sl_recording_info *sl_recording_info(const struct sl_recording *recording)
{
    return &recording->info;
}

uint64_t sl_recording_completed(const struct sl_recording *recording)
{
    return recording->completed;
}

bool sl_recording_must_hold(const struct sl_recording *recording, uint64_t slot)
{
    return slot < recording->watermark;
}

/* The cluster's CRC-32 from the header page in recording->page and the payload on the disk, which goes to `payload` if that is
 * not NULL. False when the payload cannot be read as a whole. */
static bool sum_payload(struct sl_recording *recording, uint64_t slot, bool sum, uint8_t *payload, uint32_t *crc)
{
    uint64_t at = sl_layout_payload_at(&recording->layout, slot);
    uint32_t left = recording->layout.frame_bytes;

    *crc = sl_crc32(0, recording->page + SL_LAYOUT_CRC_COVERS, SL_PAGE_BYTES - SL_LAYOUT_CRC_COVERS);
    while (left) {
        uint32_t bytes = left < SL_RECORDING_CHUNK ? left : SL_RECORDING_CHUNK;
        uint8_t *to = payload ? payload : recording->chunk;

        if (sl_recording_read_at(recording, at, to, bytes) != (int64_t)bytes)
            return false;
        if (sum)
            *crc = sl_crc32(*crc, to, bytes);
        if (payload)
            payload += bytes;
        at += bytes;
        left -= bytes;
    }
    return true;
}

/* A slot whose header page is no frame's. */
static enum sl_slot_verdict judge_other(const struct sl_recording *recording, uint64_t slot)
{
    uint64_t void_bytes = sl_layout_void_bytes(slot, recording->page);
    struct sl_frame_record record;
    bool zero = true;

    if (void_bytes == recording->layout.slot_bytes || (void_bytes > recording->layout.slot_bytes && !recording->info.finished))
        return SL_SLOT_EMPTY;
    if (recording->info.finished || slot < recording->completed)
        return SL_SLOT_DAMAGED;
    for (unsigned i = 0; i < SL_PAGE_BYTES && zero; i++)
        zero = !recording->page[i];
    return zero || !sl_layout_open_seal(recording->page, &record) ? SL_SLOT_EMPTY : SL_SLOT_DAMAGED;
}

/* A frame whose header page is right; that page is in recording->page. */
static enum sl_slot_verdict judge_frame(struct sl_recording *recording, const struct sl_frame_record *record, bool check, uint8_t *payload)
{
    bool vouched = record->slot < recording->completed;
    uint32_t crc;

    if (sl_layout_payload_at(&recording->layout, record->slot) + recording->layout.frame_bytes > recording->info.file_bytes)
        return SL_SLOT_TORN;
    if (check || payload || (record->has_crc && !vouched)) {
        if (!sum_payload(recording, record->slot, record->has_crc, payload, &crc))
            return SL_SLOT_TORN;
        if (record->has_crc && crc != record->payload_crc)
            return SL_SLOT_TORN;
    }
    return record->has_crc || vouched ? SL_SLOT_GOOD : SL_SLOT_UNPROVEN;
}

static enum sl_slot_verdict judge(struct sl_recording *recording, uint64_t slot, bool check, uint8_t *payload,
                                  struct sl_frame_record *record)
{
    struct sl_frame_record found;
    int rc;

    if (slot >= recording->info.slots)
        return SL_SLOT_EMPTY;
    rc = sl_recording_read_page(recording, slot, &found);
    if (rc == -EUCLEAN && recording->info.finished && sl_layout_void_bytes(slot, recording->page) == recording->layout.slot_bytes)
        rc = -ENOENT; /* given up when the file was closed */
    if (rc == -ENOENT)
        return judge_other(recording, slot);
    if (rc)
        return SL_SLOT_DAMAGED;
    *record = found;
    return judge_frame(recording, record, check, payload);
}

enum sl_slot_verdict sl_recording_behind_void(struct sl_recording *recording, uint64_t slot, struct sl_frame_record *record)
{
    enum sl_slot_verdict verdict;

    if (slot >= recording->info.slots || sl_recording_read_page(recording, slot, record) != -EUCLEAN)
        return SL_SLOT_DAMAGED;
    verdict = judge_frame(recording, record, !recording->info.finished, NULL);
    return verdict == SL_SLOT_UNPROVEN ? SL_SLOT_TORN : verdict; /* half a page is new: nothing speaks for the rest */
}

enum sl_slot_verdict sl_recording_slot(struct sl_recording *recording, uint64_t slot, bool check_payload, struct sl_frame_record *record)
{
    return judge(recording, slot, check_payload, NULL, record);
}

enum sl_slot_verdict sl_recording_read(struct sl_recording *recording, uint64_t slot, uint8_t *payload, struct sl_frame_record *record)
{
    return judge(recording, slot, true, payload, record);
}

int sl_recording_payload(struct sl_recording *recording, uint64_t slot, uint8_t *data, size_t bytes)
{
    int64_t got;

    if (slot >= recording->info.slots || bytes < recording->layout.frame_bytes)
        return -EINVAL;
    got = sl_recording_read_at(recording, sl_layout_payload_at(&recording->layout, slot), data, recording->layout.frame_bytes);
    if (got < 0)
        return (int)got;
    return got == recording->layout.frame_bytes ? 0 : -ENODATA;
}

void sl_recording_close(struct sl_recording *recording)
{
    if (!recording)
        return;
    close(recording->fd);
    free(recording->chunk);
    free(recording->page);
    free(recording);
}
