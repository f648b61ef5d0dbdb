/* SPDX-License-Identifier: Apache-2.0 */
#include "app/host_file.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 1 << 16 };

char *sl_host_text(const char *root, const char *path)
{
    char name[PATH_MAX];
    char *text = NULL;
    size_t used = 0;
    FILE *file;

    if (snprintf(name, sizeof name, "%s%s", root, path) >= (int)sizeof name)
        return NULL;
    file = fopen(name, "re");
    if (!file)
        return NULL;
    text = malloc(FILE_BYTES);
    if (text) {
        used = fread(text, 1, FILE_BYTES - 1, file);
        text[used] = '\0';
        if (ferror(file)) { /* a directory, or a file whose driver says EINVAL */
            free(text);
            text = NULL;
        }
    }
    fclose(file);
    return text;
}

bool sl_host_word(const char *root, const char *path, char *word, size_t bytes)
{
    char *text = sl_host_text(root, path);
    size_t length = text ? strcspn(text, "\n") : 0;

    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t'))
        length--;
    snprintf(word, bytes, "%.*s", (int)length, text ? text : "");
    free(text);
    return word[0] != '\0';
}

bool sl_host_number(const char *root, const char *path, int64_t *out)
{
    char *text = sl_host_text(root, path), *end = text;
    int64_t value = text ? strtoll(text, &end, 10) : 0;
    bool good = end != text;

    free(text);
    if (good)
        *out = value;
    return good;
}

bool sl_host_choice(char *text)
{
    char *open = strchr(text, '['), *close = open ? strchr(open, ']') : NULL;

    if (!close)
        return false;
    *close = '\0';
    memmove(text, open + 1, (size_t)(close - open));
    return true;
}

bool sl_host_number_of(const char *text, const char *key, int base, uint64_t *out)
{
    size_t length = strlen(key);

    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (!strncmp(line, key, length) && line[length] == ':') {
            *out = strtoull(line + length + 1, NULL, base);
            return true;
        }
    }
    return false;
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

unsigned sl_host_list(const char *root, const char *path, const char *prefix, char ***names)
{
    char name[PATH_MAX], **list = NULL;
    struct dirent *entry;
    unsigned count = 0;
    DIR *dir;

    *names = NULL;
    if (snprintf(name, sizeof name, "%s%s", root, path) >= (int)sizeof name)
        return 0;
    dir = opendir(name);
    if (!dir)
        return 0;
    while ((entry = readdir(dir)) != NULL) {
        char **longer, *copy;

        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        copy = strdup(entry->d_name);
        longer = copy ? realloc(list, (count + 1) * sizeof *list) : NULL;
        if (!longer) {
            free(copy);
            break;
        }
        list = longer;
        list[count++] = copy;
    }
    closedir(dir);
    if (count)
        qsort(list, count, sizeof *list, by_name);
    *names = list;
    return count;
}

void sl_host_list_free(char **names, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(names[i]);
    free(names);
}
