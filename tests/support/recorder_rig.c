/* SPDX-License-Identifier: Apache-2.0 */
#include "support/recorder_rig.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/make_recording.h"
#include "support/scratch.h"
#include "writer/ebml.h"
#include "writer/verify.h"

static void need(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "recorder rig: %s\n", what);
    abort();
}

/* -- A disk of a given size: what the files of the scratch directory take is gone from it ------------------------------ */

static int free_bytes(void *self, int dir_fd, uint64_t *bytes)
{
    const struct rec_rig *rig = self;
    uint64_t used = scratch_used() + rig->spec.others_bytes;

    (void)dir_fd;
    *bytes = rig->spec.disk_bytes > used ? rig->spec.disk_bytes - used : 0;
    return 0;
}

static int allocate(void *self, int fd, uint64_t offset, uint64_t bytes)
{
    uint64_t left;

    free_bytes(self, -1, &left);
    if (bytes > left)
        return -ENOSPC;
    return sl_space_system.allocate(NULL, fd, offset, bytes);
}

/* -- Open and close ----------------------------------------------------------------------------------------------------- */

static int open_store(void *self, struct sl_store **out, struct sl_wake *wake)
{
    struct rec_rig *rig = self;

    (void)wake;
    memory_store_open(
        out,
        &(struct memory_store_cfg){
            .clock = &rig->clock, .latency_ns = rig->spec.latency_ns, .shuffle = rig->spec.shuffle, .judge = rig->spec.judge, .self = rig});
    rig->store = *out;
    return 0;
}

static void fill_spec(struct rec_spec *spec)
{
    spec->format = spec->format ? spec->format : "YUYV";
    spec->width = spec->width ? spec->width : 64;
    spec->height = spec->height ? spec->height : 48;
    if (spec->fps.num == 0)
        spec->fps = (struct sl_rational){60, 1};
    spec->slots = spec->slots ? spec->slots : 80;
    spec->limit = spec->limit ? spec->limit : 60;
    spec->cfg.queue_depth = spec->cfg.queue_depth ? spec->cfg.queue_depth : 4;
    spec->cfg.name = "cam";
    spec->cfg.description = "a camera of the tests";
}

int rec_open(struct rec_rig *rig, const struct rec_spec *spec)
{
    struct sl_recorder_fakes fakes = {.self = rig, .open_store = open_store, .space = &rig->space};
    struct sl_recorder_deps deps;
    struct sl_error err = {""};
    static char dir[512];
    int rc;

    memset(rig, 0, sizeof(*rig));
    rig->spec = *spec;
    fill_spec(&rig->spec);
    snprintf(dir, sizeof(dir), "%s", scratch_path("."));
    rig->spec.cfg.dir = dir;
    rig->space = (struct sl_space){.self = rig, .free_bytes = free_bytes, .allocate = allocate};
    if (rig->spec.disk_bytes == 0)
        fakes.space = NULL;
    rig->start_ns = 1000 * SL_NS_PER_S;
    sl_manual_clock_init(&rig->clock, rig->start_ns);
    rig->clock.utc_offset_ns = 1767312000 * SL_NS_PER_S;
    need(sl_video_format_tight(&rig->format, sl_pixel_format_by_name(rig->spec.format), rig->spec.width, rig->spec.height) == 0, "format");
    rig->format.fps = rig->spec.fps;
    need(sl_memory_host(&rig->memory, rig->spec.slots, rig->format.frame_bytes, SL_HUGEPAGES_NO, &err) == 0, err.text);
    need(sl_pool_open(&rig->pool, rig->memory, &err) == 0, err.text);
    need(sl_fanout_open(&rig->fanout, rig->pool, 0, &err) == 0, err.text);
    need(sl_fanout_add(
             rig->fanout,
             &(struct sl_sink_cfg){.name = "record", .limit = rig->spec.limit < rig->spec.slots ? rig->spec.limit : SL_SINK_WHOLE_POOL},
             &rig->sink, &err) == 0,
         err.text);
    need(sl_events_init(&rig->events, 256) == 0, "events");
    deps = (struct sl_recorder_deps){
        .clock = &rig->clock.clock, .format = &rig->format, .memory = rig->memory, .sink = rig->sink, .events = &rig->events};
    rc = sl_recorder_open_with(&rig->recorder, &rig->spec.cfg, &deps, &fakes, &err);
    if (rc < 0)
        return rc;
    need(sl_recorder_agent(rig->recorder)->on_start(rig->recorder) == 0, "on_start");
    rec_turn(rig);
    return 0;
}

void rec_close(struct rec_rig *rig)
{
    struct sl_error err = {{0}};

    sl_recorder_close(rig->recorder);
    sl_sink_leave(rig->sink);
    need(sl_fanout_close(rig->fanout, &err) == 0, err.text);
    sl_pool_close(rig->pool);
    sl_memory_close(rig->memory);
    sl_events_fini(&rig->events);
    memset(rig, 0, sizeof(*rig));
}

/* -- Turns and frames --------------------------------------------------------------------------------------------------- */

