/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Config text through inih. Thread: whoever loads. Ownership: the text is borrowed from the caller.
 *
 * inih tells neither line numbers nor more than one error, takes indented lines for continuations, cuts long names and
 * ignores what follows a `]`. So its line reader is ours: it counts lines, takes white space off both ends, drops blank
 * and comment lines, refuses what inih would misread, and hands over only lines that inih splits as a person would.
 * Rejected: ini_parse(); and a parser of our own, since the file format is then ours to explain.
 */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/option_private.h"

enum { MAX_FILE_BYTES = 1 << 20, NAME_BYTES = 64 };

struct reader {
    struct sl_option_loader *loader;
    const char *text; /* from here on unread */
    const char *end;
    unsigned line;
    bool skip;   /* in a section that was refused */
    bool handed; /* a key line is with inih, which has not called back yet */
    char section[NAME_BYTES];
};

static void complain(struct reader *reader, const char *why)
{
    sl_option_error(reader->loader->errors, "%s:%u: %s", reader->loader->origins->path, reader->line, why);
}

/* A line that could not be read may have been about the option its first word names: no other error should follow from that. */
static void excuse_option(struct reader *reader, const char *line, size_t length)
{
    char key[NAME_BYTES];
    size_t n = 0;

    while (n < length && n < sizeof key - 1 && ((line[n] >= 'a' && line[n] <= 'z') || line[n] == '_'))
        n++;
    memcpy(key, line, n);
    key[n] = '\0';

    int found = sl_option_find(reader->loader->table, reader->section, key);

    if (found >= 0)
        reader->loader->origins->option[found].bad = true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next line without its ends' white space; false at the end of the text. */
static bool next_line(struct reader *reader, const char **line, size_t *length)
{
    const char *start = reader->text;

    if (start == reader->end)
        return false;

    const char *stop = memchr(start, '\n', (size_t)(reader->end - start));

    reader->text = stop ? stop + 1 : reader->end;
    stop = stop ? stop : reader->end;
    reader->line++;
    while (start < stop && is_blank(*start))
        start++;
    while (start < stop && is_blank(stop[-1]))
        stop--;
    *line = start;
    *length = (size_t)(stop - start);
    return true;
}

/* Notes a section header that names a section of ours. */
static void enter_section(struct reader *reader, const char *name)
{
    struct sl_option_loader *loader = reader->loader;
    char why[512];
    int place = sl_option_find_section(loader->table, name);

    if (place < 0 || loader->table->section[place].absent) {
        sl_option_describe_unknown_section(loader, name, why, sizeof why);
        complain(reader, why);
        return;
    }
    if (loader->origins->section_line[place]) {
        snprintf(why, sizeof why, "[%s] began on line %u already", name, loader->origins->section_line[place]);
        complain(reader, why);
        return;
    }
    loader->origins->section_line[place] = reader->line;
    snprintf(reader->section, sizeof reader->section, "%s", name);
    reader->skip = false;
}

/* `[name]` or `[name instance]`. After a bad header the keys below it are not looked at. */
static void read_header(struct reader *reader, const char *line, size_t length)
{
    const char *close = memchr(line, ']', length), *start = line + 1;
    char name[NAME_BYTES];

    reader->skip = true;
    reader->section[0] = '\0';
    if (!close) {
        complain(reader, "a section header without its \"]\"");
        return;
    }
    for (const char *rest = close + 1; rest < line + length && *rest != ';' && *rest != '#'; rest++) {
        if (!is_blank(*rest)) {
            complain(reader, "text behind a section header; a key has its own line");
            return;
        }
    }
    while (start < close && is_blank(*start))
        start++;
    while (start < close && is_blank(close[-1]))
        close--;
    if (start == close || (size_t)(close - start) >= sizeof name) {
        complain(reader, start == close ? "a section header without a name" : "the section's name is too long");
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)(close - start), start);

    char *instance = strpbrk(name, " \t");

    if (instance)
        *instance = '\0';

    int place = sl_option_find_section(reader->loader->table, name);

    if (instance && place >= 0 && !reader->loader->table->section[place].absent) {
        complain(reader, "this section takes no name of its own");
        return;
    }
    enter_section(reader, name);
}

/* What is wrong with a key line before inih sees it; NULL: nothing. */
static const char *key_line_fault(const char *line, size_t length, size_t limit, char *buf, size_t bytes)
{
    const char *equals = memchr(line, '=', length), *colon = memchr(line, ':', length);

    if (!equals || (colon && colon < equals))
        return "no \"=\": write key = value";
    if (equals == line)
        return "no key before \"=\"";
    if (length > limit) {
        snprintf(buf, bytes, "the line is too long: %zu bytes, at most %zu", length, limit);
        return buf;
    }
    for (size_t i = 0; i < length; i++)
        if (((unsigned char)line[i] < 0x20 && line[i] != '\t') || line[i] == 0x7f)
            return "a control character";
    return NULL;
}

/* A key line was handed over and nothing came back. */
static void finish_line(struct reader *reader)
{
    if (reader->handed)
        complain(reader, "no \"=\" before the comment: write key = value");
    reader->handed = false;
}

/* inih's fgets. Puts the next key line into `str`. */
static char *read_key_line(char *str, int num, void *stream)
{
    struct reader *reader = stream;
    const char *line;
    size_t length;
    char buf[128];

    finish_line(reader);
    while (num > 3 && next_line(reader, &line, &length)) {
        if (length == 0 || line[0] == ';' || line[0] == '#')
            continue;
        if (line[0] == '[') {
            read_header(reader, line, length);
            continue;
        }
        if (reader->skip)
            continue;

        const char *fault = key_line_fault(line, length, (size_t)num - 3, buf, sizeof buf);

        if (fault) {
            complain(reader, fault);
            excuse_option(reader, line, length);
            continue;
        }
        memcpy(str, line, length);
        memcpy(str + length, "\n", 2);
        reader->handed = true;
        return str;
    }
    return NULL;
}

