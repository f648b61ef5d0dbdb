#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# First process of the emulated board, in the initramfs: finds the disks by their serial names, lays a writable tmpfs over
# the read-only root and hands over to guest-run.sh, which comes with the tests.
bb=/bin/busybox
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
$bb mkdir -p /bin /sbin /usr/bin /usr/sbin
$bb --install -s
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev

halt_with() {
    echo "board: $1"
    echo o >/proc/sysrq-trigger
    sleep 10
}

for m in virtio_pci virtio_blk virtio_console crc32c_generic crc32c_cryptoapi libcrc32c ext4 overlay; do
    modprobe "$m" 2>/dev/null
done

# disk SERIAL: prints its device node.
disk() {
    for d in /sys/block/vd*; do
        [ "$(cat "$d/serial" 2>/dev/null)" = "$1" ] && echo "/dev/${d##*/}" && return 0
    done
    return 1
}

n=0
until root=$(disk root) && tests=$(disk tests) && data=$(disk data); do
    n=$((n + 1))
    [ $n -gt 100 ] && halt_with "a disk is missing"
    sleep 0.1
done

mkdir -p /lower /rw
mount -t ext4 -o ro "$root" /lower || halt_with "cannot mount the root disk"
mount -t tmpfs -o size=512m tmpfs /rw
mkdir -p /rw/upper /rw/work
mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work overlay /newroot || halt_with "cannot make the root"
mkdir -p /newroot/usr/local/bin /newroot/lib/modules
cp $bb /newroot/usr/local/bin/busybox
cp -a /lib/modules/. /newroot/lib/modules/
mount -t ext4 -o ro "$tests" /newroot/board || halt_with "cannot mount the disk with the tests"
mount -t ext4 -o noatime,nodiscard "$data" /newroot/data || halt_with "cannot mount the data disk"
for m in proc sys dev; do mount -o move "/$m" "/newroot/$m"; done
exec switch_root /newroot /bin/bash /board/guest-run.sh
