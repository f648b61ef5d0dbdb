/* SPDX-License-Identifier: Apache-2.0 */
/* The option engine on a small table of its own: every type, every kind of complaint. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/option.h"
#include "support/suite.h"

struct toy {
    char *title;
    bool loud;
    int colour;
    int64_t number, bytes, time;
    struct sl_rational rate;
    uint32_t size[2];
    char pair[2];
    char *optional;
};

static int parse_pair(void *config, const char *text, struct sl_error *err)
{
    struct toy *toy = config;

    if (strlen(text) != 2)
        return sl_fail(err, -EINVAL, "two letters are needed");
    memcpy(toy->pair, text, 2);
    return 0;
}

static void format_pair(const void *config, char *buf, size_t bytes)
{
    const struct toy *toy = config;

    snprintf(buf, bytes, "%.2s", toy->pair);
}

static const char *const colours[] = {"red", "green", "blue", NULL};
static const char *const absent[] = {"ultra*", "infrared", NULL};

#define AT(member) .offset = offsetof(struct toy, member)

static const struct sl_option toy_options[] = {
    {.section = "one", .key = "title", .type = SL_OPTION_TEXT, AT(title), .max = 8, .fallback = "toy", .help = "A title."},
    {.section = "one", .key = "loud", .type = SL_OPTION_BOOL, AT(loud), .fallback = "no", .help = "Loud | not."},
    {.section = "one",
     .key = "colour",
     .type = SL_OPTION_ENUM,
     AT(colour),
     .names = colours,
     .absent = absent,
     .fallback = "green",
     .help = "-"},
    {.section = "one",
     .key = "number",
     .type = SL_OPTION_INTEGER,
     AT(number),
     .min = 1,
     .max = 9,
     .word = "any",
     .word_value = -1,
     .fallback = "any",
     .help = "-"},
    {.section = "one", .key = "bytes", .type = SL_OPTION_BYTES, AT(bytes), .min = 1024, .max = 1 << 20, .fallback = "1KiB", .help = "-"},
    {.section = "two",
     .key = "time",
     .type = SL_OPTION_DURATION,
     AT(time),
     .min = SL_NS_PER_MS,
     .max = SL_NS_PER_S,
     .fallback = "1ms",
     .help = "-"},
    {.section = "two",
     .key = "rate",
     .type = SL_OPTION_RATE,
     AT(rate),
     .min = 500,
     .max = 100000,
     .word = "auto",
     .fallback = "30",
     .help = "-"},
    {.section = "two",
     .key = "size",
     .type = SL_OPTION_SIZE,
     AT(size),
     .min = 2,
     .max = 64,
     .word = "auto",
     .fallback = "4x2",
     .help = "-"},
    {.section = "two", .key = "pair", .type = SL_OPTION_CUSTOM, .parse = parse_pair, .format = format_pair, .fallback = "ab", .help = "-"},
    {.section = "two", .key = "optional", .type = SL_OPTION_TEXT, AT(optional), .example = "x", .help = "-"},
};

static const struct sl_option_section toy_sections[] = {
    {"one", "First.", false}, {"two", "Second.", false}, {"later", "things to come", true}};

static const struct sl_option_table table = {toy_options, sizeof toy_options / sizeof *toy_options, toy_sections, 3, sizeof(struct toy)};

struct load {
    struct toy toy;
    struct sl_option_origins origins;
    struct sl_error err;
    struct sl_option_errors errors;
    int rc;
};

static void load(struct load *l, const char *text, const char *set)
{
    memset(l, 0, sizeof *l);
    const struct sl_option_input input = {.path = "F", .data = text, .bytes = strlen(text), .set = &set, .sets = set ? 1 : 0};

    l->errors.err = &l->err;
    l->rc = sl_option_load(&table, &l->toy, &l->origins, &input, &l->errors);
    ck_assert_msg((l->rc == 0) == (l->errors.count == 0), "%d with %u errors", l->rc, l->errors.count);
}

static void unload(struct load *l)
{
    sl_option_fini(&table, &l->toy);
    sl_option_origins_fini(&l->origins);
}

static const char *value_of(const struct load *l, const char *section, const char *key)
{
    static char buf[SL_OPTION_VALUE_BYTES];
    int place = sl_option_find(&table, section, key);

    ck_assert_int_ge(place, 0);
    sl_option_format(&toy_options[place], &l->toy, buf, sizeof buf);
    return buf;
}

static const char *origin_of(const struct load *l, const char *section, const char *key)
{
    static char buf[512];

    sl_option_format_origin(&l->origins, (unsigned)sl_option_find(&table, section, key), buf, sizeof buf);
    return buf;
}

START_TEST(defaults_come_from_the_table)
{
    struct load l;

    load(&l, "", NULL);
    ck_assert_int_eq(l.rc, 0);
    ck_assert_str_eq(l.toy.title, "toy");
    ck_assert(!l.toy.loud && l.toy.colour == 1 && l.toy.number == -1 && l.toy.bytes == 1024 && l.toy.time == SL_NS_PER_MS);
    ck_assert(l.toy.rate.num == 30 && l.toy.size[0] == 4 && l.toy.size[1] == 2 && !memcmp(l.toy.pair, "ab", 2) && !l.toy.optional);
    ck_assert_str_eq(origin_of(&l, "one", "title"), "default");
    ck_assert_str_eq(value_of(&l, "two", "optional"), "");
    ck_assert_uint_eq(l.origins.section_line[0], 0);
    unload(&l);
}
END_TEST

static const char full[] = "\xef\xbb\xbf# a comment\r\n"
                           "[one] ; the first\r\n"
                           "title = a;b c  ; a comment behind\r\n"
                           "\tloud=yes\r\n"
                           "colour   =   blue\r\n"
                           "number = 9\r\n"
                           "bytes = 4KiB\r\n"
                           "\r\n"
                           "; [two]\r\n"
                           "  [ two ]  # the second\r\n"
                           "time = 1.5ms\r\n"
                           "rate = 60000/1001\r\n"
                           "size = 64x2\r\n"
                           "pair = xy\r\n"
                           "optional = # = [";

START_TEST(a_full_file_is_read)
{
    struct load l;

    load(&l, full, "one.number=3");
    ck_assert_msg(l.rc == 0, "%s", l.err.text);
    ck_assert_str_eq(l.toy.title, "a;b c");
    ck_assert(l.toy.loud && l.toy.colour == 2 && l.toy.number == 3 && l.toy.bytes == 4096 && l.toy.time == 1500000);
    ck_assert(l.toy.rate.num == 60000 && l.toy.rate.den == 1001 && l.toy.size[0] == 64 && !memcmp(l.toy.pair, "xy", 2));
    ck_assert_str_eq(l.toy.optional, "# = [");
    ck_assert_str_eq(origin_of(&l, "one", "title"), "F:3");
    ck_assert_str_eq(origin_of(&l, "one", "number"), "--set");
    ck_assert_str_eq(origin_of(&l, "two", "optional"), "F:15");
    ck_assert(l.origins.section_line[0] == 2 && l.origins.section_line[1] == 10 && !l.origins.section_line[2]);
    ck_assert(l.origins.section_set[0] && !l.origins.section_set[1]);
    unload(&l);
}
END_TEST

START_TEST(words_stand_for_values)
{
    struct load l;

    load(&l, "[one]\nnumber=any\n[two]\nrate=auto\nsize=auto\n", NULL);
    ck_assert_msg(l.rc == 0, "%s", l.err.text);
    ck_assert(l.toy.number == -1 && l.toy.rate.num == 0 && l.toy.rate.den == 1 && l.toy.size[0] == 0 && l.toy.size[1] == 0);
    ck_assert_str_eq(value_of(&l, "one", "number"), "any");
    ck_assert_str_eq(value_of(&l, "two", "rate"), "auto");
    ck_assert_str_eq(value_of(&l, "two", "size"), "auto");
    unload(&l);
}
END_TEST

/* What is printed is read back to the same. */
START_TEST(effective_values_round_trip)
{
    struct load a, b;
    char text[4096];
    size_t used = 0;
    const char *section = "";

    load(&a, full, NULL);
    for (unsigned i = 0; i < table.options; i++) {
        if (strcmp(section, toy_options[i].section))
            used += (size_t)snprintf(text + used, sizeof text - used, "[%s]\n", toy_options[i].section);
        section = toy_options[i].section;
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s = %s\n", toy_options[i].key, value_of(&a, section, toy_options[i].key));
    }
    load(&b, text, NULL);
    ck_assert_msg(b.rc == 0, "%s", b.err.text);
    for (unsigned i = 0; i < table.options; i++) {
        char first[256];

        snprintf(first, sizeof first, "%s", value_of(&a, toy_options[i].section, toy_options[i].key));
        ck_assert_str_eq(value_of(&b, toy_options[i].section, toy_options[i].key), first);
    }
    unload(&a);
    unload(&b);
}
END_TEST

