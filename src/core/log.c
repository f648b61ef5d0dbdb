/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum { LINE_BYTES = 1000 };

static const char *const level_names[] = {
    [SL_LOG_ERROR] = "error",
    [SL_LOG_WARNING] = "warning",
    [SL_LOG_INFO] = "info",
    [SL_LOG_DEBUG] = "debug",
};

static enum sl_log_level max_level = SL_LOG_INFO;

void sl_log_set_level(enum sl_log_level level)
{
    max_level = level;
}

void sl_log(enum sl_log_level level, const char *format, ...)
{
    char line[LINE_BYTES + 1]; /* the last place is for the newline */
    size_t length;
    va_list args;
    int n;

    if (level > max_level)
        return;
    length = (size_t)snprintf(line, sizeof(line), "sluice: %s: ", level_names[level]);
    va_start(args, format);
    n = vsnprintf(line + length, sizeof(line) - length, format, args);
    va_end(args);
    if (n < 0)
        return;
    length += (size_t)n;
    if (length > LINE_BYTES - 1)
        length = LINE_BYTES - 1;
    line[length++] = '\n';
    if (write(STDERR_FILENO, line, length) < 0)
        return; /* nobody is left to be told */
}
