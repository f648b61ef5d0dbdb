/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Option tables: defaults, then the file (option_ini.c), then --set; errors are collected, never answered by the first one.
 * Thread: whoever loads; nothing is shared. Ownership: the config owns its texts, the origins their array; both are valid for
 * fini whatever the outcome.
 * Invariant: an option that failed keeps its default and is marked bad, so that checks across options can leave it out
 * and a single mistake is told once. A key or section that is misspelt marks what was probably meant.
 * Rejected: parsing straight into the config with a callback per key; names, ranges and help then live in several places.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/option_private.h"

enum { ERROR_LINE_BYTES = 1024, ERROR_TAIL_BYTES = 64, MAX_NAME_BYTES = 48 };

static void note_hidden(struct sl_option_errors *errors)
{
    char *end = errors->err->text + errors->used;

    errors->hidden++;
    snprintf(end, sizeof errors->err->text - errors->used, "\n(%u more errors are not shown)", errors->hidden);
}

static void add_line(struct sl_option_errors *errors, const char *line)
{
    errors->count++;
    if (!errors->err)
        return;

    char *text = errors->err->text;
    size_t room = sizeof errors->err->text - errors->used, length = strlen(line);

    if (errors->hidden || length + ERROR_TAIL_BYTES > room) {
        note_hidden(errors);
        return;
    }
    errors->used += (size_t)snprintf(text + errors->used, room, "%s%s", errors->used ? "\n" : "", line);
}

