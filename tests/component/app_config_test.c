/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The config of the appliance: what is right parses to the right values, what is wrong is told with file and line, and neither
 * touches a device or creates anything.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/config.h"
#include "app/config_docs.h"
#include "support/suite.h"

#define PATTERN "[sensor]\nsource = pattern\n"
#define V4L2    "[sensor]\ndevice = /dev/video0\n"
#define REPLAY  "[sensor]\nsource = replay\nfile = a.mkv\n"
#define RECORD  "[record]\ndir = /no/such/place\n"

struct bad {
    const char *text;
    const char *set;
    const char *line; /* "F:3:" or "--set": what the error begins with */
    const char *says;
};

#define EIGHT "eio@1,eio@2,eio@3,eio@4,eio@5,eio@6,eio@7,eio@8,"

static const struct bad bad[] = {
    /* the whole */
    {"", NULL, "F:1:", "[record]: the section is missing"},
    {PATTERN, NULL, "F:1:", "nothing would take the frames"},
    {"[record]\n[sensor]\nsource = pattern\n", NULL, "F:1:", "record.dir: not set"},
    {RECORD, NULL, "F:1:", "sensor.device: not set, and source = v4l2 needs it"},
    {"# note\n[sensor]\n" RECORD, NULL, "F:2:", "sensor.device: not set"},
    /* sources and what belongs to them */
    {PATTERN "device = /dev/video0\n" RECORD, NULL, "F:3:", "sensor.device: only source = v4l2 has a device"},
    {PATTERN "input = 1\n" RECORD, NULL, "F:3:", "only source = v4l2 has inputs"},
    {PATTERN "dv_timings = auto\n" RECORD, NULL, "F:3:", "only source = v4l2 has timings"},
    {PATTERN "controls = gain=1\n" RECORD, NULL, "F:3:", "only source = v4l2 has controls"},
    {PATTERN "file = a.mkv\n" RECORD, NULL, "F:3:", "only source = replay reads a file"},
    {PATTERN "loop = yes\n" RECORD, NULL, "F:3:", "only source = replay can begin again"},
    {PATTERN "memory = mmap\n" RECORD, NULL, "F:3:", "only source = v4l2 has a driver"},
    {PATTERN "format = auto\n" RECORD, NULL, "F:3:", "name a format"},
    {PATTERN "size = auto\n" RECORD, NULL, "F:3:", "write a size"},
    {PATTERN "fps = auto\n" RECORD, NULL, "F:3:", "write a rate"},
    {V4L2 "paced = no\n" RECORD, NULL, "F:3:", "a device sets its own pace"},
    {"[sensor]\nsource = replay\n" RECORD, NULL, "F:1:", "sensor.file: not set, and source = replay needs it"},
    {REPLAY "format = UYVY\n" RECORD, NULL, "F:4:", "has the recording's format"},
    {REPLAY "size = 640x480\n" RECORD, NULL, "F:4:", "has the recording's size"},
    {REPLAY "fps = 30\n" RECORD, NULL, "F:4:", "has the recording's rate"},
    {V4L2 RECORD, "sensor.source=pattern", "F:2:", "only source = v4l2 has a device"},
    {PATTERN RECORD, "sensor.device=/dev/video0", "--set", "sensor.device: only source = v4l2 has a device"},
    {"[sensor]\nsource = gst\n" RECORD, NULL, "F:2:", "this build does not have it; write v4l2, pattern or replay"},
    /* sensor values */
    {PATTERN "format = H264\n" RECORD, NULL, "F:3:", "H264 is not known here; write one of YUYV"},
    {PATTERN "size = 641x480\n" RECORD, NULL, "F:3:", "the width must be a multiple of 2"},
    {PATTERN "format = NV12\nsize = 640x481\n" RECORD, NULL, "F:4:", "and the height of 2"},
    {PATTERN "size = 0x480\n" RECORD, NULL, "F:3:", "out of range: 1x1 to 16384x16384"},
    {PATTERN "size = 16386x2\n" RECORD, NULL, "F:3:", "out of range"},
    {PATTERN "fps = 0\n" RECORD, NULL, "F:3:", "out of range: 1/100 to 1000"},
    {PATTERN "fps = 59.94\n" RECORD, NULL, "F:3:", "write 60000/1001"},
    {PATTERN "buffers = 1\n" RECORD, NULL, "F:3:", "out of range: 2 to 32"},
    {PATTERN "buffers = 8 # enough\n" RECORD, NULL, "F:3:", "a comment behind a value begins with \" ;\""},
    {PATTERN "stall_timeout = 2\n" RECORD, NULL, "F:3:", "missing unit"},
    {PATTERN "fps = 1\nstall_timeout = 500ms\n" RECORD, NULL, "F:4:", "shorter than one frame (1000.000ms)"},
    {PATTERN "fps = 1/10\n" RECORD, NULL, "F:3:", "stall_timeout is shorter than one frame"},
    {PATTERN "name = a/b\n" RECORD, NULL, "F:3:", "letters, digits"},
    {PATTERN "name = k\xc3\xbc"
             "che\n" RECORD,
     NULL, "F:3:", "letters, digits"},
    {PATTERN "name = ..\n" RECORD, NULL, "F:3:", "may not begin with \".\""},
    {PATTERN "name = 12345678901234567890123456789012345678901234567890123456789012345\n" RECORD, NULL,
     "F:3:", "65 characters are too long"},
    {V4L2 "dv_timings = 1080p\n" RECORD, NULL, "F:3:", "1920x1080p60"},
    {V4L2 "dv_timings = 1920x1080p\n" RECORD, NULL, "F:3:", "1920x1080p60"},
    {V4L2 "controls = gain\n" RECORD, NULL, "F:3:", "NAME=VALUE"},
    {V4L2 "controls = gain=1,\n" RECORD, NULL, "F:3:", "NAME=VALUE"},
    {V4L2 "memory = dmabuf:udmabuf\n" RECORD, NULL, "F:3:", "this build does not have it; write auto, mmap or userptr"},
    {V4L2 "memory = dmabuf:heap/linux,cma\n" RECORD, NULL, "F:3:", "this build does not have it"},
    /* ring */
    {V4L2 "memory = mmap\n[ring]\nhugepages = require\n" RECORD, NULL, "F:5:", "contradicts sensor.memory = mmap"},
    {PATTERN "[ring]\ndepth = 1\n" RECORD, NULL, "F:4:", "out of range: 2 to 65536 frames"},
    {PATTERN "[ring]\ndepth = 1ms\n" RECORD, NULL, "F:4:", "out of range: 10ms to 10m"},
    {PATTERN "[ring]\ndepth = fast\n" RECORD, NULL, "F:4:", "frames as a number, or a time"},
    {PATTERN "[ring]\ndepth = 3\n" RECORD, NULL, "F:4:", "the ring holds 3 frames, fewer than record.queue_depth = 4 writes"},
    {PATTERN RECORD "queue_depth = 64\n", NULL, "F:5:", "the ring holds 60 frames"},
    /* record */
    {PATTERN RECORD "queue_depth = 0\n", NULL, "F:5:", "out of range: 1 to 64"},
    {PATTERN RECORD "segment_time = 10ms\n", NULL, "F:5:", "shorter than one frame"},
    {PATTERN RECORD "segment_size = 4MB\n", NULL, "F:5:", "smaller than a file of one frame (4060KiB)"},
    {PATTERN RECORD "segment_size = 4194304\n", NULL, "F:5:", "missing unit"},
    {PATTERN RECORD "sync = sometimes\n", NULL, "F:5:", "none, segment, or a time"},
    {PATTERN RECORD "sync = 1ms\n", NULL, "F:5:", "out of range: 10ms to 1h"},
    {PATTERN RECORD "checksum = md5\n", NULL, "F:5:", "write auto, crc32 or none"},
    {PATTERN RECORD "when_full = overwrite-oldest\nsegment_time = none\n", NULL, "F:5:", "removes whole files"},
    {PATTERN RECORD "trigger = /run/t\n", NULL, "F:5:", "needs prerecord above 0"},
    {PATTERN RECORD "prerecord = 1h\n", NULL, "F:5:", "out of range: 0s to 10m"},
    {V4L2 "memory = mmap\n" RECORD "prerecord = 1s\n", NULL, "F:6:", "needs more than 64 frames in memory"},
    {PATTERN "dir = /tmp\n" RECORD, NULL, "F:3:", "it belongs in [record]"},
    /* realtime */
    {PATTERN RECORD "[realtime]\npriority = 100\n", NULL, "F:6:", "out of range: 0 to 99"},
    {PATTERN RECORD "[realtime]\ncapture_cpu = all\n", NULL, "F:6:", "a whole number is needed"},
    {PATTERN RECORD "[realtime]\nlock_memory = on\n", NULL, "F:6:", "write yes or no"},
    /* fault */
    {PATTERN RECORD "[fault]\nstore = explode@1\n", NULL, "F:6:", "no fault of this name here"},
    {PATTERN RECORD "[fault]\nstore = eio\n", NULL, "F:6:", "write FAULT@WHEN or FAULT@WHEN:AMOUNT"},
    {PATTERN RECORD "[fault]\nstore = stall@2s\n", NULL, "F:6:", "how long? write stall@WHEN:500ms"},
    {PATTERN RECORD "[fault]\nstore = stall@2:1s\n", NULL, "F:6:", "when: missing unit"},
    {PATTERN RECORD "[fault]\nstore = late@50:300\n", NULL, "F:6:", "how long: missing unit"},
    {PATTERN RECORD "[fault]\nstore = jitter@1\n", NULL, "F:6:", "how long? write jitter@WHEN:500ms"},
    {PATTERN RECORD "[fault]\nstore = eio@-1\n", NULL, "F:6:", "when: out of range"},
    {PATTERN RECORD "[fault]\nstore = eio@1:0\n", NULL, "F:6:", "0 is no fault at all"},
    {PATTERN RECORD "[fault]\nstore = eio@1,,eio@2\n", NULL, "F:6:", "an empty place in the list"},
    {PATTERN RECORD "[fault]\nsensor = stall@1s:1s\n", NULL, "F:6:", "when: a whole number is needed"},
    {PATTERN RECORD "[fault]\nsensor = unplug@10\n", NULL, "F:6:", "how long? write unplug@WHEN:500ms"},
    {PATTERN RECORD "[fault]\nsensor = source_change@10:0x4\n", NULL, "F:6:", "to what size"},
    {PATTERN RECORD "[fault]\nsensor = source_change@10:99999x4\n", NULL, "F:6:", "to what size: out of range"},
    {PATTERN RECORD, "fault.store=" EIGHT EIGHT EIGHT EIGHT "eio@33", "--set", "more than 32 faults"},
    /* sections of other builds */
    {PATTERN RECORD "[stream preview]\nto = 10.0.0.1:5000\n", NULL, "F:5:", "[stream] asks for network streams, and this build has none"},
    {PATTERN RECORD "[branch x]\n", NULL, "F:5:", "[branch] asks for GStreamer branches, and this build has none"},
    {PATTERN RECORD "[bus]\npmu = auto\n", NULL, "F:5:", "[bus] asks for bus counters, and this build has none"},
    {PATTERN RECORD, "bus.pmu=auto", "--set", "[bus] asks for bus counters"},
};

