/* SPDX-License-Identifier: Apache-2.0 */
#include "dma/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *state_name(uint32_t state)
{
    static const char *const names[] = {"FREE", "QUEUED", "FILLED", "SHARED"};

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : "(no state)";
}

static void die(const char *text) __attribute__((noreturn, cold));

static void die(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        abort(); /* untold, but stopped all the same */
    abort();
}

void sl_frame_bug(const struct sl_frame *frame, const char *what)
{
    char text[256];
    uint32_t state = atomic_load_explicit(&frame->state, memory_order_relaxed);

    snprintf(text, sizeof(text), "sluice: bug: frame %u (%s, %u references): %s\n", frame->index, state_name(state),
             atomic_load_explicit(&frame->references, memory_order_relaxed), what);
    die(text);
}

void sl_frame_move(struct sl_frame *frame, enum sl_frame_state from, enum sl_frame_state to)
{
    char text[256];
    uint32_t state = atomic_load_explicit(&frame->state, memory_order_relaxed);

    if (state != from) {
        snprintf(text, sizeof(text), "sluice: bug: frame %u is %s, so it cannot go from %s to %s\n", frame->index, state_name(state),
                 state_name(from), state_name(to));
        die(text);
    }
    /* relaxed: the frame has one owner at each of these moments, and the rings order one owner after the other */
    atomic_store_explicit(&frame->state, to, memory_order_relaxed);
}

void sl_frame_filled(struct sl_frame *frame)
{
    sl_frame_move(frame, SL_FRAME_QUEUED, SL_FRAME_FILLED);
}
