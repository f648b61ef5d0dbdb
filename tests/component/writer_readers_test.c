/* SPDX-License-Identifier: Apache-2.0 */
/* Files made with the layout functions alone, read by programs that know nothing of us. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/suite.h"
#include "writer/layout.h"

enum { FRAMES = 12, AHEAD = 8 };

enum state { FINISHED, RUNNING, RUNNING_FRONTIER_PAST_END, LOST_SLOT, TORN_SLOT, STATES };

struct made {
    char path[64];
    struct sl_video_format format;
    struct sl_layout layout;
    uint8_t *frames; /* FRAMES × frame_bytes */
    bool good[FRAMES];
};

static void put(int fd, const void *data, size_t bytes, uint64_t at)
{
    ck_assert_int_eq(pwrite(fd, data, bytes, (off_t)at), (ssize_t)bytes);
}

static void put_void_slot(int fd, const struct made *made, uint64_t slot, uint64_t void_bytes)
{
    uint8_t page[SL_PAGE_BYTES], tail[2 * SL_PAGE_BYTES];

    sl_layout_void(slot, void_bytes, page);
    put(fd, page, sizeof(page), sl_layout_header_at(&made->layout, slot));
    sl_layout_tail_pages(&made->layout, tail);
    put(fd, tail, made->layout.tail_span, (slot + 1) * made->layout.slot_bytes - made->layout.tail_span);
}

static int64_t time_of(unsigned slot)
{
    return sl_frame_time_ns((struct sl_rational){60000, 1001}, slot);
}

static void put_frame(int fd, const struct made *made, unsigned slot, uint8_t *page)
{
    const uint8_t *frame = made->frames + (size_t)slot * made->layout.frame_bytes;
    struct sl_frame_record record = {.segment = 1, .slot = slot, .number = slot, .time_ns = time_of(slot), .has_crc = made->layout.crc};
    uint8_t tail[2 * SL_PAGE_BYTES] = {0};

    sl_layout_header(&made->layout, slot, record.time_ns, page);
    if (made->layout.crc) {
        record.payload_crc = sl_layout_cluster_crc(&made->layout, page, frame);
        sl_layout_set_cluster_crc(page, record.payload_crc);
    }
    sl_layout_seal(page, &record);
    put(fd, page, SL_PAGE_BYTES, sl_layout_header_at(&made->layout, slot));
    put(fd, frame, made->layout.frame_bytes, sl_layout_payload_at(&made->layout, slot));
    sl_layout_tail(&made->layout, tail);
    put(fd, tail, made->layout.tail_bytes, sl_layout_payload_at(&made->layout, slot) + made->layout.frame_bytes);
}

static void finish(int fd, const struct made *made, uint8_t *head)
{
    uint64_t cues_at = FRAMES * made->layout.slot_bytes, at = cues_at + SL_LAYOUT_CUES_HEAD_BYTES;
    struct sl_file_end end = {.cues_at = cues_at, .file_bytes = cues_at + sl_layout_cues_bytes(FRAMES), .duration_ns = time_of(FRAMES)};
    uint8_t bytes[SL_LAYOUT_CUE_POINT_BYTES];

    sl_layout_cues_head(FRAMES, bytes);
    put(fd, bytes, SL_LAYOUT_CUES_HEAD_BYTES, cues_at);
    for (unsigned slot = 0; slot < FRAMES; slot++, at += sizeof(bytes)) {
        sl_layout_cue_point(time_of(slot), sl_layout_cluster_position(&made->layout, slot), bytes);
        put(fd, bytes, sizeof(bytes), at);
    }
    ck_assert_int_eq(ftruncate(fd, (off_t)end.file_bytes), 0);
    ck_assert_int_eq(sl_layout_file_finish(head, &end), 0);
    put(fd, head, SL_PAGE_BYTES, 0);
}

static void make(struct made *made, const char *pixel, uint32_t width, uint32_t height, bool crc, enum state state)
{
    struct sl_stream_record stream = {.segment = 1, .checksum = crc, .writer = "sluice test", .description = "a test"};
    uint8_t head[SL_PAGE_BYTES], page[SL_PAGE_BYTES];
    uint64_t file_bytes;
    int fd;

    ck_assert_int_eq(sl_video_format_tight(&stream.format, sl_pixel_format_by_name(pixel), width, height), 0);
    stream.format.fps = (struct sl_rational){60000, 1001};
    ck_assert_int_eq(sl_layout_init(&made->layout, stream.format.frame_bytes, crc), 0);
    stream.slot_bytes = made->layout.slot_bytes;
    made->format = stream.format;
    made->frames = malloc((size_t)FRAMES * made->layout.frame_bytes);
    ck_assert_ptr_nonnull(made->frames);
    srandom(7);
    for (size_t i = 0; i < (size_t)FRAMES * made->layout.frame_bytes; i++)
        made->frames[i] = (uint8_t)random();
    strcpy(made->path, "writer_readers_XXXXXX.mkv");
    fd = mkstemps(made->path, 4);
    ck_assert_int_ge(fd, 0);
    file_bytes = (FRAMES + AHEAD) * made->layout.slot_bytes + (8 << 20);
    ck_assert_int_eq(ftruncate(fd, (off_t)file_bytes), 0);
    ck_assert_int_eq(sl_layout_file_head(&made->layout, &stream, head), 0);
    for (unsigned slot = 1; slot < FRAMES + AHEAD; slot++)
        put_void_slot(fd, made, slot, made->layout.slot_bytes);
    put_void_slot(fd, made, FRAMES + AHEAD,
                  file_bytes - (FRAMES + AHEAD) * made->layout.slot_bytes + (state == RUNNING_FRONTIER_PAST_END ? 256 << 20 : 0));
    for (unsigned slot = 0; slot < FRAMES; slot++) {
        put_frame(fd, made, slot, slot == 0 ? head : page);
        made->good[slot] = true;
    }
    if (state == LOST_SLOT)
        put_void_slot(fd, made, 5, made->layout.slot_bytes);
    if (state == TORN_SLOT) /* header page and the end on the disk, the middle never written */
        ck_assert_int_eq(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   (off_t)sl_layout_payload_at(&made->layout, 5) + SL_PAGE_BYTES, 8 * SL_PAGE_BYTES),
                         0);
    if (state == LOST_SLOT || state == TORN_SLOT)
        made->good[5] = false;
    if (state == FINISHED)
        finish(fd, made, head);
    close(fd);
}