START_TEST(one_mistake_is_one_error_with_its_line)
{
    const struct bad *c = &bad[_i];
    struct sl_config config;
    struct sl_error err = {{0}};
    int rc;

    memset(&config, 0x5a, sizeof config);
    rc = sl_config_parse(&config, NULL, "F", c->text, strlen(c->text), &c->set, c->set ? 1 : 0, &err);
    ck_assert_msg(rc == -EINVAL, "%d for:\n%s", rc, c->text);
    ck_assert_msg(!strncmp(err.text, c->line, strlen(c->line)), "\"%s\" for:\n%s", err.text, c->text);
    ck_assert_msg(strstr(err.text, c->says) != NULL, "\"%s\" for:\n%s", err.text, c->text);
    /* the empty file lacks sensor and record; everywhere else one mistake is one line */
    ck_assert_msg(!*c->text || c->text == bad[1].text || !strchr(err.text, '\n'), "%s", err.text);
    for (size_t i = 0; i < sizeof config; i++)
        ck_assert_msg(((unsigned char *)&config)[i] == 0x5a, "a failed load wrote to the config");
}
END_TEST

START_TEST(all_mistakes_are_told_at_once)
{
    static const char text[] =
        "[sensor]\nsource = pattern\nfps = 59.94\ndevice = /dev/video0\nsiez = 1x1\n[record]\nsegment_size = 1\n[fault]\nsensor = x\n";
    const char *set[] = {"record.queue_depth=0", "ring.depth=3"};
    struct sl_config config;
    struct sl_error err = {{0}};

    ck_assert_int_eq(sl_config_parse(&config, NULL, "F", text, strlen(text), set, 2, &err), -EINVAL);
    ck_assert_str_eq(err.text, "F:3: sensor.fps = 59.94: a decimal is not exact: write 60000/1001\n"
                               "F:5: unknown key siez in [sensor]; did you mean size?\n"
                               "F:7: record.segment_size = 1: missing unit: B, KiB, MiB, GiB, TiB, kB, MB, GB or TB\n"
                               "F:9: fault.sensor = x: x: write FAULT@WHEN or FAULT@WHEN:AMOUNT\n"
                               "--set record.queue_depth=0: out of range: 1 to 64\n"
                               "F:4: sensor.device: only source = v4l2 has a device; take one of the two out\n"
                               "F:6: record.dir: not set: write dir = DIRECTORY");
}
END_TEST

