/* SPDX-License-Identifier: Apache-2.0 */
/* Every branch of the negotiation with a device, against a driver in user space. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_v4l2.h"
#include "support/suite.h"

static struct fake_v4l2 g_fake;
static struct sl_capture_cfg g_cfg;
static struct sl_source *g_source;
static struct sl_error g_err;

static void setup(void)
{
    fake_init(&g_fake);
    g_cfg = (struct sl_capture_cfg){.device = "/dev/fake", .input = -1, .buffers = 8, .fps = {0, 1}};
    g_source = NULL;
    g_err.text[0] = '\0';
}

static void teardown(void)
{
    if (g_source)
        g_source->ops->close(g_source);
    fake_check_clean(&g_fake);
    fake_fini(&g_fake);
}

static int try_open(void)
{
    return sl_v4l2_source_open_ops(&g_source, &g_fake.ops, &g_cfg, &g_err);
}

static const struct sl_capture_info *opened(void)
{
    int ret = try_open();

    ck_assert_msg(ret == 0, "%s", g_err.text);
    return &g_source->info;
}

static void refused(int code, const char *text)
{
    ck_assert_int_eq(try_open(), code);
    ck_assert_ptr_null(g_source);
    ck_assert_msg(strstr(g_err.text, text) != NULL, "'%s' is not in: %s", text, g_err.text);
    ck_assert_msg(!strncmp(g_err.text, "v4l2", 4), "%s", g_err.text);
}

START_TEST(takes_the_device_as_it_is)
{
    const struct sl_capture_info *info = opened();

    ck_assert_str_eq(info->format.pixel->name, "YUYV");
    ck_assert_uint_eq(info->format.width, 640);
    ck_assert_uint_eq(info->format.height, 480);
    ck_assert_uint_eq(info->format.bytesperline[0], 1280);
    ck_assert_uint_eq(info->slot_bytes, 640 * 480 * 2);
    ck_assert_uint_eq(info->format.fps.num, 60);
    ck_assert_uint_eq(info->format.colour.primaries, 1);
    ck_assert_uint_eq(info->format.colour.matrix, 1);
    ck_assert_uint_eq(info->format.colour.range, 1);
    ck_assert(info->offers_mmap && info->offers_userptr && info->offers_dmabuf);
    ck_assert_str_eq(info->device, "fake, Fake camera, platform:fake.0");
    ck_assert_str_eq(info->granted, "");
    ck_assert_uint_eq(info->indices, 8);
    ck_assert_uint_eq(info->min_indices, 1);
}
END_TEST

START_TEST(asks_for_format_size_and_rate)
{
    g_cfg.pixel_format = "NV12";
    g_cfg.width = 1920;
    g_cfg.height = 1080;
    g_cfg.fps = (struct sl_rational){30, 1};
    const struct sl_capture_info *info = opened();
    ck_assert_str_eq(info->format.pixel->name, "NV12");
    ck_assert_uint_eq(info->format.height, 1080);
    ck_assert_uint_eq(info->format.fps.num, 30);
    ck_assert_uint_eq(info->format.frame_bytes, 1920 * 1080 * 3 / 2);
}
END_TEST

START_TEST(no_device)
{
    g_cfg.device = "/dev/nothing";
    refused(-ENOENT, "sluice probe");
    g_cfg.device = NULL;
    refused(-EINVAL, "no device");
}
END_TEST

START_TEST(not_a_capture_device)
{
    g_fake.capabilities = V4L2_CAP_VIDEO_OUTPUT | V4L2_CAP_STREAMING;
    refused(-ENOTSUP, "does not capture video");
    g_fake.capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_READWRITE;
    refused(-ENOTSUP, "cannot stream");
    fake_fail_at(&g_fake, VIDIOC_QUERYCAP, ENOTTY, 0, 1);
    refused(-ENOTTY, "no V4L2 device");
}
END_TEST

START_TEST(a_format_the_device_does_not_have)
{
    g_cfg.pixel_format = "VYUY";
    refused(-EINVAL, "does not offer VYUY; it offers: YUYV 640x480 1280x720 1920x1080, UYVY");
    g_fake.fourcc[0] = V4L2_PIX_FMT_MJPEG;
    g_fake.fourcc[1] = 0;
    g_cfg.pixel_format = NULL;
    refused(-EINVAL, "any format sluice knows");
}
END_TEST

START_TEST(a_size_the_device_does_not_have)
{
    g_cfg.pixel_format = "UYVY";
    g_cfg.width = 800;
    g_cfg.height = 600;
    refused(-EINVAL, "VIDIOC_S_FMT(UYVY 800x600): the device gives UYVY 640x480 instead; it offers:");
    g_fake.stepwise = true;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.width, 800);
}
END_TEST

static void answer_other_format(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    (void)fake;
    if (request == VIDIOC_S_FMT)
        ((struct v4l2_format *)arg)->fmt.pix.pixelformat = V4L2_PIX_FMT_RGB24;
}

START_TEST(another_format_than_asked)
{
    g_fake.hook = answer_other_format;
    g_fake.stepwise = true;
    g_cfg.pixel_format = "YUYV";
    refused(-EINVAL, "the device gives RGB3 640x480 instead; it offers: YUYV 16x16");
}
END_TEST

START_TEST(s_fmt_fails)
{
    fake_fail_at(&g_fake, VIDIOC_S_FMT, EBUSY, 0, 1);
    g_cfg.width = 1920;
    g_cfg.height = 1080;
    refused(-EBUSY, "v4l2 /dev/fake: VIDIOC_S_FMT(YUYV 1920x1080): Device or resource busy: another program is streaming; stop it");
    fake_fail_at(&g_fake, VIDIOC_G_FMT, EIO, 0, 1);
    refused(-EIO, "VIDIOC_G_FMT");
}
END_TEST

START_TEST(padded_lines)
{
    g_fake.padding = 64;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.bytesperline[0], 1344);
    ck_assert_uint_eq(info->format.frame_bytes, 1344 * 480);
    ck_assert_ptr_nonnull(strstr(info->granted, "padded from 1280 to 1344"));
}
END_TEST

static uint32_t g_bytesperline, g_sizeimage;

static void answer_other_sizes(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    struct v4l2_format *format = arg;

    (void)fake;
    if (request != VIDIOC_S_FMT)
        return;
    format->fmt.pix.bytesperline = g_bytesperline;
    format->fmt.pix.sizeimage = g_sizeimage;
}

START_TEST(lying_sizes)
{
    g_fake.hook = answer_other_sizes;
    g_bytesperline = 1280;
    g_sizeimage = 1280 * 480 - 1;
    refused(-EPROTO, "plane 0 takes 614399 bytes, but 640x480 YUYV needs 614400");
    g_bytesperline = 1000;
    refused(-EPROTO, "a line of 640 YUYV pixels takes 1000 bytes");
    g_bytesperline = 1u << 31;
    refused(-EPROTO, "it must be from 1280 to 64 KiB");
    g_bytesperline = 0; /* "no lines": tight */
    g_sizeimage = 700000;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.frame_bytes, 614400);
    ck_assert_uint_eq(info->slot_bytes, 700000);
}
END_TEST

