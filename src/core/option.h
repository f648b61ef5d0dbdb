/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_OPTION_H
#define SL_CORE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

/*
 * Options: one table knows every name, type, range, default and sentence of help; reading a config file, printing what is in
 * effect, the reference file and the reference page are all made from it.
 *
 * Files are INI as inih reads them: `[section]`, `key = value`, a line that begins with ; or # is a comment, and so is what follows
 * ` ;` (blank, semicolon) behind a value. A key line is at most as long as inih's buffer (197 bytes where that is 200).
 * Every error of a file is told, one `FILE:LINE: …` line each; nothing is clamped and nothing guessed.
 *
 * Sections have no instances yet. `[stream NAME]` needs two things here: a flag in sl_option_section, and origins per instance; the
 * reader splits the header into section and name already.
 */

enum sl_option_type {
    SL_OPTION_TEXT,     /* char *, owned by the config; NULL: not set. min, max: length */
    SL_OPTION_BOOL,     /* bool: yes, no */
    SL_OPTION_ENUM,     /* int: index into names */
    SL_OPTION_INTEGER,  /* int64_t, as the next two */
    SL_OPTION_BYTES,    /* "2MiB" */
    SL_OPTION_DURATION, /* "50ms", in ns */
    SL_OPTION_RATE,     /* struct sl_rational: "60000/1001". min, max: thousandths */
    SL_OPTION_SIZE,     /* uint32_t[2]: "1920x1080". min, max: of either */
    SL_OPTION_CUSTOM    /* by parse and format */
};

struct sl_option {
    const char *section;
    const char *key;
    enum sl_option_type type;
    size_t offset; /* of the field in the config; unused by CUSTOM */
    int64_t min, max;
    /* A word that stands for one value in place of a number: word_value for the int64_t types (which min and max need not
     * hold), NULL, {0, 1} or 0×0 for TEXT, RATE and SIZE. NULL: none. */
    const char *word;
    int64_t word_value;
    const char *const *names;  /* ENUM: by value, NULL-terminated */
    const char *const *absent; /* words this build does not have, NULL-terminated; a last * stands for any ending */
    const char *fallback;      /* the default as text; NULL: not set */
    const char *example;       /* for the reference file, where there is no default */
    bool usual;                /* the example is in force in the reference file, not commented out */
    const char *syntax;        /* for the reference page; NULL: the type's own */
    const char *help;          /* one or two sentences */
    int (*parse)(void *config, const char *text, struct sl_error *err);
    void (*format)(const void *config, char *buf, size_t bytes);
};

struct sl_option_section {
    const char *name;
    const char *help;
    bool absent; /* a later release has it: its own error, not "unknown" */
};

struct sl_option_table {
    const struct sl_option *option; /* options of one section in one piece, in the order of `section` */
    unsigned options;
    const struct sl_option_section *section;
    unsigned sections;
    size_t config_bytes;
};

/* Where a value comes from. */
enum sl_option_source { SL_OPTION_DEFAULT, SL_OPTION_FILE, SL_OPTION_SET };
struct sl_option_origin {
    enum sl_option_source source;
    unsigned line; /* FILE */
    bool bad;      /* an error has been told: the value is the default and means nothing */
};

enum { SL_OPTION_MAX_SECTIONS = 16, SL_OPTION_VALUE_BYTES = 4096 };

struct sl_option_origins {
    char path[256];                                /* as given, its end cut when too long */
    unsigned section_line[SL_OPTION_MAX_SECTIONS]; /* of the header, by place in the table; 0: not in the file */
    bool section_set[SL_OPTION_MAX_SECTIONS];      /* some --set names it */
    struct sl_option_origin *option;               /* by place in the table; fini frees it */
};

/* Errors so far: lines in err->text (borrowed, may be NULL), as many as fit; all are counted. */
struct sl_option_errors {
    struct sl_error *err;
    size_t used;
    unsigned count;
    unsigned hidden;
};

/* Reads a whole file of at most 1 MiB into *data (returned, free() it). Regular files only; anything else is refused unopened. */
int sl_option_read_file(const char *path, char **data, size_t *bytes, struct sl_option_errors *errors);

struct sl_option_input {
    const char *path; /* for messages */
    const char *data; /* the file's text */
    size_t bytes;
    const char *const *set; /* "section.key=value"; of several for one key the last one counts */
    unsigned sets;
};

/* Defaults, then the text, then the `set` strings. `config` (config_bytes) and `origins` are written in any case: fini both.
 * -EINVAL when errors->count grew, -ENOMEM. */
int sl_option_load(const struct sl_option_table *table, void *config, struct sl_option_origins *origins,
                   const struct sl_option_input *input, struct sl_option_errors *errors);
void sl_option_fini(const struct sl_option_table *table, void *config);
void sl_option_origins_fini(struct sl_option_origins *origins);

/* Places in the table, -1 when there is none. */
int sl_option_find_section(const struct sl_option_table *table, const char *name);
int sl_option_find(const struct sl_option_table *table, const char *section, const char *key);
/* Adds one line, led by where `section`.`key` got its value (its section's header, else line 1, when it is the default). */
void sl_option_complain(struct sl_option_errors *errors, const struct sl_option_table *table, const struct sl_option_origins *origins,
                        const char *section, const char *key, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* The value in effect as the shortest text that means the same; "" when not set. SL_OPTION_VALUE_BYTES is always enough. */
void sl_option_format(const struct sl_option *option, const void *config, char *buf, size_t bytes);
/* "default", "FILE:LINE" or "--set". */
void sl_option_format_origin(const struct sl_option_origins *origins, unsigned option, char *buf, size_t bytes);
/* "1 to 64", with units; "" where the type has no range. */
void sl_option_format_range(const struct sl_option *option, char *buf, size_t bytes);

/* A config file of all defaults with the help as comments; and a Markdown table per section. */
void sl_option_print_reference(const struct sl_option_table *table, FILE *to);
void sl_option_print_docs(const struct sl_option_table *table, FILE *to);

#endif