START_TEST(defaults_are_those_of_an_appliance)
{
    static const char text[] = V4L2 RECORD;
    struct sl_config config;
    struct sl_error err = {{0}};

    ck_assert_msg(sl_config_parse(&config, NULL, "F", text, strlen(text), NULL, 0, &err) == 0, "%s", err.text);
    ck_assert_str_eq(config.sensor.name, "camera");
    ck_assert_str_eq(config.sensor.device, "/dev/video0");
    ck_assert_str_eq(config.sensor.format, "YUYV");
    ck_assert(config.sensor.source == SL_SOURCE_V4L2 && config.sensor.width == 1920 && config.sensor.height == 1080);
    ck_assert(config.sensor.fps.num == 60 && config.sensor.fps.den == 1 && config.sensor.input == -1 && config.sensor.buffers == 8);
    ck_assert(!config.sensor.file && !config.sensor.dv_timings && !config.sensor.controls && config.sensor.memory == SL_MEMORY_AUTO);
    ck_assert(config.sensor.bad_frames == 0 && config.sensor.stall_timeout == 2 * SL_NS_PER_S && config.sensor.paced &&
              config.sensor.reopen && !config.sensor.loop);
    ck_assert(config.ring.depth_ns == SL_NS_PER_S && !config.ring.depth_slots && config.ring.hugepages == SL_HUGEPAGES_AUTO);
    ck_assert(config.record.enabled && config.record.segment_time == 60 * SL_NS_PER_S && !config.record.segment_size);
    ck_assert(config.record.queue_depth == 4 && config.record.checksum == SL_CHECKSUM_AUTO && config.record.sync == SL_SYNC_INTERVAL);
    ck_assert(config.record.sync_interval == SL_NS_PER_S && config.record.when_full == SL_WHEN_FULL_STOP && !config.record.prerecord);
    ck_assert(config.record.keep_free == INT64_C(1) << 30 && !config.record.trigger);
    ck_assert(config.realtime.capture_cpu == -1 && config.realtime.writer_cpu == -1 && !config.realtime.priority);
    ck_assert(!config.realtime.lock_memory && !config.fault.stores && !config.fault.sensors);
    ck_assert_uint_eq(sl_config_ring_frames(&config, config.sensor.fps), 60);
    sl_config_fini(&config);
}
END_TEST

