/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/place.h"

uint64_t sl_capture_place_miss(struct sl_capture_place *place, int64_t until_ns)
{
    uint64_t expected = place->counter[SL_CAPTURE_EXPECTED];
    uint64_t missed;

    if (until_ns < place->due_ns || sl_capture_place_at_limit(place) || !place->fps.num)
        return 0;
    missed = (uint64_t)((double)(until_ns - place->due_ns) / place->interval_ns) + 1;
    if (place->frame_limit && missed > place->frame_limit - expected)
        missed = place->frame_limit - expected;
    place->counter[SL_CAPTURE_EXPECTED] += missed;
    place->lost[SL_LOSS_DEVICE_GONE] += missed;
    place->untold += missed;
    place->due_ns += (int64_t)((double)missed * place->interval_ns + 0.5);
    place->elapsed_ns += (double)missed * SL_NS_PER_S * place->fps.den / place->fps.num;
    return missed;
}

bool sl_capture_place_at_limit(const struct sl_capture_place *place)
{
    return place->frame_limit && place->counter[SL_CAPTURE_EXPECTED] >= place->frame_limit;
}

bool sl_capture_place_tell(struct sl_capture_place *place, int64_t now_ns, struct sl_event *event)
{
    if (!place->untold)
        return false;
    *event = (struct sl_event){
        .time_ns = now_ns,
        .kind = SL_EVENT_LOSS,
        .code = SL_LOSS_DEVICE_GONE,
        .first = place->counter[SL_CAPTURE_EXPECTED] - place->untold,
        .count = place->untold,
        .error = place->error,
    };
    place->untold = 0;
    return true;
}
