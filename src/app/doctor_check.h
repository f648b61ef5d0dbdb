/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_DOCTOR_CHECK_H
#define SL_APP_DOCTOR_CHECK_H

#include <jansson.h>

#include "app/config.h"
#include "app/host.h"
#include "app/need.h"

/*
 * Checks of `sluice doctor`: each is one function that looks at this machine and says what it found, why that matters, and the command that
 * cures it. They are rows of one table (doctor_list.c), by theme in a file each (doctor_memory.c, …). Control thread; only a row's
 * `fix` changes anything.
 */

enum sl_doctor_state {
    SL_DOCTOR_OK,
    SL_DOCTOR_NOTE,    /* fine for this config, and worth knowing */
    SL_DOCTOR_WARNING, /* costs speed, memory or margin */
    SL_DOCTOR_PROBLEM, /* costs frames, or no recording starts */
    SL_DOCTOR_UNKNOWN  /* this kernel does not show it, or this machine has no such thing */
};
enum { SL_DOCTOR_STATES = SL_DOCTOR_UNKNOWN + 1 };

struct sl_doctor_finding {
    enum sl_doctor_state state;
    char found[640];
    char why[480];  /* "" when nothing is to be said */
    char cure[640]; /* commands and settings; "" when there is none, or nothing to cure */
    json_t *detail; /* figures for programs; NULL: none */
};

/* What lies outside of files below `root`; real or a test's. Calls return 0 or negative errno. */
struct sl_doctor_ops {
    void *self;
    int (*write)(void *self, const char *path, const char *text); /* path with its root */
    int (*io_uring)(void *self);                                  /* may this process make a ring? */
    /* Can a file in `dir` be written with O_DIRECT, and how must memory and offset be aligned? 0: the kernel does not tell. */
    int (*direct_io)(void *self, const char *dir, uint32_t *memory_bytes, uint32_t *offset_bytes);
};
extern const struct sl_doctor_ops sl_doctor_kernel;

struct sl_doctor {
    const struct sl_config *config;
    const char *root; /* as in app/host.h */
    const struct sl_doctor_ops *ops;
    struct sl_need need;
    bool assumed; /* format or rate is the device's; `need` is for 1080p60 of two bytes a pixel */
    struct sl_host host;
    struct sl_host_dir dir; /* of record.dir */
};

/* What --fix did, with what undoes it. */
enum { SL_DOCTOR_STEPS = 32 };
struct sl_doctor_repair {
    unsigned steps;
    struct {
        char did[320];
        char undo[256];
    } step[SL_DOCTOR_STEPS];
    char failed[320]; /* "" or what could not be done, and why */
};

struct sl_doctor_check {
    const char *name;
    const char *theme;
    void (*look)(const struct sl_doctor *doctor, struct sl_doctor_finding *finding); /* which is all zero: ok, and no words */
    /* NULL: not by us. Called when the state is worse than a note; changes only what a command undoes and what a restart forgets. */
    void (*fix)(const struct sl_doctor *doctor, struct sl_doctor_repair *repair);
};
extern const struct sl_doctor_check sl_doctor_checks[];
extern const unsigned sl_doctor_check_count;

/* Each sets its line of the finding; `found` sets the state, too. */
void sl_doctor_found(struct sl_doctor_finding *finding, enum sl_doctor_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void sl_doctor_why(struct sl_doctor_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sl_doctor_cure(struct sl_doctor_finding *finding, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds to a text that is there, cut at its end. */
void sl_doctor_add(char *text, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes a setting below the root, with a step in the repair that tells the value before. -errno, and `failed`, when it cannot be written.
 * The kernel may have taken another value than it was given: look again. */
int sl_doctor_set(const struct sl_doctor *doctor, struct sl_doctor_repair *repair, const char *path, const char *value);
void sl_doctor_failed(struct sl_doctor_repair *repair, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
