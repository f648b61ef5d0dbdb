/* SPDX-License-Identifier: Apache-2.0 */
/* sluice doctor: what on this machine will cost frames, and what cures it. Opens no video device and starts nothing. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/commands.h"
#include "app/config.h"
#include "app/doctor.h"

enum { MAX_SETS = 64 };

static const char usage[] =
    "usage: sluice doctor [CONFIG] [--json] [--fix] [--set section.key=value]...\n\n"
    "What on this machine costs frames, speed or margin for this config: what was found, why it matters, and the command that cures it.\n"
    "Without CONFIG: 1080p60 of two bytes a pixel, one second of ring, recorded to the current directory.\n\n"
    "  --json     one JSON object, for programs\n"
    "  --fix      changes what is safe: what one command undoes, which is told, and what a restart forgets. Needs root\n"
    "  --set S.K=V  a value in place of the file's, as run takes it\n"
    "exit codes: 0 nothing that costs frames; 1 failed; 2 bad usage, or an error in the file; 3 something costs frames\n";

/* For the machine alone: a camera like those this project is made for. */
static const char no_config[] = "[sensor]\ndevice = /dev/video0\n[record]\ndir = .\n";

struct doctor_args {
    const char *config_path;
    const char *set[MAX_SETS];
    unsigned sets;
    bool json, fix;
};

/* 0, or the exit code + 1 when there is nothing left to do. */
static int parse_args(struct doctor_args *args, int argc, char **argv)
{
    static const struct option table[] = {{"json", no_argument, NULL, 'j'},
                                          {"fix", no_argument, NULL, 'f'},
                                          {"set", required_argument, NULL, 'S'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        if (c == 'j') {
            args->json = true;
        } else if (c == 'f') {
            args->fix = true;
        } else if (c == 'S' && args->sets < MAX_SETS) {
            args->set[args->sets++] = optarg;
        } else {
            fputs(usage, c == 'h' ? stdout : stderr);
            return (c == 'h' ? SL_EXIT_OK : SL_EXIT_USAGE) + 1;
        }
    }
    if (argc - optind > 1) {
        fputs(usage, stderr);
        return SL_EXIT_USAGE + 1;
    }
    args->config_path = argv[optind]; /* NULL: none */
    return 0;
}

static int load(struct sl_config *config, const struct doctor_args *args, struct sl_error *err)
{
    if (args->config_path)
        return sl_config_load(config, NULL, args->config_path, args->set, args->sets, err);
    return sl_config_parse(config, NULL, "(no config)", no_config, sizeof no_config - 1, args->set, args->sets, err);
}

static int examine(const struct sl_config *config, const struct doctor_args *args)
{
    struct sl_doctor_report report;
    json_t *object;
    int code;

    if (sl_doctor_examine(&report, config, "", &sl_doctor_kernel, args->fix) < 0) {
        fputs("sluice: doctor: out of memory\n", stderr);
        return SL_EXIT_FAILED;
    }
    code = sl_doctor_exit(&report);
    if (args->json) {
        object = sl_doctor_json(&report, args->config_path);
        if (!object || json_dumpf(object, stdout, JSON_INDENT(2)) < 0) {
            fputs("sluice: doctor: a name on this machine is no UTF-8 text, which JSON must be\n", stderr);
            code = SL_EXIT_FAILED;
        }
        putchar('\n');
        json_decref(object);
    } else {
        sl_doctor_print(stdout, &report, args->config_path);
    }
    sl_doctor_report_fini(&report);
    return code;
}

int sl_cmd_doctor(int argc, char **argv)
{
    struct doctor_args args = {.json = false};
    int code = parse_args(&args, argc, argv);
    struct sl_config config;
    struct sl_error err = {""};

    if (code)
        return code - 1;
    if (load(&config, &args, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return SL_EXIT_USAGE;
    }
    code = examine(&config, &args);
    sl_config_fini(&config);
    return code;
}
