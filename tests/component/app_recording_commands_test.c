/* SPDX-License-Identifier: Apache-2.0 */
/* show, verify, repair and export as a user calls them, and the reader that replay uses. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/digest.h"
#include "app/replay_reader.h"
#include "support/make_recording.h"
#include "support/scratch.h"
#include "support/suite.h"

static char out[65536], err[65536];

static void read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    size_t got = fread(text, 1, bytes - 1, file);

    text[got] = '\0';
    fclose(file);
}

/* Runs a command with up to five arguments (the rest NULL); its output is in `out` and `err` then. */
static int run(int (*command)(int, char **), const char *a, const char *b, const char *c, const char *d, const char *e)
{
    char name[] = "command";
    char *argv[] = {name, (char *)a, (char *)b, (char *)c, (char *)d, (char *)e, NULL};
    int saved_out = dup(1), saved_err = dup(2), argc = 0, rc;

    while (argv[argc])
        argc++;
    fflush(NULL);
    ck_assert_ptr_nonnull(freopen(scratch_path("stdout"), "wb", stdout));
    ck_assert_ptr_nonnull(freopen(scratch_path("stderr"), "wb", stderr));
    optind = 0; /* glibc: forget the call before */
    rc = command(argc, argv);
    fflush(NULL);
    dup2(saved_out, 1);
    dup2(saved_err, 2);
    close(saved_out);
    close(saved_err);
    read_text(scratch_path("stdout"), out, sizeof out);
    read_text(scratch_path("stderr"), err, sizeof err);
    return rc;
}

static const uint64_t hole = 3;
static const struct made_gap gap = {2, 4, SL_LOSS_NO_SLOT, false};
static struct made_recording made;

/* Ten slots: numbers 0, 1, then 4 lost, 6, a hole (7), 8 … 13. */
static const char *make(bool finished)
{
    const struct made_spec spec = {.format = "YUYV",
                                   .width = 16,
                                   .height = 2,
                                   .slots = 10,
                                   .checksum = true,
                                   .finished = finished,
                                   .hole = &hole,
                                   .holes = 1,
                                   .gap = &gap,
                                   .gaps = 1,
                                   .preformatted = 2};
    const char *path = scratch_path("f.mkv");

    make_recording(path, &spec, &made);
    return path;
}

#define expect_text(text, part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text)

START_TEST(test_show)
{
    const char *path = make(true);

    ck_assert_int_eq(run(sl_cmd_show, path, NULL, NULL, NULL, NULL), 0);
    expect_text(out, "state     whole");
    expect_text(out, "YUYV 16x2");
    expect_text(out, "60 fps nominal");
    expect_text(out, "BT.709, broadcast range");
    expect_text(out, "2023-11-14T22:13:20.123456789Z");
    expect_text(out, "frames    9, numbers 0…13, 0.233 s, 60.0000 fps");
    expect_text(out, "lost      no_slot 4, disk_error 1");
    expect_text(out, "gap       4 frames from 2: no_slot 4");
    expect_text(out, "gap       1 frames from 7: disk_error 1, 1 slots without a frame");

    ck_assert_int_eq(run(sl_cmd_show, path, "--json", NULL, NULL, NULL), 0);
    expect_text(out, "\"pixel\": \"YUYV\"");
    expect_text(out, "\"frames\": 9");
    expect_text(out, "\"no_slot\": 4");
    expect_text(out, "\"finished\": true");

    ck_assert_int_eq(run(sl_cmd_show, make(false), NULL, NULL, NULL, NULL), 0);
    expect_text(out, "state     not closed");
}
END_TEST

START_TEST(test_show_refuses)
{
    ck_assert_int_eq(run(sl_cmd_show, NULL, NULL, NULL, NULL, NULL), 2);
    expect_text(err, "usage: sluice show");
    ck_assert_int_eq(run(sl_cmd_show, "a", "b", NULL, NULL, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_show, "--nonsense", "b", NULL, NULL, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_show, "--help", NULL, NULL, NULL, NULL), 0);
    expect_text(out, "usage: sluice show");
    ck_assert_int_eq(run(sl_cmd_show, scratch_path("absent"), NULL, NULL, NULL, NULL), 1);
    expect_text(err, "No such file");
}
END_TEST

