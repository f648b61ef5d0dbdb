/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice show`: what a recording holds, from its header pages alone. Payloads are read only where nothing else vouches for a
 * frame, so that a file of an hour is shown in a moment; `verify` reads everything.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/recording_text.h"
#include "writer/audit.h"
#include "writer/recording.h"

/* The text lists so many gaps; --json has them all. */
enum { GAPS_IN_TEXT = 40 };

struct contents {
    const struct sl_recording_info *info;
    struct sl_audit audit;
    struct sl_frame_record first, last;
    struct sl_marked marked;
    uint64_t frames, torn, damaged, empty;
    json_t *gaps;
};

static const char usage[] =
    "usage: sluice show FILE [--json]\n\n"
    "What a recording holds: format, frames, times, gaps and losses by cause. Reads the header page of each frame; to check\n"
    "every byte, use sluice verify.\n";

static void add_frame(struct contents *contents, const struct sl_frame_record *record)
{
    struct sl_audit_gap gap;

    sl_audit_frame(&contents->audit, record, &gap);
    if (gap.count || gap.holes)
        json_array_append_new(contents->gaps, sl_gap_json(&gap));
    sl_marked_add(&contents->marked, record);
    if (!contents->frames++)
        contents->first = *record;
    contents->last = *record;
}

static void read_contents(struct sl_recording *recording, struct contents *contents)
{
    memset(contents, 0, sizeof *contents);
    contents->info = sl_recording_info(recording);
    contents->gaps = json_array();
    sl_audit_init(&contents->audit, contents->info->segment == 1);
    for (uint64_t slot = 0; slot < contents->info->slots; slot++) {
        struct sl_frame_record record;
        enum sl_slot_verdict verdict = sl_recording_slot(recording, slot, false, &record);

        switch (verdict) {
        case SL_SLOT_GOOD:
        case SL_SLOT_UNPROVEN:
            add_frame(contents, &record);
            continue;
        case SL_SLOT_EMPTY:
            contents->empty++;
            break;
        case SL_SLOT_TORN:
            contents->torn++;
            break;
        case SL_SLOT_DAMAGED:
            contents->damaged++;
            break;
        }
        sl_audit_hole(&contents->audit, verdict == SL_SLOT_EMPTY && sl_recording_must_hold(recording, slot));
    }
}

static double seconds_of(const struct contents *contents)
{
    const struct sl_rational fps = contents->info->format.fps;
    double period = fps.num ? (double)fps.den / fps.num : 0;

    return contents->frames ? (double)contents->last.time_ns / 1e9 + period : 0;
}

/* From the driver's timestamps; 0 when one frame or none is there. */
static double measured_fps(const struct contents *contents)
{
    double span = ((double)contents->last.monotonic_ns - (double)contents->first.monotonic_ns) / 1e9;
    double steps = (double)(contents->last.number - contents->first.number);

    return contents->frames > 1 && span > 0 ? steps / span : 0;
}

static json_t *format_json(const struct sl_recording_info *info)
{
    const struct sl_video_format *format = &info->format;
    const struct sl_colour *colour = &format->colour;

    return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:{s:i, s:i, s:i, s:s}}", "pixel", format->pixel->name, "width",
                     (int)format->width, "height", (int)format->height, "bytesperline", (int)format->bytesperline[0], "frame_bytes",
                     (int)format->frame_bytes, "fps_num", (int)format->fps.num, "fps_den", (int)format->fps.den, "interlaced",
                     (int)format->interlaced, "colour", "primaries", colour->primaries, "transfer", colour->transfer, "matrix",
                     colour->matrix, "range",
                     colour->range == 1   ? "broadcast"
                     : colour->range == 2 ? "full"
                                          : "unspecified");
}

static int show_json(const char *path, const struct contents *contents)
{
    const struct sl_recording_info *info = contents->info;
    char session[33], started[SL_UTC_TEXT];
    json_t *object;

    sl_session_text(info->session, session);
    sl_utc_text(info->utc_ns, started);
    object = json_pack("{s:s, s:o, s:s, s:s, s:s, s:i, s:b, s:b, s:I, s:I, s:I}", "file", path, "format", format_json(info), "device",
                       info->description, "writer", info->writer, "session", session, "segment", (int)info->segment, "finished",
                       (int)info->finished, "checksum", (int)info->checksum, "slot_bytes", (json_int_t)info->slot_bytes, "file_bytes",
                       (json_int_t)info->file_bytes, "slots", (json_int_t)info->slots);
    if (!object) {
        fprintf(stderr, "sluice: show: %s: its name is no UTF-8 text, which JSON must be\n", path);
        return SL_EXIT_FAILED;
    }
    json_object_set_new(object, "started_utc", info->utc_ns ? json_string(started) : json_null());
    json_object_set_new(object, "frames", json_integer((json_int_t)contents->frames));
    json_object_set_new(object, "torn", json_integer((json_int_t)contents->torn));
    json_object_set_new(object, "damaged", json_integer((json_int_t)contents->damaged));
    json_object_set_new(object, "empty_slots", json_integer((json_int_t)contents->empty));
    if (contents->frames) {
        json_object_set_new(object, "first", json_integer((json_int_t)contents->first.number));
        json_object_set_new(object, "last", json_integer((json_int_t)contents->last.number));
    }
    json_object_set_new(object, "seconds", json_real(seconds_of(contents)));
    json_object_set_new(object, "fps_measured", json_real(measured_fps(contents)));
    json_object_set_new(object, "lost", sl_losses_json(contents->audit.lost));
    json_object_set_new(object, "unexplained", json_integer((json_int_t)sl_audit_unexplained(&contents->audit)));
    json_object_set_new(object, "marked", sl_marked_json(&contents->marked));
    json_object_set(object, "gaps", contents->gaps);
    json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(object);
    return SL_EXIT_OK;
}

static void show_format(const struct sl_recording_info *info)
{
    const struct sl_video_format *format = &info->format;
    char colour[SL_COLOUR_TEXT];

    sl_colour_text(&format->colour, colour);
    printf("format    %s %ux%u%s, %u bytes a line, %u a frame\n", format->pixel->name, format->width, format->height,
           format->interlaced ? " interlaced" : "", format->bytesperline[0], format->frame_bytes);
    if (format->fps.den == 1)
        printf("rate      %u fps", format->fps.num);
    else
        printf("rate      %u/%u fps", format->fps.num, format->fps.den);
    printf(" nominal\ncolour    %s\n", colour);
}

static void show_state(const struct contents *contents, const char *path)
{
    const struct sl_recording_info *info = contents->info;

    if (!contents->frames && !contents->damaged && !(info->finished && contents->torn))
        printf("state     no %sframe in it; unless a run is still writing it, it can be deleted\n", contents->torn ? "whole " : "");
    else if (info->finished && !contents->torn && !contents->damaged && !sl_audit_unexplained(&contents->audit))
        puts("state     whole");
    else if (info->finished)
        printf("state     damaged; \"sluice verify %s\" says where\n", path);
    else
        printf("state     not closed; \"sluice repair %s\" does that\n", path);
    if (contents->torn || contents->damaged || contents->empty)
        printf("slots     %" PRIu64 " torn, %" PRIu64 " damaged, %" PRIu64 " without a frame, of %" PRIu64 "\n", contents->torn,
               contents->damaged, contents->empty, info->slots);
}

static void show_gaps(const struct contents *contents)
{
    size_t count = json_array_size(contents->gaps);

    for (size_t i = 0; i < count; i++) {
        json_t *gap = json_array_get(contents->gaps, i);
        uint64_t first = (uint64_t)json_integer_value(json_object_get(gap, "first"));
        uint64_t missing = (uint64_t)json_integer_value(json_object_get(gap, "count"));
        uint64_t lost[SL_LOSS_COUNT];
        char text[SL_LOSSES_TEXT];

        if (i == GAPS_IN_TEXT) {
            printf("          … and %zu more; --json has them all\n", count - i);
            return;
        }
        for (unsigned cause = 0; cause < SL_LOSS_COUNT; cause++)
            lost[cause] = (uint64_t)json_integer_value(json_object_get(json_object_get(gap, "lost"), sl_loss_name(cause)));
        sl_losses_text(lost, text);
        printf("gap       %" PRIu64 " frames from %" PRIu64 ": %s", missing, first, text);
        if (json_integer_value(json_object_get(gap, "paused")))
            printf(", %" JSON_INTEGER_FORMAT " not to be recorded", json_integer_value(json_object_get(gap, "paused")));
        if (json_integer_value(json_object_get(gap, "slots_without_frame")))
            printf(", %" JSON_INTEGER_FORMAT " slots without a frame", json_integer_value(json_object_get(gap, "slots_without_frame")));
        putchar('\n');
    }
}

static void show_text(const char *path, const struct contents *contents)
{
    const struct sl_recording_info *info = contents->info;
    char text[SL_LOSSES_TEXT], marked[SL_MARKED_TEXT], session[33];

    printf("file      %s, %" PRIu64 " bytes\n", path, info->file_bytes);
    show_state(contents, path);
    show_format(info);
    printf("device    %s\n", info->description);
    sl_session_text(info->session, session);
    printf("session   %s, segment %u, by %s\n", session, info->segment, info->writer);
    sl_utc_text(info->utc_ns, text);
    printf("started   %s\n", info->utc_ns ? text : "not recorded");
    printf("checksum  %s\n", info->checksum ? "CRC-32 of every frame" : "none on the frames, CRC-32 on their header pages");
    printf("frames    %" PRIu64, contents->frames);
    if (contents->frames)
        printf(", numbers %" PRIu64 "…%" PRIu64 ", %.3f s, %.4f fps by their timestamps", contents->first.number, contents->last.number,
               seconds_of(contents), measured_fps(contents));
    sl_losses_text(contents->audit.lost, text);
    printf("\nlost      %s\n", text);
    if (sl_audit_unexplained(&contents->audit))
        printf("          %" PRIu64 " frames missing without a cause\n", sl_audit_unexplained(&contents->audit));
    if (contents->marked.frames) {
        sl_marked_text(&contents->marked, marked);
        printf("marked    %s (bad, and kept)\n", marked);
    }
    show_gaps(contents);
}

int sl_cmd_show(int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct sl_recording *recording;
    struct contents contents;
    struct sl_error err = {""};
    bool json = false;
    int c, rc = SL_EXIT_OK;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c != 'j') {
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? SL_EXIT_OK : SL_EXIT_USAGE;
        }
        json = true;
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return SL_EXIT_USAGE;
    }
    if (sl_recording_open(&recording, argv[optind], &err)) {
        fprintf(stderr, "sluice: show: %s\n", err.text);
        return SL_EXIT_FAILED;
    }
    read_contents(recording, &contents);
    if (json)
        rc = show_json(argv[optind], &contents);
    else
        show_text(argv[optind], &contents);
    json_decref(contents.gaps);
    sl_recording_close(recording);
    return rc;
}
