/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_CORE_LOG_H
#define SL_CORE_LOG_H

/*
 * Log lines to stderr: "sluice: LEVEL: text", one write(2) a line, so that lines of several processes do not mix.
 * Control path only; an agent's hot path reports through counters and events (core/event.h).
 */

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARNING, SL_LOG_INFO, SL_LOG_DEBUG };

/* Lines above this level are not written. Default SL_LOG_INFO. Call before threads start. */
void sl_log_set_level(enum sl_log_level level);

/* Any thread. Cut at 1,000 bytes. */
void sl_log(enum sl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
