/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_RUN_RIG_H
#define SL_TESTS_RUN_RIG_H

#include <jansson.h>

/* `sluice run` and other commands as a user calls them, inside the test's process, and what they left behind. The files are in the
 * scratch directory, which the test opens and closes. Failures end the test. */

extern char run_out[65536], run_err[65536]; /* of the last command */
extern json_t *run_summary;                 /* of the last run; NULL: it wrote none */
extern json_t *run_ledger;                  /* array of its lines; NULL: there is none */

/* Calls a command with these arguments; those that are NULL are left out. */
int run_command(int (*command)(int, char **), const char *const *arguments, unsigned count);
/* `sluice run` on a config of these lines with up to two more arguments, which may be NULL. The exit code. */
int run_config(const char *lines, const char *a, const char *b);

/* The value at a path of keys, "frames.lost.no_slot"; NULL: there is none. */
json_t *run_at(json_t *object, const char *path);
long long run_number(json_t *object, const char *path);
const char *run_text(json_t *object, const char *path);
/* The ledger's line number `index` among those of this event; NULL: there are not so many. */
json_t *run_line(const char *event, unsigned index);
unsigned run_lines(const char *event); /* how many there are */

void run_forget(void); /* summary and ledger */

#endif
