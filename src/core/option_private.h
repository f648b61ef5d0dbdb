/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_OPTION_PRIVATE_H
#define SL_CORE_OPTION_PRIVATE_H

#include "core/option.h"

/* What the files of the option engine share: option.c (loading), option_ini.c (the file), option_value.c (one value), option_docs.c. */

enum { SL_OPTION_SHOWN_BYTES = 80 }; /* of a foreign text in a message */

/* One load in progress. */
struct sl_option_loader {
    const struct sl_option_table *table;
    void *config;
    struct sl_option_origins *origins;
    struct sl_option_errors *errors;
    bool no_memory;
};

/* Parses `text` into the option's field. 0, -ENOMEM, or -EINVAL with a sentence; the field is as before when it fails. */
int sl_option_set_value(const struct sl_option *option, void *config, const char *text, struct sl_error *err);

/* A line of its own in the errors. */
void sl_option_error(struct sl_option_errors *errors, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `text` for a message: control characters replaced, cut with "..." at SL_OPTION_SHOWN_BYTES. Returns buf. */
const char *sl_option_shown(const char *text, size_t length, char buf[SL_OPTION_SHOWN_BYTES]);

/* The text of a complaint about an unknown or absent section. The section that was probably meant has its options marked bad. */
void sl_option_describe_unknown_section(struct sl_option_loader *loader, const char *name, char *buf, size_t bytes);
void sl_option_describe_unknown_key(struct sl_option_loader *loader, const char *section, const char *key, char *buf, size_t bytes);

/* Reads the text line by line through inih and sets what it says. */
void sl_option_load_ini(struct sl_option_loader *loader, const char *data, size_t bytes);

#endif
