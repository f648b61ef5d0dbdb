/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "app/bench.h"
#include "app/commands.h"

static const struct {
    const char *name;
    const char *about;
    int (*run)(int argc, char **argv);
} benches[] = {
    {"writer", "the recorder alone: frames in memory to a durable file", sl_bench_writer},
    {"appliance", "the whole appliance with the test pattern as its sensor", sl_bench_appliance},
};
enum { BENCHES = sizeof(benches) / sizeof(benches[0]) };

static int help(FILE *to)
{
    fputs("usage: sluice bench NAME [OPTIONS]; sluice bench NAME --help\n\n", to);
    for (unsigned i = 0; i < BENCHES; i++)
        fprintf(to, "  %-10s %s\n", benches[i].name, benches[i].about);
    return to == stdout ? SL_EXIT_OK : SL_EXIT_USAGE;
}

/* The name is the first argument; what follows it is the benchmark's. */
int sl_cmd_bench(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return help(stdout);
    for (unsigned i = 0; argc > 1 && i < BENCHES; i++)
        if (strcmp(argv[1], benches[i].name) == 0)
            return benches[i].run(argc - 1, argv + 1);
    if (argc > 1)
        fprintf(stderr, "sluice: bench: there is no benchmark '%s'\n", argv[1]);
    return help(stderr);
}
