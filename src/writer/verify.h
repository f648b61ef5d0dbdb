/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_VERIFY_H
#define SL_WRITER_VERIFY_H

/*
 * Reads a recording from the first byte to the last and says what is not as it should be: header pages, checksums, the
 * structure as any player sees it, index and duration, and the books. One thread per call.
 *
 * Damage is what a whole recording does not have. Frames that were lost and booked while it was recorded are not damage.
 */

#include "writer/audit.h"
#include "writer/recording.h"

struct sl_verify_sink {
    void *context;
    /* One line per damage, and per oddity that is none. Both may be NULL. */
    void (*damage)(void *context, const char *line);
    void (*note)(void *context, const char *line);
    /* Frames missing between two others. May be NULL. */
    void (*gap)(void *context, const struct sl_audit_gap *gap);
    /* Each good or unproven frame, in order. NULL: payloads are checked but not handed out. Negative errno ends the reading. */
    int (*frame)(void *context, const struct sl_frame_record *record, const uint8_t *payload);
};

struct sl_verify_result {
    struct sl_recording_info info;
    uint64_t verdicts[SL_SLOT_DAMAGED + 1]; /* slots by enum sl_slot_verdict */
    uint64_t completed;                     /* slots below this one were complete on the store, as far as the file says */
    uint64_t undone;                        /* torn or damaged, though they were complete once: of slots below `completed` */
    uint64_t frames;                        /* with a header page that is right: good, unproven and torn */
    struct sl_frame_record first, last;     /* of these */
    int64_t highest_ns;                     /* time among these; a device's clock may have gone back */
    uint64_t holes_at_end;                  /* slots without a frame after the last one */
    uint64_t lost[SL_LOSS_COUNT];           /* booked within this file */
    struct sl_marked marked;                /* of the good and unproven ones */
    uint64_t damages;                       /* lines given to `damage` */
};

/* `audit` goes on from the file before when it is the previous segment of the same run, and is started anew otherwise; zeroed
 * before the first file. 0 also when damage was found: see result->damages. -EUCLEAN, -EBADMSG and others as sl_recording_open. */
int sl_verify_file(const char *path, struct sl_audit *audit, const struct sl_verify_sink *sink, struct sl_verify_result *result,
                   struct sl_error *err);

#endif
