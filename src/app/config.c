/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A config file becomes a struct sl_config: the option engine reads it, config_check.c looks across options. Supervisor
 * thread, before anything is started; touches the config file alone.
 */
#include "app/config.h"

#include <errno.h>
#include <stdlib.h>

#include "app/config_check.h"

/* What the recording dictates is not the default of a sensor: it is printed and passed on as auto. */
static void follow_recording(struct sl_config *config)
{
    if (config->sensor.source != SL_SOURCE_REPLAY)
        return;
    free(config->sensor.format);
    config->sensor.format = NULL;
    config->sensor.width = config->sensor.height = 0;
    config->sensor.fps = (struct sl_rational){0, 1};
}

int sl_config_parse(struct sl_config *config, struct sl_option_origins *origins, const char *path, const char *data, size_t bytes,
                    const char *const *set, unsigned sets, struct sl_error *err)
{
    struct sl_option_errors errors = {.err = err};
    struct sl_option_origins found;
    struct sl_config read;
    const struct sl_option_input input = {.path = path, .data = data, .bytes = bytes, .set = set, .sets = sets};
    int rc = sl_option_load(&sl_config_options, &read, &found, &input, &errors);

    if (rc == -ENOMEM) {
        sl_fail(err, rc, "%.200s: out of memory", path);
        goto fail;
    }

    int place = sl_option_find_section(&sl_config_options, "record");

    read.record.enabled = place >= 0 && (found.section_line[place] || found.section_set[place]);
    sl_config_check(&read, &found, &errors);
    if (errors.count) {
        rc = -EINVAL;
        goto fail;
    }
    follow_recording(&read);
    *config = read;
    if (origins)
        *origins = found;
    else
        sl_option_origins_fini(&found);
    return 0;

fail:
    sl_option_origins_fini(&found);
    sl_config_fini(&read);
    return rc;
}

int sl_config_load(struct sl_config *config, struct sl_option_origins *origins, const char *path, const char *const *set, unsigned sets,
                   struct sl_error *err)
{
    struct sl_option_errors errors = {.err = err};
    char *data;
    size_t bytes;
    int rc = sl_option_read_file(path, &data, &bytes, &errors);

    if (rc < 0)
        return rc;
    rc = sl_config_parse(config, origins, path, data, bytes, set, sets, err);
    free(data);
    return rc;
}

void sl_config_fini(struct sl_config *config)
{
    sl_option_fini(&sl_config_options, config);
}

static uint64_t frames_in(int64_t ns, struct sl_rational fps)
{
    uint64_t second = (uint64_t)fps.den * SL_NS_PER_S;

    return (uint64_t)(((unsigned __int128)(uint64_t)ns * fps.num + second - 1) / second);
}

unsigned sl_config_ring_frames(const struct sl_config *config, struct sl_rational fps)
{
    uint64_t frames = config->ring.depth_slots ? (uint64_t)config->ring.depth_slots : frames_in(config->ring.depth_ns, fps);

    frames += frames_in(config->record.prerecord, fps);
    return frames > UINT32_MAX ? UINT32_MAX : frames ? (unsigned)frames : 1;
}
