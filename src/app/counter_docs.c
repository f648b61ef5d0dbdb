/* SPDX-License-Identifier: Apache-2.0 */
/* docs/counters.md from the counter tables of the modules. */
#include "app/config_docs.h"
#include "app/counters.h"

static void print_group(const struct sl_counter_group *group, FILE *to)
{
    if (!group->title)
        return;
    fprintf(to, "\n## %s\n\n%s\n\n| counter | unit | meaning |\n|---|---|---|\n", group->title, group->about);
    for (unsigned i = 0; i < group->count; i++)
        fprintf(to, "| `%s` | %s | %s |\n", group->defs[i].name, group->defs[i].unit, group->defs[i].help);
}

void sl_config_print_counters(FILE *to)
{
    fputs("# Counters\n"
          "\n"
          "<!-- Made by `sluice check --print-counters`; change the tables of the modules instead. -->\n"
          "\n"
          "Each counter has one writer and only grows during a run. All of them are in the run's summary (`sluice run --summary FILE`), "
          "under\n"
          "`counters`, grouped as here; see [summary.md](summary.md).\n",
          to);
    for (unsigned i = 0; i < SL_COUNTER_GROUPS; i++)
        print_group(&sl_counter_groups[i], to);
}