static void unmake(struct made *made)
{
    unlink(made->path);
    free(made->frames);
}

static bool have(const char *program)
{
    char command[128];

    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

/* The command's output must be the good frames, in order; of a torn one anything may come, if it has a frame's length. */
static void expect_frames(const struct made *made, const char *command, bool torn_allowed)
{
    FILE *pipe = popen(command, "r");
    uint8_t *frame = malloc(made->layout.frame_bytes);
    unsigned slot = 0, got = 0;

    ck_assert_ptr_nonnull(pipe);
    while (fread(frame, 1, made->layout.frame_bytes, pipe) == made->layout.frame_bytes) {
        got++;
        while (slot < FRAMES && !made->good[slot]) {
            slot++;
            if (torn_allowed)
                break;
        }
        if (torn_allowed && slot > 0 && !made->good[slot - 1] &&
            memcmp(frame, made->frames + (size_t)slot * made->layout.frame_bytes, made->layout.frame_bytes) != 0)
            continue;
        ck_assert_msg(slot < FRAMES, "%s: more frames than were written", command);
        ck_assert_msg(memcmp(frame, made->frames + (size_t)slot * made->layout.frame_bytes, made->layout.frame_bytes) == 0,
                      "%s: frame %u differs", command, slot);
        slot++;
    }
    ck_assert_msg(slot == FRAMES, "%s: ended after %u frames", command, got);
    ck_assert_msg(feof(pipe) && pclose(pipe) == 0, "%s failed", command);
    free(frame);
}

static void expect_times(const struct made *made)
{
    char command[256], line[128];
    FILE *pipe;
    unsigned slot = 0;

    snprintf(command, sizeof(command), "ffprobe -v error -show_entries packet=pts -of csv=p=0 %s", made->path);
    pipe = popen(command, "r");
    ck_assert_ptr_nonnull(pipe);
    while (fgets(line, sizeof(line), pipe)) {
        while (slot < FRAMES && !made->good[slot])
            slot++;
        ck_assert_int_eq(strtoll(line, NULL, 10), time_of(slot));
        slot++;
    }
    ck_assert_uint_eq(slot, FRAMES);
    ck_assert_int_eq(pclose(pipe), 0);
}

static const struct {
    const char *pixel;
    uint32_t width, height;
    bool crc, gst;
} shape[] = {{"UYVY", 642, 358, true, true}, {"YUYV", 640, 512, false, true}, {"NV12", 320, 180, true, false}};

START_TEST(test_ffmpeg)
{
    struct made made;
    char command[256];

    if (!have("ffmpeg") || !have("ffprobe"))
        return;
    for (enum state state = 0; state < STATES; state++) {
        make(&made, shape[_i].pixel, shape[_i].width, shape[_i].height, shape[_i].crc, state);
        snprintf(command, sizeof(command), "timeout 60 ffmpeg -v error -i %s -fps_mode passthrough -f rawvideo -", made.path);
        expect_frames(&made, command, state == TORN_SLOT);
        if (state != TORN_SLOT)
            expect_times(&made);
        unmake(&made);
    }
}
END_TEST

START_TEST(test_gstreamer)
{
    struct made made;
    char command[256];

    if (!have("gst-launch-1.0") || !shape[_i].gst)
        return;
    for (enum state state = 0; state < STATES; state++) {
        make(&made, shape[_i].pixel, shape[_i].width, shape[_i].height, shape[_i].crc, state);
        snprintf(command, sizeof(command), "timeout 60 gst-launch-1.0 -q filesrc location=%s ! matroskademux ! fdsink fd=1", made.path);
        expect_frames(&made, command, state == TORN_SLOT);
        unmake(&made);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer readers");
    TCase *tcase = tcase_create("readers");

    tcase_set_timeout(tcase, 200);
    tcase_add_loop_test(tcase, test_ffmpeg, 0, 3);
    tcase_add_loop_test(tcase, test_gstreamer, 0, 3);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