struct complaint {
    const char *text, *set;
    const char *says; /* the whole of the errors */
};

static const struct complaint complaints[] = {
    {"x=1\n", NULL, "F:1: key x before any [section]"},
    {"[three]\nx=1\ny\n", NULL, "F:1: unknown section [three]"},
    {"[oen]\nx=1\n", NULL, "F:1: unknown section [oen]; did you mean [one]?"},
    {"[later]\nx=1\n", NULL, "F:1: [later] asks for things to come, and this build has none"},
    {"[later first]\n", NULL, "F:1: [later] asks for things to come, and this build has none"},
    {"[one first]\n", NULL, "F:1: this section takes no name of its own"},
    {"[one]\n[two]\n[one]\n", NULL, "F:3: [one] began on line 1 already"},
    {"[one\n", NULL, "F:1: a section header without its \"]\""},
    {"[]\n[ ]", NULL, "F:1: a section header without a name\nF:2: a section header without a name"},
    {"[one] loud = yes\n", NULL, "F:1: text behind a section header; a key has its own line"},
    {"[one]\ntittle = x\n", NULL, "F:2: unknown key tittle in [one]; did you mean title?"},
    {"[one]\nLOUD = yes\n", NULL, "F:2: unknown key LOUD in [one]; did you mean loud?"},
    {"[one]\nrate = 1\n", NULL, "F:2: unknown key rate in [one]; it belongs in [two]"},
    {"[one]\nzebra = 1\n", NULL, "F:2: unknown key zebra in [one]"},
    {"[one]\ntitle = a\n\ntitle = b\n", NULL, "F:4: one.title was set on line 2 already"},
    {"[one]\ntitle\n", NULL, "F:2: no \"=\": write key = value"},
    {"[one]\ntitle: a\n", NULL, "F:2: no \"=\": write key = value"},
    {"[one]\ntitle ; a = b\nloud = yes\n", NULL, "F:2: no \"=\" before the comment: write key = value"},
    {"[one]\n= a\n", NULL, "F:2: no key before \"=\""},
    {"[one]\ntitle =\n", NULL, "F:2: one.title: empty value; leave the line out for the default"},
    {"[one]\ntitle = ; gone\n", NULL, "F:2: one.title: empty value; leave the line out for the default"},
    {"[one]\ntitle = 123456789\n", NULL, "F:2: one.title = 123456789: 9 characters are too long: at most 8"},
    {"[one]\ntitle = a\tb\x1b[m\n", NULL, "F:2: a control character"},
    {"[one]\nloud = true\n", NULL, "F:2: one.loud = true: write yes or no"},
    {"[one]\nloud = yes # sure\n", NULL, "F:2: one.loud = yes # sure: write yes or no (a comment behind a value begins with \" ;\")"},
    {"[one]\ncolour = pink\n", NULL, "F:2: one.colour = pink: not a choice; write red, green or blue"},
    {"[one]\ncolour = ultraviolet\n", NULL, "F:2: one.colour = ultraviolet: this build does not have it; write red, green or blue"},
    {"[one]\nnumber = 0\n", NULL, "F:2: one.number = 0: out of range: 1 to 9, or any"},
    {"[one]\nnumber = 99999999999999999999\n", NULL, "F:2: one.number = 99999999999999999999: out of range: 1 to 9, or any"},
    {"[one]\nbytes = 5000\n", NULL, "F:2: one.bytes = 5000: missing unit: B, KiB, MiB, GiB, TiB, kB, MB, GB or TB"},
    {"[one]\nbytes = 2MiB\n", NULL, "F:2: one.bytes = 2MiB: out of range: 1KiB to 1MiB"},
    {"[two]\ntime = 5\n", NULL, "F:2: two.time = 5: missing unit: ns, us, ms, s, m or h"},
    {"[two]\ntime = 1m\n", NULL, "F:2: two.time = 1m: out of range: 1ms to 1s"},
    {"[two]\nrate = 0\n", NULL, "F:2: two.rate = 0: out of range: 1/2 to 100, or auto"},
    {"[two]\nrate = 101\n", NULL, "F:2: two.rate = 101: out of range: 1/2 to 100, or auto"},
    {"[two]\nrate = 29.97\n", NULL, "F:2: two.rate = 29.97: a decimal is not exact: write 30000/1001"},
    {"[two]\nsize = 64x65\n", NULL, "F:2: two.size = 64x65: out of range: 2x2 to 64x64, or auto"},
    {"[two]\npair = x\n", NULL, "F:2: two.pair = x: two letters are needed"},
    {"", "one.number=0", "--set one.number=0: out of range: 1 to 9, or any"},
    {"", "number=1", "--set number=1: write section.key=value"},
    {"", "one.number", "--set one.number: write section.key=value"},
    {"", "one.=1", "--set one.=1: write section.key=value"},
    {"", ".number=1", "--set .number=1: write section.key=value"},
    {"", "one.number=", "--set one.number=: empty value"},
    {"", "one.numbr=1", "--set one.numbr=1: unknown key numbr in [one]; did you mean number?"},
    {"", "on.number=1", "--set on.number=1: unknown section [on]; did you mean [one]?"},
    {"", "later.x=1", "--set later.x=1: [later] asks for things to come, and this build has none"},
    {"", "one.title=a\nb", "--set one.title=a?b: a control character in the value"},
    {"[one]\nnumber = 0\nloud = maybe\nzebra = 1\n[two]\nsize = 1\n", "one.title=123456789",
     "F:2: one.number = 0: out of range: 1 to 9, or any\nF:3: one.loud = maybe: write yes or no\nF:4: unknown key zebra in [one]\n"
     "F:6: two.size = 1: a width and a height are needed, such as 1920x1080\n"
     "--set one.title=123456789: 9 characters are too long: at most 8"},
};

