/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_APP_CONFIG_H
#define SL_APP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/capture.h"
#include "capture/script.h"
#include "core/error.h"
#include "core/option.h"
#include "dma/dma.h"
#include "writer/store_fault.h"
#include "writer/writer.h"

/*
 * The effective configuration. Names, types, ranges, defaults and help are in the option table (options.c) alone;
 * strings are owned by the config and live until sl_config_fini.
 */

enum sl_memory_choice { SL_MEMORY_AUTO, SL_MEMORY_MMAP, SL_MEMORY_USERPTR };
enum { SL_CONFIG_MAX_FAULTS = SL_SENSOR_FAULTS_MAX };

struct sl_config {
    struct {
        char *name;
        int source;             /* enum sl_source_kind */
        char *device;           /* NULL unless source is v4l2 */
        char *file;             /* replay: the recording */
        char *format;           /* NULL: auto */
        uint32_t width, height; /* 0: as the device has it */
        struct sl_rational fps; /* {0, 1}: as the device has it */
        int64_t input;          /* -1: leave */
        char *dv_timings;       /* NULL: leave */
        char *controls;         /* NULL: none */
        int64_t buffers;
        int memory;            /* enum sl_memory_choice */
        int bad_frames;        /* 0 keep, 1 drop */
        int64_t stall_timeout; /* ns */
        bool reopen;
        bool paced;
        bool loop;
    } sensor;
    struct {
        int64_t depth_ns; /* one of the two is 0 */
        int64_t depth_slots;
        int hugepages; /* enum sl_hugepages */
    } ring;
    struct {
        bool enabled; /* the section is there */
        char *dir;
        int64_t segment_time; /* ns; 0: no limit */
        int64_t segment_size; /* bytes; 0: no limit */
        int64_t queue_depth;
        int checksum;          /* enum sl_checksum */
        int sync;              /* enum sl_sync */
        int64_t sync_interval; /* ns */
        int when_full;         /* enum sl_when_full */
        int64_t keep_free;
        int64_t prerecord; /* ns */
        char *trigger;     /* path of a FIFO that takes "start" and "stop" lines; NULL: signals only */
    } record;
    struct {
        int64_t capture_cpu, writer_cpu; /* -1: any */
        int64_t priority;                /* 0: normal */
        bool lock_memory;
    } realtime;
    struct {
        struct sl_store_fault store[SL_CONFIG_MAX_FAULTS];
        unsigned stores;
        struct sl_sensor_fault sensor[SL_CONFIG_MAX_FAULTS];
        unsigned sensors;
    } fault;
};

/* The option table of the appliance. */
extern const struct sl_option_table sl_config_options;

/* Reads the file, then the `set` strings ("section.key=value"), then checks across options. Errors are `FILE:LINE: …` lines, every
 * one that can be found, one per line in err->text; -EINVAL or the errno of reading. Touches no device and no other file.
 * `origins` may be NULL; both are written only on success: fini both then. */
int sl_config_load(struct sl_config *config, struct sl_option_origins *origins, const char *path, const char *const *set, unsigned sets,
                   struct sl_error *err);
/* The same from text in memory; `path` is for messages. */
int sl_config_parse(struct sl_config *config, struct sl_option_origins *origins, const char *path, const char *data, size_t bytes,
                    const char *const *set, unsigned sets, struct sl_error *err);
void sl_config_fini(struct sl_config *config);

/* Frames the ring has to hold beside the device's own: depth and prerecord, at the rate the device granted. At least 1. */
unsigned sl_config_ring_frames(const struct sl_config *config, struct sl_rational fps);

#endif
