/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_COUNTERS_H
#define SL_APP_COUNTERS_H

#include <jansson.h>

#include "app/account.h"
#include "core/counter.h"

/* Every counter table of a run; the summary and docs/counters.md are made from this list, so that neither can lack one. */

struct sl_counter_group {
    const char *key;   /* in the summary's `counters` */
    const char *title; /* of the page's section; NULL: the section before tells of these too */
    const char *about;
    const struct sl_counter_def *defs;
    unsigned count;
    uint64_t (*read)(const struct sl_account *account, unsigned which);
};

enum { SL_COUNTER_GROUPS = 5 };
extern const struct sl_counter_group sl_counter_groups[SL_COUNTER_GROUPS];

/* {"capture": {"expected": …}, …}. Returned reference is the caller's. Control thread. */
json_t *sl_counters_json(const struct sl_account *account);

#endif
