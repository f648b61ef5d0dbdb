/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "app/build_info.h"
#include "app/commands.h"

struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *help;
};

static const struct command commands[] = {
    {"run", sl_cmd_run, "record a sensor as a config file says"},
    {"check", sl_cmd_check, "check config files; print every value with its origin, and warnings"},
    {"probe", sl_cmd_probe, "what video devices offer; a config file for one"},
    {"doctor", sl_cmd_doctor, "what on this machine costs frames, and the command that cures it"},
    {"show", sl_cmd_show, "what a recording holds"},
    {"verify", sl_cmd_verify, "read recordings whole; check structure, checksums and books"},
    {"repair", sl_cmd_repair, "make a torn recording whole again"},
    {"export", sl_cmd_export, "pictures (PNG) and pipes (YUV4MPEG2) out of a recording"},
    {"bench", sl_cmd_bench, "built-in benchmarks"},
};

static void print_usage(FILE *to)
{
    fputs("usage: sluice COMMAND [ARGUMENTS]      (sluice COMMAND --help for each)\n\n", to);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
    fputs("\n  --version  version and build options\n"
          "exit codes: 0 done, nothing lost; 1 failed; 2 bad usage or config; 3 done, but frames were lost or damage was found\n",
          to);
}

/* A pipe whose reader went away, or a file at its size limit, is an error of that write and no end of the process. */
static void ignore_write_signals(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

int main(int argc, char **argv)
{
    ignore_write_signals();
    if (argc >= 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))) {
        print_usage(stdout);
        return SL_EXIT_OK;
    }
    if (argc >= 2 && (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V"))) {
        sl_build_info_print(stdout);
        return SL_EXIT_OK;
    }
    if (argc >= 2) {
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
            if (!strcmp(argv[1], commands[i].name))
                return commands[i].run(argc - 1, argv + 1);
        fprintf(stderr, "sluice: \"%s\" is not a command; see sluice --help\n", argv[1]);
        return SL_EXIT_USAGE;
    }
    print_usage(stderr);
    return SL_EXIT_USAGE;
}
