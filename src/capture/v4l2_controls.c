/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Controls by name, as v4l2-ctl writes them: the driver's name in lower case, everything that is no letter or digit one
 * underscore ("White Balance, Auto" is white_balance_auto). Values are numbers, or the text of a menu entry.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/v4l2_device.h"

enum { MAX_CONTROLS = 1024, MAX_ENTRIES = 256, NAME_BYTES = 64 };

void sl_v4l2_control_name(const char *from, size_t from_bytes, char *name)
{
    size_t used = 0;
    bool gap = false;

    for (size_t i = 0; i < from_bytes && from[i] && used + 2 < NAME_BYTES; i++) {
        if (!isalnum((unsigned char)from[i])) {
            gap = true;
            continue;
        }
        if (gap && used)
            name[used++] = '_';
        gap = false;
        name[used++] = (char)tolower((unsigned char)from[i]);
    }
    name[used] = '\0';
}

bool sl_v4l2_next_control(const struct sl_v4l2 *dev, struct v4l2_query_ext_ctrl *query)
{
    uint32_t last = query->id;

    query->id |= V4L2_CTRL_FLAG_NEXT_CTRL;
    return sl_v4l2_ioctl(dev, VIDIOC_QUERY_EXT_CTRL, query) >= 0 && query->id > last;
}

uint64_t sl_v4l2_menu_entries(const struct v4l2_query_ext_ctrl *control, uint64_t most)
{
    uint64_t span = (uint64_t)control->maximum - (uint64_t)control->minimum; /* the two may lie at the ends of 64 bits */

    if (control->minimum > control->maximum)
        return 0;
    return span < most ? span + 1 : most;
}

void sl_v4l2_menu_clean(const struct v4l2_query_ext_ctrl *control, struct v4l2_querymenu *entry)
{
    if (control->type == V4L2_CTRL_TYPE_MENU) /* else the number lies there */
        sl_v4l2_clean(entry->name, sizeof(entry->name));
}

static bool find_control(const struct sl_v4l2 *dev, const char *name, struct v4l2_query_ext_ctrl *found, char *list, size_t bytes)
{
    struct v4l2_query_ext_ctrl query = {0};

    list[0] = '\0';
    for (int i = 0; i < MAX_CONTROLS && sl_v4l2_next_control(dev, &query); i++) {
        char candidate[NAME_BYTES];

        if (query.type == V4L2_CTRL_TYPE_CTRL_CLASS || query.flags & V4L2_CTRL_FLAG_DISABLED)
            continue;
        sl_v4l2_control_name(query.name, sizeof(query.name), candidate);
        if (!strcmp(candidate, name)) {
            *found = query;
            return true;
        }
        sl_v4l2_append(list, bytes, "%s%s", list[0] ? " " : "", candidate);
    }
    return false;
}

static bool parse_number(const char *text, int64_t *value)
{
    char *end;

    errno = 0;
    *value = strtoll(text, &end, 0);
    return !errno && end != text && !*end;
}

static bool parse_bool(const char *text, int64_t *value)
{
    static const char *const words[] = {"no", "yes", "off", "on", "false", "true"};

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (!strcmp(text, words[i])) {
            *value = i & 1;
            return true;
        }
    return parse_number(text, value) && (*value == 0 || *value == 1);
}

static void menu_label(const struct v4l2_query_ext_ctrl *control, const struct v4l2_querymenu *entry, char *label, size_t bytes)
{
    if (control->type == V4L2_CTRL_TYPE_INTEGER_MENU)
        snprintf(label, bytes, "%lld", (long long)entry->value);
    else
        snprintf(label, bytes, "%.*s", (int)sizeof(entry->name), (const char *)entry->name);
}

/* An entry's number, or else its text. What there is goes into list. */
static bool parse_menu(const struct sl_v4l2 *dev, const struct v4l2_query_ext_ctrl *control, const char *text, int64_t *value, char *list,
                       size_t bytes)
{
    int64_t number;
    bool is_number = parse_number(text, &number);
    bool known = false;
    uint64_t entries = sl_v4l2_menu_entries(control, MAX_ENTRIES);

    list[0] = '\0';
    for (uint64_t n = 0; n < entries; n++) {
        int64_t i = control->minimum + (int64_t)n;
        struct v4l2_querymenu entry = {.id = control->id, .index = (uint32_t)i};
        char label[NAME_BYTES];

        if (sl_v4l2_ioctl(dev, VIDIOC_QUERYMENU, &entry) < 0)
            continue; /* menus may have holes */
        sl_v4l2_menu_clean(control, &entry);
        menu_label(control, &entry, label, sizeof(label));
        sl_v4l2_append(list, bytes, "%s%lld=%s", list[0] ? ", " : "", (long long)i, label);
        if (is_number && number == i) {
            *value = i;
            return true;
        }
        if (!known && !strcasecmp(text, label)) {
            *value = i;
            known = true; /* a later entry may still have this number */
        }
    }
    return known;
}