START_TEST(every_key_arrives)
{
    static const char text[] =
        "[sensor]\nname=hdmi-1\nsource=v4l2\ndevice=/dev/video3\nformat=auto\nsize=auto\nfps=auto\ninput=3\n"
        "dv_timings=1920x1080i59.94\ncontrols=Gain=0x10,h_flip=yes\nbuffers=16\nmemory=userptr\nbad_frames=drop\n"
        "stall_timeout=250ms\nreopen=no\n[ring]\ndepth=64\nhugepages=require\n[record]\ndir=/data\nsegment_time=none\n"
        "segment_size=3GiB\nqueue_depth=8\nchecksum=crc32\nsync=segment\nwhen_full=overwrite-oldest\nkeep_free=20GB\n"
        "prerecord=1.5s\ntrigger=/run/trigger\n[realtime]\ncapture_cpu=2\nwriter_cpu=3\npriority=50\nlock_memory=yes\n"
        "[fault]\nstore = stall@2s:500ms, eio@120, eio@130:3,enospc@200 ,short@50,late@60:300ms,eagain@10:5,jitter@7:12ms\n"
        "sensor = gap@100:5,error@200:2,short@300,eio@400,stall@500:2,streamon@600:3,"
        "unplug@700:1s,nosignal@800:20ms,source_change@900,source_change@910:1280x720\n";
    static const struct sl_store_fault store[] = {
        {SL_STORE_FAULT_STALL, 2000000000, 500000000},
        {SL_STORE_FAULT_EIO, 120, 1},
        {SL_STORE_FAULT_EIO, 130, 3},
        {SL_STORE_FAULT_ENOSPC, 200, 1},
        {SL_STORE_FAULT_SHORT, 50, 1},
        {SL_STORE_FAULT_LATE, 60, 300000000},
        {SL_STORE_FAULT_EAGAIN, 10, 5},
        {SL_STORE_FAULT_JITTER, 7, 12000000},
    };
    static const struct sl_sensor_fault sensor[] = {{SL_SENSOR_FAULT_GAP, 100, 5},
                                                    {SL_SENSOR_FAULT_ERROR_FLAG, 200, 2},
                                                    {SL_SENSOR_FAULT_SHORT, 300, 1},
                                                    {SL_SENSOR_FAULT_EIO, 400, 1},
                                                    {SL_SENSOR_FAULT_STALL, 500, 2},
                                                    {SL_SENSOR_FAULT_STREAMON, 600, 3},
                                                    {SL_SENSOR_FAULT_UNPLUG, 700, 1000000000},
                                                    {SL_SENSOR_FAULT_NO_SIGNAL, 800, 20000000},
                                                    {SL_SENSOR_FAULT_SOURCE_CHANGE, 900, 0},
                                                    {SL_SENSOR_FAULT_SOURCE_CHANGE, 910, UINT64_C(1280) << 32 | 720}};
    struct sl_config c;
    struct sl_error err = {{0}};

    ck_assert_msg(sl_config_parse(&c, NULL, "F", text, strlen(text), NULL, 0, &err) == 0, "%s", err.text);
    ck_assert_str_eq(c.sensor.name, "hdmi-1");
    ck_assert_str_eq(c.sensor.device, "/dev/video3");
    ck_assert_str_eq(c.sensor.dv_timings, "1920x1080i59.94");
    ck_assert_str_eq(c.sensor.controls, "Gain=0x10,h_flip=yes");
    ck_assert(!c.sensor.format && c.sensor.width == 0 && c.sensor.height == 0 && c.sensor.fps.num == 0 && c.sensor.fps.den == 1);
    ck_assert(c.sensor.input == 3 && c.sensor.buffers == 16 && c.sensor.memory == SL_MEMORY_USERPTR && c.sensor.bad_frames == 1);
    ck_assert(!c.sensor.reopen);
    ck_assert(c.sensor.stall_timeout == 250 * SL_NS_PER_MS && c.ring.depth_slots == 64 && !c.ring.depth_ns);
    ck_assert(c.ring.hugepages == SL_HUGEPAGES_REQUIRE && !c.record.segment_time && c.record.segment_size == INT64_C(3) << 30);
    ck_assert(c.record.queue_depth == 8 && c.record.checksum == SL_CHECKSUM_CRC32 && c.record.sync == SL_SYNC_SEGMENT);
    ck_assert(c.record.when_full == SL_WHEN_FULL_OVERWRITE_OLDEST && c.record.keep_free == 20000000000 && c.record.prerecord == 1500000000);
    ck_assert_str_eq(c.record.trigger, "/run/trigger");
    ck_assert(c.realtime.capture_cpu == 2 && c.realtime.writer_cpu == 3 && c.realtime.priority == 50 && c.realtime.lock_memory);
    ck_assert_uint_eq(c.fault.stores, sizeof store / sizeof *store);
    for (unsigned i = 0; i < c.fault.stores; i++)
        ck_assert(c.fault.store[i].kind == store[i].kind && c.fault.store[i].at == store[i].at && c.fault.store[i].count == store[i].count);
    ck_assert_uint_eq(c.fault.sensors, sizeof sensor / sizeof *sensor);
    for (unsigned i = 0; i < c.fault.sensors; i++)
        ck_assert(c.fault.sensor[i].kind == sensor[i].kind && c.fault.sensor[i].frame == sensor[i].frame &&
                  c.fault.sensor[i].count == sensor[i].count);
    /* 64 slots, and 1.5 s at 60000/1001 rounded up */
    ck_assert_uint_eq(sl_config_ring_frames(&c, (struct sl_rational){60000, 1001}), 64 + 90);
    sl_config_fini(&c);
}
END_TEST

