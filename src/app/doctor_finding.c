/* SPDX-License-Identifier: Apache-2.0 */
/* What every check and every repair writes with. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/doctor_check.h"
#include "app/host_file.h"

void sl_doctor_found(struct sl_doctor_finding *finding, enum sl_doctor_state state, const char *format, ...)
{
    va_list args;

    finding->state = state;
    va_start(args, format);
    vsnprintf(finding->found, sizeof finding->found, format, args);
    va_end(args);
}

void sl_doctor_why(struct sl_doctor_finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(finding->why, sizeof finding->why, format, args);
    va_end(args);
}

void sl_doctor_cure(struct sl_doctor_finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(finding->cure, sizeof finding->cure, format, args);
    va_end(args);
}

void sl_doctor_add(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + used, bytes - used, format, args);
    va_end(args);
}

void sl_doctor_failed(struct sl_doctor_repair *repair, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(repair->failed, sizeof repair->failed, format, args);
    va_end(args);
}

int sl_doctor_set(const struct sl_doctor *doctor, struct sl_doctor_repair *repair, const char *path, const char *value)
{
    char before[160], name[PATH_MAX];
    int rc;

    if (repair->steps == SL_DOCTOR_STEPS || snprintf(name, sizeof name, "%s%s", doctor->root, path) >= (int)sizeof name)
        return -ENOSPC;
    if (!sl_host_word(doctor->root, path, before, sizeof before)) {
        sl_doctor_failed(repair, "%s cannot be read", path);
        return -EIO;
    }
    (void)sl_host_choice(before);
    rc = doctor->ops->write(doctor->ops->self, name, value);
    if (rc < 0) {
        sl_doctor_failed(repair, "%s: writing %s: %s%s", path, value, strerror(-rc),
                         rc == -EACCES || rc == -EPERM ? "; --fix needs root" : "");
        return rc;
    }
    snprintf(repair->step[repair->steps].did, sizeof repair->step[0].did, "wrote %s to %s, which was %s", value, path, before);
    snprintf(repair->step[repair->steps].undo, sizeof repair->step[0].undo, "echo %s >%s", before, path);
    repair->steps++;
    return 0;
}
