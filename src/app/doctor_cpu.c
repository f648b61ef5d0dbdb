/* SPDX-License-Identifier: Apache-2.0 */
/* How fast the cores run, what slows them down, and what reading the clock costs. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/doctor_rooms.h"
#include "app/host_file.h"

/* -- Governor ------------------------------------------------------------------------------------------------------------- */

static const char policies[] = "/sys/devices/system/cpu/cpufreq";

static const char *policy_path(char *path, const char *policy, const char *file)
{
    snprintf(path, PATH_MAX, "%s/%s/%s", policies, policy, file);
    return path;
}

/* With these drivers "powersave" follows the load as other governors do. */
static bool driver_governs(const struct sl_doctor *doctor, const char *policy)
{
    char path[PATH_MAX], word[64];

    return sl_host_word(doctor->root, policy_path(path, policy, "scaling_driver"), word, sizeof word) &&
           (!strcmp(word, "intel_pstate") || !strncmp(word, "amd-pstate", 10));
}

enum governor { GOVERNOR_FAST, GOVERNOR_FOLLOWS, GOVERNOR_SLOW };

static enum governor governor_kind(const struct sl_doctor *doctor, const char *policy, const char *governor)
{
    if (!strcmp(governor, "performance"))
        return GOVERNOR_FAST;
    if (!strcmp(governor, "powersave") && !driver_governs(doctor, policy))
        return GOVERNOR_SLOW;
    return GOVERNOR_FOLLOWS;
}

void sl_doctor_governor(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    char path[PATH_MAX], governor[64], **policy;
    unsigned count = sl_host_list(doctor->root, policies, "policy", &policy);
    enum governor worst = GOVERNOR_FAST;
    int64_t least = 0, most = 0;

    if (!count) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "no cpufreq: this kernel does not change the cores' frequency");
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (!sl_host_word(doctor->root, policy_path(path, policy[i], "scaling_governor"), governor, sizeof governor))
            continue;
        if (governor_kind(doctor, policy[i], governor) > worst)
            worst = governor_kind(doctor, policy[i], governor);
        (void)sl_host_number(doctor->root, policy_path(path, policy[i], "cpuinfo_min_freq"), &least);
        (void)sl_host_number(doctor->root, policy_path(path, policy[i], "cpuinfo_max_freq"), &most);
        sl_doctor_add(finding->found, sizeof finding->found, "%s%s %s, %" PRId64 " to %" PRId64 " MHz", i ? "; " : "", policy[i], governor,
                      least / 1000, most / 1000);
    }
    sl_host_list_free(policy, count);
    if (worst == GOVERNOR_FAST)
        return;
    finding->state = worst == GOVERNOR_SLOW ? SL_DOCTOR_WARNING : SL_DOCTOR_NOTE;
    if (worst == GOVERNOR_SLOW)
        sl_doctor_why(finding, "the cores stay at %" PRId64 " of %" PRId64 " MHz: every step of a frame takes %.1f times as long",
                      least / 1000, most / 1000, least ? (double)most / (double)least : 1);
    else
        sl_doctor_why(finding,
                      "a recording leaves the cores idle, so that they are slow when a burst of work comes: each frame has %.1f ms",
                      1000 / doctor->need.frames_per_s);
    sl_doctor_cure(finding, "echo performance | tee %s/policy*/scaling_governor; at boot: cpufreq.default_governor=performance", policies);
}

void sl_doctor_fix_governor(const struct sl_doctor *doctor, struct sl_doctor_repair *repair)
{
    char path[PATH_MAX], governor[64], offered[256], **policy;
    unsigned count = sl_host_list(doctor->root, policies, "policy", &policy);

    for (unsigned i = 0; i < count; i++) {
        bool named = sl_host_word(doctor->root, policy_path(path, policy[i], "scaling_governor"), governor, sizeof governor);

        if (!named || !strcmp(governor, "performance"))
            continue;
        if (!sl_host_word(doctor->root, policy_path(path, policy[i], "scaling_available_governors"), offered, sizeof offered) ||
            !strstr(offered, "performance")) {
            sl_doctor_failed(repair, "%s has no governor \"performance\"", policy[i]);
            continue;
        }
        if (sl_doctor_set(doctor, repair, policy_path(path, policy[i], "scaling_governor"), "performance") < 0)
            break;
    }
    sl_host_list_free(policy, count);
}

