/* SPDX-License-Identifier: Apache-2.0 */
#include "app/pulse.h"

const char *sl_pulse_text(enum sl_pulse pulse)
{
    static const char *const texts[SL_PULSE_COUNT] = {
        [SL_PULSE_MOVING] = "",
        [SL_PULSE_NO_DEVICE] = "waits for the device",
        [SL_PULSE_DRAINING] = "the disk takes what is left",
        [SL_PULSE_DISK] = "waits for the disk",
        [SL_PULSE_QUIET] = "waits for the sensor",
        [SL_PULSE_CAPTURE_STANDS] = "the capture thread stands still",
        [SL_PULSE_RECORDER_STANDS] = "the recorder thread stands still",
        [SL_PULSE_UNEXPLAINED] = "no frame moves, for no reason that is known",
    };

    return texts[pulse];
}

static enum sl_pulse judge(const struct sl_vitals *last, const struct sl_vitals *now, int64_t silent_ns, int64_t interval_ns)
{
    bool same_threads = now->openings == last->openings && last->has_device;

    if (!now->has_device)
        return SL_PULSE_NO_DEVICE;
    if (now->moved != last->moved)
        return SL_PULSE_MOVING;
    if (same_threads && now->recorder_turns == last->recorder_turns)
        return SL_PULSE_RECORDER_STANDS;
    if (!now->captures)
        return SL_PULSE_DRAINING;
    if (same_threads && now->capture_turns == last->capture_turns)
        return SL_PULSE_CAPTURE_STANDS;
    if (now->waiting)
        return SL_PULSE_DISK;
    return silent_ns <= now->quiet_ns + interval_ns ? SL_PULSE_QUIET : SL_PULSE_UNEXPLAINED;
}

enum sl_pulse sl_pulse_judge(struct sl_pulse_watch *watch, const struct sl_vitals *vitals, int64_t now_ns, int64_t interval_ns)
{
    const struct sl_vitals last = watch->last;
    bool first = !watch->begun;

    if (first || !vitals->has_device || vitals->openings != last.openings || vitals->captured != last.captured)
        watch->captured_ns = now_ns;
    watch->begun = true;
    watch->last = *vitals;
    if (first)
        return vitals->has_device ? SL_PULSE_QUIET : SL_PULSE_NO_DEVICE;
    return judge(&last, vitals, now_ns - watch->captured_ns, interval_ns);
}
