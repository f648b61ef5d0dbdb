#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Kills recorders with SIGKILL at random moments, and cuts copies of what they leave at random bytes, as a power cut would. What is left
# must be what verify says it is: players decode just those frames, at once; no frame that was complete is missing; repair closes
# the file, after which it is whole and seeks. One line per kill and per cut.
#
#     kill9.sh SLUICE SCRATCH        SLUICE_KILLS (20), SLUICE_SEED (random, printed)
set -u
sluice=$(realpath "${1:?usage: kill9.sh SLUICE SCRATCH}")
work=$(realpath "${2:?usage: kill9.sh SLUICE SCRATCH}")
kills=${SLUICE_KILLS:-20}
seed=${SLUICE_SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$seed
echo "seed $seed (SLUICE_SEED)"

command -v jq >/dev/null || { echo "skip kill9 jq is not installed"; exit 0; }
command -v ffmpeg >/dev/null || { echo "skip kill9 ffmpeg is not installed"; exit 0; }
"$sluice" verify --md5 /dev/null 2>&1 | grep -q "not in this build" && { echo "skip kill9 sluice was built without libcrypto"; exit 0; }

failed=0
why=

# A number from 0 to $1 − 1, which may be above 32 bits.
below() { echo $(((RANDOM << 45 | RANDOM << 30 | RANDOM << 15 | RANDOM) % $1)); }

wrong() { why="${why:+$why; }$*"; }

# Prints the result of a round, and forgets it.
result() {
    if [[ $why ]]; then
        echo "not ok $1 $why (seed $seed)"
        failed=1
    else
        echo "ok $1 $2"
    fi
    why=
}

# The MD5 of each frame as sluice, FFmpeg and GStreamer read them.
ours() { "$sluice" verify --md5 "$1" 2>"$work/verify.log" | cut -d' ' -f2; }
ffmpeg_frames() {
    timeout 60 ffmpeg -nostdin -v quiet "${@:2}" -i "$1" -map 0:v -c copy -f framemd5 - | sed -n 's/^[0-9].*, *\([0-9a-f]*\)$/\1/p'
}
gstreamer_frames() {
    rm -rf "$work/gst" && mkdir "$work/gst"
    timeout 60 gst-launch-1.0 -q filesrc location="$1" ! matroskademux ! multifilesink location="$work/gst/%06d" >"$work/gst.log" 2>&1
    (cd "$work/gst" && md5sum -- 0* 2>/dev/null | cut -d' ' -f1)
    rm -rf "$work/gst"
}
players=(ffmpeg)
if command -v gst-launch-1.0 >/dev/null; then players+=(gstreamer); else echo "skip kill9-gstreamer gst-launch-1.0 is not installed"; fi

# Every line of the first file is in the second, in order. A frame that sluice calls torn is one that players may show.
within() { ! diff "$1" "$2" | grep -q '^<'; }

# Players read FILE: $2 says which reading it is, $3 is 0 when they may show nothing but what sluice calls good.
play() {
    local file=$1 when=$2 torn=$3 player started
    for player in "${players[@]}"; do
        started=${EPOCHREALTIME/./}
        if [[ $player = ffmpeg ]]; then ffmpeg_frames "$file"; else gstreamer_frames "$file"; fi >"$work/$player"
        ((${EPOCHREALTIME/./} - started < 20000000)) || wrong "$player took $(((${EPOCHREALTIME/./} - started) / 1000)) ms $when"
        if ((torn == 0)); then
            cmp -s "$work/ours" "$work/$player" ||
                wrong "$player decodes $(wc -l <"$work/$player") frames $when, $(wc -l <"$work/ours") are good"
        else
            within "$work/ours" "$work/$player" || wrong "$player misses frames $when that are good"
        fi
    done
}

# A file that was not closed: read, repaired, read again.
check_torn() {
    local file=$1 rc good torn damaged undone slots completed
    "$sluice" verify --json "$file" >"$work/report"
    rc=$?
    [[ $rc = 3 ]] || wrong "verify of a torn file exits with $rc"
    read -r good torn damaged undone slots completed < <(jq -r '.files[0] |
        [.frames.good + .frames.unproven, .frames.torn, .frames.damaged, .frames.undone, .slots, .completed] | @tsv' "$work/report")
    # the pages on the disk say which slots were complete: torn can only be what came after
    ((undone == 0)) || wrong "$undone frames are torn that were complete"
    ((damaged == 0)) || wrong "$damaged header pages are damaged"
    ours "$file" >"$work/ours"
    (($(wc -l <"$work/ours") == good)) || wrong "verify counts $good frames and lists $(wc -l <"$work/ours")"
    play "$file" "when torn" "$torn"
    detail="$good frames, $torn torn, $completed of $slots slots known complete"
    repaired=$good
    if ((good == 0)); then
        "$sluice" repair "$file" >"$work/repair.log" 2>&1 && wrong "repair of a file without a whole frame does not refuse"
        grep -q "it can be deleted" "$work/repair.log" || wrong "repair does not say that there is no frame: $(tail -n 1 "$work/repair.log")"
        return
    fi

    "$sluice" repair "$file" >"$work/repair.log" 2>&1 || wrong "repair fails: $(tail -n 1 "$work/repair.log")"
    "$sluice" verify "$file" >"$work/report" 2>&1 || wrong "verify after repair: $(grep -m 1 damage "$work/report")"
    mv "$work/ours" "$work/before"
    ours "$file" >"$work/ours"
    cmp -s "$work/before" "$work/ours" || wrong "repair changed the frames"
    play "$file" "when repaired" 0
    seek "$file"
    "$sluice" repair "$file" | grep -q "nothing was changed" || wrong "a second repair changes something"
}

# The last frame is found by its time.
seek() {
    local at
    at=$("$sluice" show --json "$1" | jq -r '.seconds - .format.fps_den / .format.fps_num + 0.0005')
    ffmpeg_frames "$1" -ss "$at" >"$work/sought"
    [[ $(head -n 1 "$work/sought") = $(tail -n 1 "$work/ours") ]] || wrong "seeking to $at s does not find the last frame"
}

# Records until killed; prints nothing. The files are in $work/rec.
record_and_kill() { # FORMAT SIZE SEGMENT_TIME CHECKSUM
    local pid i
    rm -rf "$work/rec" && mkdir "$work/rec"
    printf '%s\n' "[sensor]" "name = kill9" "source = pattern" "format = $1" "size = $2" "fps = 60" "[ring]" "depth = 500ms" \
        "[record]" "dir = $work/rec" "segment_time = $3" "checksum = $4" "keep_free = 64MiB" >"$work/sensor.ini"
    "$sluice" run "$work/sensor.ini" --seconds 30 >"$work/run.log" 2>&1 &
    pid=$!
    for ((i = 0; i < 100; i++)); do
        compgen -G "$work/rec/*.mkv" >/dev/null && break
        sleep 0.05
    done
    sleep "$((RANDOM % 2)).$(printf %03d $((RANDOM % 1000)))"
    kill -9 "$pid" 2>/dev/null || wrong "the run had ended: $(tail -n 1 "$work/run.log")"
    wait "$pid" 2>/dev/null
}

# A copy of FILE, cut somewhere from 64 MiB before the end of its frames to a little after it.
cut_copy() {
    local end from
    end=$("$sluice" show --json "$1" | jq -r '.slots * .slot_bytes')
    from=$((end > 64 << 20 ? end - (64 << 20) : 4096))
    at=$((from + $(below $((end + 300000 - from)))))
    cp --sparse=always "$1" "$work/cut.mkv" && truncate -s "$at" "$work/cut.mkv"
}

for ((round = 1; round <= kills; round++)); do
    size=640x360 format=YUYV checksum=crc32
    ((round % 5)) || checksum=none
    ((round % 7)) || size=1920x1080
    ((round % 2)) || format=UYVY
    record_and_kill $format $size "$((1 + RANDOM % 2))s" $checksum
    mapfile -t files < <(find "$work/rec" -name '*.mkv' | sort)
    if ((${#files[@]} == 0)); then
        wrong "no file"
        result "kill9-$round-$size" ""
        continue
    fi
    # the newest file may have been made ready for frames that did not come any more
    while ((${#files[@]} > 1 && $("$sluice" show --json "${files[-1]}" | jq .slots) == 0)); do
        check_torn "${files[-1]}"
        unset 'files[-1]'
    done
    last=${files[-1]}
    for file in "${files[@]:0:${#files[@]}-1}"; do # closed long ago, but for one that was just being so
        "$sluice" verify "$file" >"$work/report" 2>&1 && continue
        [[ $file = "${files[-2]}" ]] || wrong "$file: $(grep -m 1 damage "$work/report")"
        check_torn "$file"
    done
    cut_copy "$last"
    check_torn "$last"
    ((repaired)) || unset 'files[-1]'
    ((${#files[@]} == 0)) || "$sluice" verify "${files[@]}" >"$work/report" 2>&1 || wrong "all segments together: $(grep -m 1 damage "$work/report")"
    result "kill9-$round-$size" "$detail, checksum $checksum, segment ${#files[@]}"
    check_torn "$work/cut.mkv"
    result "cut-$round-$size" "at byte $at: $detail"
done

# The kernel ends what was in flight a moment after the process is gone, and holds the file until then: repair waits for that.
for round in 1 2 3; do
    record_and_kill YUYV 1920x1080 30s crc32
    last=$(find "$work/rec" -name '*.mkv' | sort | tail -n 1)
    if "$sluice" repair "$last" >"$work/repair.log" 2>&1; then
        "$sluice" verify "$last" >"$work/report" 2>&1 || wrong "verify after repair: $(grep -m 1 damage "$work/report")"
    else
        grep -q "it can be deleted" "$work/repair.log" || wrong "repair fails: $(tail -n 1 "$work/repair.log")"
    fi
    result "repair-at-once-$round" "$(tail -n 1 "$work/repair.log")"
done
exit $failed