/* Only INTEGER64 is handed over with more than 32 bits. The range of a bitmask is signed and says nothing. */
static bool in_range(const struct v4l2_query_ext_ctrl *control, int64_t value)
{
    if (control->type == V4L2_CTRL_TYPE_BITMASK)
        return value >= 0 && value <= UINT32_MAX;
    if (control->type != V4L2_CTRL_TYPE_INTEGER64 && (value < INT32_MIN || value > INT32_MAX))
        return false;
    return value >= control->minimum && value <= control->maximum;
}

static int parse_value(const struct sl_v4l2 *dev, const struct v4l2_query_ext_ctrl *control, const char *name, const char *text,
                       int64_t *value, struct sl_error *err)
{
    char list[500];

    switch (control->type) {
    case V4L2_CTRL_TYPE_BUTTON:
        *value = 0;
        return 0;
    case V4L2_CTRL_TYPE_BOOLEAN:
        if (parse_bool(text, value))
            return 0;
        return sl_fail(err, -EINVAL, "v4l2 %s: control %s=%s: write yes or no", dev->path, name, text);
    case V4L2_CTRL_TYPE_MENU:
    case V4L2_CTRL_TYPE_INTEGER_MENU:
        if (parse_menu(dev, control, text, value, list, sizeof(list)))
            return 0;
        return sl_fail(err, -EINVAL, "v4l2 %s: control %s=%s: no such entry; there are %s", dev->path, name, text, list[0] ? list : "none");
    case V4L2_CTRL_TYPE_INTEGER:
    case V4L2_CTRL_TYPE_INTEGER64:
    case V4L2_CTRL_TYPE_BITMASK:
        if (parse_number(text, value) && in_range(control, *value))
            return 0;
        if (control->minimum > control->maximum)
            return sl_fail(err, -EPROTO, "v4l2 %s: control %s: the driver says that its values go from %lld to %lld", dev->path, name,
                           (long long)control->minimum, (long long)control->maximum);
        return sl_fail(err, -EINVAL, "v4l2 %s: control %s=%s: must be %lld to %lld in steps of %llu", dev->path, name, text,
                       (long long)control->minimum, (long long)control->maximum, (unsigned long long)control->step);
    default:
        return sl_fail(err, -ENOTSUP, "v4l2 %s: control %s has a type (%u) that cannot be set from a line of text", dev->path, name,
                       control->type);
    }
}

static int write_control(const struct sl_v4l2 *dev, const struct v4l2_query_ext_ctrl *control, const char *name, const char *text,
                         int64_t value, struct sl_error *err)
{
    struct v4l2_ext_control ext = {.id = control->id};
    struct v4l2_ext_controls set = {.which = V4L2_CTRL_WHICH_CUR_VAL, .count = 1, .controls = &ext};
    int ret;

    if (control->type == V4L2_CTRL_TYPE_INTEGER64)
        ext.value64 = value;
    else
        ext.value = (int32_t)value;
    ret = sl_v4l2_ioctl(dev, VIDIOC_S_EXT_CTRLS, &set);
    if (ret < 0)
        return sl_v4l2_fail(dev, err, ret, ret == -EBUSY ? "another control holds it (an automatic mode?)" : NULL,
                            "VIDIOC_S_EXT_CTRLS(%s=%s)", name, text);
    return 0;
}

static int set_one(const struct sl_v4l2 *dev, const char *name, const char *text, struct sl_error *err)
{
    struct v4l2_query_ext_ctrl control;
    char list[700];
    int64_t value = 0;
    int ret;

    if (!find_control(dev, name, &control, list, sizeof(list)))
        return sl_fail(err, -EINVAL, "v4l2 %s: there is no control %s; there are: %s", dev->path, name, list[0] ? list : "none");
    if (control.flags & V4L2_CTRL_FLAG_READ_ONLY)
        return sl_fail(err, -EACCES, "v4l2 %s: control %s can only be read", dev->path, name);
    ret = parse_value(dev, &control, name, text, &value, err);
    return ret < 0 ? ret : write_control(dev, &control, name, text, value, err);
}

int sl_v4l2_set_controls(const struct sl_v4l2 *dev, const char *controls, struct sl_error *err)
{
    while (controls && *controls) {
        size_t length = strcspn(controls, ",");
        char pair[160], name[NAME_BYTES];
        char *value;
        int ret;

        if (length >= sizeof(pair))
            return sl_fail(err, -EINVAL, "v4l2 %s: controls: an entry has more than %zu characters", dev->path, sizeof(pair) - 1);
        memcpy(pair, controls, length);
        pair[length] = '\0';
        value = strchr(pair, '=');
        if (!value)
            return sl_fail(err, -EINVAL, "v4l2 %s: controls: `%s` is not NAME=VALUE", dev->path, pair);
        *value++ = '\0';
        sl_v4l2_control_name(pair, sizeof(pair), name);
        ret = set_one(dev, name, value, err);
        if (ret < 0)
            return ret;
        controls += length + (controls[length] == ',');
    }
    return 0;
}

unsigned sl_v4l2_min_buffers(const struct sl_v4l2 *dev)
{
    struct v4l2_control control = {.id = V4L2_CID_MIN_BUFFERS_FOR_CAPTURE};

    if (sl_v4l2_ioctl(dev, VIDIOC_G_CTRL, &control) < 0 || control.value < 1 || control.value > (int)SL_V4L2_MAX_BUFFERS)
        return 1;
    return (unsigned)control.value;
}