START_TEST(test_verify)
{
    const char *path = make(true);

    ck_assert_int_eq(run(sl_cmd_verify, path, NULL, NULL, NULL, NULL), 0);
    expect_text(out, "frames: 9 good, 0 unproven, 0 torn, 0 damaged; 1 slots without a frame");
    expect_text(out, "lost while recording: no_slot 4, disk_error 1");
    expect_text(out, "verdict: whole");
    ck_assert_int_eq(run(sl_cmd_verify, path, "--json", NULL, NULL, NULL), 0);
    expect_text(out, "\"good\": 9");
    expect_text(out, "\"whole\": true");

    scratch_flip(path, sl_layout_payload_at(&made.layout, 5), 4);
    ck_assert_int_eq(run(sl_cmd_verify, path, NULL, NULL, NULL, NULL), 3);
    expect_text(out, "damage: slot 5: frame 9 does not match its checksum");
    expect_text(out, "verdict: DAMAGED, 1 finding\n");
    ck_assert_int_eq(run(sl_cmd_verify, path, "--json", NULL, NULL, NULL), 3);
    expect_text(out, "\"whole\": false");

    ck_assert_int_eq(run(sl_cmd_verify, make(false), NULL, NULL, NULL, NULL), 3);
    expect_text(out, "not closed");
}
END_TEST

START_TEST(test_verify_several)
{
    const char *path = make(true);

    scratch_write(scratch_path("text"), 0, "text", 4);
    scratch_copy(path, scratch_path("damaged"));
    scratch_flip(scratch_path("damaged"), 2048 + 30, 1); /* the stream record */
    ck_assert_int_eq(run(sl_cmd_verify, path, path, NULL, NULL, NULL), 0);
    ck_assert_int_eq(run(sl_cmd_verify, scratch_path("damaged"), path, NULL, NULL, NULL), 3);
    expect_text(err, "whose first page is damaged");
    ck_assert_int_eq(run(sl_cmd_verify, scratch_path("damaged"), scratch_path("text"), path, NULL, NULL), 1);
    expect_text(err, "no Matroska file");
    ck_assert_int_eq(run(sl_cmd_verify, NULL, NULL, NULL, NULL, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_verify, "--md5", "--json", path, NULL, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_verify, "--help", NULL, NULL, NULL, NULL), 0);
}
END_TEST

START_TEST(test_verify_md5)
{
    const char *path = make(true);
    uint8_t payload[64];
    char md5[33], wanted[64];

    if (!sl_digest_available()) {
        ck_assert_int_eq(run(sl_cmd_verify, "--md5", path, NULL, NULL, NULL), 1);
        expect_text(err, "not in this build");
        return;
    }
    ck_assert_int_eq(sl_digest_md5((const uint8_t *)"abc", 3, md5), 0);
    ck_assert_str_eq(md5, "900150983cd24fb0d6963f7d28e17f72");
    ck_assert_int_eq(run(sl_cmd_verify, "--md5", path, NULL, NULL, NULL), 0);
    made_payload(6, payload, sizeof payload);
    sl_digest_md5(payload, sizeof payload, md5);
    snprintf(wanted, sizeof wanted, "\n6 %s\n8 ", md5);
    expect_text(out, wanted);
    ck_assert_ptr_null(strstr(out, "verdict"));
    expect_text(err, "verdict: whole");
}
END_TEST

START_TEST(test_verify_pattern)
{
    ck_assert_int_eq(run(sl_cmd_verify, "--pattern", make(true), NULL, NULL, NULL), 3);
    expect_text(out, "pattern: frame 0: there is no test pattern in it");
    expect_text(out, "pattern: 0 frames right, 9 wrong");
}
END_TEST

/* Killed before the first frame was on the disk. */
START_TEST(test_no_frame)
{
    const struct made_spec spec = {.format = "YUYV", .width = 16, .height = 2, .checksum = true, .preformatted = 3};
    const char *path = scratch_path("f.mkv");

    make_recording(path, &spec, &made);
    ck_assert_int_eq(run(sl_cmd_repair, path, NULL, NULL, NULL, NULL), 1);
    expect_text(err, "there is no frame in it; it can be deleted");
    ck_assert_int_eq(run(sl_cmd_verify, path, NULL, NULL, NULL, NULL), 3);
    expect_text(out, "there is no frame in it; unless a run is still writing it, it can be deleted");
    ck_assert_int_eq(run(sl_cmd_show, path, NULL, NULL, NULL, NULL), 0);
    expect_text(out, "state     no frame in it; unless a run is still writing it, it can be deleted");
}
END_TEST