START_TEST(fields)
{
    g_fake.field = V4L2_FIELD_INTERLACED;
    const struct sl_capture_info *info = opened();
    ck_assert(info->format.interlaced);
    g_source->ops->close(g_source);
    g_source = NULL;

    g_fake.field = V4L2_FIELD_ANY;
    info = opened();
    ck_assert(!info->format.interlaced);
    g_source->ops->close(g_source);
    g_source = NULL;

    static const uint32_t bad[] = {V4L2_FIELD_TOP, V4L2_FIELD_BOTTOM, V4L2_FIELD_ALTERNATE, V4L2_FIELD_SEQ_TB, V4L2_FIELD_SEQ_BT, 77};
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        g_fake.field = bad[i];
        refused(-ENOTSUP, "single fields");
    }
}
END_TEST

/* --- rate ------------------------------------------------------------------------------------------------------------------- */

START_TEST(a_rate_the_device_does_not_have)
{
    g_cfg.fps = (struct sl_rational){120, 1};
    refused(-EINVAL, "VIDIOC_S_PARM(120/1 frames a second): the device gives 60/1; at this size it offers: 60/1 30/1");
    g_fake.can_set_parm = false;
    refused(-EINVAL, "the device gives 60/1");
    fake_fail_at(&g_fake, VIDIOC_S_PARM, EBUSY, 0, 1);
    g_fake.can_set_parm = true;
    refused(-EBUSY, "VIDIOC_S_PARM(120/1)");
}
END_TEST

