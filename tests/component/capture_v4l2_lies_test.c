/* SPDX-License-Identifier: Apache-2.0 */
/* Every lie of the table, told from the first opening on and from the middle of a stream, in every way a device can be opened. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "capture/v4l2_probe.h"
#include "support/suite.h"
#include "support/v4l2_session.h"

enum { BEFORE = 10, MEANWHILE = 20, AFTER = 10 };

static const unsigned g_ways[] = {LIE_USERPTR, LIE_MMAP, LIE_USERPTR_PLANES, LIE_MMAP_PLANES};
enum { WAYS = sizeof(g_ways) / sizeof(g_ways[0]) };

static struct v4l2_session g_session;
static char g_what[128];

static uint32_t anomalies_seen(void)
{
    const struct capture_rig *rig = &g_session.rig;
    uint32_t seen = 0;

    for (unsigned i = 0; i < rig->event_count; i++)
        if (rig->event[i].kind == SL_EVENT_ANOMALY)
            seen |= UINT32_C(1) << rig->event[i].code;
    return seen;
}

static void check_harmless(unsigned frames)
{
    struct sl_books books = rig_books(&g_session.rig);

    ck_assert_msg(books.captured == frames && books.expected == frames, "%s: %lu of %lu frames", g_what, (unsigned long)books.captured,
                  (unsigned long)books.expected);
    ck_assert_msg(anomalies_seen() == 0 && session_bad_frames(&g_session) == 0, "%s: anomalies %x", g_what, anomalies_seen());
}

static void check_verdict(const struct v4l2_lie *lie, enum lie_verdict verdict, int result, unsigned frames)
{
    rig_drain_events(&g_session.rig);
    ck_assert_msg(result == (verdict == LIE_ENDS ? -lie->error : 0) || (verdict == LIE_ANOMALY && result == -lie->error), "%s: %s", g_what,
                  strerror(-result));
    switch (verdict) {
    case LIE_HARMLESS:
    case LIE_REFUSED:
        check_harmless(frames);
        break;
    case LIE_ANOMALY:
        ck_assert_msg(anomalies_seen() & lie->anomalies, "%s: anomalies %x", g_what, anomalies_seen());
        ck_assert_uint_gt(sl_capture_counter(g_session.rig.capture, SL_CAPTURE_ANOMALIES), 0);
        break;
    case LIE_BAD_FRAME:
        ck_assert_msg(session_bad_frames(&g_session) >= MEANWHILE, "%s: %lu bad frames", g_what,
                      (unsigned long)session_bad_frames(&g_session));
        break;
    case LIE_ENDS:
        break;
    }
}

static void open_and_lie(const struct v4l2_lie *lie)
{
    int result;

    g_session.fake.lie = &lie->lie;
    result = session_begin(&g_session);
    if (lie->sentence) {
        ck_assert_msg(result < 0, "%s: it opened", g_what);
        ck_assert_msg(strstr(g_session.rig.err.text, lie->sentence) != NULL, "%s: %s", g_what, g_session.rig.err.text);
        return;
    }
    ck_assert_msg(result == 0, "%s: %s", g_what, g_session.rig.err.text);
    result = session_stream(&g_session, MEANWHILE);
    check_verdict(lie, lie->verdict, result, MEANWHILE);
}

static void lie_in_the_middle(const struct v4l2_lie *lie)
{
    int result;

    ck_assert_msg(session_begin(&g_session) == 0, "%s: %s", g_what, g_session.rig.err.text);
    ck_assert_int_eq(session_stream(&g_session, BEFORE), 0);
    check_harmless(BEFORE);
    g_session.fake.lie = &lie->lie;
    result = session_stream(&g_session, MEANWHILE);
    g_session.fake.lie = NULL;
    if (result == 0)
        result = session_stream(&g_session, AFTER);
    /* what is only asked at an opening is not asked now, and then nothing is to be seen */
    check_verdict(lie, g_session.fake.told ? lie->verdict : LIE_HARMLESS, result, BEFORE + MEANWHILE + AFTER);
}

static void each_way(const struct v4l2_lie *lie, const char *when, void (*told)(const struct v4l2_lie *lie), bool clean)
{
    for (unsigned w = 0; w < WAYS; w++) {
        if (!(lie->ways & g_ways[w]))
            continue;
        snprintf(g_what, sizeof(g_what), "%s, %s, way %u", lie->name, when, g_ways[w]);
        session_init(&g_session, g_ways[w]);
        told(lie);
        session_fini(&g_session, clean);
    }
}

START_TEST(told_from_the_opening_on)
{
    each_way(&v4l2_lies[_i], "opening", open_and_lie, v4l2_lies[_i].lie.request);
}
END_TEST

START_TEST(told_in_the_middle)
{
    each_way(&v4l2_lies[_i], "streaming", lie_in_the_middle, true);
}
END_TEST

/* Ready and nothing there, for ever: the thread sleeps most of the time, and the silence is noticed. */
START_TEST(a_storm_is_waited_out)
{
    static const struct fake_lie *storm;
    int64_t begin_ns, pauses;
    int result = 0;

    for (unsigned i = 0; i < v4l2_lie_count && !storm; i++)
        if (v4l2_lies[i].anomalies == UINT32_C(1) << SL_ANOMALY_FALSE_READY && v4l2_lies[i].error == ETIMEDOUT)
            storm = &v4l2_lies[i].lie;
    session_init(&g_session, LIE_USERPTR);
    ck_assert_int_eq(session_begin(&g_session), 0);
    g_session.fake.lie = storm;
    fake_complete(&g_session.fake, sl_now_ns(g_session.rig.deps.clock));
    begin_ns = sl_now_ns(&sl_clock_system);
    while (result >= 0) { /* without a wake-up: each turn sleeps as long as the agent wants to */
        g_session.rig.agent->idle(g_session.rig.agent->self);
        sl_manual_clock_advance(&g_session.rig.clock, 50 * SL_NS_PER_MS);
        result = rig_work(&g_session.rig);
    }
    ck_assert_int_eq(result, -ETIMEDOUT);
    ck_assert_uint_ge(g_session.fake.told, 39);
    pauses = (int64_t)g_session.fake.told - 10;
    ck_assert_int_ge(sl_now_ns(&sl_clock_system) - begin_ns, pauses * SL_NS_PER_MS);
    session_fini(&g_session, true);
}
END_TEST