START_TEST(every_mistake_is_told_with_its_line)
{
    const struct complaint *c = &complaints[_i];
    struct load l;

    load(&l, c->text, c->set);
    ck_assert_int_eq(l.rc, -EINVAL);
    ck_assert_str_eq(l.err.text, c->says);
    unload(&l);
}
END_TEST

/* Lines up to the limit of inih's buffer pass whole; one more is refused and not cut. Comments may be as long as they like. */
START_TEST(long_lines_are_refused_not_cut)
{
    char text[2048], line[600];
    struct load l;

    memset(line, 'x', sizeof line);
    snprintf(text, sizeof text, "# %.500s\n[two]\noptional = %.186s\n", line, line);
    load(&l, text, NULL);
    ck_assert_msg(l.rc == 0, "%s", l.err.text);
    ck_assert_uint_eq(strlen(l.toy.optional), 186);
    unload(&l);
    snprintf(text, sizeof text, "[two]\noptional = %.187s\n", line);
    load(&l, text, NULL);
    ck_assert_str_eq(l.err.text, "F:2: the line is too long: 198 bytes, at most 197");
    ck_assert(l.origins.option[sl_option_find(&table, "two", "optional")].bad);
    unload(&l);
}
END_TEST

START_TEST(a_byte_of_zero_is_no_text)
{
    static const char text[] = "[one]\nloud = y\0es\n";
    struct load l;

    const struct sl_option_input input = {.path = "F", .data = text, .bytes = sizeof text - 1};

    memset(&l, 0, sizeof l);
    l.errors.err = &l.err;
    l.rc = sl_option_load(&table, &l.toy, &l.origins, &input, &l.errors);
    ck_assert_int_eq(l.rc, -EINVAL);
    ck_assert_str_eq(l.err.text, "F:2: not a text file: a byte of 0");
    unload(&l);
}
END_TEST

