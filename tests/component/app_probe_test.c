/* SPDX-License-Identifier: Apache-2.0 */
/* sluice probe against a driver in user space: the report, its text, its JSON, and a config that really loads. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "app/config.h"
#include "app/probe_text.h"
#include "capture/v4l2_probe.h"
#include "support/fake_v4l2.h"
#include "support/suite.h"

static struct fake_v4l2 g_fake;
static struct sl_probe_report *g_report;
static struct sl_error g_err;
static char *g_text;

static void setup(void)
{
    fake_init(&g_fake);
    g_report = NULL;
    g_text = NULL;
}

static void teardown(void)
{
    sl_probe_free(g_report);
    free(g_text);
    fake_check_clean(&g_fake);
    fake_fini(&g_fake);
}

static void probe(void)
{
    int ret = sl_probe_device_ops(&g_report, &g_fake.ops, "/dev/fake", &g_err);

    ck_assert_msg(ret == 0, "%s", g_err.text);
}

static const char *text(void)
{
    size_t bytes;
    FILE *to = open_memstream(&g_text, &bytes);

    sl_probe_print(to, g_report);
    fclose(to);
    return g_text;
}

static void has(const char *what)
{
    ck_assert_msg(strstr(g_text, what) != NULL, "'%s' is not in:\n%s", what, g_text);
}

/* The config goes through the loader as `sluice check` would take it. */
static void load_config(struct sl_config *config)
{
    char path[] = "/tmp/sluice-probe-XXXXXX";
    int fd = mkstemp(path);
    FILE *to = fdopen(fd, "w");
    int ret;

    ck_assert_ptr_nonnull(to);
    ret = sl_probe_print_config(to, g_report, &g_err);
    fclose(to);
    ck_assert_msg(ret == 0, "%s", g_err.text);
    ret = sl_config_load(config, NULL, path, NULL, 0, &g_err);
    unlink(path);
    ck_assert_msg(ret == 0, "%s", g_err.text);
}

START_TEST(a_camera)
{
    g_fake.control[0] = (struct fake_control){
        .id = V4L2_CID_BRIGHTNESS, .name = "Brightness, Overall", .type = V4L2_CTRL_TYPE_INTEGER, .maximum = 255, .step = 1, .value = 7};
    g_fake.control[1] = (struct fake_control){.id = V4L2_CID_POWER_LINE_FREQUENCY,
                                              .name = "Power Line Frequency",
                                              .type = V4L2_CTRL_TYPE_MENU,
                                              .maximum = 3,
                                              .step = 1,
                                              .menu = {"Disabled", "50 Hz", NULL, "Auto"}};
    g_fake.controls = 2;
    probe();
    text();
    has("device    /dev/fake: Fake camera, driver fake, platform:fake.0\n");
    has("present   YUYV 640x480 at 60 fps\n");
    has("          1920x1080 at 60, 30 fps\n");
    has("memory    userptr yes: tried with pages of");
    has("memory    mmap    yes: the disk can read these pages: nothing is copied; the CPU reads them at full speed\n");
    has("memory    dmabuf  no: the driver takes it, but");
    has("control   brightness_overall: integer 0 to 255; now 7\n");
    has("control   power_line_frequency: menu 0=Disabled, 1=50 Hz, 3=Auto; now 0\n");
    ck_assert_ptr_null(strstr(g_text, "input "));
    ck_assert_ptr_null(strstr(g_text, "signal"));
}
END_TEST

START_TEST(nothing_is_changed)
{
    struct v4l2_format before = g_fake.format;

    fake_fini(&g_fake);
    fake_init_hdmi(&g_fake);
    g_fake.input = 1;
    before = g_fake.format;
    probe();
    ck_assert_int_eq(memcmp(&before, &g_fake.format, sizeof(before)), 0);
    ck_assert_uint_eq(g_fake.input, 1);
    ck_assert_uint_eq(g_fake.current_timings.bt.width, 640);
}
END_TEST

START_TEST(a_receiver)
{
    fake_fini(&g_fake);
    fake_init_hdmi(&g_fake);
    g_fake.input = 1;
    probe();
    text();
    has("input     0 Camera\n");
    has("input     1 HDMI, has DV timings (selected)\n");
    has("signal    1920x1080p60\n");
    has("timings   640x480p59.94 1920x1080p60 1920x1080p60 1920x1080i30\n");
}
END_TEST