START_TEST(nearly_the_rate_asked)
{
    g_fake.interval = (struct v4l2_fract){1001, 60000};
    g_cfg.fps = (struct sl_rational){60, 1};
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.fps.num, 60000);
    ck_assert_uint_eq(info->format.fps.den, 1001);
    ck_assert_ptr_nonnull(strstr(info->granted, "fps 60/1 asked, 60000/1001 granted"));
}
END_TEST

START_TEST(a_device_that_says_no_rate)
{
    g_fake.has_parm = false;
    refused(-EINVAL, "does not say its frame rate");
    g_cfg.fps = (struct sl_rational){50, 1};
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.fps.num, 50);
    ck_assert_ptr_nonnull(strstr(info->granted, "taken as asked"));
}
END_TEST

START_TEST(rates_in_lowest_terms)
{
    g_fake.interval = (struct v4l2_fract){24750, 1485000}; /* as vivid says it */
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.fps.num, 60);
    ck_assert_uint_eq(info->format.fps.den, 1);
}
END_TEST

START_TEST(a_rate_of_zero)
{
    g_fake.interval = (struct v4l2_fract){0, 0};
    refused(-EINVAL, "does not say its frame rate");
}
END_TEST

START_TEST(same_rates)
{
    struct sl_rational sixty = {60, 1}, ntsc = {60000, 1001}, fifty = {50, 1}, huge = {4000000000u, 66666666u};

    ck_assert(sl_v4l2_same_rate(sixty, ntsc));
    ck_assert(sl_v4l2_same_rate(ntsc, sixty));
    ck_assert(!sl_v4l2_same_rate(sixty, fifty));
    ck_assert(sl_v4l2_same_rate(huge, sixty));
}
END_TEST

/* --- inputs and timings ------------------------------------------------------------------------------------------------------ */

static void use_hdmi(void)
{
    fake_fini(&g_fake);
    fake_init_hdmi(&g_fake);
    g_cfg.input = 1;
    g_cfg.dv_timings = "auto";
}

START_TEST(an_input_that_does_not_exist)
{
    use_hdmi();
    g_cfg.input = 7;
    refused(-EINVAL, "VIDIOC_S_INPUT(7): Invalid argument: it has 0 Camera, 1 HDMI");
}
END_TEST

START_TEST(timings_from_the_signal)
{
    use_hdmi();
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.width, 1920);
    ck_assert_uint_eq(info->format.height, 1080);
    ck_assert_uint_eq(info->format.fps.num, 60);
    ck_assert_uint_eq(info->format.fps.den, 1);
    ck_assert_uint_eq(g_fake.current_timings.bt.pixelclock, 148500000);
}
END_TEST

START_TEST(timings_by_name)
{
    use_hdmi();
    g_cfg.dv_timings = "1920x1080p60";
    opened();
    ck_assert_uint_eq(g_fake.current_timings.bt.standards, V4L2_DV_BT_STD_CEA861); /* not the CVT one that comes first */
    ck_assert_uint_eq(g_fake.current_timings.bt.flags & V4L2_DV_FL_REDUCED_FPS, 0);
}
END_TEST

START_TEST(timings_with_a_reduced_rate)
{
    use_hdmi();
    g_cfg.dv_timings = "1920x1080p59.94";
    g_cfg.fps = (struct sl_rational){60000, 1001};
    const struct sl_capture_info *info = opened();
    ck_assert_uint_ne(g_fake.current_timings.bt.flags & V4L2_DV_FL_REDUCED_FPS, 0);
    ck_assert_uint_eq(info->format.fps.num, 60000);
    ck_assert_uint_eq(info->format.fps.den, 1001);
    ck_assert_str_eq(info->granted, "");
}
END_TEST

