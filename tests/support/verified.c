/* SPDX-License-Identifier: Apache-2.0 */
#include "support/verified.h"

#include <string.h>

static void add_damage(void *context, const char *line)
{
    struct verified *verified = context;
    size_t used = strlen(verified->text), length = strlen(line);

    if (used + length + 2 > sizeof verified->text)
        return;
    memcpy(verified->text + used, line, length);
    strcpy(verified->text + used + length, "\n");
}

static void add_gap(void *context, const struct sl_audit_gap *gap)
{
    struct verified *verified = context;

    verified->gaps++;
    verified->gap = *gap;
}

static int add_frame(void *context, const struct sl_frame_record *record, const uint8_t *payload)
{
    struct verified *verified = context;

    (void)record;
    (void)payload;
    verified->frames++;
    return 0;
}

void verified_read_on(const char *path, struct sl_audit *audit, struct verified *verified)
{
    const struct sl_verify_sink sink = {.context = verified, .damage = add_damage, .gap = add_gap, .frame = add_frame};
    struct sl_error err = {""};

    memset(verified, 0, sizeof *verified);
    verified->rc = sl_verify_file(path, audit, &sink, &verified->result, &err);
    memcpy(verified->error, err.text, sizeof verified->error);
}

void verified_read(const char *path, struct verified *verified)
{
    struct sl_audit audit = {0};

    verified_read_on(path, &audit, verified);
}
