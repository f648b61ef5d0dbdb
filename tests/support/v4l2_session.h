/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SL_TESTS_V4L2_SESSION_H
#define SL_TESTS_V4L2_SESSION_H

/* One opening of a fake V4L2 device by a capture, in one of the ways of v4l2_lies.h. Failures end the test. */

#include "support/capture_rig.h"
#include "support/v4l2_lies.h"

struct v4l2_session {
    struct fake_v4l2 fake;
    struct capture_rig rig;
    struct sl_capture_cfg cfg;
    unsigned way; /* one of enum lie_ways */
};

/* The device is made and the config written; both may be changed before it is opened. */
void session_init(struct v4l2_session *session, unsigned way);
/* Opens, makes memory, starts. 0 or what failed, with its sentence in rig.err. */
int session_begin(struct v4l2_session *session);
/* Works as a runner would: sleeps as long as there is something to wait for, then until there is nothing to do. */
int session_pump(struct v4l2_session *session);
/* So many intervals pass, with a frame in each if the device has a buffer. 0 or what ended the stream. */
int session_stream(struct v4l2_session *session, unsigned frames);
uint64_t session_bad_frames(const struct v4l2_session *session); /* kept or lost */
/* Checks the books and frees all. `clean`: the device must have got everything back. */
void session_fini(struct v4l2_session *session, bool clean);

#endif