START_TEST(timings_interlaced)
{
    use_hdmi();
    g_cfg.dv_timings = "1920x1080i30";
    g_fake.field = V4L2_FIELD_ALTERNATE; /* as HDMI receivers deliver it */
    refused(-ENOTSUP, "progressive");
    ck_assert_uint_eq(g_fake.current_timings.bt.interlaced, 1);
}
END_TEST

START_TEST(timings_that_do_not_exist)
{
    static const char *const bad[] = {"1080p60", "1920x1080",    "1920x1080p",    "1920xp60",
                                      "x",       "1920x1080q60", "1920x1080p60x", "1920x1080p0"};

    use_hdmi();
    g_cfg.dv_timings = "3840x2160p60";
    refused(-EINVAL, "no timings 3840x2160p60; it knows 640x480p59.94 1920x1080p60 1920x1080i30");
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        g_cfg.dv_timings = bad[i];
        refused(-EINVAL, "such as 1920x1080p60");
    }
}
END_TEST

START_TEST(timings_of_a_camera)
{
    g_fake.inputs = 1;
    g_cfg.dv_timings = "auto";
    refused(-ENOTSUP, "no HDMI or SDI receiver");
}
END_TEST

START_TEST(timings_without_inputs)
{
    use_hdmi();
    g_fake.input = 1;
    g_cfg.input = -1;
    fake_fail_at(&g_fake, VIDIOC_G_INPUT, ENOTTY, 0, 1000);
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.width, 1920);
    ck_assert_uint_eq(g_fake.current_timings.bt.pixelclock, 148500000);
}
END_TEST

START_TEST(neither_inputs_nor_timings)
{
    g_cfg.dv_timings = "auto";
    ck_assert_ptr_nonnull(strstr(opened()->granted, "neither inputs nor timings: its format is taken as it is"));
}
END_TEST

START_TEST(no_signal)
{
    static const struct {
        int error;
        const char *text;
    } kinds[] = {{ENOLINK, "no signal"}, {ENOLCK, "cannot lock"}, {ERANGE, "outside"}};

    for (unsigned i = 0; i < 3; i++) {
        use_hdmi();
        fake_fail_at(&g_fake, VIDIOC_QUERY_DV_TIMINGS, kinds[i].error, 0, 1);
        refused(-kinds[i].error, kinds[i].text);
    }
    use_hdmi();
    fake_fail_at(&g_fake, VIDIOC_S_DV_TIMINGS, EBUSY, 0, 1);
    refused(-EBUSY, "VIDIOC_S_DV_TIMINGS(1920x1080p60)");
}
END_TEST

START_TEST(a_signal_of_another_rate)
{
    use_hdmi();
    g_cfg.fps = (struct sl_rational){50, 1};
    refused(-EINVAL, "VIDIOC_G_DV_TIMINGS: the incoming signal has 60/1 frames a second, not the 50/1 asked for");
}
END_TEST

START_TEST(timings_left_as_they_are)
{
    use_hdmi();
    g_cfg.dv_timings = NULL;
    g_fake.current_timings = g_fake.timings[2];
    g_fake.width[0] = 1920;
    g_fake.height[0] = 1080;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.width, 1920);
    ck_assert_uint_eq(info->format.fps.num, 60);
}
END_TEST

START_TEST(rates_of_odd_clocks)
{
    struct v4l2_dv_timings t = fake_timings(1920, 1080, false, 2200, 1125, 148351648, 0, 0); /* as measured by a receiver */
    struct sl_rational rate = sl_v4l2_timings_rate(&t);
    char name[48];

    ck_assert(sl_v4l2_same_rate(rate, (struct sl_rational){60000, 1001}));
    sl_v4l2_timings_name(&t, name, sizeof(name));
    ck_assert_str_eq(name, "1920x1080p59.94");
    t.bt.pixelclock = 0;
    ck_assert_uint_eq(sl_v4l2_timings_rate(&t).num, 0);
    t.bt.pixelclock = UINT64_MAX;
    ck_assert_uint_eq(sl_v4l2_timings_rate(&t).num, 0);
    t = fake_timings(4096, 4096, false, 5001, 5003, 99999999977, 0, V4L2_DV_FL_REDUCED_FPS); /* more digits than 32 bits have */
    rate = sl_v4l2_timings_rate(&t);
    ck_assert_uint_gt(rate.num, 0);
    ck_assert_uint_gt(rate.den, 0);
}
END_TEST