/* A misspelt key marks the one that was meant, a misspelt section all of it: checks across options leave them out. */
START_TEST(what_was_meant_is_marked)
{
    struct load l;

    load(&l, "[one]\ntitel = x\n[twoo]\nrate=1\n", NULL);
    for (unsigned i = 0; i < table.options; i++)
        ck_assert_msg(l.origins.option[i].bad == (i == 0 || !strcmp(toy_options[i].section, "two")), "%s", toy_options[i].key);
    unload(&l);
}
END_TEST

START_TEST(errors_that_do_not_fit_are_counted)
{
    char text[32768];
    size_t used = (size_t)snprintf(text, sizeof text, "[one]\n");
    struct load l;

    for (int i = 0; i < 400; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "zebra%d = 1\n", i);
    load(&l, text, NULL);
    ck_assert_uint_eq(l.errors.count, 400);
    unsigned lines = 0;
    for (const char *c = l.err.text; *c; c++)
        lines += *c == '\n';
    ck_assert_uint_eq(lines + l.errors.hidden, 400);
    ck_assert_ptr_nonnull(strstr(l.err.text, " more errors are not shown)"));
    unload(&l);
}
END_TEST

START_TEST(no_place_for_errors_is_fine)
{
    struct sl_option_errors errors = {0};
    struct sl_option_origins origins;
    struct toy toy;

    const struct sl_option_input input = {.path = "F", .data = "[one]\nloud=x\n", .bytes = 13};

    ck_assert_int_eq(sl_option_load(&table, &toy, &origins, &input, &errors), -EINVAL);
    ck_assert_uint_eq(errors.count, 1);
    sl_option_fini(&table, &toy);
    sl_option_origins_fini(&origins);
}
END_TEST

