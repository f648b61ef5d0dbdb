#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# In the guest, under systemd: sluice@.service through its life, with vivid as the sensor. One line for each result goes to the virtio
# port: ok NAME, not ok NAME. Times are waited for, with a limit far beyond what they take, never measured from above.
set -u

export LC_ALL=C
port=
for ((i = 0; i < 100; i++)); do
    for p in /sys/class/virtio-ports/*; do
        [[ $(cat "$p/name" 2>/dev/null) == board.results ]] && port=/dev/${p##*/}
    done
    [[ $port ]] && break
    sleep 0.1
done
[[ $port ]] || systemctl poweroff
exec 7>"$port"

say() { echo "$*" && echo "$*" >&7; }
ok() { say "ok $*"; }
not_ok() { say "not ok $*"; }
# expect NAME WHAT COMMAND…: one result.
expect() {
    local name=$1 what=$2
    shift 2
    if "$@"; then ok "$name $what"; else not_ok "$name $what: $(state "$unit")"; fi
}
show() { systemctl show -P "$1" "$unit"; }
state() { systemctl show -p ActiveState,SubState,Result,ExecMainStatus,NRestarts,StatusText "$1" | tr '\n' ' '; }
is() { [[ $(show "$1") == "$2" ]]; }
# until SECONDS COMMAND…
until_true() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.2
    done
}
frames_recorded() { (($(show StatusText | sed -n 's/.*: \([0-9]*\) frames recorded.*/\1/p') >= $1)); }
restarted() { (($(show NRestarts) >= $1)); }
restarted_and_active() { restarted "$1" && is ActiveState active; }
# By name, which has the time: a repair makes an old file new.
newest() { find "/data/$1" -name "*.$2" | sort | tail -n 1; }

# config NAME LINES: /etc/sluice/NAME.ini, which records into /data/NAME, and a drop-in that allows it.
config() {
    install -d -o sluice -g sluice "/data/$1"
    printf '[sensor]\nname = %s\nsource = v4l2\ndevice = /dev/video0\nsize = 640x360\nfps = auto\n[ring]\ndepth = 30\n[record]\ndir = /data/%s\nkeep_free = 0\n%b' \
        "$1" "$1" "$2" >"/etc/sluice/$1.ini"
    mkdir -p "/etc/systemd/system/sluice@$1.service.d"
    printf '[Service]\nReadWritePaths=/data/%s\nWatchdogSec=4s\n' "$1" >"/etc/systemd/system/sluice@$1.service.d/dir.conf"
    systemctl daemon-reload
    unit=sluice@$1
}

echo "booted $(uname -r) $(systemctl --version | head -n 1)" >&7

# A bad config, and a run that ends by itself with losses: failed, and left so. Looked at again at the end.
config bad 'nonsense = 1\n'
systemctl start sluice@bad
expect bad-config "is refused with status 2" until_true 30 is ExecMainStatus 2

# No device yet: tried again until there is one.
config late '[realtime]\npriority = 10\nlock_memory = yes\n'
systemctl enable --now --no-block sluice@late
expect no-device "is tried again" until_true 60 restarted 2
modprobe vivid n_devs=1 node_types=0x1 allocators=0
expect late-device "is found: active" until_true 60 is ActiveState active
expect status "counts frames" until_true 60 frames_recorded 5
ok "status-text $(show StatusText)"
pid=$(show MainPID)
expect user "is sluice" test "$(stat -c %U "/proc/$pid")" = sluice
expect memory "is locked" grep -qE '^VmLck:[[:space:]]+[0-9]{4,} kB' "/proc/$pid/status"
fifo=0
for task in "/proc/$pid/task/"*; do
    [[ $(cat "$task/comm") =~ ^(capture|recorder)$ && $(chrt -p "${task##*/}") == *SCHED_FIFO*priority:\ 10* ]] && fifo=$((fifo + 1))
done
expect priority "is real-time for two threads" test "$fifo" = 2

# kill -9: a new process, a new file; the old one can be made whole.
torn=$(newest late mkv) before=$(show NRestarts)
kill -9 "$pid"
expect kill "starts it again" until_true 60 restarted_and_active $((before + 1))
expect kill "and it records" until_true 60 frames_recorded 5
expect kill "into another file" test "$(newest late mkv)" != "$torn"
expect kill "the torn one is mended" /usr/local/bin/sluice repair "$torn"

# A process that stands still: the watchdog.
pid=$(show MainPID) before=$(show NRestarts) cut=$(newest late mkv)
kill -STOP "$pid"
expect watchdog "starts it again" until_true 60 restarted_and_active $((before + 1))
expect watchdog "says so in the journal" grep -q 'Watchdog timeout' <(journalctl -u sluice@late -o cat --no-pager)
expect watchdog "leaves a core dump" until_true 60 bash -c "coredumpctl --no-pager -q list $pid | grep -q SIGABRT"
expect watchdog "and it records" until_true 60 frames_recorded 5
expect watchdog "leaves a file that is mended" /usr/local/bin/sluice repair "$cut"

# Stop: in order.
systemctl stop sluice@late
expect stop "ends it in order" is Result success
expect stop "with its ledger closed" grep -q '"stop".*"signal"' <(tail -n 1 "$(newest late ledger)")
expect stop "and its file whole" /usr/local/bin/sluice verify "$(newest late mkv)"

# READY is not before the first frame is written: the disk keeps that back.
config slow '[fault]\nstore = stall@0s:3s\n'
systemctl start sluice@slow
waited=$((($(show ActiveEnterTimestampMonotonic) - $(show InactiveExitTimestampMonotonic)) / 1000))
expect ready "comes $waited ms after the start, with the first frame" test "$waited" -ge 3000
systemctl stop sluice@slow

# A disk that never answers is a reason: longer than the watchdog, and not restarted.
config disk '[fault]\nstore = stall@1s:20s\n'
systemctl start sluice@disk
expect disk "that does not answer is told of" until_true 60 bash -c "systemctl show -P StatusText sluice@disk | grep -q 'waits for the disk'"
sleep 10
expect disk "and the watchdog is fed" is NRestarts 0
expect disk "until it answers" until_true 60 bash -c "systemctl show -P StatusText sluice@disk | grep -q 'streaming: '"
systemctl stop sluice@disk

unit=sluice@bad
expect bad-config "stays failed, without a restart" is ActiveState failed
expect bad-config "was never started again" is NRestarts 0

# Power off while it records; the host looks at the file.
config last ''
systemctl start sluice@last
expect last "records" until_true 60 frames_recorded 5
journalctl --no-pager -o short-monotonic >/data/journal
echo end >&7
systemctl poweroff
