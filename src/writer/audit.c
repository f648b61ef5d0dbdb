/* SPDX-License-Identifier: Apache-2.0 */
#include "writer/audit.h"

#include <string.h>

#include "dma/dma.h"

void sl_audit_init(struct sl_audit *audit, bool from_start)
{
    memset(audit, 0, sizeof *audit);
    audit->started = from_start;
    audit->last.number = UINT64_MAX; /* the one before 0 */
    audit->last.monotonic_ns = INT64_MIN;
}

void sl_audit_hole(struct sl_audit *audit, bool must_hold)
{
    audit->pending_holes++;
    audit->pending_explaining += !must_hold;
    audit->holes++;
}

void sl_marked_add(struct sl_marked *marked, const struct sl_frame_record *record)
{
    if (!(record->flags & (SL_FRAME_DEVICE_ERROR | SL_FRAME_SHORT)))
        return;
    if (marked->frames < SL_MARKED_NUMBERS)
        marked->number[marked->frames] = record->number;
    marked->frames++;
    marked->error += (record->flags & SL_FRAME_DEVICE_ERROR) != 0;
    marked->too_short += (record->flags & SL_FRAME_SHORT) != 0;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Books of the record against those before it; the sum of what was booked goes to *booked. */
static unsigned check_books(struct sl_audit *audit, const struct sl_frame_record *record, struct sl_audit_gap *gap, uint64_t *booked)
{
    uint64_t steps = record->number - audit->last.number;
    uint64_t expected = record->books.expected - audit->last.books.expected;
    unsigned faults = sl_books_balanced(&record->books) ? 0 : SL_AUDIT_BALANCE;

    *booked = 0;
    for (unsigned i = 0; i < SL_LOSS_COUNT; i++) {
        if (record->books.lost[i] < audit->last.books.lost[i]) {
            faults |= SL_AUDIT_BACKWARD;
            continue;
        }
        gap->booked[i] = record->books.lost[i] - audit->last.books.lost[i];
        audit->lost[i] += gap->booked[i];
        *booked += gap->booked[i];
    }
    if (record->books.expected < audit->last.books.expected || expected > steps)
        faults |= SL_AUDIT_EXPECTED;
    else
        gap->paused = min_u64(steps - expected, gap->count);
    return faults;
}

static unsigned check_step(struct sl_audit *audit, const struct sl_frame_record *record, struct sl_audit_gap *gap)
{
    uint64_t missing, booked;
    unsigned faults;

    if (record->number + 1 <= audit->last.number + 1)
        return SL_AUDIT_NUMBER;
    gap->first = audit->last.number + 1;
    gap->count = record->number - gap->first;
    gap->holes = audit->pending_holes;
    gap->monotonic_ns = record->monotonic_ns;

    faults = check_books(audit, record, gap, &booked);
    if (record->monotonic_ns <= audit->last.monotonic_ns)
        faults |= SL_AUDIT_TIME;
    missing = gap->count - gap->paused;
    missing -= min_u64(missing, audit->pending_explaining);
    if (missing > booked)
        gap->unbooked = missing - booked;
    audit->missing += gap->count - gap->paused;
    audit->lacking += gap->unbooked;
    audit->excess += booked - min_u64(booked, missing);
    return faults;
}

unsigned sl_audit_frame(struct sl_audit *audit, const struct sl_frame_record *record, struct sl_audit_gap *gap)
{
    unsigned faults = 0;

    memset(gap, 0, sizeof *gap);
    if (audit->started)
        faults = check_step(audit, record, gap);
    else if (!sl_books_balanced(&record->books))
        faults = SL_AUDIT_BALANCE;
    audit->frames++;
    audit->started = true;
    audit->pending_holes = audit->pending_explaining = 0;
    if (!(faults & SL_AUDIT_NUMBER))
        audit->last = *record;
    return faults;
}

uint64_t sl_audit_unexplained(const struct sl_audit *audit)
{
    return audit->lacking - min_u64(audit->lacking, audit->excess);
}

uint64_t sl_audit_overbooked(const struct sl_audit *audit)
{
    uint64_t spare = audit->excess - min_u64(audit->excess, audit->lacking);

    return spare - min_u64(spare, audit->holes);
}
