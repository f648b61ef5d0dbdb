/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_COMMANDS_H
#define SL_APP_COMMANDS_H

/* The subcommands. Each takes what follows its name (argv[0] is the name itself) and returns the process's exit code. */

enum sl_exit {
    SL_EXIT_OK = 0,     /* done, nothing lost */
    SL_EXIT_FAILED = 1, /* could not be done */
    SL_EXIT_USAGE = 2,  /* bad usage or bad config; nothing was started */
    SL_EXIT_LOST = 3    /* done, but frames were lost, or damage was found */
};

int sl_cmd_run(int argc, char **argv);
int sl_cmd_check(int argc, char **argv);
int sl_cmd_doctor(int argc, char **argv);
int sl_cmd_probe(int argc, char **argv);
int sl_cmd_show(int argc, char **argv);
int sl_cmd_verify(int argc, char **argv);
int sl_cmd_repair(int argc, char **argv);
int sl_cmd_export(int argc, char **argv);
int sl_cmd_bench(int argc, char **argv);

#endif