START_TEST(files_that_are_none_are_refused)
{
    struct sl_error err = {{0}};
    struct sl_option_errors errors = {.err = &err};
    char dir[] = "/tmp/sluice-option-XXXXXX", path[64], *data = NULL;
    size_t bytes = 0;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/config", dir);
    ck_assert_int_eq(sl_option_read_file(path, &data, &bytes, &errors), -ENOENT);
    ck_assert_int_eq(sl_option_read_file(dir, &data, &bytes, &errors), -EINVAL);
    ck_assert_int_eq(sl_option_read_file("/dev/zero", &data, &bytes, &errors), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "config: No such file or directory\n"));
    ck_assert_ptr_nonnull(strstr(err.text, ": is a directory, not a config file\n"));
    ck_assert_int_eq(mkfifo(path, 0600), 0); /* nobody writes: an open that waits would not come back */
    ck_assert_int_eq(sl_option_read_file(path, &data, &bytes, &errors), -EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, ": is a pipe, not a config file: a regular file is needed"));
    unlink(path);
    ck_assert_ptr_nonnull(strstr(err.text, "/dev/zero: is no file"));
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    for (int i = 0; i < 65536; i++)
        fputs("# 3456789abcdef\n", file);
    fclose(file);
    ck_assert_int_eq(sl_option_read_file(path, &data, &bytes, &errors), 0);
    ck_assert_uint_eq(bytes, 1048576);
    free(data);
    data = NULL;
    file = fopen(path, "a");
    ck_assert_ptr_nonnull(file);
    fputs("\n", file);
    fclose(file);
    ck_assert_int_eq(sl_option_read_file(path, &data, &bytes, &errors), -EFBIG);
    ck_assert_ptr_null(data);
    unlink(path);
    rmdir(dir);
}
END_TEST

static char *printed(void (*print)(const struct sl_option_table *, FILE *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);

    ck_assert_ptr_nonnull(to);
    print(&table, to);
    fclose(to);
    return text;
}

/* The reference file is a config of defaults; the page names every option and keeps its cells apart. */
START_TEST(reference_and_page_are_made_from_the_table)
{
    char *reference = printed(sl_option_print_reference), *docs = printed(sl_option_print_docs);
    struct load l;

    load(&l, reference, NULL);
    ck_assert_msg(l.rc == 0, "%s", l.err.text);
    for (unsigned i = 0; i < table.options; i++) {
        const char *fallback = toy_options[i].fallback ? toy_options[i].fallback : "";

        ck_assert_str_eq(value_of(&l, toy_options[i].section, toy_options[i].key), fallback);
        ck_assert_int_eq(l.origins.option[i].source, toy_options[i].fallback ? SL_OPTION_FILE : SL_OPTION_DEFAULT);
    }
    ck_assert_ptr_nonnull(strstr(reference, "\n;optional = x\n"));
    ck_assert_ptr_null(strstr(reference, "later"));
    ck_assert_ptr_nonnull(strstr(docs, "| `loud` | yes, no |  | `no` | Loud \\| not. |\n"));
    ck_assert_ptr_nonnull(strstr(docs, "| `number` | number or any | 1 to 9 | `any` | - |\n"));
    unload(&l);
    free(reference);
    free(docs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("core/option");
    TCase *tc = tcase_create("option");

    tcase_add_test(tc, defaults_come_from_the_table);
    tcase_add_test(tc, a_full_file_is_read);
    tcase_add_test(tc, words_stand_for_values);
    tcase_add_test(tc, effective_values_round_trip);
    tcase_add_loop_test(tc, every_mistake_is_told_with_its_line, 0, sizeof complaints / sizeof *complaints);
    tcase_add_test(tc, long_lines_are_refused_not_cut);
    tcase_add_test(tc, a_byte_of_zero_is_no_text);
    tcase_add_test(tc, what_was_meant_is_marked);
    tcase_add_test(tc, errors_that_do_not_fit_are_counted);
    tcase_add_test(tc, no_place_for_errors_is_fine);
    tcase_add_test(tc, files_that_are_none_are_refused);
    tcase_add_test(tc, reference_and_page_are_made_from_the_table);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
