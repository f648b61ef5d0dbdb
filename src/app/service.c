/* SPDX-License-Identifier: Apache-2.0 */
#include "app/service.h"

#include <stdio.h>

#include "core/log.h"

#define STATUS_NS (5 * SL_NS_PER_S)

int sl_service_open(struct sl_service *service, struct sl_error *err)
{
    *service = (struct sl_service){.interval_ns = STATUS_NS};
    int rc = sl_notify_open(&service->notify, err);

    if (service->notify.watchdog_ns)
        service->interval_ns = service->notify.watchdog_ns / 2;
    return rc;
}

void sl_service_close(struct sl_service *service)
{
    sl_notify_close(&service->notify);
}

bool sl_service_looks(const struct sl_service *service, int64_t now_ns)
{
    return service->notify.fd >= 0 && now_ns >= service->pulse_ns;
}

void sl_service_look(struct sl_service *service, const struct sl_vitals *vitals, int64_t now_ns)
{
    enum sl_pulse before = service->pulse;

    service->pulse = sl_pulse_judge(&service->watch, vitals, now_ns, service->interval_ns);
    service->pulse_ns = now_ns + service->interval_ns;
    service->feed_owed = service->notify.watchdog_ns && service->pulse < SL_PULSE_DEAD;
    if (service->pulse == before)
        return;
    service->status_ns = now_ns;
    if (service->pulse >= SL_PULSE_DEAD)
        sl_log(SL_LOG_ERROR, "%s%s", sl_pulse_text(service->pulse), service->notify.watchdog_ns ? ": the watchdog is not fed" : "");
}

void sl_service_tell(struct sl_service *service, bool under_way, bool ending)
{
    const struct sl_notify *notify = &service->notify;

    if (notify->fd < 0)
        return;
    if (service->feed_owed)
        service->feed_owed = !sl_notify_send(notify, "WATCHDOG=1");
    if (ending && !service->stopping)
        service->stopping = sl_notify_send(notify, "STOPPING=1");
    else if (under_way && !ending && !service->ready)
        service->ready = sl_notify_send(notify, "READY=1");
}

bool sl_service_status_due(const struct sl_service *service, const char *state, int64_t now_ns)
{
    return service->notify.fd >= 0 && (state != service->state || now_ns >= service->status_ns);
}

void sl_service_status(struct sl_service *service, const struct sl_account *account, const char *state, int64_t now_ns)
{
    const struct sl_recorder_place *place = &account->recorder;
    const char *why = sl_pulse_text(service->pulse);
    char file[sizeof place->ledger_path], text[sizeof file + 256];
    struct sl_books books;

    sl_account_books(account, &books);
    if (sl_recorder_place_segment(place, place->segments, file, sizeof file) < 0)
        file[0] = '\0';
    snprintf(text, sizeof text, "STATUS=%s%s%s: %llu frames recorded, %llu lost%s%s", state, why[0] ? ", " : "", why,
             (unsigned long long)place->counter[SL_RECORDER_RECORDED], (unsigned long long)sl_books_lost(&books), file[0] ? ", " : "",
             file);
    sl_notify_send(&service->notify, text);
    service->state = state;
    service->status_ns = now_ns + STATUS_NS;
}