/* The effective values, written as a file, are the same config. */
START_TEST(effective_values_are_a_config)
{
    static const char text[] =
        PATTERN "fps = 60000/1001\nname = x\n[ring]\ndepth = 1500ms\n" RECORD "sync = 90s\n[fault]\nstore = stall@2000ms:0.5s,eio@1:1\n"
                "sensor = unplug@60:100ms,stall@90,source_change@120:640x480,source_change@130\n";
    struct sl_config a, b;
    struct sl_error err = {{0}};
    char file[8192], value[SL_OPTION_VALUE_BYTES], again[SL_OPTION_VALUE_BYTES];
    const char *section = "";
    size_t used = 0;

    ck_assert_msg(sl_config_parse(&a, NULL, "F", text, strlen(text), NULL, 0, &err) == 0, "%s", err.text);
    for (unsigned i = 0; i < sl_config_options.options; i++) {
        const struct sl_option *option = &sl_config_options.option[i];

        sl_option_format(option, &a, value, sizeof value);
        if (strcmp(section, option->section))
            used += (size_t)snprintf(file + used, sizeof file - used, "[%s]\n", option->section);
        section = option->section;
        if (*value)
            used += (size_t)snprintf(file + used, sizeof file - used, "%s = %s\n", option->key, value);
    }
    ck_assert_ptr_nonnull(strstr(file, "depth = 1.5s\n"));
    ck_assert_ptr_nonnull(strstr(file, "store = stall@2s:500ms,eio@1\n"));
    ck_assert_msg(sl_config_parse(&b, NULL, "F", file, used, NULL, 0, &err) == 0, "%s", err.text);
    for (unsigned i = 0; i < sl_config_options.options; i++) {
        sl_option_format(&sl_config_options.option[i], &a, value, sizeof value);
        sl_option_format(&sl_config_options.option[i], &b, again, sizeof again);
        ck_assert_str_eq(again, value);
    }
    sl_config_fini(&a);
    sl_config_fini(&b);
}
END_TEST