/* -- Throttling ----------------------------------------------------------------------------------------------------------- */

static void add_finding(struct sl_doctor_finding *finding, enum sl_doctor_state state, const char *text)
{
    if (finding->state < state)
        finding->state = state;
    sl_doctor_add(finding->found, sizeof finding->found, "%s%s", finding->found[0] ? "; " : "", text);
}

/* A cap below what the hardware can do: by a person, by power management or by heat. */
static void look_at_caps(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    char path[PATH_MAX], text[160], **policy;
    unsigned count = sl_host_list(doctor->root, policies, "policy", &policy);

    for (unsigned i = 0; i < count; i++) {
        int64_t cap = 0, most = 0;

        if (sl_host_number(doctor->root, policy_path(path, policy[i], "scaling_max_freq"), &cap) &&
            sl_host_number(doctor->root, policy_path(path, policy[i], "cpuinfo_max_freq"), &most) && cap < most) {
            snprintf(text, sizeof text, "%.40s is capped at %" PRId64 " of %" PRId64 " MHz", policy[i], cap / 1000, most / 1000);
            add_finding(finding, SL_DOCTOR_WARNING, text);
        }
    }
    sl_host_list_free(policy, count);
}

static void look_at_cooling(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    static const char dir[] = "/sys/class/thermal";
    char path[PATH_MAX], type[64], text[160], **device;
    unsigned count = sl_host_list(doctor->root, dir, "cooling_device", &device);

    for (unsigned i = 0; i < count; i++) {
        int64_t level = 0;

        snprintf(path, sizeof path, "%s/%s/type", dir, device[i]);
        if (!sl_host_word(doctor->root, path, type, sizeof type) || (!strstr(type, "cpu") && strcmp(type, "Processor") != 0))
            continue;
        snprintf(path, sizeof path, "%s/%s/cur_state", dir, device[i]);
        if (sl_host_number(doctor->root, path, &level) && level > 0) {
            snprintf(text, sizeof text, "%s is slowed down for heat now (step %" PRId64 ")", type, level);
            add_finding(finding, SL_DOCTOR_PROBLEM, text);
        }
    }
    sl_host_list_free(device, count);
}

/* The lowest temperature at which a zone slows something down; false: none. */
static bool trip_point(const struct sl_doctor *doctor, const char *zone, int64_t *out)
{
    bool found = false;

    for (unsigned i = 0; i < 16; i++) {
        char path[PATH_MAX], type[32];
        int64_t at;

        snprintf(path, sizeof path, "/sys/class/thermal/%s/trip_point_%u_type", zone, i);
        if (!sl_host_word(doctor->root, path, type, sizeof type))
            break;
        snprintf(path, sizeof path, "/sys/class/thermal/%s/trip_point_%u_temp", zone, i);
        if (strcmp(type, "passive") != 0 || !sl_host_number(doctor->root, path, &at) || at <= 0)
            continue;
        *out = found && *out < at ? *out : at;
        found = true;
    }
    return found;
}

static void look_at_heat(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    enum { CLOSE_MILLIDEGREES = 5000 };
    char path[PATH_MAX], text[160], type[64], **zone;
    unsigned count = sl_host_list(doctor->root, "/sys/class/thermal", "thermal_zone", &zone);

    for (unsigned i = 0; i < count; i++) {
        int64_t now, trip;

        snprintf(path, sizeof path, "/sys/class/thermal/%s/temp", zone[i]);
        if (!sl_host_number(doctor->root, path, &now))
            continue;
        snprintf(path, sizeof path, "/sys/class/thermal/%s/type", zone[i]);
        (void)sl_host_word(doctor->root, path, type, sizeof type);
        if (!trip_point(doctor, zone[i], &trip)) {
            snprintf(text, sizeof text, "%s %.0f degrees C", type, (double)now / 1000);
            add_finding(finding, SL_DOCTOR_OK, text);
        } else {
            snprintf(text, sizeof text, "%s %.0f degrees C, slows down at %.0f", type, (double)now / 1000, (double)trip / 1000);
            add_finding(finding, now > trip - CLOSE_MILLIDEGREES ? SL_DOCTOR_WARNING : SL_DOCTOR_OK, text);
        }
    }
    sl_host_list_free(zone, count);
}

