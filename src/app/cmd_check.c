/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice check: every value in effect with its origin, then what this machine makes of it. Opens the config files alone. Also
 * prints what is generated from tables: reference file, reference page, counters.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "app/check_host.h"
#include "app/commands.h"
#include "app/config.h"
#include "app/config_docs.h"

enum { MAX_SETS = 64 };

static const char usage[] = "usage: sluice check CONFIG... [--set section.key=value]...\n"
                            "       sluice check --print-reference | --print-docs | --print-counters\n\n"
                            "Checks config files; prints every value in effect with its origin, then notes and warnings about this\n"
                            "machine. Starts nothing, opens no device, creates no file.\n\n"
                            "  --set S.K=V        a value in place of the file's, as run takes it\n"
                            "  --print-reference  a config file with every option and its default\n"
                            "  --print-docs       the page that describes every option, in Markdown\n"
                            "  --print-counters   the page that describes every counter, in Markdown\n"
                            "exit codes: 0 every file is right (warnings or not); 2 bad usage, or an error in a file\n";

struct check_args {
    const char *set[MAX_SETS];
    unsigned sets;
    void (*print)(FILE *to);
    int files; /* moved to the front of argv */
};

/* 0, or the exit code + 1 when there is nothing left to do. */
static int parse_args(struct check_args *args, int argc, char **argv)
{
    bool names_only = false;

    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];

        if (names_only || arg[0] != '-') {
            argv[args->files++] = argv[i];
        } else if (!strcmp(arg, "--help") || !strcmp(arg, "-h")) {
            fputs(usage, stdout);
            return SL_EXIT_OK + 1;
        } else if (!strcmp(arg, "--")) {
            names_only = true;
        } else if (!strcmp(arg, "--print-reference")) {
            args->print = sl_config_print_reference;
        } else if (!strcmp(arg, "--print-docs")) {
            args->print = sl_config_print_docs;
        } else if (!strcmp(arg, "--print-counters")) {
            args->print = sl_config_print_counters;
        } else if (!strcmp(arg, "--set") && i + 1 < argc && args->sets < MAX_SETS) {
            args->set[args->sets++] = argv[++i];
        } else {
            fprintf(stderr, "sluice check: %s: %s; see sluice check --help\n", arg,
                    strcmp(arg, "--set") ? "no such option" : "section.key=value is needed behind it, at most 64 times");
            return SL_EXIT_USAGE + 1;
        }
    }
    if (args->print || args->files)
        return 0;
    fputs(usage, stderr);
    return SL_EXIT_USAGE + 1;
}

/* Columns as wide as their contents, but a long value does not push the origins off the screen. */
static void print_values(const struct sl_config *config, const struct sl_option_origins *origins)
{
    enum { WIDEST = 40 };
    char value[SL_OPTION_VALUE_BYTES], origin[512];
    int names = 0, values = 0;

    for (unsigned i = 0; i < sl_config_options.options; i++) {
        const struct sl_option *option = &sl_config_options.option[i];
        int name = (int)(strlen(option->section) + 1 + strlen(option->key));

        sl_option_format(option, config, value, sizeof value);
        names = name > names ? name : names;
        if ((int)strlen(value) > values)
            values = strlen(value) > WIDEST ? WIDEST : (int)strlen(value);
    }
    for (unsigned i = 0; i < sl_config_options.options; i++) {
        const struct sl_option *option = &sl_config_options.option[i];

        sl_option_format(option, config, value, sizeof value);
        sl_option_format_origin(origins, i, origin, sizeof origin);
        printf("%s.%-*s = %-*s # %s\n", option->section, names - 1 - (int)strlen(option->section), option->key, values,
               *value ? value : "(not set)", origin);
    }
}

static int check_file(const char *path, const struct check_args *args, const struct sl_host *host)
{
    struct sl_option_origins origins;
    struct sl_config config;
    struct sl_error err = {{0}};

    if (sl_config_load(&config, &origins, path, args->set, args->sets, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return SL_EXIT_USAGE;
    }
    if (args->files > 1)
        printf("== %s\n", path);
    print_values(&config, &origins);
    sl_check_host(&config, host, "", stdout);
    sl_option_origins_fini(&origins);
    sl_config_fini(&config);
    return SL_EXIT_OK;
}

int sl_cmd_check(int argc, char **argv)
{
    struct check_args args = {.files = 0};
    int code = parse_args(&args, argc, argv);
    struct sl_host host;

    if (code)
        return code - 1;
    if (args.print) {
        args.print(stdout);
        return SL_EXIT_OK;
    }
    sl_host_read(&host, "");
    for (int i = 0; i < args.files; i++)
        if (check_file(argv[i], &args, &host) != SL_EXIT_OK)
            code = SL_EXIT_USAGE;
    return code;
}
