/* SPDX-License-Identifier: Apache-2.0 */
#include "app/summary.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/build_info.h"
#include "app/counters.h"
#include "app/recording_text.h"

static json_t *quantiles(const struct sl_histogram *histogram, bool with_tail)
{
    json_t *object = json_pack("{s:I, s:I}", "p50", (json_int_t)sl_histogram_quantile(histogram, 0.5), "p99",
                               (json_int_t)sl_histogram_quantile(histogram, 0.99));

    if (with_tail)
        json_object_set_new(object, "p999", json_integer((json_int_t)sl_histogram_quantile(histogram, 0.999)));
    json_object_set_new(object, "max", json_integer((json_int_t)sl_counter_read(&histogram->max)));
    return object;
}

json_t *sl_frames_json(const struct sl_account *account)
{
    struct sl_books books;

    sl_account_books(account, &books);
    return json_pack("{s:I, s:I, s:I, s:o, s:b, s:I}", "expected", (json_int_t)books.expected, "captured", (json_int_t)books.captured,
                     "recorded", (json_int_t)books.recorded, "lost", sl_losses_json(books.lost), "balanced", sl_books_balanced(&books),
                     "bad_kept", (json_int_t)account->capture.counter[SL_CAPTURE_BAD_KEPT]);
}

bool sl_summary_zero_copy(const struct sl_account *account)
{
    const struct sl_recorder_path *path = &account->path;

    return path->direct && !path->bounced && account->recorder.counter[SL_RECORDER_BYTES_COPIED] == 0;
}

static json_t *sensor_json(const struct sl_account *account, const char *source)
{
    const struct sl_capture_info *info = &account->sensor;
    char fps[32];

    if (info->format.fps.den == 1)
        snprintf(fps, sizeof fps, "%u", info->format.fps.num);
    else
        snprintf(fps, sizeof fps, "%u/%u", info->format.fps.num, info->format.fps.den);
    return json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:b, s:i, s:i, s:i, s:s, s:i}", "source", source, "device", info->device,
                     "format", info->format.pixel->name, "width", (int)info->format.width, "height", (int)info->format.height, "fps", fps,
                     "memory", account->memory, "pages", account->pages, "zero_copy", sl_summary_zero_copy(account), "slots",
                     (int)account->slots, "indices", (int)info->indices, "ring_frames", (int)account->ring_frames, "granted", info->granted,
                     "openings", (int)account->openings);
}

static json_t *files_json(const struct sl_account *account)
{
    json_t *files = json_array();
    char path[4096];

    for (uint64_t n = 1; sl_recorder_place_segment(&account->recorder, n, path, sizeof path) == 0; n++)
        if (access(path, F_OK) == 0)
            json_array_append_new(files, json_string(path));
    return files;
}

static json_t *record_json(const struct sl_account *account, double seconds)
{
    const struct sl_recorder_path *path = &account->path;
    uint64_t bytes = account->recorder.counter[SL_RECORDER_BYTES];

    return json_pack("{s:o, s:s, s:I, s:f, s:o, s:I, s:b, s:b, s:b, s:b, s:s, s:I, s:I, s:I}", "files", files_json(account), "ledger",
                     account->recorder.ledger_path, "bytes", (json_int_t)bytes, "mb_per_s",
                     seconds > 0 ? (double)bytes / 1e6 / seconds : 0.0, "write_us", quantiles(&account->recorder.write_us, true),
                     "bytes_copied", (json_int_t)account->recorder.counter[SL_RECORDER_BYTES_COPIED], "direct", path->direct, "registered",
                     path->registered, "bounced", path->bounced, "checksum", path->checksum, "reason", path->reason, "segments",
                     (json_int_t)account->recorder.counter[SL_RECORDER_SEGMENTS], "untriggered",
                     (json_int_t)account->recorder.counter[SL_RECORDER_UNTRIGGERED], "submits",
                     (json_int_t)account->recorder.counter[SL_RECORDER_SUBMITS]);
}

json_t *sl_summary_json(const struct sl_account *account, const struct sl_run_facts *facts)
{
    double gb = (double)account->recorder.counter[SL_RECORDER_BYTES] / 1e9;
    double cpu = facts->cpu_user_s + facts->cpu_sys_s;

    return json_pack("{s:s, s:s, s:i, s:s, s:s?, s:o, s:f, s:o, s:o, s:[], s:{s:o, s:o}, s:{s:f, s:f, s:f}, s:{s:s, s:n, s:n, s:n}, s:o}",
                     "version", sl_build_version(), "config", facts->config_path, "exit", facts->exit_code, "reason", facts->reason,
                     "error", facts->error, "sensor", sensor_json(account, facts->source), "seconds", facts->seconds, "frames",
                     sl_frames_json(account), "record", record_json(account, facts->seconds), "streams", "latency_us", "dqbuf_to_submit",
                     quantiles(&account->recorder.submit_us, false), "dqbuf_to_durable", quantiles(&account->recorder.durable_us, false),
                     "cpu", "user_s", facts->cpu_user_s, "sys_s", facts->cpu_sys_s, "s_per_gb", gb > 0 ? cpu / gb : 0.0, "bus", "pmu",
                     "none", "utilisation", "burst_bytes", "verdict", "counters", sl_counters_json(account));
}