/* --- controls ---------------------------------------------------------------------------------------------------------------- */

static void add_controls(void)
{
    static const struct fake_control controls[] = {
        {.id = V4L2_CID_BRIGHTNESS, .name = "Brightness", .type = V4L2_CTRL_TYPE_INTEGER, .maximum = 255, .step = 1},
        {.id = V4L2_CID_AUTO_WHITE_BALANCE, .name = "White Balance, Automatic", .type = V4L2_CTRL_TYPE_BOOLEAN, .maximum = 1, .step = 1},
        {.id = V4L2_CID_POWER_LINE_FREQUENCY,
         .name = "Power Line Frequency",
         .type = V4L2_CTRL_TYPE_MENU,
         .maximum = 3,
         .step = 1,
         .menu = {"Disabled", "50 Hz", NULL, "Auto"}},
        {.id = V4L2_CID_LINK_FREQ,
         .name = "Link Frequency",
         .type = V4L2_CTRL_TYPE_INTEGER_MENU,
         .maximum = 1,
         .step = 1,
         .integer_menu = {456000000, 912000000}},
        {.id = V4L2_CID_PIXEL_RATE,
         .name = "Pixel Rate",
         .type = V4L2_CTRL_TYPE_INTEGER64,
         .flags = V4L2_CTRL_FLAG_READ_ONLY,
         .maximum = 1000000000,
         .step = 1},
        {.id = V4L2_CID_PRIVATE_BASE + 1, .name = "Press Me", .type = V4L2_CTRL_TYPE_BUTTON},
        {.id = V4L2_CID_PRIVATE_BASE + 2, .name = "Held", .type = V4L2_CTRL_TYPE_INTEGER, .flags = V4L2_CTRL_FLAG_GRABBED, .maximum = 9},
        {.id = V4L2_CID_PRIVATE_BASE + 3, .name = "Text", .type = V4L2_CTRL_TYPE_STRING, .maximum = 9},
    };

    g_fake.controls = sizeof(controls) / sizeof(controls[0]);
    memcpy(g_fake.control, controls, sizeof(controls));
    /* the kernel hands them out in the order of their ids */
    for (unsigned i = 0; i + 1 < g_fake.controls; i++)
        for (unsigned k = i + 1; k < g_fake.controls; k++)
            if (g_fake.control[k].id < g_fake.control[i].id) {
                struct fake_control swap = g_fake.control[i];

                g_fake.control[i] = g_fake.control[k];
                g_fake.control[k] = swap;
            }
}

static int64_t value_of(const char *name)
{
    for (unsigned i = 0; i < g_fake.controls; i++)
        if (!strcmp(g_fake.control[i].name, name))
            return g_fake.control[i].value;
    ck_abort_msg("no control %s", name);
    return 0;
}

START_TEST(controls_of_every_kind)
{
    add_controls();
    g_cfg.controls = "brightness=0x20,white_balance_automatic=yes,power_line_frequency=auto,link_frequency=912000000,press_me=1";
    opened();
    ck_assert_int_eq(value_of("Brightness"), 32);
    ck_assert_int_eq(value_of("White Balance, Automatic"), 1);
    ck_assert_int_eq(value_of("Power Line Frequency"), 3);
    ck_assert_int_eq(value_of("Link Frequency"), 1);
    ck_assert_int_eq(value_of("Press Me"), 1);
}
END_TEST

