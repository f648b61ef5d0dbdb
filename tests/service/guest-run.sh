#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# First process after the initramfs of tests/board, on the disk it mounts at /board: puts what `cmake --install` made into the root,
# adds the test as a unit, and becomes systemd.
export PATH=/usr/bin:/usr/sbin:/bin:/sbin
cp -a /board/install/. /
cp /board/guest-test.service /etc/systemd/system/
mkdir -p /etc/systemd/system/multi-user.target.wants /etc/sluice
ln -s ../guest-test.service /etc/systemd/system/multi-user.target.wants/
systemd-sysusers
exec /lib/systemd/systemd
