/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a recording: opened, read slot by slot, walked, verified, repaired, verified again. The first byte says which checksums
 * are made right before, so that what lies behind them is reached too.
 *
 * What must hold: nothing that was accepted leads outside of memory or into an endless loop; a repaired file is closed, repaired
 * again it does not change, and what verify still says of it is about the books (which repair does not judge), or about frames
 * of a file that was closed before.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/picture.h"
#include "core/crc.h"
#include "writer/bytes.h"
#include "writer/layout.h"
#include "writer/recording.h"
#include "writer/verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { FIX_STREAM = 1, FIX_PAGES = 2, FIX_PAYLOADS = 4, FIX_SESSIONS = 8, MAX_BYTES = 1 << 20 };

static char path[64];

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static void fix_page(uint8_t *page, const uint8_t *session, uint32_t segment, uint64_t slot, int how)
{
    uint8_t *record = page + SL_LAYOUT_FRAME_RECORD;

    if (how & FIX_SESSIONS) {
        memcpy(record, "SLUFRAME", 8);
        memcpy(record + 16, session, 16);
        sl_put_le32(record + 32, segment);
        sl_put_le64(record + 40, slot);
    }
    sl_put_le32(record + 12, 0);
    sl_put_le32(record + 12, sl_crc32(0, page + SL_LAYOUT_RECORD_VOID, SL_PAGE_BYTES - SL_LAYOUT_RECORD_VOID));
}

static void fix(uint8_t *file, size_t bytes, int how)
{
    uint8_t *stream = file + SL_LAYOUT_STREAM_RECORD;
    struct sl_stream_record record;
    struct sl_layout layout;

    if (bytes < SL_PAGE_BYTES)
        return;
    if (how & FIX_STREAM)
        sl_stream_record_set_date(stream, (int64_t)sl_get_le64(stream + 48), (int64_t)sl_get_le64(stream + 56));
    if (!(how & FIX_PAGES) || sl_stream_record_decode(stream, &record) ||
        sl_layout_init(&layout, record.format.frame_bytes, record.checksum))
        return;
    for (uint64_t slot = 0; sl_layout_payload_at(&layout, slot) <= bytes; slot++) {
        uint8_t *page = file + sl_layout_header_at(&layout, slot);

        if ((how & FIX_PAYLOADS) && sl_layout_payload_at(&layout, slot) + layout.frame_bytes <= bytes) {
            uint32_t crc = sl_layout_cluster_crc(&layout, page, page + SL_PAGE_BYTES);

            sl_layout_set_cluster_crc(page, crc);
            sl_put_le32(page + SL_LAYOUT_FRAME_RECORD + 88, crc);
        }
        fix_page(page, record.session, record.segment, slot, how);
    }
}

static void see_picture(const struct sl_video_format *format, const uint8_t *payload)
{
    uint8_t *planar = malloc(sl_picture_planar_bytes(format));
    uint8_t *rgb = malloc((size_t)format->width * format->height * sl_picture_channels(format));
    char header[128];

    if (planar && rgb) {
        sl_picture_planar(format, payload, planar);
        sl_picture_rgb(format, planar, rgb);
    }
    sl_picture_y4m_header(format, header, sizeof header);
    free(rgb);
    free(planar);
}

struct findings {
    struct sl_verify_result result;
    bool judged; /* damage must be about the books */
    bool pictures;
};

static void see_damage(void *context, const char *line)
{
    const struct findings *findings = context;

    need(!findings->judged || !strncmp(line, "books: ", 7), line);
}

static int see_frame(void *context, const struct sl_frame_record *record, const uint8_t *payload)
{
    const struct findings *findings = context;

    (void)record;
    if (findings->pictures)
        see_picture(&findings->result.info.format, payload);
    return 0;
}

/* Slots one by one, last first. */
static void read_slots(void)
{
    struct sl_recording *recording;
    struct sl_frame_record record;

    if (sl_recording_open(&recording, path, NULL))
        return;
    for (uint64_t slot = sl_recording_info(recording)->slots + 1; slot-- > 0;) {
        enum sl_slot_verdict unchecked = sl_recording_slot(recording, slot, false, &record);
        enum sl_slot_verdict checked = sl_recording_slot(recording, slot, true, &record);

        need(checked == unchecked || (unchecked == SL_SLOT_GOOD && checked == SL_SLOT_TORN), "a payload was read and made a slot better");
    }
    sl_recording_close(recording);
}

static void verify_and_repair(void)
{
    struct findings findings = {.pictures = true};
    const struct sl_verify_sink sink = {.context = &findings, .damage = see_damage, .frame = see_frame};
    struct sl_audit audit = {0};
    struct sl_repair repair, again;
    struct sl_error err = {""};
    bool closed;

    if (sl_verify_file(path, &audit, &sink, &findings.result, &err))
        return;
    closed = findings.result.info.finished;
    if (sl_recording_repair(path, NULL, NULL, &repair, &err) || repair.damaged)
        return;
    findings.judged = !closed;
    findings.pictures = false;
    memset(&audit, 0, sizeof audit);
    need(!sl_verify_file(path, &audit, &sink, &findings.result, &err), err.text);
    need(findings.result.info.finished, "not closed after a repair");
    need(closed || findings.result.verdicts[SL_SLOT_GOOD] == repair.frames, "repair and verify count differently");
    need(!sl_recording_repair(path, NULL, NULL, &again, &err), err.text);
    need(again.already_whole && again.frames == repair.frames, "a second repair found something to do");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *file;
    int fd;

    if (bytes < 2 || bytes > MAX_BYTES)
        return 0;
    if (!path[0])
        snprintf(path, sizeof path, "%s/recording_fuzz.%d", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", (int)getpid());
    file = malloc(bytes - 1);
    memcpy(file, data + 1, bytes - 1);
    fix(file, bytes - 1, data[0]);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    need(fd >= 0 && write(fd, file, bytes - 1) == (ssize_t)(bytes - 1) && !close(fd), "temporary file");
    free(file);
    read_slots();
    verify_and_repair();
    unlink(path);
    return 0;
}
