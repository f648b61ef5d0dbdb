/* SPDX-License-Identifier: Apache-2.0 */
#include "support/doctor_rig.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct doctor_rig doctor_rig;
static struct sl_doctor_report report;
static struct sl_config config;

static void save(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", text);
    fclose(file);
}

/* nr_hugepages gives what there is, and the rest of the pool follows. */
static void grant_pages(const char *path, uint64_t asked, uint64_t most)
{
    char other[512], text[32];
    uint64_t before = 0, unused = 0, got = asked < most ? asked : most;
    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu", &before), 1);
    fclose(file);
    snprintf(other, sizeof other, "%.*s/free_hugepages", (int)(strrchr(path, '/') - path), path);
    file = fopen(other, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fscanf(file, "%lu", &unused), 1);
    fclose(file);
    snprintf(text, sizeof text, "%lu", got);
    save(path, text);
    snprintf(text, sizeof text, "%lu", unused + got - before);
    save(other, text);
}

static int rig_write(void *self, const char *path, const char *text)
{
    struct doctor_rig *rig = self;

    if (rig->refuse && rig->writes >= rig->taken)
        return rig->refuse;
    rig->writes++;
    if (strstr(path, "hugepages-2048kB/nr_hugepages"))
        grant_pages(path, strtoull(text, NULL, 10), rig->most_2m);
    else if (strstr(path, "hugepages-32768kB/nr_hugepages"))
        grant_pages(path, strtoull(text, NULL, 10), rig->most_32m);
    else if (strstr(path, "queue/scheduler"))
        save(path, "[mq-deadline] bfq none");
    else
        save(path, text);
    return 0;
}

static int rig_io_uring(void *self)
{
    return ((struct doctor_rig *)self)->io_uring;
}

static int rig_direct_io(void *self, const char *dir, uint32_t *memory_bytes, uint32_t *offset_bytes)
{
    struct doctor_rig *rig = self;

    ck_assert_str_eq(dir, machine.disk);
    *memory_bytes = rig->memory_align;
    *offset_bytes = rig->offset_align;
    return rig->direct_io;
}

static const struct sl_doctor_ops ops = {.self = &doctor_rig, .write = rig_write, .io_uring = rig_io_uring, .direct_io = rig_direct_io};

static void end_report(void)
{
    if (report.result) {
        sl_doctor_report_fini(&report);
        sl_config_fini(&config);
    }
}

void doctor_rig_init(void)
{
    machine_init();
    doctor_rig = (struct doctor_rig){.memory_align = 512, .offset_align = 512, .most_2m = UINT64_MAX, .most_32m = UINT64_MAX};
    machine_put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    machine_put("/proc/sys/kernel/osrelease", "6.12.1\n");
}

void doctor_rig_fini(void)
{
    end_report();
    machine_fini();
}

struct sl_doctor_report *doctor_examine(const char *lines, bool fix)
{
    struct sl_error err = {""};
    char text[1024];

    end_report();
    snprintf(text, sizeof text, "[sensor]\n%s%s%sdir = %s\n%s%s", strstr(lines, "device =") ? "" : "source = pattern\n", lines,
             strstr(lines, "[record]") ? "" : "[record]\n", machine.disk, strstr(lines, "keep_free") ? "" : "keep_free = 1kB\n",
             strstr(lines, "when_full") ? "" : "when_full = overwrite-oldest\n");
    ck_assert_msg(sl_config_parse(&config, NULL, "F", text, strlen(text), NULL, 0, &err) == 0, "%s", err.text);
    ck_assert_int_eq(sl_doctor_examine(&report, &config, machine.root, &ops, fix), 0);
    return &report;
}

const struct sl_doctor_result *doctor_result(const char *name)
{
    for (unsigned i = 0; i < sl_doctor_check_count; i++)
        if (!strcmp(sl_doctor_checks[i].name, name))
            return &report.result[i];
    ck_abort_msg("there is no check \"%s\"", name);
    return NULL;
}

void doctor_expect(const char *lines, const char *name, enum sl_doctor_state state, const char *says)
{
    const struct sl_doctor_finding *finding;

    doctor_examine(lines, false);
    finding = &doctor_result(name)->finding;
    ck_assert_msg(finding->state == state &&
                      (!says || strstr(finding->found, says) || strstr(finding->why, says) || strstr(finding->cure, says)),
                  "%s: state %d instead of %d, wanted \"%s\":\n%s\n%s\n%s", name, finding->state, state, says ? says : "", finding->found,
                  finding->why, finding->cure);
    /* what is worse than a note says why and what to do */
    ck_assert(finding->state != SL_DOCTOR_WARNING || (finding->why[0] && finding->cure[0]));
    ck_assert(finding->state != SL_DOCTOR_PROBLEM || (finding->why[0] && finding->cure[0]));
}
