/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_TRIGGER_H
#define SL_APP_TRIGGER_H

#include "core/error.h"

/*
 * A FIFO through which another program starts and stops a pre-recording run: `echo start > PATH`, `echo stop > PATH`.
 * Supervisor thread only.
 */

enum sl_trigger_order { SL_TRIGGER_NONE, SL_TRIGGER_START, SL_TRIGGER_STOP };

struct sl_trigger {
    int fd; /* poll for POLLIN; -1: none */
    char line[16];
    unsigned fill;
};

/* Makes the FIFO if it is not there; a file of another kind is an error. path NULL: no FIFO, fd is -1. */
int sl_trigger_init(struct sl_trigger *trigger, const char *path, struct sl_error *err);

/* Reads what is there; returns the last whole order in it. Lines that are neither are logged. */
enum sl_trigger_order sl_trigger_read(struct sl_trigger *trigger);
void sl_trigger_fini(struct sl_trigger *trigger);

#endif