START_TEST(set_takes_the_place_of_the_file)
{
    static const char text[] = PATTERN "fps = 60\n";
    const char *set[] = {"sensor.fps=25", "record.dir=/a", "sensor.fps=30", "record.dir=/b c"};
    struct sl_option_origins origins;
    struct sl_config config;
    struct sl_error err = {{0}};

    ck_assert_msg(sl_config_parse(&config, &origins, "F", text, strlen(text), set, 4, &err) == 0, "%s", err.text);
    ck_assert_uint_eq(config.sensor.fps.num, 30);
    ck_assert_str_eq(config.record.dir, "/b c");
    ck_assert(config.record.enabled);
    ck_assert_int_eq(origins.option[sl_option_find(&sl_config_options, "sensor", "fps")].source, SL_OPTION_SET);
    ck_assert_int_eq(origins.option[sl_option_find(&sl_config_options, "sensor", "source")].source, SL_OPTION_FILE);
    sl_option_origins_fini(&origins);
    sl_config_fini(&config);
}
END_TEST

START_TEST(a_replay_has_the_recordings_shape)
{
    static const char text[] = REPLAY "format = auto\nsize = auto\nfps = auto\n" RECORD, shorter[] = REPLAY RECORD;
    struct sl_config config;
    struct sl_error err = {{0}};

    for (int i = 0; i < 2; i++) {
        const char *file = i ? text : shorter;

        ck_assert_msg(sl_config_parse(&config, NULL, "F", file, strlen(file), NULL, 0, &err) == 0, "%s", err.text);
        ck_assert(!config.sensor.format && !config.sensor.width && !config.sensor.height && !config.sensor.fps.num &&
                  config.sensor.fps.den == 1);
        sl_config_fini(&config);
    }
}
END_TEST

static unsigned entries(const char *dir)
{
    unsigned count = 0;
    DIR *list = opendir(dir);

    ck_assert_ptr_nonnull(list);
    while (readdir(list))
        count++;
    closedir(list);
    return count;
}

