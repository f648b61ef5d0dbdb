/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#undef sl_fail /* macros for the analyzer only */
#undef sl_fail_context

/* Text is built beside the error first: an argument may well be err->text itself. */
int sl_fail(struct sl_error *err, int code, const char *format, ...)
{
    char text[sizeof(err->text)];
    va_list args;

    if (!err)
        return code;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    memcpy(err->text, text, strlen(text) + 1);
    return code;
}

int sl_fail_context(struct sl_error *err, int code, const char *format, ...)
{
    char old[sizeof(err->text)];
    char context[sizeof(err->text)];
    va_list args;

    if (!err)
        return code;
    memcpy(old, err->text, sizeof(old));
    va_start(args, format);
    vsnprintf(context, sizeof(context), format, args);
    va_end(args);
    /* too long a chain loses its end, and shows it */
    if (snprintf(err->text, sizeof(err->text), "%s: %s", context, old) >= (int)sizeof(err->text))
        err->text[sizeof(err->text) - 2] = '~';
    return code;
}
