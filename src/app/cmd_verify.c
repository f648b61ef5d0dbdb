/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/digest.h"
#include "app/recording_text.h"
#include "capture/capture.h"
#include "writer/verify.h"

/* The text lists so many damages of a file; --json has them all. */
enum { LINES_IN_TEXT = 50 };

struct verify_options {
    bool json;
    bool pattern;
    bool md5;
};

struct report {
    const struct verify_options *options;
    FILE *text; /* where the report goes; standard error when standard output has the digests */
    const struct sl_video_format *format;
    json_t *damages, *notes, *gaps; /* of the file that is being read */
    uint64_t pattern_good, pattern_bad;
};

static const char usage[] =
    "usage: sluice verify FILE… [--json] [--pattern] [--md5]\n\n"
    "Reads recordings from the first byte to the last: header pages, checksums, the structure as players see it, index and duration,\n"
    "and the books. Files of one run given in order are also checked for frames missing between them. Frames that were lost while\n"
    "recording and are booked are no damage.\n"
    "  --pattern  each frame must be the test pattern (source = pattern), every pixel of it\n"
    "  --md5      one line per frame: its number in the run and the MD5 of its bytes; the report goes to standard error\n"
    "Exit status: 0 whole, 3 damage was found, 1 a file could not be read, or is no recording.\n";

static void add_damage(void *context, const char *line)
{
    struct report *report = context;

    json_array_append_new(report->damages, json_string(line));
    if (report->options->json)
        return;
    if (json_array_size(report->damages) <= LINES_IN_TEXT)
        fprintf(report->text, "  damage: %s\n", line);
    else if (json_array_size(report->damages) == LINES_IN_TEXT + 1)
        fprintf(report->text, "  damage: … and more; --json has all of it\n");
}

static void add_note(void *context, const char *line)
{
    struct report *report = context;

    json_array_append_new(report->notes, json_string(line));
    if (!report->options->json)
        fprintf(report->text, "  note: %s\n", line);
}

static void add_gap(void *context, const struct sl_audit_gap *gap)
{
    struct report *report = context;
    char text[512];

    json_array_append_new(report->gaps, sl_gap_json(gap));
    if (report->options->json || json_array_size(report->gaps) > LINES_IN_TEXT)
        return;
    sl_gap_text(gap, text, sizeof text);
    fprintf(report->text, "  gap: %s\n", text);
}

static void check_pattern(struct report *report, const struct sl_frame_record *record, const uint8_t *payload)
{
    struct sl_strip strip;
    uint64_t bad_byte = 0;
    char line[160];
    int rc = sl_pattern_check(report->format, payload, report->format->frame_bytes, &strip, &bad_byte);

    if (!rc && strip.number == record->number) {
        report->pattern_good++;
        return;
    }
    report->pattern_bad++;
    if (rc == -EIO)
        snprintf(line, sizeof line, "pattern: frame %" PRIu64 ": byte %" PRIu64 " of the picture is wrong", record->number, bad_byte);
    else if (rc)
        snprintf(line, sizeof line, "pattern: frame %" PRIu64 ": there is no test pattern in it", record->number);
    else
        snprintf(line, sizeof line, "pattern: frame %" PRIu64 " shows the number %" PRIu64, record->number, strip.number);
    add_damage(report, line);
}

static int see_frame(void *context, const struct sl_frame_record *record, const uint8_t *payload)
{
    struct report *report = context;
    char md5[33];
    int rc;

    if (report->options->pattern)
        check_pattern(report, record, payload);
    if (report->options->md5) {
        rc = sl_digest_md5(payload, report->format->frame_bytes, md5);
        if (rc)
            return rc;
        printf("%" PRIu64 " %s\n", record->number, md5);
    }
    return 0;
}

static void print_text(struct report *report, const struct sl_verify_result *result)
{
    const uint64_t *verdicts = result->verdicts;
    size_t damages = json_array_size(report->damages);
    char losses[SL_LOSSES_TEXT], marked[SL_MARKED_TEXT];

    fprintf(report->text,
            "  frames: %" PRIu64 " good, %" PRIu64 " unproven, %" PRIu64 " torn, %" PRIu64 " damaged; %" PRIu64 " slots without a frame\n",
            verdicts[SL_SLOT_GOOD], verdicts[SL_SLOT_UNPROVEN], verdicts[SL_SLOT_TORN], verdicts[SL_SLOT_DAMAGED], verdicts[SL_SLOT_EMPTY]);
    if (report->options->pattern)
        fprintf(report->text, "  pattern: %" PRIu64 " frames right, %" PRIu64 " wrong\n", report->pattern_good, report->pattern_bad);
    sl_losses_text(result->lost, losses);
    fprintf(report->text, "  lost while recording: %s\n", losses);
    if (result->marked.frames) {
        sl_marked_text(&result->marked, marked);
        fprintf(report->text, "  kept though bad: %s\n", marked);
    }
    if (damages)
        fprintf(report->text, "  verdict: DAMAGED, %zu finding%s\n", damages, damages == 1 ? "" : "s");
    else
        fprintf(report->text, "  verdict: whole\n");
}

