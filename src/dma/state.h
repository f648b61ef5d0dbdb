/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_DMA_STATE_H
#define SL_DMA_STATE_H

#include "dma/dma.h"

/* Private to the module: the frame's state machine and the pool's free list. */

/* Aborts unless the frame is in state `from`. The caller owns the frame. */
void sl_frame_move(struct sl_frame *frame, enum sl_frame_state from, enum sl_frame_state to);

/* A bug of ours that would hand memory to two owners: says what and aborts. */
void sl_frame_bug(const struct sl_frame *frame, const char *what) __attribute__((noreturn, cold));

/* SHARED with no reference left → FREE, and onto the free list. Capture thread. */
void sl_pool_take_home(struct sl_pool *pool, struct sl_frame *frame);

#endif