START_TEST(a_receiver_without_a_signal)
{
    fake_fini(&g_fake);
    fake_init_hdmi(&g_fake);
    g_fake.input = 1;
    fake_fail_at(&g_fake, VIDIOC_QUERY_DV_TIMINGS, ENOLINK, 0, 1);
    probe();
    text();
    has("signal    v4l2 /dev/fake: VIDIOC_QUERY_DV_TIMINGS: Link has been severed: no signal at this input");
}
END_TEST

START_TEST(memory_that_does_not_work)
{
    g_fake.contiguous_only = true;
    g_fake.memories = 1 << V4L2_MEMORY_MMAP | 1 << V4L2_MEMORY_USERPTR;
    fake_fail_at(&g_fake, 0 /* mmap */, ENOMEM, 0, 1);
    probe();
    text();
    has("memory    userptr no: v4l2 /dev/fake: VIDIOC_QBUF(userptr): Bad address");
    has("memory    mmap    no: v4l2 /dev/fake: mmap of buffer 0");
    has("memory    dmabuf  no: the driver does not take it\n");
}
END_TEST

START_TEST(a_device_that_streams_for_another)
{
    fake_fail_at(&g_fake, VIDIOC_REQBUFS, EBUSY, 0, 100);
    probe();
    text();
    has("memory    userptr no: v4l2 /dev/fake: VIDIOC_REQBUFS(USERPTR, 1): Device or resource busy: another program is streaming");
    has("memory    mmap    no: v4l2 /dev/fake: VIDIOC_REQBUFS(MMAP, 4): Device or resource busy");
}
END_TEST

static void answer_no_size(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake;
    if (request == VIDIOC_G_FMT)
        ((struct v4l2_format *)arg)->fmt.pix.sizeimage = 0;
}

START_TEST(a_format_without_a_size)
{
    g_fake.hook = answer_no_size;
    probe();
    text();
    has("memory    mmap    no: not tried");
}
END_TEST

START_TEST(a_multiplanar_device)
{
    fake_fini(&g_fake);
    fake_init_multiplanar(&g_fake);
    g_fake.format.fmt.pix_mp.pixelformat = V4L2_PIX_FMT_NV12M;
    g_fake.format.fmt.pix_mp.num_planes = 2;
    g_fake.format.fmt.pix_mp.plane_fmt[0].sizeimage = 640 * 480;
    g_fake.format.fmt.pix_mp.plane_fmt[1].sizeimage = 640 * 240;
    probe();
    text();
    has(", multi-planar\n");
    has("present   NM12 640x480");
    has("memory    userptr yes");
    has("memory    mmap    yes");
}
END_TEST

START_TEST(a_format_that_cannot_be_recorded)
{
    g_fake.fourcc[0] = V4L2_PIX_FMT_MJPEG;
    probe();
    text();
    has("format    MJPG (a format): cannot be recorded\nformat    UYVY");
}
END_TEST

START_TEST(ranges)
{
    g_fake.stepwise = true;
    probe();
    text();
    has("          16x16 to 4096x2160 in steps of 2x2 at 60, 30 fps\n");
}
END_TEST

START_TEST(json)
{
    fake_fini(&g_fake);
    fake_init_hdmi(&g_fake);
    g_fake.input = 1;
    probe();
    json_t *object = sl_probe_json(g_report);
    ck_assert_ptr_nonnull(object);
    ck_assert_str_eq(json_string_value(json_object_get(object, "device")), "/dev/fake");
    ck_assert_uint_eq(json_array_size(json_object_get(object, "formats")), 4);
    ck_assert_uint_eq(json_array_size(json_object_get(object, "memory")), 3);
    json_t *timings = json_object_get(object, "dv_timings");
    ck_assert_str_eq(json_string_value(json_object_get(timings, "signal")), "1920x1080p60");
    json_t *size = json_array_get(json_object_get(json_array_get(json_object_get(object, "formats"), 0), "sizes"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(size, "width")), 640);
    ck_assert_str_eq(json_string_value(json_array_get(json_object_get(size, "fps"), 0)), "60");
    json_decref(object);
}
END_TEST

