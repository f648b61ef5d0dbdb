#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# how much of another program's cached file survives a recording: sluice, and a buffered writer at the same rate
#
#   --seconds S     length of each recording at 60 frames a second (20)
#   --memory MB     limit of the memory group that both programs share (1000)
#   --neighbour MB  size of the other program's file (400)
#   --trial         keep no results
#
# A memory group makes the result independent of how much memory the machine has. Needs root.
set -euo pipefail

name=cache-neighbour arguments=$*
# shellcheck source=perf/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seconds=20 memory=1000 neighbour=400
while (($#)); do
    case $1 in
    --seconds | --memory | --neighbour)
        (($# > 1)) || die "$1 needs a value"
        number "$1" "$2"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --trial) trial=yes ;;
    *) die "what is '$1'? See the top of perf/$name.sh" ;;
    esac
    shift
done
((EUID == 0)) || die "needs root, to make a memory group"
prepare $((seconds * 60 * frame_bytes + neighbour * 1000000 + 2000000000))

make_group() {
    if [[ -e /sys/fs/cgroup/cgroup.controllers ]]; then
        group=/sys/fs/cgroup/sluice-bench
        echo +memory >/sys/fs/cgroup/cgroup.subtree_control
        mkdir -p "$group"
        echo $((memory * 1000000)) >"$group/memory.max"
    elif [[ -d /sys/fs/cgroup/memory ]]; then
        group=/sys/fs/cgroup/memory/sluice-bench
        mkdir -p "$group"
        echo $((memory * 1000000)) >"$group/memory.limit_in_bytes"
    else
        die "no memory control group at /sys/fs/cgroup"
    fi
    restore+=("rmdir $group")
}

# in_group COMMAND…: as a member of the group.
in_group() { bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"; }

resident_mb() { calc "$(fincore -nrb -o RES "$work/neighbour") / 1e6" 0; }

record() {
    local source=(-re -f rawvideo -pix_fmt yuyv422 -s 1920x1080 -r 60 -i /dev/zero -t "$seconds" -c copy)
    mkdir -p "$work/rec"
    case $1 in
    sluice) in_group "$sluice" run configs/pattern.ini --seconds "$seconds" --set "record.dir=$work/rec" ;;
    buffered) in_group ffmpeg -v error -y "${source[@]}" -f rawvideo "$work/rec/f" ;;
    esac >"$work/log" 2>&1 </dev/null || { tail -n 20 "$work/log" >&2; die "$1 failed"; }
}

# One row of the table. The neighbour's file is written and read by a member of the group, so that its pages are charged there.
row() {
    local before after written
    rm -rf "${work:?}"/*
    in_group dd if=/dev/zero of="$work/neighbour" bs=1M count=$((neighbour * 1000000 / 1048576)) conv=fsync status=none
    in_group cat "$work/neighbour" >/dev/null
    before=$(resident_mb)
    record "$1"
    after=$(resident_mb)
    written=$(calc "$(du -sb "$work/rec" | cut -f1) / 1e9" 2)
    say "$2: $before MB resident before, $after MB after $written GB"
    printf '| %s | %s | %s | %s |\n' "$2" "$written" "$before" "$after"
}

make_group
rows=$(row sluice sluice && row buffered 'FFmpeg, raw copy, buffered')
{
    printf '# The page cache of other programs\n\n'
    machine_facts
    printf '\nBoth programs share a memory group of %s MB; the neighbour has a file of %s MB cached. Then %s s of 1080p60 are recorded.\n\n' \
        "$memory" "$neighbour" "$seconds"
    printf '| recorder | GB written | neighbour resident before, MB | after, MB |\n|---|---|---|---|\n'
    printf '%s\n' "$rows"
} | report "$name.md"