static json_t *file_json(const struct report *report, const char *path, const struct sl_verify_result *result)
{
    const uint64_t *verdicts = result->verdicts;
    char session[33];
    json_t *object;

    sl_session_text(result->info.session, session);
    object = json_pack("{s:s%, s:s, s:i, s:b, s:b, s:I, s:I}", "file", path, strlen(path), "session", session, "segment",
                       (int)result->info.segment, "finished", (int)result->info.finished, "checksum", (int)result->info.checksum, "slots",
                       (json_int_t)result->info.slots, "completed", (json_int_t)result->completed);
    if (!object)
        object = json_object(); /* the name is no UTF-8 text */
    json_object_set_new(object, "frames",
                        json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "good", (json_int_t)verdicts[SL_SLOT_GOOD], "unproven",
                                  (json_int_t)verdicts[SL_SLOT_UNPROVEN], "torn", (json_int_t)verdicts[SL_SLOT_TORN], "damaged",
                                  (json_int_t)verdicts[SL_SLOT_DAMAGED], "empty", (json_int_t)verdicts[SL_SLOT_EMPTY], "undone",
                                  (json_int_t)result->undone));
    if (result->frames) {
        json_object_set_new(object, "first", json_integer((json_int_t)result->first.number));
        json_object_set_new(object, "last", json_integer((json_int_t)result->last.number));
    }
    if (report->options->pattern)
        json_object_set_new(object, "pattern",
                            json_pack("{s:I, s:I}", "right", (json_int_t)report->pattern_good, "wrong", (json_int_t)report->pattern_bad));
    json_object_set_new(object, "lost", sl_losses_json(result->lost));
    json_object_set_new(object, "marked", sl_marked_json(&result->marked));
    json_object_set(object, "gaps", report->gaps);
    json_object_set(object, "notes", report->notes);
    json_object_set(object, "damage", report->damages);
    json_object_set_new(object, "whole", json_boolean(!json_array_size(report->damages)));
    return object;
}

/* A file that could not even be opened. */
static int report_unread(const struct report *report, const char *path, int rc, const struct sl_error *err, json_t *files)
{
    fprintf(stderr, "sluice: verify: %s\n", err->text);
    if (report->options->json)
        json_array_append_new(files, json_pack("{s:s, s:s, s:b}", "file", path, "error", err->text, "whole", 0));
    return rc == -EUCLEAN ? SL_EXIT_LOST : SL_EXIT_FAILED;
}

static int verify_one(const struct verify_options *options, const char *path, struct sl_audit *audit, json_t *files)
{
    struct report report = {.options = options, .text = options->md5 ? stderr : stdout};
    struct sl_verify_sink sink = {.context = &report, .damage = add_damage, .note = add_note, .gap = add_gap};
    struct sl_verify_result result;
    struct sl_error err = {""};
    int rc;

    if (options->pattern || options->md5)
        sink.frame = see_frame;
    report.format = &result.info.format; /* is there before the first frame is seen */
    report.damages = json_array();
    report.notes = json_array();
    report.gaps = json_array();
    if (!options->json)
        fprintf(report.text, "%s\n", path);
    rc = sl_verify_file(path, audit, &sink, &result, &err);
    if (rc) {
        rc = report_unread(&report, path, rc, &err, files);
    } else {
        rc = json_array_size(report.damages) ? SL_EXIT_LOST : SL_EXIT_OK;
        if (options->json)
            json_array_append_new(files, file_json(&report, path, &result));
        else
            print_text(&report, &result);
    }
    json_decref(report.damages);
    json_decref(report.notes);
    json_decref(report.gaps);
    return rc;
}

static int parse_options(int argc, char **argv, struct verify_options *options)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"pattern", no_argument, NULL, 'p'},
                                          {"md5", no_argument, NULL, 'm'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 'j')
            options->json = true;
        else if (c == 'p')
            options->pattern = true;
        else if (c == 'm')
            options->md5 = true;
        else if (c == 'h')
            return -1;
        else
            return SL_EXIT_USAGE;
    }
    if (optind == argc)
        return SL_EXIT_USAGE;
    if (options->md5 && options->json) {
        fputs("sluice: verify: --md5 and --json both want standard output; give one of them\n", stderr);
        return SL_EXIT_USAGE;
    }
    return SL_EXIT_OK;
}

int sl_cmd_verify(int argc, char **argv)
{
    struct verify_options options = {0};
    struct sl_audit audit = {0};
    int worst = SL_EXIT_OK, rc = parse_options(argc, argv, &options);
    json_t *files;

    if (rc) {
        fputs(usage, rc < 0 ? stdout : stderr);
        return rc < 0 ? SL_EXIT_OK : rc;
    }
    if (options.md5 && !sl_digest_available()) {
        fputs("sluice: verify: --md5: not in this build: build it where libcrypto (libssl-dev) is installed\n", stderr);
        return SL_EXIT_FAILED;
    }
    files = json_array();
    for (int i = optind; i < argc; i++) {
        rc = verify_one(&options, argv[i], &audit, files);
        if (rc == SL_EXIT_FAILED || worst == SL_EXIT_OK)
            worst = rc;
    }
    if (options.json) {
        json_t *all = json_pack("{s:b, s:O}", "whole", worst == SL_EXIT_OK, "files", files);

        json_dumpf(all, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(all);
    }
    json_decref(files);
    if (fflush(stdout) == EOF) {
        fprintf(stderr, "sluice: verify: standard output: %s\n", strerror(errno));
        return SL_EXIT_FAILED;
    }
    return worst;
}