START_TEST(config_of_a_camera)
{
    struct sl_config config;

    probe();
    load_config(&config);
    ck_assert_int_eq(config.sensor.source, SL_SOURCE_V4L2);
    ck_assert_str_eq(config.sensor.name, "fake-camera");
    ck_assert_str_eq(config.sensor.device, "/dev/fake");
    ck_assert_str_eq(config.sensor.format, "YUYV");
    ck_assert_uint_eq(config.sensor.width, 1920);
    ck_assert_uint_eq(config.sensor.height, 1080);
    ck_assert_uint_eq(config.sensor.fps.num, 60);
    ck_assert_int_eq(config.sensor.input, -1);
    sl_config_fini(&config);
}
END_TEST

START_TEST(config_of_a_receiver)
{
    struct sl_config config;

    fake_fini(&g_fake);
    fake_init_hdmi(&g_fake);
    g_fake.input = 1;
    g_fake.signal.bt.flags |= V4L2_DV_FL_REDUCED_FPS;
    probe();
    load_config(&config);
    ck_assert_int_eq(config.sensor.input, 1);
    ck_assert_str_eq(config.sensor.dv_timings, "auto");
    ck_assert_uint_eq(config.sensor.width, 1920);
    ck_assert_uint_eq(config.sensor.fps.num, 60000);
    ck_assert_uint_eq(config.sensor.fps.den, 1001);
    sl_config_fini(&config);
}
END_TEST

START_TEST(config_without_the_rate)
{
    struct sl_config config;

    g_fake.has_parm = false;
    g_fake.fourcc[0] = V4L2_PIX_FMT_MJPEG; /* not to be recorded: the next one is taken */
    g_fake.width[2] = 0;
    probe();
    load_config(&config);
    ck_assert_str_eq(config.sensor.format, "UYVY");
    ck_assert_uint_eq(config.sensor.width, 1280);
    ck_assert_uint_eq(config.sensor.fps.num, 60);
    sl_config_fini(&config);
}
END_TEST

START_TEST(no_config_without_a_format)
{
    g_fake.fourcc[0] = V4L2_PIX_FMT_MJPEG;
    g_fake.fourcc[1] = g_fake.fourcc[2] = g_fake.fourcc[3] = 0;
    probe();
    ck_assert_int_eq(sl_probe_print_config(stdout, g_report, &g_err), -ENOTSUP);
    ck_assert_ptr_nonnull(strstr(g_err.text, "no format that can be recorded"));
}
END_TEST

START_TEST(no_device)
{
    ck_assert_int_eq(sl_probe_device_ops(&g_report, &g_fake.ops, "/dev/nothing", &g_err), -ENOENT);
    ck_assert_int_eq(sl_probe_device(&g_report, "/dev/null", &g_err), -ENOTTY);
    ck_assert_str_eq(g_err.text, "v4l2 /dev/null: VIDIOC_QUERYCAP: Inappropriate ioctl for device: this is no V4L2 device");
    ck_assert_ptr_null(g_report);
}
END_TEST

START_TEST(pinnable_pages)
{
    static int here;
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    uintptr_t vvar = 0;

    ck_assert(sl_mapping_pinnable(&here));
    ck_assert(!sl_mapping_pinnable((void *)16)); /* nothing is there */
    while (maps && fgets(line, sizeof(line), maps))
        if (strstr(line, "[vvar]"))
            vvar = strtoul(line, NULL, 16);
    if (maps)
        fclose(maps);
    if (vvar)
        ck_assert(!sl_mapping_pinnable((void *)vvar)); /* VM_IO | VM_PFNMAP, as with buffers of dma-contig */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_probe");
    TCase *tcase = tcase_create("probe");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_camera);
    tcase_add_test(tcase, nothing_is_changed);
    tcase_add_test(tcase, a_receiver);
    tcase_add_test(tcase, a_receiver_without_a_signal);
    tcase_add_test(tcase, memory_that_does_not_work);
    tcase_add_test(tcase, a_device_that_streams_for_another);
    tcase_add_test(tcase, a_format_without_a_size);
    tcase_add_test(tcase, a_multiplanar_device);
    tcase_add_test(tcase, a_format_that_cannot_be_recorded);
    tcase_add_test(tcase, ranges);
    tcase_add_test(tcase, json);
    tcase_add_test(tcase, config_of_a_camera);
    tcase_add_test(tcase, config_of_a_receiver);
    tcase_add_test(tcase, config_without_the_rate);
    tcase_add_test(tcase, no_config_without_a_format);
    tcase_add_test(tcase, no_device);
    tcase_add_test(tcase, pinnable_pages);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
