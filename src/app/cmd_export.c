/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/picture.h"
#include "app/png.h"
#include "app/replay_reader.h"
#include "writer/recording.h"

struct export_options {
    const char *path;
    const char *out;
    bool frame_given;
    bool y4m;
    uint64_t from; /* first frame, or the only one */
    uint64_t count;
};

static const char usage[] =
    "usage: sluice export FILE --frame N OUT.png\n"
    "       sluice export FILE --to y4m OUT [--from N] [--count N]\n\n"
    "Frames are counted from 0, as they are in the file. OUT may be - for standard output.\n"
    "  --frame N   one frame as a PNG; grey and Bayer frames as they are, in grey\n"
    "  --to y4m    YUV4MPEG2, which video tools read from a pipe; packed 4:2:2 becomes planar, no value is changed\n"
    "  --from N    first frame (0)\n"
    "  --count N   how many (all)\n";

static int parse_number(const char *name, const char *text, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoull(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-') {
        fprintf(stderr, "sluice: export: --%s %s: not a whole number from 0\n", name, text);
        return -EINVAL;
    }
    return 0;
}

static int parse_options(int argc, char **argv, struct export_options *options)
{
    enum { FRAME = 1, TO, FROM, COUNT };
    static const struct option table[] = {{"frame", required_argument, NULL, FRAME}, {"to", required_argument, NULL, TO},
                                          {"from", required_argument, NULL, FROM},   {"count", required_argument, NULL, COUNT},
                                          {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    bool range = false;
    int c;

    *options = (struct export_options){.count = UINT64_MAX};
    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case FRAME:
            options->frame_given = true;
            if (parse_number("frame", optarg, &options->from))
                return SL_EXIT_USAGE;
            break;
        case TO:
            options->y4m = true;
            if (strcmp(optarg, "y4m")) {
                fprintf(stderr, "sluice: export: --to %s: only y4m is known\n", optarg);
                return SL_EXIT_USAGE;
            }
            break;
        case FROM:
        case COUNT:
            range = true;
            if (parse_number(c == FROM ? "from" : "count", optarg, c == FROM ? &options->from : &options->count))
                return SL_EXIT_USAGE;
            break;
        case 'h':
            fputs(usage, stdout);
            return -1;
        default:
            fputs(usage, stderr);
            return SL_EXIT_USAGE;
        }
    }
    if (argc - optind != 2 || options->frame_given == options->y4m || (options->frame_given && range)) {
        fputs(usage, stderr);
        return SL_EXIT_USAGE;
    }
    options->path = argv[optind];
    options->out = argv[optind + 1];
    return SL_EXIT_OK;
}

/* What both ways of export work with. */
struct source {
    struct sl_recording *recording;
    struct sl_frame_cursor cursor;
    const struct sl_video_format *format;
    uint8_t *frame;
    uint8_t *planar;
    size_t planar_bytes;
};

static int source_open(struct source *source, const char *path, struct sl_error *err)
{
    int rc = sl_recording_open(&source->recording, path, err);

    if (rc)
        return rc;
    source->format = &sl_recording_info(source->recording)->format;
    sl_frame_cursor_init(&source->cursor, source->recording);
    if (source->format->frame_bytes > sl_recording_info(source->recording)->file_bytes) {
        rc = sl_fail(err, -ENODATA, "%s: there is no whole frame in it", path);
        goto close;
    }
    source->planar_bytes = sl_picture_planar_bytes(source->format);
    source->frame = malloc(source->format->frame_bytes);
    source->planar = malloc(source->planar_bytes);
    if (source->frame && source->planar)
        return 0;
    rc = sl_fail(err, -ENOMEM, "%s: %s", path, strerror(ENOMEM));
    free(source->frame);
    free(source->planar);
close:
    sl_recording_close(source->recording);
    return rc;
}

static void source_close(struct source *source)
{
    free(source->frame);
    free(source->planar);
    sl_recording_close(source->recording);
}

