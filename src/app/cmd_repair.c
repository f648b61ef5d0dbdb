/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#include "app/commands.h"
#include "writer/recording.h"

static const char usage[] =
    "usage: sluice repair FILE\n\n"
    "Makes a recording whole that was not closed, or was torn by a power cut: slots without a whole frame become Void, index,\n"
    "sizes and duration are written, and what was only reserved is cut off. A frame whose record and checksum are right is kept, also\n"
    "when the Void before its record is damaged: that is written again. In a recording that was closed only structure, index and head\n"
    "are looked at, and payloads are not read: sluice verify does that. A file without a whole frame is refused. In place; no frame that "
    "is there is touched, and\n"
    "each step is said before it is done. It can be broken off and run again at any time. Files that a killed run left beside it with\n"
    "no recording in them (FILE.next, made ready; FILE.gone, half removed) are removed, unless a process still has them.\n";

static void say(void *context, const char *line)
{
    (void)context;
    puts(line);
    fflush(stdout);
}

int sl_cmd_repair(int argc, char **argv)
{
    static const struct option table[] = {{"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    struct sl_repair repair;
    struct sl_error err = {""};
    int c;

    while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1) {
        fputs(usage, c == 'h' ? stdout : stderr);
        return c == 'h' ? SL_EXIT_OK : SL_EXIT_USAGE;
    }
    if (argc - optind != 1) {
        fputs(usage, stderr);
        return SL_EXIT_USAGE;
    }
    if (sl_recording_repair(argv[optind], say, NULL, &repair, &err)) {
        fprintf(stderr, "sluice: repair: %s\n", err.text);
        return SL_EXIT_FAILED;
    }
    if (repair.damaged) {
        printf("%s: %" PRIu64 " frames are whole, %" PRIu64 " are damaged and were left as they are\n", argv[optind], repair.frames,
               repair.damaged);
        return SL_EXIT_LOST;
    }
    if (repair.already_whole)
        printf("%s: the structure is whole, %" PRIu64 " frames; nothing was changed; payloads were not read: see sluice verify\n",
               argv[optind], repair.frames);
    else if (!repair.payloads_read)
        printf("%s: the structure is whole again, %" PRIu64 " frames indexed; payloads were not read: see sluice verify\n", argv[optind],
               repair.frames);
    else
        printf("%s: %" PRIu64 " frames kept and indexed, %" PRIu64 " torn, %" PRIu64 " bytes cut off\n", argv[optind], repair.frames,
               repair.torn, repair.cut_bytes);
    return SL_EXIT_OK;
}
