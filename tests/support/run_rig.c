/* SPDX-License-Identifier: Apache-2.0 */
#include "support/run_rig.h"

#include <check.h>
#include <getopt.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/commands.h"
#include "support/scratch.h"

char run_out[65536], run_err[65536];
json_t *run_summary, *run_ledger;

static void read_text(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(text, 1, bytes - 1, file) : 0;

    text[got] = '\0';
    if (file)
        fclose(file);
}

int run_command(int (*command)(int, char **), const char *const *arguments, unsigned count)
{
    char name[] = "command";
    char *argv[64] = {name};
    int saved_out = dup(1), saved_err = dup(2), argc = 1, rc;

    ck_assert_uint_lt(count, sizeof argv / sizeof *argv - 1);
    for (unsigned i = 0; i < count; i++)
        if (arguments[i])
            argv[argc++] = (char *)arguments[i];
    fflush(NULL);
    ck_assert_ptr_nonnull(freopen(scratch_path("stdout"), "wb", stdout));
    ck_assert_ptr_nonnull(freopen(scratch_path("stderr"), "wb", stderr));
    optind = 0; /* glibc: forget the call before */
    rc = command(argc, argv);
    fflush(NULL);
    dup2(saved_out, 1);
    dup2(saved_err, 2);
    close(saved_out);
    close(saved_err);
    read_text(scratch_path("stdout"), run_out, sizeof run_out);
    read_text(scratch_path("stderr"), run_err, sizeof run_err);
    return rc;
}

static void read_ledger(void)
{
    glob_t found;
    char line[8192];

    run_ledger = NULL;
    if (glob(scratch_path("*.ledger"), 0, NULL, &found) != 0)
        return;
    ck_assert_uint_eq(found.gl_pathc, 1);
    FILE *file = fopen(found.gl_pathv[0], "r");

    globfree(&found);
    ck_assert_ptr_nonnull(file);
    run_ledger = json_array();
    while (fgets(line, sizeof line, file)) {
        json_t *object = json_loads(line, 0, NULL);

        ck_assert_msg(object != NULL, "no JSON: %s", line);
        json_array_append_new(run_ledger, object);
    }
    fclose(file);
}

int run_config(const char *lines, const char *a, const char *b)
{
    char summary[512], ini[512];
    FILE *file;
    int rc;

    snprintf(ini, sizeof ini, "%s", scratch_path("cam.ini"));
    file = fopen(ini, "w");
    ck_assert_ptr_nonnull(file);
    fputs(lines, file);
    fclose(file);
    snprintf(summary, sizeof summary, "--summary=%s", scratch_path("summary.json"));
    rc = run_command(sl_cmd_run, (const char *[]){ini, summary, a, b}, 4);
    run_summary = json_load_file(scratch_path("summary.json"), 0, NULL);
    read_ledger();
    return rc;
}

json_t *run_at(json_t *object, const char *path)
{
    char copy[128], *rest = copy, *key;

    snprintf(copy, sizeof copy, "%s", path);
    while (object && (key = strsep(&rest, ".")))
        object = json_object_get(object, key);
    return object;
}

long long run_number(json_t *object, const char *path)
{
    json_t *value = run_at(object, path);

    ck_assert_msg(json_is_integer(value), "no number %s", path);
    return json_integer_value(value);
}

const char *run_text(json_t *object, const char *path)
{
    json_t *value = run_at(object, path);

    ck_assert_msg(json_is_string(value), "no text %s", path);
    return json_string_value(value);
}

json_t *run_line(const char *event, unsigned index)
{
    size_t i;
    json_t *object;

    json_array_foreach(run_ledger, i, object)
    {
        if (!strcmp(run_text(object, "event"), event) && index-- == 0)
            return object;
    }
    return NULL;
}

unsigned run_lines(const char *event)
{
    unsigned count = 0;

    while (run_line(event, count))
        count++;
    return count;
}

void run_forget(void)
{
    json_decref(run_summary);
    json_decref(run_ledger);
    run_summary = run_ledger = NULL;
}
