/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_WRITER_STORE_FAULT_H
#define SL_WRITER_STORE_FAULT_H

/* What a disk can do wrong, by script: [fault] store=… of a config. */

#include <stdint.h>

/* `at` is a frame write (counted from 0), for a stall a time. */
enum sl_store_fault_kind {
    SL_STORE_FAULT_STALL,
    SL_STORE_FAULT_EIO,
    SL_STORE_FAULT_ENOSPC,
    SL_STORE_FAULT_SHORT,
    SL_STORE_FAULT_LATE,
    SL_STORE_FAULT_EAGAIN,
    SL_STORE_FAULT_JITTER
};
struct sl_store_fault {
    enum sl_store_fault_kind kind;
    uint64_t at;    /* frame write number; stall: ns after the first frame write; jitter: seed */
    uint64_t count; /* how many writes; stall, late: how long, ns; jitter: the mean, ns */
};

#endif
