/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opening and closing a recorder, and what other threads may ask it.
 *
 * Thread: control, but for the functions writer.h gives to any thread. Ownership: everything hangs on struct sl_recorder; a failed
 * open is undone by the same function that closes, which takes whatever is there.
 *
 * Order of close: the frames first (they are the pool's), then the segments (the house-keeper finishes them), then the store.
 */
#include "writer/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

enum { STAMP_TRIES = 3600 };

const struct sl_counter_def sl_recorder_counter_defs[] = {
    [SL_RECORDER_TAKEN] = {"taken", "frames", "Frames the recorder took from its sink."},
    [SL_RECORDER_RECORDED] = {"recorded", "frames", "Frames whose write has completed."},
    [SL_RECORDER_BYTES] = {"bytes", "bytes", "Payload of those frames."},
    [SL_RECORDER_BYTES_COPIED] = {"bytes_copied", "bytes", "Payload copied because the frames could not be written from where they lay."},
    [SL_RECORDER_DISK_ERROR] = {"disk_error", "frames", "Frames lost because their write failed."},
    [SL_RECORDER_DISK_FULL] = {"disk_full", "frames", "Frames lost because there was no space left, and when_full=stop."},
    [SL_RECORDER_DISK_LATE] = {"disk_late", "frames", "Frames the recorder never got because it held its share of the ring."},
    [SL_RECORDER_REFUSED_ERROR] = {"refused_error", "frames",
                                   "Likewise, when the disk had failed for good by then; part of the loss disk_error."},
    [SL_RECORDER_REFUSED_FULL] = {"refused_full", "frames", "Likewise, when the disk was full by then; part of the loss disk_full."},
    [SL_RECORDER_ABANDONED] = {"abandoned", "frames", "Frames given up unwritten by an end in a hurry; part of the loss disk_late."},
    [SL_RECORDER_UNTRIGGERED] = {"untriggered", "frames", "Frames let go because nothing had triggered; nobody expects them."},
    [SL_RECORDER_SHORT_WRITES] = {"short_writes", "calls", "Writes that ended early and were continued."},
    [SL_RECORDER_SUBMITS] = {"submits", "calls", "System calls of the recorder's thread into io_uring."},
    [SL_RECORDER_SYNCS] = {"syncs", "calls", "fdatasync calls made beside the writes."},
    [SL_RECORDER_SEGMENTS] = {"segments", "files", "Files that got at least one frame, those that were removed later included."},
};
_Static_assert(sizeof(sl_recorder_counter_defs) / sizeof(sl_recorder_counter_defs[0]) == SL_RECORDER_COUNTERS, "one line per counter");

const char *sl_recorder_step_name(enum sl_recorder_step step)
{
    static const char *const names[SL_STEP_COUNT] = {"buffered",    "unregistered",  "bounced",      "no_checksum",
                                                     "sync_failed", "format_failed", "extend_failed"};

    return (unsigned)step < SL_STEP_COUNT ? names[step] : NULL;
}

const char *sl_recorder_state_name(uint32_t state)
{
    static const char *const names[] = {
        [SL_MODE_ARMED] = "armed", [SL_MODE_RECORDING] = "recording", [SL_MODE_FULL] = "full", [SL_MODE_FAILED] = "failed"};

    return state < sizeof(names) / sizeof(names[0]) ? names[state] : NULL;
}

/* -- Open --------------------------------------------------------------------------------------------------------------- */

static int check_cfg(const struct sl_recorder_cfg *cfg, const struct sl_recorder_deps *deps, struct sl_error *err)
{
    const struct sl_rational fps = deps->format->fps;
    uint64_t frames = fps.den ? (uint64_t)cfg->prerecord_ns / SL_NS_PER_S * fps.num / fps.den : 0;

    if (!cfg->name[0] || strchr(cfg->name, '/') || cfg->name[0] == '.')
        return sl_fail(err, -EINVAL, "name '%s': must be good for the start of a file name", cfg->name);
    if (cfg->queue_depth < 1 || cfg->queue_depth > SL_MAX_QUEUE_DEPTH)
        return sl_fail(err, -EINVAL, "queue_depth %u: must be 1 to %d", cfg->queue_depth, SL_MAX_QUEUE_DEPTH);
    if (cfg->prerecord_ns < 0 || cfg->segment_time_ns < 0 || cfg->sync_interval_ns < 0)
        return sl_fail(err, -EINVAL, "a time below 0");
    if (cfg->prerecord_ns > 0 && frames + cfg->queue_depth >= deps->memory->slots)
        return sl_fail(err, -EINVAL, "prerecord needs %llu frames beside the %u being written, and the ring has %u slots",
                       (unsigned long long)frames, cfg->queue_depth, deps->memory->slots);
    if (deps->memory->slots == 0)
        return sl_fail(err, -EINVAL, "frame memory without slots");
    return 0;
}

static int set_run(struct sl_recorder *r, const struct sl_recorder_cfg *cfg, const struct sl_recorder_fakes *fakes, struct sl_error *err)
{
    struct sl_run *run = &r->run;

    run->cfg = *cfg;
    run->clock = r->clock;
    run->dir_fd = -1;
    run->space = fakes && fakes->space ? *fakes->space : sl_space_system;
    run->durable = cfg->sync != SL_SYNC_NONE;
    if (strlen(cfg->dir) + 2 * SL_FILE_NAME_BYTES >= sizeof(run->dir) || strlen(cfg->name) >= sizeof(run->name))
        return sl_fail(err, -ENAMETOOLONG, "%s: directory or name '%s' too long", cfg->dir, cfg->name);
    strcpy(run->dir, cfg->dir);
    strcpy(run->name, cfg->name);
    snprintf(run->description, sizeof(run->description), "%s", cfg->description ? cfg->description : "");
    run->cfg.description = run->description;
    run->cfg.dir = run->dir;
    run->cfg.name = run->name;
    run->dir_fd = open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->dir_fd < 0)
        return sl_fail(err, -errno, "%s: %s (the directory must exist)", run->dir, strerror(errno));
    sl_files_clean(run->dir_fd, run->name, NULL, NULL, NULL);
    return 0;
}

