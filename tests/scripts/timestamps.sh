#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An hour at 25, 59.94 and 60 frames a second: every timestamp in the file, as FFmpeg reads it, is the exact one rounded down to the
# nanosecond. The sensor's clock runs as fast as the disk, so that the hour takes seconds.
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "$0")/lib.bash"

command -v ffprobe >/dev/null || { skip timestamps "ffprobe is not installed"; finish; }
free_mb=$(df -BM --output=avail "$scratch" | tail -1 | tr -dc 0-9)
((free_mb > 3000)) || { skip timestamps "less than 3 GB free"; finish; }

# exact NUM DEN FRAMES: a line for each frame.
exact() {
    local n
    for ((n = 0; n < $3; n++)); do echo $((n * 1000000000 * $2 / $1)); done
}

hour() { # NAME NUM DEN
    local frames=$((3600 * $2 / $3)) dir=$scratch/rec status
    rm -rf "$dir" && mkdir "$dir"
    format=GREY size=64x48 fps=$2/$3 pattern_config "$scratch/hour.ini" "$dir" "segment_time = none"
    timeout -k 5 90 "$sluice" run "$scratch/hour.ini" --set sensor.paced=no --frames "$frames" --summary "$scratch/hour.json" >"$scratch/log" 2>&1
    status=$?
    check "timestamps-$1" "exit $status, recorded $(field "$scratch/hour.json" '"\(.frames.recorded) of \(.frames.expected), \(.record.files | length) file"')" \
        equal "$status $(field "$scratch/hour.json" '"\(.frames.recorded) \(.record.files | length)"')" "0 $frames 1"
    ffprobe -v error -select_streams v -show_entries packet=pts -of csv=p=0 "$dir"/*.mkv | tr -d , >"$scratch/pts"
    exact "$2" "$3" "$frames" >"$scratch/exact"
    check "timestamps-$1-exact" "$(wc -l <"$scratch/pts") timestamps, the last one $(tail -n 1 "$scratch/pts") ns" cmp -s "$scratch/pts" "$scratch/exact"
    rm -rf "$dir"
}

hour 25 25 1
hour 59.94 60000 1001
hour 60 60 1
finish
