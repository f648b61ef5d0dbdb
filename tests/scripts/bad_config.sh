#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is wrong in a config ends check and run with exit code 2 and FILE:LINE, and nothing is made: no file, no FIFO, no directory.
set -uo pipefail

sluice=$(realpath "$1")
mkdir -p "$2"
scratch=$(realpath "$2")
out=$scratch/out
failed=0

ok() { echo "ok bad_config $*"; }
not_ok() {
    echo "not ok bad_config $*"
    failed=1
}

# refused NAME LINE PATTERN [--set S.K=V]: the config on stdin; LINE 0: the error is about --set.
refused() {
    local name=$1 line=$2 pattern=$3 file=$scratch/$1.ini command status where
    shift 3
    cat >"$file"
    where="$file:$line: "
    ((line)) || where="--set "
    for command in check run; do
        rm -rf "$out" && mkdir "$out"
        timeout 20 "$sluice" "$command" "$file" "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null
        status=$?
        if ((status != 2)); then
            not_ok "$command $name: exit $status: $(head -c 200 "$scratch/stderr")"
        elif ! grep -F -- "$where" "$scratch/stderr" | grep -Eq -- "$pattern"; then
            not_ok "$command $name: no line '$where…$pattern': $(head -c 300 "$scratch/stderr")"
        elif grep -Evq "^($file:[0-9]+: |--set )" "$scratch/stderr"; then
            not_ok "$command $name: a line without a place: $(grep -Ev "^($file:[0-9]+: |--set )" "$scratch/stderr" | head -n 1)"
        elif [[ -s $scratch/stdout || $(find "$scratch" -mindepth 1 ! -name '*.ini' ! -name 'std*' | wc -l) != 1 ]]; then
            not_ok "$command $name: something was made or printed: $(find "$scratch" -mindepth 1)"
        else
            ok "$command $name: $(head -n 1 "$scratch/stderr" | sed "s|$scratch/||g")"
        fi
    done
}

record="[record]
dir = $out"

refused empty 1 'section is missing' </dev/null
refused unknown-section 1 'did you mean \[sensor\]' <<<"[snesor]
source = pattern
$record"
refused unknown-key 4 'did you mean depth' <<<"$record
[ring]
detph = 1s"
refused duplicate-key 3 'set on line 2 already' <<<"[sensor]
fps = 60
fps = 30
source = pattern
$record"
refused missing-unit 3 'missing unit' <<<"$record
segment_time = 60"
refused out-of-range 3 'out of range: 1 to 64' <<<"$record
queue_depth = 65"
refused decimal-rate 3 'write 60000/1001' <<<"[sensor]
source = pattern
fps = 59.94
$record"
refused contradiction 3 'only source = v4l2 has a device' <<<"[sensor]
source = pattern
device = /dev/video0
$record"
refused trigger 5 'needs prerecord' <<<"[sensor]
source = pattern
$record
trigger = $out/trigger"
refused directory 3 'dir: not set' <<<"[sensor]
source = pattern
[record]
queue_depth = 2"
refused later-section 5 'network streams, and this build has none' <<<"[sensor]
source = pattern
$record
[stream preview]
to = 127.0.0.1:5000"
refused set 0 'out of range: 2 to 32' --set sensor.buffers=1 <<<"[sensor]
source = pattern
$record"
refused set-contradiction 0 'only source = v4l2 has a device' --set sensor.device=/dev/video0 <<<"[sensor]
source = pattern
$record"

# A file that is none: no line to name, but the path and the reason.
for file in "$scratch/missing" "$scratch" /dev/null; do
    for command in check run; do
        timeout 20 "$sluice" "$command" "$file" >/dev/null 2>"$scratch/stderr" </dev/null
        status=$?
        if ((status == 2)) && grep -q "^$file: " "$scratch/stderr"; then
            ok "$command $(basename "$file"): $(sed "s|$scratch|SCRATCH|g" "$scratch/stderr")"
        else
            not_ok "$command $file: exit $status: $(head -c 200 "$scratch/stderr")"
        fi
    done
done
exit "$failed"
