/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reference file and the reference page, written from the table. Both are kept in the repository and compared with what the
 * binary prints, so nothing here may depend on time, locale or machine.
 */
#include <string.h>

#include "core/option_private.h"

enum { COMMENT_COLUMNS = 100 };

static const char *type_syntax(const struct sl_option *option)
{
    if (option->syntax)
        return option->syntax;
    switch (option->type) {
    case SL_OPTION_TEXT:
        return "text";
    case SL_OPTION_BOOL:
        return "yes, no";
    case SL_OPTION_ENUM:
        return ""; /* the names, below */
    case SL_OPTION_INTEGER:
        return "number";
    case SL_OPTION_BYTES:
        return "size with unit";
    case SL_OPTION_DURATION:
        return "time with unit";
    case SL_OPTION_RATE:
        return "N or N/D";
    case SL_OPTION_SIZE:
        return "WxH";
    case SL_OPTION_CUSTOM:
        break;
    }
    return "";
}

/* "number or any", "yes, no", "keep, drop" */
static void describe_value(const struct sl_option *option, char *buf, size_t bytes)
{
    size_t used = (size_t)snprintf(buf, bytes, "%s", type_syntax(option));

    for (unsigned i = 0; !option->syntax && option->names && option->names[i] && used < bytes; i++)
        used += (size_t)snprintf(buf + used, bytes - used, "%s%s", i ? ", " : "", option->names[i]);
    if (!option->syntax && option->word && used < bytes)
        snprintf(buf + used, bytes - used, " or %s", option->word);
}

/* `text` as comment lines of at most COMMENT_COLUMNS. */
static void print_comment(const char *text, FILE *to)
{
    size_t column = 0;

    while (*text) {
        size_t word = strcspn(text, " ");

        if (column && column + 1 + word > COMMENT_COLUMNS) {
            fputc('\n', to);
            column = 0;
        }
        column += (size_t)fprintf(to, "%s%.*s", column ? " " : "# ", (int)word, text);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', to);
}

static void print_option(const struct sl_option *option, FILE *to)
{
    char value[256], range[128], line[512];

    describe_value(option, value, sizeof value);
    sl_option_format_range(option, range, sizeof range);
    snprintf(line, sizeof line, "(%s%s%s)", value, value[0] && range[0] ? "; " : "", range);
    fputc('\n', to);
    print_comment(option->help, to);
    print_comment(line, to);
    if (option->fallback)
        fprintf(to, "%s = %s\n", option->key, option->fallback);
    else
        fprintf(to, "%s%s = %s\n", option->usual ? "" : ";", option->key, option->example ? option->example : "");
}

void sl_option_print_reference(const struct sl_option_table *table, FILE *to)
{
    for (unsigned s = 0; s < table->sections; s++) {
        const struct sl_option_section *section = &table->section[s];

        if (section->absent)
            continue;
        fputc('\n', to);
        print_comment(section->help, to);
        fprintf(to, "[%s]\n", section->name);
        for (unsigned i = 0; i < table->options; i++)
            if (!strcmp(table->option[i].section, section->name))
                print_option(&table->option[i], to);
    }
}

/* A table cell: `|` would end it. */
static void print_cell(const char *text, FILE *to)
{
    fputs("| ", to);
    for (; *text; text++)
        fprintf(to, "%s%c", *text == '|' ? "\\" : "", *text);
    fputc(' ', to);
}

static void print_row(const struct sl_option *option, FILE *to)
{
    char value[256], range[128];

    describe_value(option, value, sizeof value);
    sl_option_format_range(option, range, sizeof range);
    fprintf(to, "| `%s` ", option->key);
    print_cell(value, to);
    print_cell(range, to);
    if (option->fallback)
        fprintf(to, "| `%s` ", option->fallback);
    else
        fputs("| not set ", to);
    print_cell(option->help, to);
    fputs("|\n", to);
}

void sl_option_print_docs(const struct sl_option_table *table, FILE *to)
{
    for (unsigned s = 0; s < table->sections; s++) {
        const struct sl_option_section *section = &table->section[s];

        if (section->absent)
            continue;
        fprintf(to, "\n## [%s]\n\n%s\n\n| key | value | range | default | meaning |\n|---|---|---|---|---|\n", section->name,
                section->help);
        for (unsigned i = 0; i < table->options; i++)
            if (!strcmp(table->option[i].section, section->name))
                print_row(&table->option[i], to);
    }
}