/* Frame `index` as planes. -ENOENT: there are no so many. */
static int source_read(struct source *source, const char *path, uint64_t index, struct sl_frame_record *record, struct sl_error *err)
{
    uint64_t slot;
    int rc = sl_frame_cursor_find(&source->cursor, index, &slot, record);

    if (rc == -ENOENT)
        return sl_fail(err, rc, "%s: no frame %" PRIu64 ": there are %" PRIu64, path, index, source->cursor.index);
    if (!rc)
        rc = sl_recording_payload(source->recording, slot, source->frame, source->format->frame_bytes);
    if (rc)
        return sl_fail(err, rc, "%s: read frame %" PRIu64 ": %s", path, index, strerror(-rc));
    sl_picture_planar(source->format, source->frame, source->planar);
    return 0;
}

static int export_png(struct source *source, const struct export_options *options, FILE *file, struct sl_error *err)
{
    unsigned channels = sl_picture_channels(source->format);
    struct sl_frame_record record;
    uint8_t *rgb;
    int rc = source_read(source, options->path, options->from, &record, err);

    if (rc)
        return rc;
    rgb = malloc((size_t)source->format->width * source->format->height * channels);
    if (!rgb)
        return sl_fail(err, -ENOMEM, "%s: %s", options->path, strerror(ENOMEM));
    sl_picture_rgb(source->format, source->planar, rgb);
    rc = sl_png_write(file, source->format->width, source->format->height, channels, rgb, err);
    free(rgb);
    return rc ? sl_fail_context(err, rc, "write %s", options->out) : 0;
}

static int write_all(FILE *file, const void *data, size_t bytes)
{
    errno = 0;
    if (fwrite(data, 1, bytes, file) == bytes)
        return 0;
    return errno ? -errno : -EIO;
}

static int export_y4m(struct source *source, const struct export_options *options, FILE *file, struct sl_error *err)
{
    struct sl_frame_record record;
    char header[128];
    uint64_t written = 0;
    int rc = sl_picture_y4m_header(source->format, header, sizeof header);

    if (!rc)
        rc = write_all(file, header, strlen(header));
    for (; !rc && written < options->count; written++) {
        rc = source_read(source, options->path, options->from + written, &record, err);
        if (rc == -ENOENT && written)
            break;
        if (rc)
            return rc;
        rc = write_all(file, "FRAME\n", 6);
        if (!rc)
            rc = write_all(file, source->planar, source->planar_bytes);
    }
    if (rc && rc != -ENOENT)
        return sl_fail(err, rc, "write %s: %s", options->out, strerror(-rc));
    fprintf(stderr, "%" PRIu64 " frames written to %s\n", written, options->out);
    return 0;
}

/* A device or pipe that was named as output stays. */
static void discard(const char *path)
{
    struct stat status;

    if (!lstat(path, &status) && S_ISREG(status.st_mode))
        unlink(path);
}

static bool same_file(const char *a, const char *b)
{
    struct stat first, second;

    return !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static int export_to_file(struct source *source, const struct export_options *options, struct sl_error *err)
{
    bool piped = !strcmp(options->out, "-");
    FILE *file;
    int rc;

    if (!piped && same_file(options->path, options->out))
        return sl_fail(err, -EINVAL, "%s: is the recording itself; nothing was written", options->out);
    file = piped ? stdout : fopen(options->out, "wb");
    if (!file) {
        rc = -errno;
        return sl_fail(err, rc, "create %s: %s", options->out, strerror(-rc));
    }
    rc = options->y4m ? export_y4m(source, options, file, err) : export_png(source, options, file, err);
    if ((piped ? fflush(file) : fclose(file)) == EOF && !rc) {
        rc = -errno;
        sl_fail(err, rc, "write %s: %s", options->out, strerror(-rc));
    }
    if (rc && !piped)
        discard(options->out);
    return rc;
}

int sl_cmd_export(int argc, char **argv)
{
    struct export_options options;
    struct source source = {0};
    struct sl_error err = {""};
    int rc = parse_options(argc, argv, &options);

    if (rc)
        return rc < 0 ? SL_EXIT_OK : rc;
    rc = source_open(&source, options.path, &err);
    if (!rc) {
        rc = export_to_file(&source, &options, &err);
        source_close(&source);
    }
    if (rc)
        fprintf(stderr, "sluice: export: %s\n", err.text);
    return rc ? SL_EXIT_FAILED : SL_EXIT_OK;
}