/* The Raspberry Pi's firmware keeps its own account: bits 0 to 3 now, the same 16 higher since boot. */
static void look_at_firmware(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    static const char *const said[] = {"the supply's voltage is low", "the firmware caps the frequency", "the firmware throttles the cores",
                                       "the soft temperature limit is reached"};
    char word[32], text[160];
    unsigned long bits;

    if (!sl_host_word(doctor->root, "/sys/devices/platform/soc/soc:firmware/get_throttled", word, sizeof word))
        return;
    bits = strtoul(word, NULL, 16);
    for (unsigned i = 0; i < sizeof said / sizeof *said; i++) {
        if (bits >> i & 1) {
            snprintf(text, sizeof text, "%s now", said[i]);
            add_finding(finding, SL_DOCTOR_PROBLEM, text);
        } else if (bits >> (i + 16) & 1) {
            snprintf(text, sizeof text, "%s: not now, but since the boot", said[i]);
            add_finding(finding, SL_DOCTOR_WARNING, text);
        }
    }
}

void sl_doctor_throttling(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    look_at_caps(doctor, finding);
    look_at_cooling(doctor, finding);
    look_at_firmware(doctor, finding);
    look_at_heat(doctor, finding);
    if (!finding->found[0]) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "this machine shows neither temperatures nor frequencies");
    } else if (finding->state > SL_DOCTOR_NOTE) {
        sl_doctor_why(finding,
                      "slower cores and a slower bus do not finish in the %.1f ms that each frame has, and it comes after minutes, when "
                      "a short test has long passed",
                      1000 / doctor->need.frames_per_s);
        sl_doctor_cure(finding, "a heat sink, airflow, a supply that holds its voltage; a cap on the frequency: cat cpuinfo_max_freq "
                                ">scaling_max_freq in /sys/devices/system/cpu/cpufreq/policy*");
    }
}

/* -- Clock ---------------------------------------------------------------------------------------------------------------- */

void sl_doctor_clock_source(const struct sl_doctor *doctor, struct sl_doctor_finding *finding)
{
    static const char *const slow[] = {"jiffies", "acpi_pm", "hpet", "refined-jiffies", "pit"};
    char now[64], offered[256];

    if (!sl_host_word(doctor->root, "/sys/devices/system/clocksource/clocksource0/current_clocksource", now, sizeof now)) {
        sl_doctor_found(finding, SL_DOCTOR_UNKNOWN, "the kernel does not say");
        return;
    }
    (void)sl_host_word(doctor->root, "/sys/devices/system/clocksource/clocksource0/available_clocksource", offered, sizeof offered);
    sl_doctor_found(finding, SL_DOCTOR_OK, "%s (there are: %s)", now, offered);
    for (unsigned i = 0; i < sizeof slow / sizeof *slow; i++) {
        if (strcmp(now, slow[i]) != 0)
            continue;
        finding->state = SL_DOCTOR_WARNING;
        sl_doctor_why(finding,
                      strstr(now, "jiffies") ? "its ticks are milliseconds: at %.0f frames a second no gap can be told from a late frame"
                                             : "each reading leaves the CPU for a slow register; frames are stamped at %.0f a second "
                                               "by the driver and several times by us",
                      doctor->need.frames_per_s);
        sl_doctor_cure(finding, "dmesg | grep -i clocksource tells why the kernel does not trust a better one");
    }
}