/* The recording goes on: names, numbers and books from where the recorder before left them. */
static void go_on(struct sl_recorder *r, const struct sl_recorder_place *before)
{
    struct sl_tally *tally = &r->tally;
    const uint64_t *count = before->counter;

    memcpy(r->run.stamp, before->stamp, sizeof(r->run.stamp));
    memcpy(r->ledger_path, before->ledger_path, sizeof(r->ledger_path));
    r->run.first_number = before->segments + 1;
    atomic_store_explicit(&r->segments, before->segments, memory_order_relaxed); /* no other thread is there yet, nor below */
    for (unsigned i = 0; i < SL_RECORDER_COUNTERS; i++)
        atomic_store_explicit(&r->counter[i], count[i], memory_order_relaxed);
    sl_histogram_copy(&r->write_us, &before->write_us);
    sl_histogram_copy(&r->submit_us, &before->submit_us);
    sl_histogram_copy(&r->durable_us, &before->durable_us);
    r->fault_place = before->faults;
    r->refused_before = count[SL_RECORDER_DISK_LATE] + count[SL_RECORDER_REFUSED_FULL] + count[SL_RECORDER_REFUSED_ERROR];
    r->submits_before = count[SL_RECORDER_SUBMITS];
    *tally = (struct sl_tally){.entered = count[SL_RECORDER_TAKEN],
                               .untriggered = count[SL_RECORDER_UNTRIGGERED],
                               .abandoned = count[SL_RECORDER_ABANDONED],
                               .disk_error = count[SL_RECORDER_DISK_ERROR],
                               .disk_full = count[SL_RECORDER_DISK_FULL],
                               .refused[SL_LOSS_DISK_LATE] = count[SL_RECORDER_DISK_LATE],
                               .refused[SL_LOSS_DISK_FULL] = count[SL_RECORDER_REFUSED_FULL],
                               .refused[SL_LOSS_DISK_ERROR] = count[SL_RECORDER_REFUSED_ERROR],
                               .next = before->next};
    if (r->mode == SL_MODE_ARMED && before->keeps_frames)
        r->mode = SL_MODE_RECORDING;
    atomic_store_explicit(&r->wants_frames, r->mode == SL_MODE_RECORDING, memory_order_relaxed);
}

