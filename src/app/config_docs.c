/* SPDX-License-Identifier: Apache-2.0 */
/* The words around the generated tables. */
#include "app/config_docs.h"

#include "app/config.h"

void sl_config_print_reference(FILE *to)
{
    fputs("# SPDX-License-Identifier: Apache-2.0\n"
          "# Every option of sluice with its default. Options without a default are commented out, or have an example.\n"
          "# Made by `sluice check --print-reference`: copy it, change the copy.\n",
          to);
    sl_option_print_reference(&sl_config_options, to);
}

void sl_config_print_docs(FILE *to)
{
    fputs("# Config files\n"
          "\n"
          "<!-- Made by `sluice check --print-docs`; change src/app/options.c instead. -->\n"
          "\n"
          "One INI file per sensor. `sluice check FILE` prints every value in effect and where it came from; configs/reference.ini has\n"
          "every option with its default.\n"
          "\n"
          "- `[section]`, then one `key = value` a line. Blanks around names and values do not count, nor does indentation. Case counts.\n"
          "- A line that begins with `;` or `#` is a comment. Behind a value a comment begins with a blank and a semicolon: `fps = 60 ; "
          "note`.\n"
          "- A key line is at most 197 bytes long. UTF-8 byte order mark and CRLF line ends are fine.\n"
          "- Sizes have a unit: `B`, `KiB`, `MiB`, `GiB`, `TiB` (1024) or `kB`, `MB`, `GB`, `TB` (1000). So have times: `ns`, `us`, `ms`, "
          "`s`,\n"
          "  `m`, `h`. `1.5s` and `1.5GiB` are fine; a bare number is an error, except `0`.\n"
          "- Rates are exact: `60` or `60000/1001`. `59.94` is an error that says what to write.\n"
          "- An unknown section or key, a key or section given twice, an empty value, a value out of range, a missing unit, and options "
          "that\n"
          "  contradict each other are errors: each one is told as `FILE:LINE: ...`, exit code 2, and nothing is started.\n"
          "- `--set section.key=value` (run, check) takes the place of a line in the file; of several for one key the last one counts.\n",
          to);
    sl_option_print_docs(&sl_config_options, to);
}