START_TEST(controls_that_cannot_be_set)
{
    static const struct {
        const char *text, *error;
        int code;
    } bad[] = {
        {"contrast=1", "there is no control contrast; there are: brightness", -EINVAL},
        {"brightness=256", "must be 0 to 255", -EINVAL},
        {"brightness=-1", "must be 0 to 255", -EINVAL},
        {"brightness=bright", "must be 0 to 255", -EINVAL},
        {"brightness=", "must be 0 to 255", -EINVAL},
        {"brightness", "is not NAME=VALUE", -EINVAL},
        {"white_balance_automatic=2", "write yes or no", -EINVAL},
        {"power_line_frequency=2", "no such entry; there are 0=Disabled, 1=50 Hz, 3=Auto", -EINVAL},
        {"power_line_frequency=60 Hz", "no such entry", -EINVAL},
        {"link_frequency=2", "no such entry; there are 0=456000000, 1=912000000", -EINVAL},
        {"pixel_rate=5", "can only be read", -EACCES},
        {"held=5", "another control holds it", -EBUSY},
        {"text=5", "cannot be set from a line of text", -ENOTSUP},
    };

    add_controls();
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        g_cfg.controls = bad[i].text;
        refused(bad[i].code, bad[i].error);
    }
    char longest[400];
    memset(longest, 'a', sizeof(longest));
    longest[399] = '\0';
    g_cfg.controls = longest;
    refused(-EINVAL, "more than");
}
END_TEST

START_TEST(the_drivers_minimum_of_buffers)
{
    g_fake.control[0] = (struct fake_control){.id = V4L2_CID_MIN_BUFFERS_FOR_CAPTURE, .name = "Min", .value = 3};
    g_fake.controls = 1;
    g_cfg.buffers = 2;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->min_indices, 3);
    ck_assert_uint_eq(info->indices, 3);
    ck_assert_ptr_nonnull(strstr(info->granted, "2 buffers asked, the driver needs 3"));
}
END_TEST

START_TEST(a_minimum_that_is_a_lie)
{
    g_fake.control[0] = (struct fake_control){.id = V4L2_CID_MIN_BUFFERS_FOR_CAPTURE, .name = "Min", .value = -5};
    g_fake.controls = 1;
    ck_assert_uint_eq(opened()->min_indices, 1);
}
END_TEST

/* --- planes, memories, colour ------------------------------------------------------------------------------------------------ */

START_TEST(multiplanar)
{
    fake_fini(&g_fake);
    fake_init_multiplanar(&g_fake);
    g_cfg.pixel_format = "NV12";
    g_cfg.width = 1920;
    g_cfg.height = 1080;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(g_fake.format.fmt.pix_mp.pixelformat, V4L2_PIX_FMT_NV12); /* one buffer, although NM12 is offered too */
    ck_assert_uint_eq(info->slot_bytes, 1920 * 1080 * 3 / 2);
    ck_assert_uint_eq(info->format.offset[1], 1920 * 1080);
}
END_TEST

START_TEST(one_buffer_a_plane)
{
    fake_fini(&g_fake);
    fake_init_multiplanar(&g_fake);
    g_cfg.pixel_format = "NV16";
    g_cfg.width = 1280;
    g_cfg.height = 720;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(g_fake.format.fmt.pix_mp.pixelformat, V4L2_PIX_FMT_NV16M);
    ck_assert_uint_eq(info->format.frame_bytes, 1280 * 720 * 2);
    ck_assert_uint_eq(info->format.offset[1], 1280 * 720);
}
END_TEST

static unsigned g_lines, g_planes, g_line1;

static void answer_other_planes(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    struct v4l2_format *format = arg;

    (void)fake;
    if (request != VIDIOC_S_FMT)
        return;
    format->fmt.pix_mp.num_planes = (uint8_t)g_planes;
    for (unsigned p = 0; p < 2; p++)
        format->fmt.pix_mp.plane_fmt[p].sizeimage = 1280 * g_lines;
    if (g_line1)
        format->fmt.pix_mp.plane_fmt[1].bytesperline = g_line1;
}