/* Good or bad, loading leaves the world as it is: no directory, no FIFO, and a FIFO in the device's place would block an open. */
START_TEST(loading_touches_nothing_else)
{
    char dir[] = "/tmp/sluice-config-XXXXXX", path[128], text[1024];
    struct sl_config config;
    struct sl_error err = {{0}};
    FILE *file;

    ck_assert_ptr_nonnull(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.ini", dir);
    for (int good = 0; good < 2; good++) {
        snprintf(text, sizeof text,
                 "[sensor]\ndevice = %s/device\n[record]\ndir = %s/out\nprerecord = 1s\ntrigger = %s/trigger\nqueue_depth = %d\n", dir, dir,
                 dir, good ? 4 : 0);
        file = fopen(path, "w");
        ck_assert_ptr_nonnull(file);
        fputs(text, file);
        fclose(file);
        ck_assert_int_eq(sl_config_load(&config, NULL, path, NULL, 0, &err), good ? 0 : -EINVAL);
        ck_assert_uint_eq(entries(dir), 3); /* . .. a.ini */
        if (good)
            sl_config_fini(&config);
        else
            ck_assert_ptr_nonnull(strstr(err.text, "/a.ini:7: record.queue_depth = 0"));
    }
    unlink(path);
    ck_assert_int_eq(sl_config_load(&config, NULL, path, NULL, 0, &err), -ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "a.ini: No such file"));
    rmdir(dir);
}
END_TEST

static const char *const kept_configs[] = {"pattern", "vivid-hdmi-1080p60", "usb-uvc", "replay", "reference"};

START_TEST(configs_of_the_repository_are_right)
{
    struct sl_config config;
    struct sl_error err = {{0}};
    char path[512];

    snprintf(path, sizeof path, "%s/configs/%s.ini", SLUICE_SOURCE_DIR, kept_configs[_i]);
    ck_assert_msg(sl_config_load(&config, NULL, path, NULL, 0, &err) == 0, "%s", err.text);
    sl_config_fini(&config);
}
END_TEST

static char *printed(void (*print)(FILE *))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);

    ck_assert_ptr_nonnull(to);
    print(to);
    fclose(to);
    return text;
}

/* The reference file holds every key, and in force only defaults and the two paths that have none. */
START_TEST(the_reference_file_changes_nothing)
{
    char *text = printed(sl_config_print_reference), value[SL_OPTION_VALUE_BYTES], line[SL_OPTION_VALUE_BYTES + 128];
    struct sl_option_origins origins;
    struct sl_config config;
    struct sl_error err = {{0}};

    ck_assert_msg(sl_config_parse(&config, &origins, "F", text, strlen(text), NULL, 0, &err) == 0, "%s", err.text);
    for (unsigned i = 0; i < sl_config_options.options; i++) {
        const struct sl_option *option = &sl_config_options.option[i];

        sl_option_format(option, &config, value, sizeof value);
        snprintf(line, sizeof line, "\n%s%s = %s\n", option->fallback || option->usual ? "" : ";", option->key,
                 option->fallback ? option->fallback : option->example);
        ck_assert_msg(strstr(text, line) != NULL, "no line%s", line);
        ck_assert_str_eq(value, option->fallback ? option->fallback : option->usual ? option->example : "");
    }
    sl_option_origins_fini(&origins);
    sl_config_fini(&config);
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app/config");
    TCase *tc = tcase_create("config");

    tcase_add_loop_test(tc, one_mistake_is_one_error_with_its_line, 0, sizeof bad / sizeof *bad);
    tcase_add_test(tc, all_mistakes_are_told_at_once);
    tcase_add_test(tc, defaults_are_those_of_an_appliance);
    tcase_add_test(tc, every_key_arrives);
    tcase_add_test(tc, effective_values_are_a_config);
    tcase_add_test(tc, set_takes_the_place_of_the_file);
    tcase_add_test(tc, a_replay_has_the_recordings_shape);
    tcase_add_test(tc, loading_touches_nothing_else);
    tcase_add_loop_test(tc, configs_of_the_repository_are_right, 0, sizeof kept_configs / sizeof *kept_configs);
    tcase_add_test(tc, the_reference_file_changes_nothing);
    suite_add_tcase(suite, tc);
    return sl_run_suite(suite);
}
