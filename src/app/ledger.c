/* SPDX-License-Identifier: Apache-2.0 */
#include "app/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/recording_text.h"
#include "core/log.h"

struct sl_ledger {
    const struct sl_clock *clock;
    int fd;
    bool dirty;
    bool complained;
};

int sl_ledger_open(struct sl_ledger **out, const char *path, const struct sl_clock *clock, struct sl_error *err)
{
    struct sl_ledger *ledger = calloc(1, sizeof *ledger);

    if (!ledger)
        return sl_fail(err, -ENOMEM, "no memory for the ledger");
    ledger->clock = clock;
    ledger->fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (ledger->fd < 0) {
        int code = -errno;

        free(ledger);
        return sl_fail(err, code, "ledger %s: %s", path, strerror(-code));
    }
    *out = ledger;
    return 0;
}

static int write_all(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, text, bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text += n;
        bytes -= (size_t)n;
    }
    return 0;
}

static void complain_once(struct sl_ledger *ledger, int code)
{
    if (!ledger->complained)
        sl_log(SL_LOG_ERROR, "ledger: %s; the run goes on, its events are on this terminal only", strerror(-code));
    ledger->complained = true;
}

void sl_ledger_write(struct sl_ledger *ledger, const char *event, json_t *fields)
{
    char when[SL_UTC_TEXT];
    json_t *line;
    char *text;

    sl_utc_text(sl_utc_ns(ledger->clock), when);
    line = json_pack("{s:s, s:s}", "t", when, "event", event);
    if (line && fields)
        json_object_update_missing(line, fields);
    json_decref(fields);
    text = line ? json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9)) : NULL;
    json_decref(line);
    if (!text) {
        complain_once(ledger, -ENOMEM);
        return;
    }
    size_t bytes = strlen(text);

    text[bytes] = '\n'; /* the terminator's place: the line goes out in one write */
    int code = write_all(ledger->fd, text, bytes + 1);

    if (code < 0)
        complain_once(ledger, code);
    free(text);
    ledger->dirty = true;
}

void sl_ledger_sync(struct sl_ledger *ledger)
{
    if (ledger->dirty && fdatasync(ledger->fd) < 0)
        complain_once(ledger, -errno);
    ledger->dirty = false;
}

void sl_ledger_close(struct sl_ledger *ledger)
{
    if (!ledger)
        return;
    sl_ledger_sync(ledger);
    close(ledger->fd);
    free(ledger);
}

void sl_ledger_discard(struct sl_ledger *ledger, const char *path)
{
    sl_ledger_close(ledger);
    unlink(path);
}