/* UTC of the start, or the first second after it that no other run has taken. */
static int choose_stamp(struct sl_recorder *r, struct sl_error *err)
{
    int64_t utc_ns = sl_utc_ns(r->clock);
    int taken = 1;

    for (unsigned i = 0; i < STAMP_TRIES && taken == 1; i++, utc_ns += SL_NS_PER_S) {
        sl_files_stamp(r->run.stamp, sizeof(r->run.stamp), utc_ns);
        taken = sl_files_taken(r->run.dir_fd, r->run.name, r->run.stamp);
    }
    if (taken == 1)
        taken = -EEXIST;
    if (taken < 0)
        return sl_fail(err, taken, "%s: %s", r->run.dir, strerror(-taken));
    snprintf(r->ledger_path, sizeof(r->ledger_path), "%s/%s-%s.ledger", r->run.dir, r->run.name, r->run.stamp);
    return 0;
}

static int choose_session(uint8_t *session, size_t bytes, const struct sl_recorder_place *before, struct sl_error *err)
{
    if (before)
        memcpy(session, before->session, bytes);
    else if (getrandom(session, bytes, 0) != (ssize_t)bytes)
        return sl_fail(err, -EIO, "no random bytes for the session");
    return 0;
}

static int make_head(struct sl_recorder *r, const struct sl_recorder_deps *deps, struct sl_error *err)
{
    struct sl_stream_record *head = &r->run.head;
    uint8_t page[SL_PAGE_BYTES];
    int rc;

    if (sl_layout_init(&r->run.layout, deps->format->frame_bytes, r->path.checksum) < 0)
        return sl_fail(err, -EINVAL, "frames of %u bytes cannot be recorded", deps->format->frame_bytes);
    *head = (struct sl_stream_record){
        .checksum = r->path.checksum, .slot_bytes = r->run.layout.slot_bytes, .utc_ns = sl_utc_ns(r->clock), .format = *deps->format};
    rc = choose_session(head->session, sizeof(head->session), r->run.cfg.before, err);
    if (rc < 0)
        return rc;
    sl_layout_text(head->writer, sizeof(head->writer), "sluice " SLUICE_VERSION);
    sl_layout_text(head->description, sizeof(head->description), r->run.description);
    if (sl_layout_file_head(&r->run.layout, head, page) < 0)
        return sl_fail(err, -EINVAL, "Matroska cannot describe lines of %u bytes for %ux%u %s: choose another width or format",
                       deps->format->bytesperline[0], deps->format->width, deps->format->height, deps->format->pixel->name);
    return 0;
}

