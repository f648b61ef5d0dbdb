#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A small ext4 that runs full, both ways; a write error in the middle; a segment above 4 GiB.
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "$0")/lib.bash"

mounted=
cleanup() { [ -z "$mounted" ] || umount "$mounted" 2>/dev/null; }
trap cleanup EXIT

small_disk() { # MIB: mounts a fresh ext4 of that size at $scratch/small
    cleanup
    truncate -s "$1M" "$scratch/small.img"
    mkfs.ext4 -q -F -m 0 "$scratch/small.img" && mkdir -p "$scratch/small" && mount -o loop,nodiscard "$scratch/small.img" "$scratch/small" &&
        mounted=$scratch/small
}

if small_disk 400; then
    pattern_config "$scratch/stop.ini" "$scratch/small" "segment_size = 100MiB"
    "$sluice" run "$scratch/stop.ini" --set sensor.paced=no --seconds 60 --summary "$scratch/stop.json" >/dev/null 2>&1
    status=$?
    check disk-full-stop "exit $status, $(field "$scratch/stop.json" '"recorded \(.frames.recorded), disk_full \(.frames.lost.disk_full), balanced \(.frames.balanced)"')" \
        equal "$status $(field "$scratch/stop.json" '"\(.frames.balanced) \(.frames.lost.disk_full > 0) \(.frames.recorded > 500)"')" "3 true true true"
    check disk-full-stop-files "$(find "$scratch/small" -name '*.mkv' | wc -l) files, all whole" verified "$scratch"/small/*.mkv

    small_disk 400
    pattern_config "$scratch/wrap.ini" "$scratch/small" "segment_size = 40MiB
when_full = overwrite-oldest"
    # 460,800 B a frame: 2800 frames are 1.29 GB, more than three times the disk; 120 fps and a deep
    # ring leave a loop device on a busy machine some air.
    "$sluice" run "$scratch/wrap.ini" --set sensor.fps=120 --set ring.depth=4s --set sensor.buffers=32 --set record.keep_free=32MiB --frames 2800 --summary "$scratch/wrap.json" >"$scratch/wrap.log" 2>&1
    status=$?
    check disk-full-overwrite "exit $status, $(field "$scratch/wrap.json" '"recorded \(.frames.recorded) of \(.frames.expected), \(.record.bytes/1e6|floor) MB through a 400 MiB disk"')" \
        equal "$status $(field "$scratch/wrap.json" '"\(.frames.recorded) \(.frames.balanced)"')" "0 2800 true"
    removed=$(grep -c segment_removed "$scratch"/small/*.ledger)
    check disk-full-overwrite-files "$removed segments removed, the rest whole and without a gap between them" verified "$scratch"/small/*.mkv

    # Many short files on a disk that is smaller than what a large one lets a file grow by at once: only the oldest go.
    small_disk 200
    size=640x480 fps=200 pattern_config "$scratch/short.ini" "$scratch/small" "segment_time = 100ms
when_full = overwrite-oldest"
    "$sluice" run "$scratch/short.ini" --set ring.depth=64 --frames 440 --summary "$scratch/short.json" >/dev/null 2>&1
    status=$?
    kept=$(for file in "$scratch"/small/*.mkv; do "$sluice" show --json "$file" | jq .frames; done | awk '{ sum += $1 } END { print sum + 0 }')
    check disk-short-files "exit $status, $(field "$scratch/short.json" .frames.recorded) recorded, $kept of the last kept" \
        equal "$((kept >= 100)) $(tail -n 1 "$scratch"/small/*.ledger | jq -r .event) $("$sluice" show --json "$(find "$scratch/small" -name '*.mkv' | sort | tail -n 1)" | jq .last)" "1 stop 439"
    check disk-short-files-whole "whole" verified "$scratch"/small/*.mkv
    cleanup
    mounted=
else
    skip disk-full "no loop device here"
fi

# A file system that knows no O_DIRECT, and leaves the file behind that it refused to open.
mkdir -p "$scratch/ram"
if mount -t ramfs none "$scratch/ram" 2>/dev/null; then
    mounted=$scratch/ram
    pattern_config "$scratch/ram.ini" "$scratch/ram"
    "$sluice" run "$scratch/ram.ini" --frames 60 --summary "$scratch/ram.json" >/dev/null 2>&1
    status=$?
    check disk-no-direct "exit $status, $(field "$scratch/ram.json" '"direct \(.record.direct), recorded \(.frames.recorded)"')" \
        equal "$status $(field "$scratch/ram.json" '"\(.record.direct) \(.frames.recorded)"') $(find "$scratch/ram" -name '.*' -type f | wc -l)" "0 false 60 0"
    check disk-no-direct-file "whole" verified "$scratch"/ram/*.mkv
    cleanup
    mounted=
else
    skip disk-no-direct "no ramfs may be mounted here"
fi

mkdir -p "$scratch/eio"
pattern_config "$scratch/eio.ini" "$scratch/eio" "[fault]
store = eio@100:2"
"$sluice" run "$scratch/eio.ini" --seconds 4 --summary "$scratch/eio.json" >/dev/null 2>&1
status=$?
check disk-eio "exit $status, $(field "$scratch/eio.json" '"recorded \(.frames.recorded), disk_error \(.frames.lost.disk_error), \(.record.files|length) files"')" \
    equal "$status $(field "$scratch/eio.json" '"\(.frames.recorded) \(.frames.lost.disk_error) \(.frames.balanced) \(.record.files|length > 1)"')" "3 238 2 true true"
check disk-eio-files "whole" verified "$scratch"/eio/*.mkv

free_mb=$(df -BM --output=avail "$scratch" | tail -1 | tr -dc 0-9)
if [ "$free_mb" -gt 9000 ]; then
    mkdir -p "$scratch/big"
    size=1920x1080 pattern_config "$scratch/big.ini" "$scratch/big" "segment_time = 1h"
    "$sluice" run "$scratch/big.ini" --set sensor.paced=no --frames 1100 --summary "$scratch/big.json" >/dev/null 2>&1
    status=$?
    bytes=$(stat -c %s "$scratch"/big/*.mkv)
    check over-4gib "exit $status, one file of $bytes bytes" equal "$status $((bytes > 4294967296)) $(find "$scratch/big" -name '*.mkv' | wc -l)" "0 1 1"
    check over-4gib-file "whole" verified "$scratch"/big/*.mkv
    if command -v ffmpeg >/dev/null; then
        last=$(ffmpeg -v error -ss 18.3 -i "$scratch"/big/*.mkv -map 0:v -frames:v 1 -c copy -f framemd5 - | awk -F', *' 'END { print $NF }')
        want=$("$sluice" verify --md5 "$scratch"/big/*.mkv 2>/dev/null | awk '$1 == 1098 { print $2 }')
        check over-4gib-seek "ffmpeg seeks to frame 1098: $last" equal "$last" "$want"
    fi
    rm -rf "$scratch/big"
else
    skip over-4gib "less than 9 GB free"
fi
finish
