/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_SERVICE_H
#define SL_APP_SERVICE_H

#include "app/account.h"
#include "app/notify.h"
#include "app/pulse.h"

/*
 * What a service manager is told of a run, and when: READY once, STATUS every few seconds and with every change, WATCHDOG while the run
 * lives, STOPPING. docs/service.md says what each means. Supervisor thread only.
 */

struct sl_service {
    struct sl_notify notify;
    int64_t interval_ns; /* between two looks at the pulse: half of the watchdog's time */
    int64_t pulse_ns;    /* when the next one is due */
    struct sl_pulse_watch watch;
    enum sl_pulse pulse;
    bool feed_owed;
    bool ready, stopping; /* the manager knows */
    int64_t status_ns;    /* when the next status line is due */
    const char *state;    /* in the last one; a name that stays */
};

/* Takes the manager's variables out of the environment. */
int sl_service_open(struct sl_service *service, struct sl_error *err);
void sl_service_close(struct sl_service *service);

/* True when a manager is there, and the time has come to look at the run. */
bool sl_service_looks(const struct sl_service *service, int64_t now_ns);
/* Feeds the watchdog, or logs, once, why it does not. Then every thread is to be asked for a turn, which the next look will find. */
void sl_service_look(struct sl_service *service, const struct sl_vitals *vitals, int64_t now_ns);

/* Each at every turn of the supervisor; the manager is told once. `under_way`: the run stands where it can be left alone. */
void sl_service_tell(struct sl_service *service, bool under_way, bool ending);

bool sl_service_status_due(const struct sl_service *service, const char *state, int64_t now_ns);
/* `state`: name of the device's, borrowed for ever. */
void sl_service_status(struct sl_service *service, const struct sl_account *account, const char *state, int64_t now_ns);

#endif