START_TEST(test_repair)
{
    const char *path = make(false);

    ck_assert_int_eq(run(sl_cmd_repair, path, NULL, NULL, NULL, NULL), 0);
    expect_text(out, "writing the index: 9 frames");
    expect_text(out, "9 frames kept and indexed, 0 torn");
    ck_assert_int_eq(run(sl_cmd_verify, path, NULL, NULL, NULL, NULL), 0);
    ck_assert_int_eq(run(sl_cmd_repair, path, NULL, NULL, NULL, NULL), 0);
    expect_text(out, "the structure is whole, 9 frames; nothing was changed; payloads were not read: see sluice verify");
    scratch_write(path, sl_layout_header_at(&made.layout, 5) + 6, "\xff\xff\xff\xff\xff\xff", 6);
    ck_assert_int_eq(run(sl_cmd_verify, path, NULL, NULL, NULL, NULL), 3);
    ck_assert_int_eq(run(sl_cmd_repair, path, NULL, NULL, NULL, NULL), 0);
    expect_text(out, "the structure is whole again, 9 frames indexed; payloads were not read: see sluice verify");
    ck_assert_int_eq(run(sl_cmd_verify, path, NULL, NULL, NULL, NULL), 0);
    scratch_flip(path, sl_layout_header_at(&made.layout, 5) + 4001, 4);
    ck_assert_int_eq(run(sl_cmd_repair, path, NULL, NULL, NULL, NULL), 3);
    expect_text(out, "1 are damaged and were left as they are");
    ck_assert_int_eq(run(sl_cmd_repair, NULL, NULL, NULL, NULL, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_repair, scratch_path("absent"), NULL, NULL, NULL, NULL), 1);
    ck_assert_int_eq(run(sl_cmd_repair, "-h", NULL, NULL, NULL, NULL), 0);
}
END_TEST

static void expect_y4m(const uint8_t *data, size_t bytes, uint64_t first, uint64_t frames)
{
    static const char header[] = "YUV4MPEG2 W16 H2 F60:1 Ip A1:1 C422 XCOLORRANGE=LIMITED\n";
    static const uint64_t numbers[] = {0, 1, 6, 8, 9, 10, 11, 12, 13};

    ck_assert_uint_eq(bytes, strlen(header) + frames * (6 + 64));
    ck_assert_mem_eq(data, header, strlen(header));
    data += strlen(header);
    for (uint64_t i = first; i < first + frames; i++, data += 6 + 64) {
        uint8_t payload[64];

        made_payload(numbers[i], payload, sizeof payload);
        ck_assert_mem_eq(data, "FRAME\n", 6);
        for (unsigned pixel = 0; pixel < 32; pixel++)
            ck_assert_uint_eq(data[6 + pixel], payload[2 * pixel]);
        for (unsigned pair = 0; pair < 16; pair++) {
            ck_assert_uint_eq(data[6 + 32 + pair], payload[4 * pair + 1]);
            ck_assert_uint_eq(data[6 + 48 + pair], payload[4 * pair + 3]);
        }
    }
}

START_TEST(test_export_y4m)
{
    const char *path = make(true), *y4m = scratch_path("out.y4m");
    uint8_t data[4096];

    ck_assert_int_eq(run(sl_cmd_export, path, "--to", "y4m", y4m, NULL), 0);
    scratch_read(y4m, 0, data, scratch_size(y4m));
    expect_y4m(data, scratch_size(y4m), 0, 9);
    ck_assert_int_eq(run(sl_cmd_export, path, "--to=y4m", y4m, "--from=2", "--count=3"), 0);
    scratch_read(y4m, 0, data, scratch_size(y4m));
    expect_y4m(data, scratch_size(y4m), 2, 3);
    ck_assert_int_eq(run(sl_cmd_export, path, "--to=y4m", "-", "--from=8", NULL), 0);
    scratch_read(scratch_path("stdout"), 0, data, scratch_size(scratch_path("stdout")));
    expect_y4m(data, scratch_size(scratch_path("stdout")), 8, 1);
}
END_TEST

START_TEST(test_export_png)
{
    const char *path = make(true), *png = scratch_path("out.png");
    uint8_t head[24];

    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "8", png, NULL), 0);
    scratch_read(png, 0, head, sizeof head);
    ck_assert_mem_eq(head, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10\0\0\0\x02", sizeof head);
}
END_TEST