void sl_option_error(struct sl_option_errors *errors, const char *format, ...)
{
    char line[ERROR_LINE_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    add_line(errors, line);
}

const char *sl_option_shown(const char *text, size_t length, char buf[SL_OPTION_SHOWN_BYTES])
{
    size_t limit = SL_OPTION_SHOWN_BYTES - 1, kept = length > limit ? limit - 3 : length;

    for (size_t i = 0; i < kept; i++)
        buf[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7f ? '?' : text[i];
    memcpy(buf + kept, length > limit ? "..." : "", length > limit ? 4 : 1);
    return buf;
}

int sl_option_find_section(const struct sl_option_table *table, const char *name)
{
    for (unsigned i = 0; i < table->sections; i++)
        if (!strcmp(table->section[i].name, name))
            return (int)i;
    return -1;
}

int sl_option_find(const struct sl_option_table *table, const char *section, const char *key)
{
    for (unsigned i = 0; i < table->options; i++)
        if (!strcmp(table->option[i].section, section) && !strcmp(table->option[i].key, key))
            return (int)i;
    return -1;
}

/* Edits that turn one name into the other, case apart; large when a name is too long to be a slip. */
static unsigned distance(const char *a, const char *b)
{
    size_t rows = strlen(a), columns = strlen(b);
    unsigned row[MAX_NAME_BYTES];

    if (rows >= MAX_NAME_BYTES || columns >= MAX_NAME_BYTES)
        return MAX_NAME_BYTES;
    for (unsigned j = 0; j <= columns; j++)
        row[j] = j;
    for (unsigned i = 1; i <= rows; i++) {
        unsigned diagonal = row[0];

        row[0] = i;
        for (unsigned j = 1; j <= columns; j++) {
            bool same = (a[i - 1] | 0x20) == (b[j - 1] | 0x20);
            unsigned best = diagonal + !same;

            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[columns];
}

/* Two neighbours in the wrong order, the commonest slip, count as one. */
static bool is_swap(const char *a, const char *b)
{
    size_t at = 0;

    while (a[at] && a[at] == b[at])
        at++;
    return a[at] && b[at] && a[at + 1] == b[at] && a[at] == b[at + 1] && !strcmp(a + at + 2, b + at + 2);
}

static bool near(const char *written, const char *name, unsigned *best)
{
    unsigned edits = is_swap(written, name) ? 1 : distance(written, name), limit = strlen(name) <= 4 ? 1 : 2;

    if (edits > limit || edits >= *best)
        return false;
    *best = edits;
    return true;
}

void sl_option_describe_unknown_section(struct sl_option_loader *loader, const char *name, char *buf, size_t bytes)
{
    const struct sl_option_table *table = loader->table;
    unsigned best = MAX_NAME_BYTES;
    char shown[SL_OPTION_SHOWN_BYTES];
    int found = sl_option_find_section(table, name), meant = -1;

    sl_option_shown(name, strlen(name), shown);
    if (found >= 0) {
        snprintf(buf, bytes, "[%s] asks for %s, and this build has none", shown, table->section[found].help);
        return;
    }
    for (unsigned i = 0; i < table->sections; i++)
        if (!table->section[i].absent && near(name, table->section[i].name, &best))
            meant = (int)i;
    if (meant < 0) {
        snprintf(buf, bytes, "unknown section [%s]", shown);
        return;
    }
    snprintf(buf, bytes, "unknown section [%s]; did you mean [%s]?", shown, table->section[meant].name);
    for (unsigned i = 0; i < table->options; i++)
        if (!strcmp(table->option[i].section, table->section[meant].name))
            loader->origins->option[i].bad = true;
}

void sl_option_describe_unknown_key(struct sl_option_loader *loader, const char *section, const char *key, char *buf, size_t bytes)
{
    const struct sl_option_table *table = loader->table;
    unsigned best = MAX_NAME_BYTES;
    char shown[SL_OPTION_SHOWN_BYTES];
    int meant = -1, elsewhere = -1;

    sl_option_shown(key, strlen(key), shown);
    for (unsigned i = 0; i < table->options; i++) {
        if (!strcmp(table->option[i].section, section)) {
            if (near(key, table->option[i].key, &best))
                meant = (int)i;
        } else if (!strcmp(table->option[i].key, key)) {
            elsewhere = (int)i;
        }
    }
    if (elsewhere >= 0) {
        snprintf(buf, bytes, "unknown key %s in [%s]; it belongs in [%s]", shown, section, table->option[elsewhere].section);
        meant = elsewhere;
    } else if (meant >= 0) {
        snprintf(buf, bytes, "unknown key %s in [%s]; did you mean %s?", shown, section, table->option[meant].key);
    } else {
        snprintf(buf, bytes, "unknown key %s in [%s]", shown, section);
    }
    if (meant >= 0)
        loader->origins->option[meant].bad = true;
}

/* "--set" texts in messages are as they were given, cut. */
static void set_error(struct sl_option_loader *loader, const char *set, const char *why)
{
    char shown[SL_OPTION_SHOWN_BYTES];

    sl_option_error(loader->errors, "--set %s: %s", sl_option_shown(set, strlen(set), shown), why);
}

/* Cuts "section.key=value" apart. NULL, or what is wrong with it. */
static const char *split_set(const char *set, char section[MAX_NAME_BYTES], char key[MAX_NAME_BYTES], const char **value)
{
    const char *equals = strchr(set, '='), *dot = strchr(set, '.');

    if (!equals || !dot || dot > equals || dot == set || dot + 1 == equals)
        return "write section.key=value";
    if (dot - set >= MAX_NAME_BYTES || equals - dot > MAX_NAME_BYTES)
        return "the name is too long";
    memcpy(section, set, (size_t)(dot - set));
    section[dot - set] = '\0';
    memcpy(key, dot + 1, (size_t)(equals - dot - 1));
    key[equals - dot - 1] = '\0';
    *value = equals + 1;
    if (!**value)
        return "empty value";
    for (const char *c = *value; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return "a control character in the value";
    if (strlen(*value) >= SL_OPTION_VALUE_BYTES)
        return "value too long";
    return NULL;
}

static void load_set(struct sl_option_loader *loader, const char *set)
{
    char section[MAX_NAME_BYTES], key[MAX_NAME_BYTES], why[512];
    const char *value, *wrong = split_set(set, section, key, &value);
    struct sl_error err = {{0}};

    if (wrong) {
        set_error(loader, set, wrong);
        return;
    }

    int place = sl_option_find_section(loader->table, section), found = sl_option_find(loader->table, section, key);

    if (place < 0 || loader->table->section[place].absent) {
        sl_option_describe_unknown_section(loader, section, why, sizeof why);
        set_error(loader, set, why);
        return;
    }
    loader->origins->section_set[place] = true;
    if (found < 0) {
        sl_option_describe_unknown_key(loader, section, key, why, sizeof why);
        set_error(loader, set, why);
        return;
    }

    int rc = sl_option_set_value(&loader->table->option[found], loader->config, value, &err);

    if (rc == 0) {
        loader->origins->option[found].source = SL_OPTION_SET;
        return;
    }
    loader->no_memory |= rc == -ENOMEM;
    loader->origins->option[found].bad = true;
    set_error(loader, set, err.text);
}

static void load_defaults(struct sl_option_loader *loader)
{
    for (unsigned i = 0; i < loader->table->options; i++) {
        const struct sl_option *option = &loader->table->option[i];
        struct sl_error err = {{0}};
        int rc = option->fallback ? sl_option_set_value(option, loader->config, option->fallback, &err) : 0;

        loader->no_memory |= rc == -ENOMEM;
        if (rc < 0)
            sl_option_error(loader->errors, "default of %s.%s: %s", option->section, option->key, err.text);
    }
}

int sl_option_load(const struct sl_option_table *table, void *config, struct sl_option_origins *origins,
                   const struct sl_option_input *input, struct sl_option_errors *errors)
{
    struct sl_option_loader loader = {.table = table, .config = config, .origins = origins, .errors = errors};
    unsigned before = errors->count;

    memset(config, 0, table->config_bytes);
    memset(origins, 0, sizeof *origins);
    snprintf(origins->path, sizeof origins->path, "%s", input->path);
    origins->option = calloc(table->options, sizeof *origins->option);
    if (!origins->option)
        return -ENOMEM;
    load_defaults(&loader);
    sl_option_load_ini(&loader, input->data, input->bytes);
    for (unsigned i = 0; i < input->sets; i++)
        load_set(&loader, input->set[i]);
    if (loader.no_memory)
        return -ENOMEM;
    return errors->count > before ? -EINVAL : 0;
}

void sl_option_fini(const struct sl_option_table *table, void *config)
{
    for (unsigned i = 0; i < table->options; i++) {
        void *field = (char *)config + table->option[i].offset;

        if (table->option[i].type == SL_OPTION_TEXT)
            free(*(char **)field);
    }
    memset(config, 0, table->config_bytes);
}

void sl_option_origins_fini(struct sl_option_origins *origins)
{
    if (!origins)
        return;
    free(origins->option);
    memset(origins, 0, sizeof *origins);
}

void sl_option_complain(struct sl_option_errors *errors, const struct sl_option_table *table, const struct sl_option_origins *origins,
                        const char *section, const char *key, const char *format, ...)
{
    int found = key ? sl_option_find(table, section, key) : -1, place = sl_option_find_section(table, section);
    unsigned line = place >= 0 && origins->section_line[place] ? origins->section_line[place] : 1;
    char why[ERROR_LINE_BYTES / 2], name[2 * MAX_NAME_BYTES];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    snprintf(name, sizeof name, key ? "%s.%s" : "[%s]", section, key);
    if (found >= 0 && origins->option[found].source == SL_OPTION_SET) {
        sl_option_error(errors, "--set %s: %s", name, why);
        return;
    }
    if (found >= 0 && origins->option[found].source == SL_OPTION_FILE)
        line = origins->option[found].line;
    sl_option_error(errors, "%s:%u: %s: %s", origins->path, line, name, why);
}

void sl_option_format_origin(const struct sl_option_origins *origins, unsigned option, char *buf, size_t bytes)
{
    const struct sl_option_origin *origin = &origins->option[option];

    if (origin->source == SL_OPTION_DEFAULT)
        snprintf(buf, bytes, "default");
    else if (origin->source == SL_OPTION_SET)
        snprintf(buf, bytes, "--set");
    else
        snprintf(buf, bytes, "%s:%u", origins->path, origin->line);
}
