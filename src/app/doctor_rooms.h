/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_DOCTOR_ROOMS_H
#define SL_APP_DOCTOR_ROOMS_H

#include "app/doctor_check.h"

/* The checks of each file, for the table alone. */
typedef void sl_doctor_look(const struct sl_doctor *doctor, struct sl_doctor_finding *finding);
typedef void sl_doctor_fix(const struct sl_doctor *doctor, struct sl_doctor_repair *repair);

/* doctor_pages.c */
sl_doctor_look sl_doctor_huge_pages, sl_doctor_transparent_pages;
sl_doctor_fix sl_doctor_fix_huge_pages;
/* doctor_memory.c */
sl_doctor_look sl_doctor_memory, sl_doctor_memory_lock, sl_doctor_swap, sl_doctor_cma;
/* doctor_dmabuf.c */
sl_doctor_look sl_doctor_udmabuf, sl_doctor_dma_heap;
sl_doctor_fix sl_doctor_fix_udmabuf;
/* doctor_cpu.c */
sl_doctor_look sl_doctor_governor, sl_doctor_throttling, sl_doctor_clock_source;
sl_doctor_fix sl_doctor_fix_governor;
/* doctor_interrupts.c */
sl_doctor_look sl_doctor_interrupts;
/* doctor_kernel.c */
sl_doctor_look sl_doctor_io_uring, sl_doctor_perf_events;
/* doctor_limits.c */
sl_doctor_look sl_doctor_realtime, sl_doctor_open_files, sl_doctor_service;
/* doctor_disk.c */
sl_doctor_look sl_doctor_directory, sl_doctor_mount, sl_doctor_free_space, sl_doctor_direct_io;
/* doctor_queue.c */
sl_doctor_look sl_doctor_scheduler, sl_doctor_write_cache, sl_doctor_request_size;
sl_doctor_fix sl_doctor_fix_scheduler;
/* doctor_network.c */
sl_doctor_look sl_doctor_socket_buffers, sl_doctor_links;

#endif