START_TEST(planes_with_more_lines_or_wrong_ones)
{
    fake_fini(&g_fake);
    fake_init_multiplanar(&g_fake);
    g_cfg.pixel_format = "NV16";
    g_cfg.width = 1280;
    g_cfg.height = 720;
    g_fake.hook = answer_other_planes;
    g_lines = 736;
    g_planes = 3;
    refused(-EPROTO, "in 3 buffers instead of 2");
    g_planes = 250;
    refused(-EPROTO, "in 0 buffers instead of 2");
    g_planes = 2;
    g_lines = 719;
    refused(-EPROTO, "plane 0 takes");
    g_lines = 736;
    g_line1 = 640;
    refused(-ENOTSUP, "plane 1 has lines of 640 bytes");
    g_line1 = 1280;
    const struct sl_capture_info *info = opened();
    ck_assert_uint_eq(info->format.lines[0], 736);
    ck_assert_uint_eq(info->format.lines[1], 736);
    ck_assert_uint_eq(info->format.offset[1], 1280 * 736);
    ck_assert_uint_eq(info->format.height, 720);
}
END_TEST

START_TEST(memories_as_the_driver_says)
{
    g_fake.memories = 1 << V4L2_MEMORY_MMAP | 1 << V4L2_MEMORY_DMABUF;
    g_fake.old_kernel = _i == 1;
    const struct sl_capture_info *info = opened();
    ck_assert(info->offers_mmap && !info->offers_userptr && info->offers_dmabuf);
}
END_TEST

START_TEST(buffers_held_by_another_program)
{
    fake_fail_at(&g_fake, VIDIOC_REQBUFS, EBUSY, 0, 1);
    refused(-EBUSY, "another program is streaming");
}
END_TEST

START_TEST(errors_that_have_a_usual_hint)
{
    static const struct {
        int error;
        const char *hint;
    } kinds[] = {{ENODEV, "plugged in"}, {EACCES, "group"}, {ENOMEM, "cma="}, {EIO, "kernel log"}, {ENOTTY, "does not have this"}};

    for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        fake_fail_at(&g_fake, VIDIOC_S_FMT, kinds[i].error, 0, 1);
        refused(-kinds[i].error, kinds[i].hint);
    }
}
END_TEST

START_TEST(colours)
{
    struct sl_colour c;

    /* the kernel's defaults: colorspace alone decides */
    c = sl_v4l2_colour(V4L2_COLORSPACE_REC709, 0, 0, 0, false, false, false);
    ck_assert(c.primaries == 1 && c.transfer == 1 && c.matrix == 1 && c.range == 1);
    c = sl_v4l2_colour(V4L2_COLORSPACE_SMPTE170M, 0, 0, 0, false, false, false);
    ck_assert(c.primaries == 6 && c.transfer == 1 && c.matrix == 6 && c.range == 1);
    c = sl_v4l2_colour(V4L2_COLORSPACE_SRGB, 0, 0, 0, false, false, false);
    ck_assert(c.primaries == 1 && c.transfer == 13 && c.matrix == 6 && c.range == 1);
    c = sl_v4l2_colour(V4L2_COLORSPACE_JPEG, 0, 0, 0, false, false, false);
    ck_assert(c.primaries == 1 && c.transfer == 13 && c.matrix == 6 && c.range == 2);
    c = sl_v4l2_colour(V4L2_COLORSPACE_BT2020, 0, 0, V4L2_XFER_FUNC_SMPTE2084, false, false, false);
    ck_assert(c.primaries == 9 && c.transfer == 16 && c.matrix == 9 && c.range == 1);
    c = sl_v4l2_colour(V4L2_COLORSPACE_SMPTE240M, 0, 0, 0, false, false, false);
    ck_assert(c.primaries == 7 && c.transfer == 7 && c.matrix == 7);
    c = sl_v4l2_colour(V4L2_COLORSPACE_DCI_P3, 0, V4L2_QUANTIZATION_FULL_RANGE, 0, false, false, false);
    ck_assert(c.primaries == 11 && c.transfer == 17 && c.matrix == 1 && c.range == 2);
    c = sl_v4l2_colour(V4L2_COLORSPACE_RAW, 0, 0, 0, true, false, false);
    ck_assert(c.primaries == 2 && c.transfer == 8 && c.matrix == 2 && c.range == 2);
    /* what is explicit wins */
    c = sl_v4l2_colour(V4L2_COLORSPACE_REC709, V4L2_YCBCR_ENC_601, V4L2_QUANTIZATION_FULL_RANGE, V4L2_XFER_FUNC_SRGB, false, false, false);
    ck_assert(c.primaries == 1 && c.transfer == 13 && c.matrix == 6 && c.range == 2);
    /* and no colorspace at all: television or not */
    c = sl_v4l2_colour(V4L2_COLORSPACE_DEFAULT, 0, 0, 0, false, true, false);
    ck_assert(c.primaries == 1 && c.transfer == 1 && c.matrix == 1);
    c = sl_v4l2_colour(V4L2_COLORSPACE_DEFAULT, 0, 0, 0, false, false, true);
    ck_assert(c.primaries == 6 && c.matrix == 6);
    c = sl_v4l2_colour(V4L2_COLORSPACE_DEFAULT, 0, 0, 0, false, false, false);
    ck_assert(c.primaries == 1 && c.transfer == 13);
    c = sl_v4l2_colour(9999, 9999, 9999, 9999, false, false, false);
    ck_assert(c.primaries == 2 && c.transfer == 2 && c.matrix == 2 && c.range == 0);
}
END_TEST