START_TEST(a_storm_that_ends)
{
    session_init(&g_session, LIE_MMAP);
    ck_assert_int_eq(session_begin(&g_session), 0);
    fake_fail_at(&g_session.fake, VIDIOC_DQBUF, EAGAIN, 0, 50);
    fake_complete(&g_session.fake, sl_now_ns(g_session.rig.deps.clock));
    for (unsigned i = 0; i < 50; i++)
        ck_assert_int_eq(session_pump(&g_session), 0);
    ck_assert_int_eq(session_pump(&g_session), 1);
    ck_assert_int_eq(session_stream(&g_session, 20), 0);
    ck_assert_uint_eq(rig_books(&g_session.rig).captured, 21);
    session_fini(&g_session, true);
}
END_TEST

/* What `sluice probe` asks for it asks of a liar, too. */
START_TEST(told_to_a_probe)
{
    for (unsigned w = 0; w < WAYS; w++) {
        struct sl_probe_report *report = NULL;

        session_init(&g_session, g_ways[w]);
        g_session.fake.lie = &v4l2_lies[_i].lie;
        if (sl_probe_device_ops(&report, &g_session.fake.ops, "/dev/fake", &g_session.rig.err) == 0) {
            ck_assert_uint_le(report->formats, 256);
            ck_assert_uint_le(report->inputs, 32);
            ck_assert_uint_le(report->timings, 256);
            ck_assert_uint_le(report->controls, 1);
            sl_probe_free(report);
        } else {
            ck_assert_uint_gt(strlen(g_session.rig.err.text), 20);
        }
        session_fini(&g_session, v4l2_lies[_i].lie.request);
    }
}
END_TEST

/* --- texts ------------------------------------------------------------------------------------------------------------------- */

START_TEST(texts_become_printable)
{
    static const struct {
        const char *from, *to;
    } texts[] = {
        {"Kamera f\xc3\xbcr drau\xc3\x9f"
         "en",
         "Kamera f\xc3\xbcr drau\xc3\x9f"
         "en"},
        {"\xe6\x91\x84\xe5\x83\x8f\xe5\xa4\xb4 \xf0\x9f\x8e\xa5", "\xe6\x91\x84\xe5\x83\x8f\xe5\xa4\xb4 \xf0\x9f\x8e\xa5"},
        {"cut in the middle of \xc3", "cut in the middle of ?"},
        {"\xff\xfe\x80 \xc0\xaf", "??? ??"},           /* bytes that are no character, one that is too long */
        {"\xed\xa0\x80 \xf4\x90\x80\x80", "??? ????"}, /* a surrogate, one beyond the last */
        {"a\nb\tc\x7f"
         "\xc2\x85",
         "a?b?c???"},
        {"", ""},
    };

    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint8_t text[64];

        snprintf((char *)text, sizeof(text), "%s", texts[i].from);
        sl_v4l2_clean(text, sizeof(text));
        ck_assert_str_eq((char *)text, texts[i].to);
    }
    uint8_t endless[8];
    memset(endless, 'x', sizeof(endless));
    sl_v4l2_clean(endless, sizeof(endless));
    ck_assert_str_eq((char *)endless, "xxxxxxx");
}
END_TEST

static void answer_wild_names(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    struct v4l2_capability *cap = arg;

    (void)fake;
    if (request == VIDIOC_QUERYCAP)
        memset(cap->card, 0xc3, sizeof(cap->card));
}

START_TEST(wild_names_reach_nobody)
{
    session_init(&g_session, LIE_USERPTR);
    g_session.fake.hook = answer_wild_names;
    ck_assert_int_eq(session_begin(&g_session), 0);
    ck_assert_str_eq(sl_capture_info(g_session.rig.capture)->device, "fake, ???????????????????????????????, platform:fake.0");
    session_fini(&g_session, true);
}
END_TEST

START_TEST(values_of_64_bits_do_not_become_others)
{
    session_init(&g_session, LIE_USERPTR);
    g_session.fake.control[0].maximum = INT64_MAX;
    g_session.cfg.controls = "gain=4294967297"; /* 1, in 32 bits */
    ck_assert_int_eq(session_begin(&g_session), -EINVAL);
    ck_assert_int_eq(g_session.fake.control[0].value, 0);
    session_fini(&g_session, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_v4l2_lies");
    TCase *tcase = tcase_create("lies");

    tcase_add_loop_test(tcase, told_from_the_opening_on, 0, (int)v4l2_lie_count);
    tcase_add_loop_test(tcase, told_in_the_middle, 0, (int)v4l2_lie_count);
    tcase_add_loop_test(tcase, told_to_a_probe, 0, (int)v4l2_lie_count);
    tcase_add_test(tcase, a_storm_is_waited_out);
    tcase_add_test(tcase, a_storm_that_ends);
    tcase_add_test(tcase, texts_become_printable);
    tcase_add_test(tcase, wild_names_reach_nobody);
    tcase_add_test(tcase, values_of_64_bits_do_not_become_others);
    suite_add_tcase(suite, tcase);
    return sl_run_suite(suite);
}
