/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice probe`: what the video devices of this machine can do. Looks and tries, and changes nothing of what is set.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/probe_text.h"

struct wish {
    bool json;
    bool config;
};

static const char usage[] =
    "usage: sluice probe [DEVICE] [--json] [--config]\n\n"
    "What a video device offers: inputs, DV timings and the signal, formats, sizes and rates, which memory it takes and why not,\n"
    "controls. Without DEVICE: every device there is. Nothing of the device is changed; one that streams for another program is not\n"
    "disturbed.\n\n"
    "  --json    a JSON array with one object for each device\n"
    "  --config  a config file for the device, ready for sluice run\n";

static int print_json(json_t *list)
{
    json_dumpf(list, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(list);
    return SL_EXIT_OK;
}

/* Adds the report to `list`, or prints it. */
static int show(const struct sl_probe_report *report, const struct wish *wish, json_t *list)
{
    struct sl_error err = {""};
    json_t *object;

    if (wish->config) {
        if (!sl_probe_print_config(stdout, report, &err))
            return SL_EXIT_OK;
        fprintf(stderr, "sluice: probe: %s\n", err.text);
        return SL_EXIT_FAILED;
    }
    if (!wish->json) {
        sl_probe_print(stdout, report);
        return SL_EXIT_OK;
    }
    object = sl_probe_json(report);
    if (!object || json_array_append_new(list, object)) {
        fprintf(stderr, "sluice: probe: %s: the driver's names are no UTF-8 text, which JSON must be\n", report->path);
        return SL_EXIT_FAILED;
    }
    return SL_EXIT_OK;
}

static int probe_one(const char *path, const struct wish *wish)
{
    struct sl_probe_report *report;
    struct sl_error err = {""};
    json_t *list;
    int rc;

    if (sl_probe_device(&report, path, &err)) {
        fprintf(stderr, "sluice: probe: %s\n", err.text);
        return SL_EXIT_FAILED;
    }
    list = wish->json ? json_array() : NULL;
    rc = show(report, wish, list);
    sl_probe_free(report);
    if (list && rc == SL_EXIT_OK)
        return print_json(list);
    json_decref(list);
    return rc;
}

/* Every node; one that is no capture device is passed over, but not in silence. */
static int probe_each(char **paths, int count, const struct wish *wish)
{
    json_t *list = wish->json ? json_array() : NULL;
    int shown = 0, rc = SL_EXIT_OK;

    for (int i = 0; i < count && rc == SL_EXIT_OK && !(wish->config && shown); i++) {
        struct sl_probe_report *report;
        struct sl_error err = {""};
        int ret = sl_probe_device(&report, paths[i], &err);

        if (ret) {
            fprintf(stderr, "sluice: probe: %s\n", err.text);
            continue;
        }
        if (!wish->json && shown++)
            putchar('\n');
        rc = show(report, wish, list);
        sl_probe_free(report);
    }
    if (list && rc == SL_EXIT_OK)
        return print_json(list);
    json_decref(list);
    return rc == SL_EXIT_OK && !shown ? SL_EXIT_FAILED : rc;
}

static int probe_all(const struct wish *wish)
{
    struct sl_error err = {""};
    char **paths;
    int count = sl_probe_list(&paths, &err);
    int rc = SL_EXIT_FAILED;

    if (count < 0)
        fprintf(stderr, "sluice: probe: %s\n", err.text);
    else if (!count)
        fprintf(stderr, "sluice: probe: there is no /dev/video*: no camera or receiver is connected, or its driver is not loaded\n");
    else
        rc = probe_each(paths, count, wish);
    for (int i = 0; i < count; i++)
        free(paths[i]);
    if (count >= 0)
        free(paths);
    return rc;
}

int sl_cmd_probe(int argc, char **argv)
{
    static const struct option table[] = {
        {"json", no_argument, NULL, 'j'}, {"config", no_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct wish wish = {false, false};
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        switch (c) {
        case 'j':
            wish.json = true;
            break;
        case 'c':
            wish.config = true;
            break;
        default:
            fputs(usage, c == 'h' ? stdout : stderr);
            return c == 'h' ? SL_EXIT_OK : SL_EXIT_USAGE;
        }
    }
    if (argc - optind > 1 || (wish.json && wish.config)) {
        fputs(usage, stderr);
        return SL_EXIT_USAGE;
    }
    return optind < argc ? probe_one(argv[optind], &wish) : probe_all(&wish);
}