static void add_negotiation(TCase *tcase)
{
    tcase_add_test(tcase, takes_the_device_as_it_is);
    tcase_add_test(tcase, asks_for_format_size_and_rate);
    tcase_add_test(tcase, no_device);
    tcase_add_test(tcase, not_a_capture_device);
    tcase_add_test(tcase, a_format_the_device_does_not_have);
    tcase_add_test(tcase, a_size_the_device_does_not_have);
    tcase_add_test(tcase, another_format_than_asked);
    tcase_add_test(tcase, s_fmt_fails);
    tcase_add_test(tcase, padded_lines);
    tcase_add_test(tcase, lying_sizes);
    tcase_add_test(tcase, fields);
    tcase_add_test(tcase, a_rate_the_device_does_not_have);
    tcase_add_test(tcase, nearly_the_rate_asked);
    tcase_add_test(tcase, a_device_that_says_no_rate);
    tcase_add_test(tcase, rates_in_lowest_terms);
    tcase_add_test(tcase, a_rate_of_zero);
    tcase_add_test(tcase, same_rates);
}

static void add_timings(TCase *tcase)
{
    tcase_add_test(tcase, an_input_that_does_not_exist);
    tcase_add_test(tcase, timings_from_the_signal);
    tcase_add_test(tcase, timings_by_name);
    tcase_add_test(tcase, timings_with_a_reduced_rate);
    tcase_add_test(tcase, timings_interlaced);
    tcase_add_test(tcase, timings_that_do_not_exist);
    tcase_add_test(tcase, timings_of_a_camera);
    tcase_add_test(tcase, timings_without_inputs);
    tcase_add_test(tcase, neither_inputs_nor_timings);
    tcase_add_test(tcase, no_signal);
    tcase_add_test(tcase, a_signal_of_another_rate);
    tcase_add_test(tcase, timings_left_as_they_are);
    tcase_add_test(tcase, rates_of_odd_clocks);
}

int main(void)
{
    Suite *suite = suite_create("capture_v4l2_negotiation");
    TCase *tcase = tcase_create("negotiation");

    tcase_add_checked_fixture(tcase, setup, teardown);
    add_negotiation(tcase);
    add_timings(tcase);
    tcase_add_test(tcase, controls_of_every_kind);
    tcase_add_test(tcase, controls_that_cannot_be_set);
    tcase_add_test(tcase, the_drivers_minimum_of_buffers);
    tcase_add_test(tcase, a_minimum_that_is_a_lie);
    tcase_add_test(tcase, multiplanar);
    tcase_add_test(tcase, one_buffer_a_plane);
    tcase_add_test(tcase, planes_with_more_lines_or_wrong_ones);
    tcase_add_loop_test(tcase, memories_as_the_driver_says, 0, 2);
    tcase_add_test(tcase, buffers_held_by_another_program);
    tcase_add_test(tcase, errors_that_have_a_usual_hint);
    tcase_add_test(tcase, colours);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