static int open_scratch(struct sl_recorder *r, struct sl_error *err)
{
    void *pages = mmap(NULL, SL_SCRATCH_PAGES * SL_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (pages == MAP_FAILED)
        return sl_fail(err, -errno, "pages for Voids: %s", strerror(errno));
    r->scratch = pages;
    r->format.frontier = r->scratch + 3 * SL_PAGE_BYTES;
    r->held_places = r->memory->slots;
    r->held = calloc(r->held_places, sizeof(struct sl_frame *));
    return r->held ? 0 : sl_fail(err, -ENOMEM, "list of frames: out of memory");
}

static void fill_void_pages(struct sl_recorder *r)
{
    sl_layout_tail_pages(&r->run.layout, r->scratch);
    sl_layout_void(1, r->run.layout.slot_bytes, r->scratch + r->run.layout.tail_span);
    r->run.void_pages = r->scratch;
    r->run.void_bytes = r->run.layout.tail_span + SL_PAGE_BYTES;
}

static int open_house(struct sl_recorder *r, struct sl_error *err)
{
    uint8_t *page0[SL_STORE_FILES];
    int rc;

    for (unsigned i = 0; i < SL_STORE_FILES; i++)
        page0[i] = r->scratch + (6 + i) * SL_PAGE_BYTES;
    rc = sl_housekeeper_open(&r->house, &r->run, page0, sl_sink_wake(r->sink), err);
    while (rc == 0 && (rc = sl_housekeeper_prepare_first(r->house, err)) == -EAGAIN) {
        sl_recorder_take_replies(r);
        rc = 0;
    }
    return rc;
}

static void fit_disk(struct sl_recorder *r)
{
    uint64_t capacity = sl_room_capacity(&r->run);

    sl_room_judge(&r->run, capacity, r->path.warning, sizeof(r->path.warning));
    sl_run_fit(&r->run, capacity);
}

int sl_recorder_open_with(struct sl_recorder **out, const struct sl_recorder_cfg *cfg, const struct sl_recorder_deps *deps,
                          const struct sl_recorder_fakes *fakes, struct sl_error *err)
{
    struct sl_recorder *r;
    int rc = check_cfg(cfg, deps, err);

    if (rc < 0)
        return rc;
    r = calloc(1, sizeof(*r));
    if (!r)
        return sl_fail(err, -ENOMEM, "recorder: out of memory");
    r->clock = deps->clock;
    r->memory = deps->memory;
    r->sink = deps->sink;
    r->events = deps->events;
    r->mode = cfg->prerecord_ns > 0 ? SL_MODE_ARMED : SL_MODE_RECORDING;
    atomic_init(&r->wants_frames, r->mode == SL_MODE_RECORDING);
    sl_recorder_init_agent(r);
    rc = set_run(r, cfg, fakes, err);
    r->run.first_number = 1;
    if (rc == 0 && cfg->before)
        go_on(r, cfg->before);
    else if (rc == 0)
        rc = choose_stamp(r, err);
    if (rc == 0)
        rc = make_head(r, deps, err); /* sizes, for the trial writes; again below, when the checksum is settled */
    if (rc == 0)
        rc = open_scratch(r, err);
    if (rc == 0)
        rc = sl_recorder_find_path(r, fakes, err);
    if (rc == 0)
        rc = make_head(r, deps, err);
    if (rc == 0) {
        fill_void_pages(r);
        sl_layout_header_template(&r->run.layout, r->header_template);
        sl_run_size(&r->run);
        if (r->run.cfg.when_full == SL_WHEN_FULL_OVERWRITE_OLDEST)
            fit_disk(r);
        rc = open_house(r, err);
    }
    if (rc < 0) {
        sl_recorder_close(r);
        return rc;
    }
    r->run.cfg.before = NULL;
    *out = r;
    return 0;
}

int sl_recorder_open(struct sl_recorder **out, const struct sl_recorder_cfg *cfg, const struct sl_recorder_deps *deps, struct sl_error *err)
{
    return sl_recorder_open_with(out, cfg, deps, NULL, err);
}

void sl_recorder_close(struct sl_recorder *r)
{
    if (!r)
        return;
    if (r->house && !r->ended)
        sl_recorder_abort(r); /* its agent never ran, or nobody let it end */
    if (r->house)
        sl_recorder_settle(r);
    sl_housekeeper_close(r->house);
    if (r->store)
        r->store->ops->close(r->store);
    sl_memory_close(r->bounce);
    if (r->scratch)
        munmap(r->scratch, SL_SCRATCH_PAGES * SL_PAGE_BYTES);
    if (r->run.dir_fd >= 0)
        close(r->run.dir_fd);
    free(r->held);
    free(r);
}

/* -- From other threads ------------------------------------------------------------------------------------------------- */

const struct sl_recorder_path *sl_recorder_path(const struct sl_recorder *r)
{
    return &r->path;
}

const struct sl_agent *sl_recorder_agent(struct sl_recorder *r)
{
    return &r->agent;
}

const struct sl_agent *sl_recorder_housekeeper(struct sl_recorder *r)
{
    return sl_housekeeper_agent(r->house);
}

void sl_recorder_trigger(struct sl_recorder *r, bool start)
{
    if (r->run.cfg.prerecord_ns == 0)
        return;
    atomic_store_explicit(&r->wants_frames, start, memory_order_relaxed);
    sl_wake_signal(sl_sink_wake(r->sink));
}

void sl_recorder_drain(struct sl_recorder *r, bool hurry)
{
    uint32_t wanted = hurry ? 2 : 1;

    if (atomic_load_explicit(&r->drain, memory_order_relaxed) < wanted)
        atomic_store_explicit(&r->drain, wanted, memory_order_seq_cst); /* pairs with the loads in leave and drain_of */
    if (atomic_load_explicit(&r->agent_ended, memory_order_seq_cst))    /* pairs with the store in leave */
        sl_recorder_settle(r);
    else
        sl_wake_signal(sl_sink_wake(r->sink));
}

bool sl_recorder_drained(const struct sl_recorder *r)
{
    return atomic_load_explicit(&r->drained, memory_order_acquire); /* pairs with the store in leave */
}

uint64_t sl_recorder_counter(const struct sl_recorder *r, enum sl_recorder_counter which)
{
    return (unsigned)which < SL_RECORDER_COUNTERS ? sl_counter_read(&r->counter[which]) : 0;
}

const struct sl_histogram *sl_recorder_write_us(const struct sl_recorder *r)
{
    return &r->write_us;
}

void sl_recorder_place(const struct sl_recorder *r, struct sl_recorder_place *place)
{
    memset(place, 0, sizeof(*place));
    memcpy(place->session, r->run.head.session, sizeof(place->session));
    memcpy(place->stamp, r->run.stamp, sizeof(place->stamp));
    memcpy(place->ledger_path, r->ledger_path, sizeof(place->ledger_path));
    place->segments = atomic_load_explicit(&r->segments, memory_order_acquire); /* pairs with the store in adopt_next */
    place->keeps_frames = atomic_load_explicit(&r->wants_frames, memory_order_relaxed);
    if (sl_recorder_drained(r)) {
        place->next = r->tally.next;
        place->faults = r->fault_place;
    }
    for (unsigned i = 0; i < SL_RECORDER_COUNTERS; i++)
        place->counter[i] = sl_counter_read(&r->counter[i]);
    sl_histogram_copy(&place->write_us, &r->write_us);
    sl_histogram_copy(&place->submit_us, &r->submit_us);
    sl_histogram_copy(&place->durable_us, &r->durable_us);
}

/* The ledger has the name of the run in the directory of its files. */
int sl_recorder_place_segment(const struct sl_recorder_place *place, uint64_t number, char *buf, size_t bytes)
{
    int stem = (int)(strlen(place->ledger_path) - strlen(".ledger"));
    int length;

    if (number == 0 || number > place->segments)
        return -ENOENT;
    length = snprintf(buf, bytes, "%.*s-%04llu.mkv", stem, place->ledger_path, (unsigned long long)number);
    return length < 0 || (size_t)length >= bytes ? -ENAMETOOLONG : 0;
}

int sl_recorder_segment_path(const struct sl_recorder *r, uint64_t number, char *buf, size_t bytes)
{
    char file[SL_FILE_NAME_BYTES];
    int rc, length;

    if (number == 0 || number > atomic_load_explicit(&r->segments, memory_order_acquire)) /* pairs with the store in adopt_next */
        return -ENOENT;
    rc = sl_files_name(file, sizeof(file), r->run.name, r->run.stamp, number, "");
    if (rc < 0)
        return rc;
    length = snprintf(buf, bytes, "%s/%s", r->run.dir, file);
    return length < 0 || (size_t)length >= bytes ? -ENAMETOOLONG : 0;
}

const char *sl_recorder_ledger_path(const struct sl_recorder *r)
{
    return r->ledger_path;
}