static void take_events(struct rec_rig *rig)
{
    struct sl_event event;

    while (sl_events_take(&rig->events, &event)) {
        need(rig->event_count < sizeof(rig->event) / sizeof(rig->event[0]), "too many events");
        rig->event[rig->event_count++] = event;
    }
}

void rec_turn(struct rec_rig *rig)
{
    const struct sl_agent *recorder = sl_recorder_agent(rig->recorder);
    const struct sl_agent *house = sl_recorder_housekeeper(rig->recorder);
    unsigned quiet = 0;
    uint64_t seen = 0;

    for (unsigned turns = 0; quiet < 4; turns++) {
        int did = rig->result < 0 ? 0 : recorder->do_work(recorder->self);

        need(turns < 100000, "the agents never come to rest");
        if (did < 0) {
            rig->result = did;
            did = 0;
        }
        did += house->do_work(house->self);
        quiet = did || memory_store_stats(rig->store)->writes != seen ? 0 : quiet + 1;
        seen = memory_store_stats(rig->store)->writes;
    }
    take_events(rig);
}

static int64_t due_ns(const struct rec_rig *rig)
{
    return rig->start_ns + sl_frame_time_ns(rig->spec.fps, rig->number);
}

static void advance_to(struct rec_rig *rig, int64_t ns)
{
    int64_t now_ns = sl_now_ns(&rig->clock.clock);

    if (ns > now_ns)
        sl_manual_clock_advance(&rig->clock, ns - now_ns);
}

void rec_frame(struct rec_rig *rig)
{
    struct sl_frame *frame;

    advance_to(rig, due_ns(rig));
    rec_turn(rig);
    sl_fanout_collect(rig->fanout);
    frame = sl_pool_acquire(rig->pool);
    if (!frame) {
        rig->lost[SL_LOSS_NO_SLOT]++;
        rig->number++;
        return;
    }
    made_payload(rig->number, frame->slot->data, rig->format.frame_bytes);
    frame->number = rig->number;
    frame->sequence = (uint32_t)rig->number;
    frame->flags = 0;
    frame->bytesused = rig->format.frame_bytes;
    frame->time_ns = due_ns(rig);
    frame->dequeued_ns = sl_now_ns(&rig->clock.clock);
    frame->captured = ++rig->captured;
    memcpy(frame->lost, rig->lost, sizeof(frame->lost));
    sl_frame_filled(frame);
    sl_fanout_publish(rig->fanout, frame);
    rig->number++;
    rec_turn(rig);
}

void rec_frames(struct rec_rig *rig, uint64_t count)
{
    while (count-- > 0)
        rec_frame(rig);
}

void rec_gap(struct rec_rig *rig, uint64_t count, enum sl_loss cause)
{
    rig->number += count;
    rig->lost[cause] += count;
}

void rec_pass(struct rec_rig *rig, int64_t ns)
{
    for (int64_t end_ns = sl_now_ns(&rig->clock.clock) + ns; sl_now_ns(&rig->clock.clock) < end_ns;) {
        sl_manual_clock_advance(&rig->clock, SL_NS_PER_MS);
        rec_turn(rig);
    }
}

int rec_drain(struct rec_rig *rig, bool hurry)
{
    sl_recorder_drain(rig->recorder, hurry);
    rec_turn(rig);
    for (unsigned ms = 0; rig->result == 0; ms++) {
        need(ms < 100000, "the drain never ends");
        rec_pass(rig, SL_NS_PER_MS);
    }
    sl_recorder_drain(rig->recorder, hurry); /* as the supervisor does when the agent ended by itself */
    take_events(rig);
    return rig->result;
}

/* -- What came of it ---------------------------------------------------------------------------------------------------- */

uint64_t rec_count(const struct rec_rig *rig, enum sl_recorder_counter which)
{
    return sl_recorder_counter(rig->recorder, which);
}

void rec_books(const struct rec_rig *rig, struct sl_books *books)
{
    *books = (struct sl_books){
        .expected = rig->number - rec_count(rig, SL_RECORDER_UNTRIGGERED),
        .captured = rig->captured - rec_count(rig, SL_RECORDER_UNTRIGGERED),
        .recorded = rec_count(rig, SL_RECORDER_RECORDED),
    };
    memcpy(books->lost, rig->lost, sizeof(books->lost));
    books->lost[SL_LOSS_DISK_LATE] += rec_count(rig, SL_RECORDER_DISK_LATE) + rec_count(rig, SL_RECORDER_ABANDONED);
    books->lost[SL_LOSS_DISK_ERROR] += rec_count(rig, SL_RECORDER_DISK_ERROR) + rec_count(rig, SL_RECORDER_REFUSED_ERROR);
    books->lost[SL_LOSS_DISK_FULL] += rec_count(rig, SL_RECORDER_DISK_FULL) + rec_count(rig, SL_RECORDER_REFUSED_FULL);
}

unsigned rec_events(const struct rec_rig *rig, enum sl_event_kind kind)
{
    unsigned count = 0;

    for (unsigned i = 0; i < rig->event_count; i++)
        count += rig->event[i].kind == (uint32_t)kind;
    return count;
}

