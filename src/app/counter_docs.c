/* SPDX-License-Identifier: Apache-2.0 */
/* docs/counters.md from the counter tables of the modules. */
#include "app/config_docs.h"

#include "capture/capture.h"
#include "dma/dma.h"
#include "writer/writer.h"

static void print_table(const char *title, const char *about, const struct sl_counter_def *defs, unsigned count, FILE *to)
{
    fprintf(to, "\n## %s\n\n%s\n\n| counter | unit | meaning |\n|---|---|---|\n", title, about);
    for (unsigned i = 0; i < count; i++)
        fprintf(to, "| `%s` | %s | %s |\n", defs[i].name, defs[i].unit, defs[i].help);
}

void sl_config_print_counters(FILE *to)
{
    fputs("# Counters\n"
          "\n"
          "<!-- Made by `sluice check --print-counters`; change the tables of the modules instead. -->\n"
          "\n"
          "Each counter has one writer and only grows during a run.\n",
          to);
    print_table("Capture", "Kept by the thread that takes frames from the sensor.", sl_capture_counter_defs, SL_CAPTURE_COUNTERS, to);
    print_table("Sink", "Kept for each consumer of frames, by the capture thread.", sl_sink_counter_defs, SL_SINK_COUNTERS, to);
    print_table("Recorder", "Kept by the thread that writes frames.", sl_recorder_counter_defs, SL_RECORDER_COUNTERS, to);
}
