/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "support/fake_v4l2.h"

static int query_control(struct fake_v4l2 *fake, struct v4l2_query_ext_ctrl *query)
{
    uint32_t after = query->id & ~(V4L2_CTRL_FLAG_NEXT_CTRL | V4L2_CTRL_FLAG_NEXT_COMPOUND);

    for (unsigned i = 0; i < fake->controls; i++) {
        const struct fake_control *control = &fake->control[i];

        if (control->id <= after)
            continue;
        memset(query, 0, sizeof(*query));
        query->id = control->id;
        query->type = control->type;
        query->flags = control->flags;
        query->minimum = control->minimum;
        query->maximum = control->maximum;
        query->step = (uint64_t)control->step;
        strcpy(query->name, control->name);
        return 0;
    }
    return -EINVAL;
}

static struct fake_control *control_by_id(struct fake_v4l2 *fake, uint32_t id)
{
    for (unsigned i = 0; i < fake->controls; i++)
        if (fake->control[i].id == id)
            return &fake->control[i];
    return NULL;
}

static int query_menu(struct fake_v4l2 *fake, struct v4l2_querymenu *menu)
{
    struct fake_control *control = control_by_id(fake, menu->id);

    if (!control || menu->index > 3)
        return -EINVAL;
    if (control->type == V4L2_CTRL_TYPE_INTEGER_MENU) {
        menu->value = control->integer_menu[menu->index];
        return 0;
    }
    if (!control->menu[menu->index])
        return -EINVAL;
    strcpy((char *)menu->name, control->menu[menu->index]);
    return 0;
}

static int set_controls(struct fake_v4l2 *fake, struct v4l2_ext_controls *set)
{
    struct fake_control *control = set->count == 1 ? control_by_id(fake, set->controls[0].id) : NULL;

    if (!control)
        return -EINVAL;
    if (control->flags & V4L2_CTRL_FLAG_GRABBED)
        return -EBUSY;
    if (control->type == V4L2_CTRL_TYPE_INTEGER64)
        control->value = set->controls[0].value64;
    else if (control->type == V4L2_CTRL_TYPE_BUTTON)
        control->value++;
    else
        control->value = set->controls[0].value;
    return 0;
}

static int get_control(struct fake_v4l2 *fake, struct v4l2_control *get)
{
    struct fake_control *control = control_by_id(fake, get->id);

    if (!control)
        return -EINVAL;
    get->value = (int32_t)control->value;
    return 0;
}

int fake_control_ioctl(struct fake_v4l2 *fake, unsigned long request, void *arg)
{
    switch (request) {
    case VIDIOC_QUERY_EXT_CTRL:
        return query_control(fake, arg);
    case VIDIOC_QUERYMENU:
        return query_menu(fake, arg);
    case VIDIOC_S_EXT_CTRLS:
        return set_controls(fake, arg);
    case VIDIOC_G_CTRL:
        return get_control(fake, arg);
    default:
        return -ENOTTY;
    }
}
