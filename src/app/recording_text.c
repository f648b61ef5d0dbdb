/* SPDX-License-Identifier: Apache-2.0 */
#include "app/recording_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

void sl_losses_text(const uint64_t lost[SL_LOSS_COUNT], char text[SL_LOSSES_TEXT])
{
    size_t used = 0;

    snprintf(text, SL_LOSSES_TEXT, "none");
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++) {
        int length;

        if (!lost[i])
            continue;
        length = snprintf(text + used, SL_LOSSES_TEXT - used, "%s%s %" PRIu64, used ? ", " : "", sl_loss_name(i), lost[i]);
        if (length < 0 || (size_t)length >= SL_LOSSES_TEXT - used)
            return;
        used += (size_t)length;
    }
}

json_t *sl_losses_json(const uint64_t lost[SL_LOSS_COUNT])
{
    json_t *object = json_object();

    for (unsigned i = 0; i < SL_LOSS_COUNT; i++)
        json_object_set_new(object, sl_loss_name(i), json_integer((json_int_t)lost[i]));
    return object;
}

void sl_utc_text(int64_t utc_ns, char text[SL_UTC_TEXT])
{
    time_t seconds = utc_ns / SL_NS_PER_S;
    long rest = (long)(utc_ns % SL_NS_PER_S);
    struct tm tm;

    if (rest < 0) {
        rest += SL_NS_PER_S;
        seconds--;
    }
    if (!gmtime_r(&seconds, &tm)) {
        snprintf(text, SL_UTC_TEXT, "unknown");
        return;
    }
    snprintf(text, SL_UTC_TEXT, "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
             tm.tm_sec, rest);
}

static const char *matrix_name(uint8_t matrix)
{
    switch (matrix) { /* ITU-T H.273, table 4 */
    case 1:
        return "BT.709";
    case 2:
        return "matrix not recorded";
    case 4:
        return "FCC";
    case 5:
    case 6:
        return "BT.601";
    case 7:
        return "SMPTE 240M";
    case 9:
    case 10:
        return "BT.2020";
    default:
        return "matrix of another kind";
    }
}

void sl_colour_text(const struct sl_colour *colour, char text[SL_COLOUR_TEXT])
{
    static const char *const ranges[] = {"range not recorded", "broadcast range", "full range"};

    snprintf(text, SL_COLOUR_TEXT, "%s, %s (primaries %u, transfer %u, matrix %u)", matrix_name(colour->matrix),
             colour->range < 3 ? ranges[colour->range] : ranges[0], colour->primaries, colour->transfer, colour->matrix);
}

void sl_session_text(const uint8_t session[16], char text[33])
{
    for (unsigned i = 0; i < 16; i++)
        snprintf(text + 2 * i, 3, "%02x", session[i]);
}

static unsigned marked_numbers(const struct sl_marked *marked)
{
    return marked->frames < SL_MARKED_NUMBERS ? (unsigned)marked->frames : SL_MARKED_NUMBERS;
}

void sl_marked_text(const struct sl_marked *marked, char text[SL_MARKED_TEXT])
{
    int used = snprintf(text, SL_MARKED_TEXT, marked->frames ? "error %" PRIu64 ", short %" PRIu64 ": frames" : "none", marked->error,
                        marked->too_short);

    for (unsigned i = 0; i < marked_numbers(marked); i++)
        used += snprintf(text + used, SL_MARKED_TEXT - (size_t)used, "%s %" PRIu64, i ? "," : "", marked->number[i]);
    if (marked->frames > SL_MARKED_NUMBERS)
        snprintf(text + used, SL_MARKED_TEXT - (size_t)used, " …");
}

json_t *sl_marked_json(const struct sl_marked *marked)
{
    json_t *numbers = json_array();

    for (unsigned i = 0; i < marked_numbers(marked); i++)
        json_array_append_new(numbers, json_integer((json_int_t)marked->number[i]));
    return json_pack("{s:I, s:I, s:I, s:o}", "frames", (json_int_t)marked->frames, "error", (json_int_t)marked->error, "short",
                     (json_int_t)marked->too_short, "numbers", numbers);
}

json_t *sl_gap_json(const struct sl_audit_gap *gap)
{
    return json_pack("{s:I, s:I, s:o, s:I, s:I, s:I}", "first", (json_int_t)gap->first, "count", (json_int_t)gap->count, "lost",
                     sl_losses_json(gap->booked), "slots_without_frame", (json_int_t)gap->holes, "paused", (json_int_t)gap->paused,
                     "unexplained", (json_int_t)gap->unbooked);
}

void sl_gap_text(const struct sl_audit_gap *gap, char *text, size_t bytes)
{
    char losses[SL_LOSSES_TEXT];
    char more[128] = "";
    size_t used = 0;

    sl_losses_text(gap->booked, losses);
    if (gap->paused)
        used += (size_t)snprintf(more, sizeof more, "; %" PRIu64 " while nothing was to be recorded", gap->paused);
    if (gap->holes)
        used += (size_t)snprintf(more + used, sizeof more - used, "; %" PRIu64 " slots without a frame", gap->holes);
    if (gap->unbooked)
        snprintf(more + used, sizeof more - used, "; %" PRIu64 " without a cause", gap->unbooked);
    if (gap->count)
        snprintf(text, bytes, "frames %" PRIu64 "…%" PRIu64 " (%" PRIu64 "): booked %s%s", gap->first, gap->first + gap->count - 1,
                 gap->count, losses, more);
    else
        snprintf(text, bytes, "before frame %" PRIu64 ": booked %s%s", gap->first, losses, more);
}
