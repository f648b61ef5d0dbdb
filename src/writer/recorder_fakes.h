/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_RECORDER_FAKES_H
#define SL_WRITER_RECORDER_FAKES_H

#include "writer/writer.h"

struct sl_space;
struct sl_store;
struct sl_wake;

/* What a test puts in the place of the outside world; NULL members: the real thing. Borrowed in open, and what it points to until close. */
struct sl_recorder_fakes {
    void *self;
    int (*open_store)(void *self, struct sl_store **out, struct sl_wake *wake);
    const struct sl_space *space;
};

/* sl_recorder_open, with `fakes`, which may be NULL. */
int sl_recorder_open_with(struct sl_recorder **out, const struct sl_recorder_cfg *cfg, const struct sl_recorder_deps *deps,
                          const struct sl_recorder_fakes *fakes, struct sl_error *err);

#endif