static void set_option(struct reader *reader, unsigned place, const char *value)
{
    struct sl_option_loader *loader = reader->loader;
    const struct sl_option *option = &loader->table->option[place];
    struct sl_option_origin *origin = &loader->origins->option[place];
    char why[768], shown[SL_OPTION_SHOWN_BYTES];
    struct sl_error err = {{0}};

    if (origin->line) {
        snprintf(why, sizeof why, "%s.%s was set on line %u already", option->section, option->key, origin->line);
        complain(reader, why);
        origin->bad = true;
        return;
    }
    origin->line = reader->line;
    if (!*value) {
        snprintf(why, sizeof why, "%s.%s: empty value; leave the line out for the default", option->section, option->key);
        complain(reader, why);
        origin->bad = true;
        return;
    }

    int rc = sl_option_set_value(option, loader->config, value, &err);

    if (rc == 0) {
        origin->source = SL_OPTION_FILE;
        return;
    }
    const char *hint = strstr(value, " #") ? " (a comment behind a value begins with \" ;\")" : "";

    loader->no_memory |= rc == -ENOMEM;
    origin->bad = true;
    snprintf(why, sizeof why, "%s.%s = %s: %.500s%s", option->section, option->key, sl_option_shown(value, strlen(value), shown), err.text,
             hint);
    complain(reader, why);
}

/* inih's handler. Its section is not used: headers are read above, where their errors have a line. */
static int take_key(void *user, const char *section, const char *name, const char *value)
{
    struct reader *reader = user;
    char why[512], shown[SL_OPTION_SHOWN_BYTES];

    (void)section;
    reader->handed = false;
    if (!reader->section[0]) {
        snprintf(why, sizeof why, "key %s before any [section]", sl_option_shown(name, strlen(name), shown));
        complain(reader, why);
        return 1;
    }

    int place = sl_option_find(reader->loader->table, reader->section, name);

    if (place >= 0) {
        set_option(reader, (unsigned)place, value);
        return 1;
    }
    sl_option_describe_unknown_key(reader->loader, reader->section, name, why, sizeof why);
    complain(reader, why);
    return 1;
}

void sl_option_load_ini(struct sl_option_loader *loader, const char *data, size_t bytes)
{
    struct reader reader = {.loader = loader, .text = data, .end = data + bytes};
    const char *nul = memchr(data, '\0', bytes);

    if (nul) {
        for (const char *c = data; c < nul; c++)
            reader.line += *c == '\n';
        reader.line++;
        complain(&reader, "not a text file: a byte of 0");
        return;
    }
    if (bytes >= 3 && !memcmp(data, "\xef\xbb\xbf", 3))
        reader.text += 3;

    int rc = ini_parse_stream(read_key_line, &reader, take_key, &reader);

    finish_line(&reader);
    if (rc == -2)
        loader->no_memory = true;
    else if (reader.text < reader.end) /* inih's buffer holds no line at all, or it stopped at an error */
        complain(&reader, "inih did not read the file to its end");
}

/* Opening a device can move hardware, so what is no file is refused by stat alone. */
static const char *unfit_kind(mode_t mode)
{
    if (S_ISREG(mode))
        return NULL;
    if (S_ISFIFO(mode))
        return "is a pipe, not a config file: a regular file is needed";
    return S_ISDIR(mode) ? "is a directory, not a config file" : "is no file";
}

static int read_all(int fd, char *data, size_t room, size_t *bytes)
{
    *bytes = 0;
    while (*bytes < room) {
        ssize_t n = read(fd, data + *bytes, room - *bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        *bytes += (size_t)n;
    }
    return 0;
}

/* Devices are refused unopened, since opening one can do something; what is opened is asked again, as the name may be another's by then. */
static int open_config(const char *path, const char *shown, struct sl_option_errors *errors)
{
    struct stat st;
    int fd = -1, rc = stat(path, &st) < 0 ? -errno : 0;

    if (!rc && !unfit_kind(st.st_mode)) {
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        rc = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
    }
    if (!rc && !unfit_kind(st.st_mode))
        return fd;
    sl_option_error(errors, "%s: %s", shown, rc ? strerror(-rc) : unfit_kind(st.st_mode));
    if (fd >= 0)
        close(fd);
    return rc ? rc : -EINVAL;
}

int sl_option_read_file(const char *path, char **data, size_t *bytes, struct sl_option_errors *errors)
{
    char shown[256];
    char *text;
    int rc, fd;

    snprintf(shown, sizeof shown, "%s", path);
    fd = open_config(path, shown, errors);
    if (fd < 0)
        return fd;
    text = malloc(MAX_FILE_BYTES + 1);
    rc = text ? read_all(fd, text, MAX_FILE_BYTES + 1, bytes) : -ENOMEM;
    close(fd);
    if (rc < 0) {
        sl_option_error(errors, "%s: %s", shown, strerror(-rc));
    } else if (*bytes > MAX_FILE_BYTES) {
        rc = -EFBIG;
        sl_option_error(errors, "%s: larger than 1 MiB: not a config file", shown);
    }
    if (rc < 0) {
        free(text);
        return rc;
    }
    *data = text;
    return 0;
}