json_t *sl_summary_failed_json(const struct sl_run_facts *facts)
{
    return json_pack("{s:s, s:s, s:i, s:s, s:s?}", "version", sl_build_version(), "config", facts->config_path, "exit", facts->exit_code,
                     "reason", facts->reason, "error", facts->error);
}

static int dump(json_t *summary, FILE *file)
{
    errno = 0;
    if (json_dumpf(summary, file, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) < 0 || fputc('\n', file) == EOF || fflush(file) == EOF)
        return errno ? -errno : -EIO;
    return 0;
}

static int dump_to(json_t *summary, const char *path)
{
    FILE *file = fopen(path, "we");
    int code;

    if (!file)
        return -errno;
    code = dump(summary, file);
    if (fclose(file) == EOF && code == 0)
        code = -errno;
    return code;
}

/* Beside the file and then over it, so that no reader finds half of it. */
static int replace(json_t *summary, const char *path)
{
    char temporary[PATH_MAX];
    int code;

    if (snprintf(temporary, sizeof temporary, "%s.part", path) >= (int)sizeof temporary)
        return -ENAMETOOLONG;
    code = dump_to(summary, temporary);
    if (code == 0 && rename(temporary, path) < 0)
        code = -errno;
    if (code < 0)
        unlink(temporary);
    return code;
}

int sl_summary_write(json_t *summary, const char *path, struct sl_error *err)
{
    char target[PATH_MAX];
    struct stat status;
    int code;

    if (!strcmp(path, "-"))
        code = dump(summary, stdout);
    else if (!stat(path, &status) && !S_ISREG(status.st_mode))
        code = dump_to(summary, path); /* a device or a pipe stays what it is */
    else
        code = replace(summary, realpath(path, target) ? target : path);
    return code < 0 ? sl_fail(err, code, "summary %s: %s", path, strerror(-code)) : 0;
}

int sl_summary_writable(const char *path, struct sl_error *err)
{
    char folder[PATH_MAX];
    struct stat status;
    int code = 0;

    if (!strcmp(path, "-"))
        return 0;
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder)
        code = -ENAMETOOLONG;
    else if (!stat(path, &status) && S_ISDIR(status.st_mode))
        code = -EISDIR;
    else if (stat(path, &status) < 0 || S_ISREG(status.st_mode))
        code = access(dirname(folder), W_OK) < 0 ? -errno : 0;
    else
        code = access(path, W_OK) < 0 ? -errno : 0;
    return code < 0 ? sl_fail(err, code, "summary %s: %s", path, strerror(-code)) : 0;
}

void sl_summary_print(const struct sl_account *account, const struct sl_run_facts *facts, FILE *to)
{
    const struct sl_recorder_path *path = &account->path;
    const struct sl_histogram *write_us = &account->recorder.write_us;
    uint64_t bytes = account->recorder.counter[SL_RECORDER_BYTES];
    char losses[SL_LOSSES_TEXT];
    struct sl_books books;

    sl_account_books(account, &books);
    sl_losses_text(books.lost, losses);
    fprintf(to, "frames   expected %llu, recorded %llu, ", (unsigned long long)books.expected, (unsigned long long)books.recorded);
    fprintf(to, "lost %llu%s%s%s, books %s\n", (unsigned long long)sl_books_lost(&books), sl_books_lost(&books) ? " (" : "",
            sl_books_lost(&books) ? losses : "", sl_books_lost(&books) ? ")" : "", sl_books_balanced(&books) ? "balanced" : "NOT BALANCED");
    uint64_t bad_kept = account->capture.counter[SL_CAPTURE_BAD_KEPT];

    if (bad_kept)
        fprintf(to, "bad      %llu frames came with the error flag or too short, and were kept\n", (unsigned long long)bad_kept);
    fprintf(to, "disk     %.2f GB in %.2f s, %.1f MB/s; a write took %.1f ms (median), %.1f ms (p99), %.1f ms (max)\n", (double)bytes / 1e9,
            facts->seconds, facts->seconds > 0 ? (double)bytes / 1e6 / facts->seconds : 0.0,
            (double)sl_histogram_quantile(write_us, 0.5) / 1e3, (double)sl_histogram_quantile(write_us, 0.99) / 1e3,
            (double)sl_counter_read(&write_us->max) / 1e3);
    fprintf(to, "path     %s memory (%s), %s, %s buffers, %s\n", account->memory, account->pages, path->direct ? "O_DIRECT" : "page cache",
            path->registered ? "registered" : "unregistered", path->bounced ? "one copy a frame" : "no copy");
    fprintf(to, "cpu      %.2f s user, %.2f s system\n", facts->cpu_user_s, facts->cpu_sys_s);
}
