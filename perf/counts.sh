#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# system calls and user-space instructions a frame of a 1080p60 recording, and of GStreamer and FFmpeg
#
#   --frames N   length of the longer run of each pair (600); the shorter has a third of it
#   --trial      keep no results
#
# Start and end cost the same in a long run and in a short one, so their difference divided by the difference in frames is what one frame
# costs. System calls are counted by strace. Instructions: those of the peers, all threads, by valgrind's callgrind; our
# own one by one (see perf/step.c), at 5 frames a second so that there is time for it, without the payload's checksum. The pattern sensor
# is part of the process: it draws, which a camera does by itself.
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
prepare $((frames * frame_bytes + 2500000000))

# run_tool NAME FRAMES WRAPPER…
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
    esac >"$work/out" 2>"$work/log" </dev/null || { tail -n 20 "$work/log" >&2; die "$tool failed under $1"; }
}

# Lines "thread call count" of one run. Threads get their names through /proc/self/task/TID/comm; the first one is main.
syscalls() {
    run_tool "$1" "$2" strace -f -qq -o "$work/strace"
    awk '
        { pid = $1; call = $2; sub(/\(.*/, "", call) }
        call !~ /^[a-z_0-9]+$/ { next }                   # signals, exits, and the second halves of interrupted lines
        NR == 1 { name[pid] = "main" }
        match($0, /\/proc\/self\/task\/[0-9]+\/comm/) { named = substr($0, RSTART + 16, RLENGTH - 21) }
        call == "write" && named && match($0, /"[^"]+"/) { name[named] = substr($0, RSTART + 1, RLENGTH - 2); named = "" }
        { count[pid " " call]++ }
        END { for (k in count) { split(k, part, " "); print (part[1] in name ? name[part[1]] : "other"), part[2], count[k] } }' "$work/strace"
}

# "all instructions COUNT" of one run.
instructions() {
    rm -f "$work"/callgrind*
    run_tool "$1" "$2" valgrind -q --tool=callgrind --callgrind-out-file="$work/callgrind"
    printf 'all instructions %s\n' "$(sed -n 's/^totals: //p' "$work/callgrind")"
}

# per_frame WHAT TOOL: lines "thread call value", the difference of two runs, a frame.
per_frame() {
    "$1" "$2" "$frames" >"$work/long"
    "$1" "$2" "$short" >"$work/short"
    awk -v n=$((frames - short)) 'FNR == NR { sum[$1 " " $2] += $3; next } { sum[$1 " " $2] -= $3 }
        END { for (k in sum) printf "%s %.3f\n", k, sum[k] / n }' "$work/long" "$work/short" | awk '$3 >= 0.005' | sort -k1,1 -k3,3gr
}

# Lines "thread instructions a frame" of one run: each thread is stepped through for 10 s of it. Capture and recorder work for each frame,
# main and house-keeper by the clock: theirs are those of a sixtieth of a second.
instructions_by_thread() {
    local fps=5 seconds=10 pid thread figures
    rm -rf "$work"/{f,rec}
    mkdir -p "$work/rec"
    cc -O2 -o "$work/step" perf/step.c
    "$sluice" run configs/pattern.ini --seconds $((4 * seconds + 8)) --set "record.dir=$work/rec" --set "sensor.fps=$fps" \
        --set record.checksum=none --set record.sync=segment --summary "$work/summary" >"$work/out" 2>"$work/log" &
    pid=$!
    sleep 3
    for thread in capture recorder housekeeper sluice; do
        figures=$("$work/step" "$pid" $thread "$seconds") || die "cannot step through $thread (needs ptrace)"
        [[ $thread == capture || $thread == recorder ]] || fps=60
        awk -v thread="$thread" -v fps=$fps '{ printf "%s instructions %.0f\n", thread, $1 / $2 / fps }' <<<"$figures"
    done
    wait "$pid" || { tail -n 5 "$work/log" >&2; die "frames were lost while stepping: the machine is too busy"; }
}

total() { awk '{ sum += $3 } END { printf "%.1f", sum }'; }

calls=$(per_frame syscalls sluice)
steps=$(instructions_by_thread)
rows=''
for peer in gst-filesink ffmpeg-raw; do
    rows+="| $peer | $(per_frame syscalls $peer | total) | $(per_frame instructions $peer | awk '{ printf "%.0f", $3 }') |"$'\n'
done
{
    printf '# System calls and instructions a frame\n\n'
    machine_facts
    printf '\n%s minus %s frames of 1080p60 YUYV (%s bytes).\n\n' "$frames" "$short" "$frame_bytes"
    printf '| tool | system calls a frame | user instructions a frame |\n|---|---|---|\n'
    printf '| sluice, recorder thread | %s | %s |\n' "$(grep '^recorder ' <<<"$calls" | total)" "$(awk '/^recorder/ { print $3 }' <<<"$steps")"
    printf '| sluice, whole process, drawing the pattern included | %s | %s |\n' "$(total <<<"$calls")" \
        "$(awk '{ sum += $3 } END { print sum }' <<<"$steps")"
    printf '%s' "$rows"
    printf '\nsluice, by thread:\n\n| thread | call | a frame |\n|---|---|---|\n'
    awk '{ printf "| %s | %s | %.2f |\n", $1, $2, $3 }' <<<"$calls"
    awk '{ sub("sluice", "main"); printf "| %s | (user instructions) | %s |\n", $1, $3 }' <<<"$steps"
} | report "$name.md"
