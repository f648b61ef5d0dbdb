/* SPDX-License-Identifier: Apache-2.0 */
#include "app/doctor_rooms.h"

const struct sl_doctor_check sl_doctor_checks[] = {
    {"huge-pages", "memory", sl_doctor_huge_pages, sl_doctor_fix_huge_pages},
    {"transparent-huge-pages", "memory", sl_doctor_transparent_pages, NULL},
    {"free-memory", "memory", sl_doctor_memory, NULL},
    {"memory-lock", "memory", sl_doctor_memory_lock, NULL},
    {"udmabuf", "memory", sl_doctor_udmabuf, sl_doctor_fix_udmabuf},
    {"dma-heap", "memory", sl_doctor_dma_heap, NULL},
    {"cma", "memory", sl_doctor_cma, NULL},
    {"swap", "memory", sl_doctor_swap, NULL},
    {"governor", "cpu", sl_doctor_governor, sl_doctor_fix_governor},
    {"throttling", "cpu", sl_doctor_throttling, NULL},
    {"interrupts", "cpu", sl_doctor_interrupts, NULL},
    {"clock-source", "cpu", sl_doctor_clock_source, NULL},
    {"io-uring", "kernel", sl_doctor_io_uring, NULL},
    {"perf-events", "kernel", sl_doctor_perf_events, NULL},
    {"real-time", "limits", sl_doctor_realtime, NULL},
    {"open-files", "limits", sl_doctor_open_files, NULL},
    {"service", "limits", sl_doctor_service, NULL},
    {"directory", "disk", sl_doctor_directory, NULL},
    {"mount", "disk", sl_doctor_mount, NULL},
    {"free-space", "disk", sl_doctor_free_space, NULL},
    {"direct-io", "disk", sl_doctor_direct_io, NULL},
    {"scheduler", "disk", sl_doctor_scheduler, sl_doctor_fix_scheduler},
    {"write-cache", "disk", sl_doctor_write_cache, NULL},
    {"request-size", "disk", sl_doctor_request_size, NULL},
    {"socket-buffers", "network", sl_doctor_socket_buffers, NULL},
    {"links", "network", sl_doctor_links, NULL},
};
const unsigned sl_doctor_check_count = sizeof sl_doctor_checks / sizeof *sl_doctor_checks;
