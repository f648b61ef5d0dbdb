/* SPDX-License-Identifier: Apache-2.0 */
/* The video nodes of this machine, in the order of their numbers. */
#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "capture/probe.h"

static int by_number(const void *a, const void *b)
{
    long x = strtol(*(char *const *)a + strlen("/dev/video"), NULL, 10);
    long y = strtol(*(char *const *)b + strlen("/dev/video"), NULL, 10);

    return x < y ? -1 : x > y;
}

int sl_probe_list(char ***paths, struct sl_error *err)
{
    glob_t found = {0};
    char **list;
    int count = 0;

    if (glob("/dev/video[0-9]*", GLOB_NOSORT, NULL, &found) == GLOB_NOSPACE)
        return sl_fail(err, -ENOMEM, "probe: out of memory");
    list = calloc(found.gl_pathc + 1, sizeof(*list));
    for (size_t i = 0; list && i < found.gl_pathc; i++) {
        list[count] = strdup(found.gl_pathv[i]);
        if (list[count])
            count++;
    }
    globfree(&found);
    if (!list)
        return sl_fail(err, -ENOMEM, "probe: out of memory");
    qsort(list, (size_t)count, sizeof(*list), by_number);
    *paths = list;
    return count;
}
