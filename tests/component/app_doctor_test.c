/* SPDX-License-Identifier: Apache-2.0 */
/* sluice doctor: the report as a whole, as text and as JSON, and the real kernel behind it. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/doctor_rig.h"
#include "support/suite.h"

START_TEST(names_are_unique_and_themes_in_one_piece)
{
    for (unsigned i = 0; i < sl_doctor_check_count; i++) {
        for (unsigned k = i + 1; k < sl_doctor_check_count; k++) {
            ck_assert_str_ne(sl_doctor_checks[i].name, sl_doctor_checks[k].name);
            ck_assert(strcmp(sl_doctor_checks[i].theme, sl_doctor_checks[k].theme) != 0 ||
                      !strcmp(sl_doctor_checks[k - 1].theme, sl_doctor_checks[k].theme));
        }
    }
}
END_TEST

/* Nothing is made up about a machine that shows nothing, and nothing breaks. */
START_TEST(a_machine_that_tells_nothing)
{
    struct sl_doctor_report report;
    struct sl_config config;
    struct sl_error err = {""};
    static const char text[] = "[sensor]\nsource = pattern\n[record]\ndir = /no/such/directory\n";

    ck_assert_int_eq(sl_config_parse(&config, NULL, "F", text, sizeof text - 1, NULL, 0, &err), 0);
    ck_assert_int_eq(sl_doctor_examine(&report, &config, "/no/such/root", &sl_doctor_kernel, true), 0);
    ck_assert_uint_eq(report.steps, 0);
    ck_assert_int_eq(sl_doctor_exit(&report), 3); /* the directory */
    for (unsigned i = 0; i < sl_doctor_check_count; i++)
        ck_assert(report.result[i].finding.found[0] != '\0');
    sl_doctor_report_fini(&report);
    sl_config_fini(&config);
}
END_TEST

static char *text_of(const struct sl_doctor_report *report, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);

    ck_assert_ptr_nonnull(to);
    sl_doctor_print(to, report, path);
    fclose(to);
    return text;
}

static void says(const char *text, const char *what)
{
    ck_assert_msg(strstr(text, what) != NULL, "\"%s\" is not in:\n%s", what, text);
}

START_TEST(the_text)
{
    char *text;

    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
    text = text_of(doctor_examine("[realtime]\npriority = 5\n", true), "board.ini");
    says(text, "config    board.ini: 249.2 MB/s at 60.00 frames a second; ring of 60 frames (1.000 s) and 8 of the sensor's, 282 MB\n");
    says(text, "\nmemory\nok        huge-pages: 136 of 2M for 68 slots");
    says(text, "          did: wrote 336 to /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, which was 200");
    says(text, "          undo: echo 200 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages\n");
    says(text, "26 checks: 0 cost frames, 0 cost speed or margin");
    says(text, "; 1 change made, which a restart forgets\n");
    free(text);
}
END_TEST

START_TEST(a_shape_that_is_the_devices)
{
    char *text = text_of(doctor_examine("device = /dev/video0\nsize = auto\n", false), NULL);

    says(text, "config    none given: 249.2 MB/s at 60.00 frames a second, as if the device gave 1080p of two bytes a pixel; ");
    free(text);
}
END_TEST

START_TEST(the_json)
{
    struct sl_doctor_report *report;
    json_t *object, *check;
    size_t i;
    json_int_t sum = 0;
    const char *key;
    json_t *value;

    doctor_rig.io_uring = -EPERM;
    report = doctor_examine("", false);
    object = sl_doctor_json(report, NULL);
    ck_assert_ptr_nonnull(object);
    ck_assert(json_is_null(json_object_get(object, "config")));
    ck_assert_int_eq(json_integer_value(json_object_get(object, "exit")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(json_object_get(object, "need"), "slots")), 68);
    ck_assert_uint_eq(json_array_size(json_object_get(object, "checks")), sl_doctor_check_count);
    json_object_foreach(json_object_get(object, "counts"), key, value)
    {
        sum += json_integer_value(value);
    }
    ck_assert_int_eq(sum, sl_doctor_check_count);
    json_array_foreach(json_object_get(object, "checks"), i, check)
    {
        ck_assert_str_eq(json_string_value(json_object_get(check, "name")), sl_doctor_checks[i].name);
        ck_assert(json_is_string(json_object_get(check, "found")));
        if (strcmp(sl_doctor_checks[i].name, "io-uring") != 0)
            continue;
        ck_assert_str_eq(json_string_value(json_object_get(check, "state")), "problem");
        ck_assert(json_is_string(json_object_get(check, "why")) && json_is_string(json_object_get(check, "cure")));
        ck_assert_ptr_null(json_object_get(check, "fix"));
    }
    json_decref(object);
}
END_TEST

START_TEST(what_was_done_is_in_the_json)
{
    json_t *object, *fix, *step;

    machine_put("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0\n");
    object = sl_doctor_json(doctor_examine("", true), "F");
    fix = json_object_get(json_array_get(json_object_get(object, "checks"), 0), "fix");
    step = json_array_get(json_object_get(fix, "steps"), 0);
    ck_assert_str_eq(json_string_value(json_object_get(step, "undo")), "echo 200 >/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
    ck_assert_ptr_null(json_object_get(fix, "not_done"));
    ck_assert_int_eq(json_integer_value(json_object_get(object, "changes")), 1);
    json_decref(object);
}
END_TEST

/* What asks by trying leaves nothing behind: the directory is as empty as before. */
START_TEST(the_real_kernel)
{
    uint32_t memory = 1, offset = 1;
    int rc = sl_doctor_kernel.direct_io(NULL, machine.disk, &memory, &offset);
    char path[256];

    ck_assert(rc == 0 || rc == -EINVAL || rc == -EOPNOTSUPP); /* by the file system of /tmp */
    machine_remove("/disk");
    ck_assert_int_eq(sl_doctor_kernel.direct_io(NULL, machine.disk, &memory, &offset), -ENOENT);
    rc = sl_doctor_kernel.io_uring(NULL);
    ck_assert(rc == 0 || rc == -EPERM || rc == -ENOSYS);
    snprintf(path, sizeof path, "%s/proc/setting", machine.root);
    ck_assert_int_eq(sl_doctor_kernel.write(NULL, path, "7"), -ENOENT); /* no file is made where the kernel has none */
    machine_put("/proc/setting", "%s", "");
    ck_assert_int_eq(sl_doctor_kernel.write(NULL, path, "7"), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app/doctor");
    TCase *tc = tcase_create("doctor");

    tcase_add_checked_fixture(tc, doctor_rig_init, doctor_rig_fini);
    tcase_add_test(tc, names_are_unique_and_themes_in_one_piece);
    tcase_add_test(tc, a_machine_that_tells_nothing);
    tcase_add_test(tc, the_text);
    tcase_add_test(tc, a_shape_that_is_the_devices);
    tcase_add_test(tc, the_json);
    tcase_add_test(tc, what_was_done_is_in_the_json);
    tcase_add_test(tc, the_real_kernel);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