START_TEST(test_export_output_fails)
{
    const char *path = make(true), *y4m = scratch_path("out.y4m"), *pipe = scratch_path("pipe");
    struct rlimit whole, small;
    int reader, code;

    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
    small = (struct rlimit){.rlim_cur = 600, .rlim_max = whole.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    code = run(sl_cmd_export, path, "--to", "y4m", y4m, NULL);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
    ck_assert_int_eq(code, 1);
    expect_text(err, "File too large");
    ck_assert_int_eq(access(y4m, F_OK), -1);

    /* A device or pipe that was named as output stays. */
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    reader = open(pipe, O_RDWR | O_CLOEXEC);
    ck_assert_int_ge(reader, 0);
    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "9", pipe, NULL), 1);
    ck_assert_int_eq(access(pipe, F_OK), 0);
    close(reader);
}
END_TEST

START_TEST(test_export_refuses)
{
    const char *path = make(true), *png = scratch_path("out.png");
    uint64_t bytes = scratch_size(path);

    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "9", png, NULL), 1);
    expect_text(err, "no frame 9: there are 9");
    ck_assert_int_eq(access(png, F_OK), -1); /* nothing half-made stays */
    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "0", path, NULL), 1);
    expect_text(err, "is the recording itself");
    ck_assert_uint_eq(scratch_size(path), bytes);
    ck_assert_int_eq(run(sl_cmd_export, path, "--to", "y4m", scratch_path("absent/out"), NULL), 1);

    ck_assert_int_eq(run(sl_cmd_export, path, "--to", "avi", png, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "x", png, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "-1", png, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "99999999999999999999999", png, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_export, path, png, NULL, NULL, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_export, path, "--frame", "1", "--count=2", png), 2);
    ck_assert_int_eq(run(sl_cmd_export, path, "--frame=1", "--to=y4m", png, NULL), 2);
    ck_assert_int_eq(run(sl_cmd_export, "--help", NULL, NULL, NULL, NULL), 0);
}
END_TEST

START_TEST(test_replay_reader)
{
    static const uint64_t numbers[] = {0, 1, 6, 8, 9, 10, 11, 12, 13};
    static const unsigned order[] = {0, 1, 2, 2, 3, 8, 4, 0, 7};
    struct sl_replay_reader reader = {0};
    uint8_t payload[64], wanted[64];
    uint32_t sequence, flags;
    int64_t time_ns;

    ck_assert_int_eq(sl_replay_reader_open(&reader, make(true), NULL), 0);
    ck_assert_uint_eq(reader.frames, 9);
    ck_assert_uint_eq(reader.format->width, 16);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        uint64_t number = numbers[order[i]];

        ck_assert_int_eq(reader.read(reader.self, order[i], payload, sizeof payload, &time_ns, &sequence, &flags), 0);
        made_payload(number, wanted, sizeof wanted);
        ck_assert_mem_eq(payload, wanted, sizeof wanted);
        ck_assert_int_eq(time_ns, (int64_t)(number * 1000000000 / 60));
        ck_assert_uint_eq(sequence, number);
        ck_assert_uint_eq(flags, 0);
    }
    ck_assert_int_eq(reader.read(reader.self, 9, payload, sizeof payload, &time_ns, &sequence, &flags), -ENOENT);
    sl_replay_reader_close(&reader);
    sl_replay_reader_close(&reader); /* zeroed memory is fine */
    ck_assert_int_eq(sl_replay_reader_open(&reader, scratch_path("absent"), NULL), -ENOENT);
    ck_assert_ptr_null(reader.self);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app recording commands");
    TCase *tcase = tcase_create("commands");

    tcase_add_checked_fixture(tcase, scratch_open, scratch_close);
    tcase_add_test(tcase, test_show);
    tcase_add_test(tcase, test_show_refuses);
    tcase_add_test(tcase, test_verify);
    tcase_add_test(tcase, test_verify_several);
    tcase_add_test(tcase, test_verify_md5);
    tcase_add_test(tcase, test_verify_pattern);
    tcase_add_test(tcase, test_no_frame);
    tcase_add_test(tcase, test_repair);
    tcase_add_test(tcase, test_export_y4m);
    tcase_add_test(tcase, test_export_png);
    tcase_add_test(tcase, test_export_output_fails);
    tcase_add_test(tcase, test_export_refuses);
    tcase_add_test(tcase, test_replay_reader);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
