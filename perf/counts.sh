#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# system calls and instructions a frame, by thread, of a 1080p60 recording, and of GStreamer and FFmpeg
#
#   --frames N   length of the longer run of each pair (600); the shorter has a third of it
#   --trial      keep no results
#
# Start and end cost the same in a long and in a short run, so the difference divided by the difference in frames is what one frame
# costs. System calls are counted by strace, instructions (user space) by valgrind's callgrind, both exactly. The pattern sensor is
# part of the process: its capture thread draws, which a camera would do itself; the recorder's thread is the one to compare.
set -euo pipefail

name=counts arguments=$*
# shellcheck source=perf/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

frames=600
while (($#)); do
    case $1 in
    --frames)
        (($# > 1)) || die "$1 needs a value"
        number "$1" "$2"
        frames=$2
        shift
        ;;
    --trial) trial=yes ;;
    *) die "what is '$1'? See the top of perf/$name.sh" ;;
    esac
    shift
done
short=$((frames / 3))
prepare $((frames * frame_bytes + 2000000000))

# tool NAME FRAMES WRAPPER…
run_tool() {
    local tool=$1 n=$2
    shift 2
    rm -rf "$work"/{f,rec}
    mkdir -p "$work/rec"
    case $tool in
    sluice) "$@" "$sluice" run configs/pattern.ini --frames "$n" --set "record.dir=$work/rec" ;;
    gst-filesink) "$@" gst-launch-1.0 -q fakesrc num-buffers="$n" sizetype=fixed sizemax="$frame_bytes" ! filesink location="$work/f" ;;
    ffmpeg-raw)
        "$@" ffmpeg -v error -y -f rawvideo -pix_fmt yuyv422 -s 1920x1080 -r 60 -i /dev/zero -frames:v "$n" -c copy -f rawvideo "$work/f"
        ;;
    esac >"$work/log" 2>&1 </dev/null || { tail -n 20 "$work/log" >&2; die "$tool failed under $1"; }
}

# Lines "thread call count" of one run.
syscalls() {
    rm -f "$work/strace"
    run_tool "$1" "$2" strace -f -Y -qq -o "$work/strace"
    sed -nE 's/^[0-9]+<([^>]*)> +([a-z_0-9]+)\(.*/\1 \2/p' "$work/strace" | sort | uniq -c | awk '{ print $2, $3, $1 }'
}

# Lines "thread total count" of one run. A thread is named by the last function of ours, or of its library, that started it.
instructions() {
    local file thread
    rm -f "$work"/callgrind.*
    run_tool "$1" "$2" valgrind -q --tool=callgrind --separate-threads=yes --callgrind-out-file="$work/callgrind"
    for file in "$work"/callgrind-??; do
        thread=$(grep -oE '\((0|[0-9]+)\) (sl_[a-z0-9_]+|main)$' "$file" | sed 's/.* //' | grep -E "$known_threads" | head -n 1)
        printf '%s total %s\n' "${thread:-other}" "$(sed -n 's/^totals: //p' "$file")"
    done
}
known_threads='^main$'

# per_frame LONG SHORT: the difference, a frame, for each thread and call: "thread call value".
per_frame() {
    awk -v n=$((frames - short)) 'FNR == NR { long[$1 " " $2] += $3; next } { long[$1 " " $2] -= $3 }
        END { for (k in long) if (long[k] / n >= 0.005 || long[k] / n <= -0.005) printf "%s %.2f\n", k, long[k] / n }' "$1" "$2" | sort
}

measure() {
    "$1" "$2" "$frames" >"$work/long"
    "$1" "$2" "$short" >"$work/short"
    per_frame "$work/long" "$work/short"
}
