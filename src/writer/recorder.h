/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_RECORDER_H
#define SL_WRITER_RECORDER_H

/* What the recorder's files have of each other. Recorder agent, where nothing else is said. */

#include "writer/recorder_fakes.h"
#include "writer/recorder_state.h"

/* recorder_path.c, control thread: finds the way to the disk, opens the store and the bounce memory. */
int sl_recorder_find_path(struct sl_recorder *r, const struct sl_recorder_fakes *fakes, struct sl_error *err);

/* recorder_agent.c */
void sl_recorder_init_agent(struct sl_recorder *r);
uint64_t sl_tag(enum sl_tag_kind kind, unsigned index, unsigned part);
void sl_recorder_settle(struct sl_recorder *r); /* once: gives back and books what is left in hand and in the sink */
void sl_recorder_abort(struct sl_recorder *r);  /* ends what is in flight, gives every segment back */

/* recorder_frame.c */
void sl_recorder_fly(struct sl_recorder *r, struct sl_frame *frame);
void sl_recorder_landed(struct sl_recorder *r, unsigned index, unsigned number, int64_t result);
void sl_recorder_revoided(struct sl_recorder *r, unsigned index);
void sl_recorder_retry_no_space(struct sl_recorder *r, int error);
/* Enters a frame that is not written, for that reason, and releases it. */
void sl_recorder_give_up(struct sl_recorder *r, struct sl_frame *frame, enum sl_loss cause, int error);
/* What a frame that the sink refused at that moment is lost for; and the books of such frames. */
enum sl_loss sl_recorder_why_refused(const struct sl_recorder *r, int64_t at_ns);
void sl_recorder_refused(struct sl_recorder *r, enum sl_loss cause, uint64_t first, uint64_t frames);
void sl_recorder_let_go(struct sl_recorder *r, struct sl_frame *frame); /* untriggered */
void sl_recorder_force_landing(struct sl_recorder *r);                  /* releases frames whose completions never came */

/* recorder_segment.c */
void sl_recorder_take_replies(struct sl_recorder *r);
bool sl_recorder_have_place(struct sl_recorder *r, const struct sl_frame *frame); /* rotates when it is due */
void sl_recorder_retire_current(struct sl_recorder *r);
void sl_recorder_tend_segments(struct sl_recorder *r);
void sl_recorder_fail(struct sl_recorder *r, enum sl_mode mode, int error);
void sl_recorder_give_back_all(struct sl_recorder *r);
void sl_recorder_sync(struct sl_recorder *r);
void sl_recorder_synced(struct sl_recorder *r, struct sl_segment *segment, int64_t result);

/* recorder_format.c */
void sl_recorder_format(struct sl_recorder *r);
void sl_recorder_formatted(struct sl_recorder *r, unsigned index, int64_t result);

/* recorder_event.c */
void sl_recorder_post(struct sl_recorder *r, enum sl_event_kind kind, uint32_t code, uint64_t first, uint64_t count, int error);
void sl_recorder_lost(struct sl_recorder *r, enum sl_loss cause, uint64_t first, uint64_t count, int error);
void sl_recorder_flush_loss(struct sl_recorder *r, bool now);

#endif