unsigned rec_events_of(const struct rec_rig *rig, enum sl_event_kind kind, uint64_t segment)
{
    unsigned count = 0;

    for (unsigned i = 0; i < rec_events(rig, kind); i++)
        count += rec_event(rig, kind, i)->first == segment;
    return count;
}

const struct sl_event *rec_event(const struct rec_rig *rig, enum sl_event_kind kind, unsigned index)
{
    for (unsigned i = 0; i < rig->event_count; i++)
        if (rig->event[i].kind == (uint32_t)kind && index-- == 0)
            return &rig->event[i];
    ck_abort_msg("there is no such event");
    return NULL;
}

uint64_t rec_lost_in_events(const struct rec_rig *rig, enum sl_loss cause)
{
    uint64_t lost = 0;

    for (unsigned i = 0; i < rig->event_count; i++)
        if (rig->event[i].kind == SL_EVENT_LOSS && rig->event[i].code == (uint32_t)cause)
            lost += rig->event[i].count;
    return lost;
}

struct reading {
    struct rec_rig *rig;
    struct rec_files *found;
    const char *path;
    uint8_t *wanted;
};

static void damaged(void *context, const char *line)
{
    const struct reading *reading = context;

    ck_abort_msg("%s: %s", reading->path, line);
}

static int check_frame(void *context, const struct sl_frame_record *record, const uint8_t *payload)
{
    struct reading *reading = context;
    struct rec_files *found = reading->found;
    size_t bytes = reading->rig->format.frame_bytes;

    made_payload(record->number, reading->wanted, bytes);
    ck_assert_msg(memcmp(payload, reading->wanted, bytes) == 0, "%s: slot %llu: bytes of frame %llu are wrong", reading->path,
                  (unsigned long long)record->slot, (unsigned long long)record->number);
    ck_assert_int_eq(record->monotonic_ns, reading->rig->start_ns + sl_frame_time_ns(reading->rig->spec.fps, record->number));
    ck_assert(sl_books_balanced(&record->books));
    if (found->frames == 0)
        found->first_number = record->number;
    found->last_number = record->number;
    found->frames++;
    found->frames_in[found->files]++;
    return 0;
}

void rec_read(struct rec_rig *rig, struct rec_files *found)
{
    struct reading reading = {.rig = rig, .found = found, .wanted = malloc(rig->format.frame_bytes)};
    const struct sl_verify_sink sink = {.context = &reading, .damage = damaged, .frame = check_frame};
    struct sl_audit audit = {0};
    char path[1024];

    need(reading.wanted != NULL, "out of memory");
    memset(found, 0, sizeof(*found));
    for (uint64_t number = 1; sl_recorder_segment_path(rig->recorder, number, path, sizeof(path)) == 0; number++) {
        struct sl_verify_result result;
        struct sl_error err = {""};
        int rc;

        if (access(path, F_OK))
            continue;
        reading.path = path;
        rc = sl_verify_file(path, &audit, &sink, &result, &err);
        ck_assert_msg(rc == 0, "%s: %s", path, err.text);
        ck_assert_msg(result.info.finished, "%s is not finished", path);
        ck_assert_uint_lt(found->files, 1023);
        ck_assert_uint_gt(found->frames_in[found->files], 0);
        found->bytes += scratch_size(path);
        found->files++;
    }
    free(reading.wanted);
}

unsigned rec_walk(struct rec_rig *rig, uint64_t segment)
{
    struct sl_ebml_element element;
    uint64_t at = SL_LAYOUT_SEGMENT_DATA, end;
    uint8_t head[16];
    unsigned clusters = 0;
    char path[1024];
    int fd;

    ck_assert_int_eq(sl_recorder_segment_path(rig->recorder, segment, path, sizeof(path)), 0);
    end = scratch_size(path);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    need(fd >= 0, path);
    while (at < end) {
        size_t bytes = end - at < sizeof(head) ? (size_t)(end - at) : sizeof(head);

        need(pread(fd, head, bytes, (off_t)at) == (ssize_t)bytes, path);
        ck_assert_msg(sl_ebml_read_head(head, bytes, &element) == 0, "%s: no element at byte %llu of %llu", path, (unsigned long long)at,
                      (unsigned long long)end);
        clusters += element.id == SL_MKV_CLUSTER;
        at += element.head_bytes + element.size;
    }
    close(fd);
    ck_assert_uint_eq(at, end);
    return clusters;
}

void rec_record(struct rec_rig *rig, uint64_t segment, uint64_t slot, struct sl_frame_record *record)
{
    uint8_t page[SL_PAGE_BYTES];
    char path[1024];

    ck_assert_int_eq(sl_recorder_segment_path(rig->recorder, segment, path, sizeof(path)), 0);
    scratch_read(path, sl_layout_header_at(&rig->recorder->run.layout, slot), page, sizeof(page));
    ck_assert_int_eq(sl_layout_open_seal(page, record), 0);
}
