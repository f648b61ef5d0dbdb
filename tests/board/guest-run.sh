#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Process 1 of the guest: runs the tests on the disk at /board one after the other and powers off. Results go to the host
# through a virtio port, line by line, so that they are there even when the guest dies; logs go to /data/log.
set -u

export PATH=/usr/local/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LC_ALL=C TERM=linux
mount -t tmpfs -o mode=1777 tmpfs /tmp
mount -t tmpfs tmpfs /run
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
mkdir -p /dev/shm /data/log
mount -t tmpfs tmpfs /dev/shm
echo board >/proc/sys/kernel/hostname
busybox ip link set lo up

# shellcheck source=/dev/null
. /board/env
# shellcheck source=/dev/null
. /board/guest-lib.sh

end() {
    sync
    umount /data 2>/dev/null || mount -o remount,ro /data
    busybox poweroff -f
}

if [[ $BOARD_SHELL == yes ]]; then
    echo "board: tests in /board, scratch disk at /data, 'exit' powers off; '. /board/guest-lib.sh; board_vivid 0' makes a sensor"
    cd /data || true
    busybox setsid busybox cttyhack bash --norc -i
    end
fi

port=
for ((i = 0; i < 50; i++)); do
    for p in /sys/class/virtio-ports/*; do
        [[ $(cat "$p/name" 2>/dev/null) == board.results ]] && port=/dev/${p##*/}
    done
    [[ $port ]] && break
    sleep 0.1
done
if [[ ! $port ]]; then
    echo "board: no port for the results"
    end
fi
exec 7>"$port"
echo "booted $(uname -r) $(cut -d' ' -f1 /proc/uptime)" >&7

now() { cut -d' ' -f1 /proc/uptime; }

run_one() {
    local file=$1 name limit begun line
    name=$(basename "$file" .test)
    limit=$(board_header "$file" limit 60)
    export BOARD_NAME=$name BOARD_DIR=/data/$name BOARD_RESULT=/tmp/$name.result BOARD_ROWS=/tmp/$name.rows
    mkdir -p "$BOARD_DIR"
    : >"$BOARD_ROWS"
    begun=$(now)
    echo "start $name" >&7
    dmesg -C
    if board_vivid "$(board_header "$file" vivid none)" >"/data/log/$name.log" 2>&1; then
        # shellcheck disable=SC2016 # expanded by the inner shell
        timeout -k 5 "$limit" bash -c 'set -euo pipefail; . /board/guest-lib.sh; . "$0"' "$file" >>"/data/log/$name.log" 2>&1 7>&-
        case $? in
        124 | 137) line="not ok $name - stopped after $limit s" ;;
        *) line=$(cat "$BOARD_RESULT" 2>/dev/null) || line="not ok $name - ended without a result; last words: $(tail_log)" ;;
        esac
    else
        line="not ok $name - no test sensor: modprobe vivid failed"
    fi
    dmesg >"/data/log/$name.dmesg"
    sed 's/^/row /' "$BOARD_ROWS" >&7
    echo "took $name $(awk -v a="$begun" -v b="$(now)" 'BEGIN { printf "%.1f", b - a }')" >&7
    echo "$line" >&7
    # What the host does not read only takes room.
    [[ -e /board/tests/$name.host ]] || rm -rf "$BOARD_DIR"
    sync
}

for file in /board/tests/*.test; do
    run_one "$file"
done
echo "end" >&7
exec 7>&-
end
