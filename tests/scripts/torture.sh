#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real streaming under random faults of sensor and disk, with triggers and segments, for SLUICE_TORTURE_SECONDS (20). SLUICE_SEED repeats
# what was drawn. For each run: the books balance, the ledger tells of each loss under the summary's cause, every file is whole and shows
# the frames that its numbers say, and neither descriptors nor memory grow.
# shellcheck disable=SC2317 # draw_list is told what to call
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "$0")/lib.bash"

total=${SLUICE_TORTURE_SECONDS:-20}
: "${SLUICE_SEED:=$((RANDOM * 32768 + RANDOM))}"
fps=60
size=320x240
depth=1s
length=$((total < 60 ? 10 : 60))

# The functions that draw leave the result in a variable: RANDOM starts anew in a $( ), and the seed would not be the whole story.
between() { drawn=$(($1 + RANDOM % ($2 - $1 + 1))); }
pick() { shift $((RANDOM % $#)); drawn=$1; }

sensor_fault() {
    local at=$((30 + RANDOM % (length * fps)))
    between 1 20
    case $((RANDOM % 10)) in
        0 | 1) drawn=gap@$at:$drawn ;;
        2) drawn=error@$at:$((drawn % 3 + 1)) ;;
        3) drawn=short@$at:$((drawn % 3 + 1)) ;;
        4) drawn=eio@$at:$((drawn % 2 + 1)) ;;
        5) drawn=stall@$at ;;
        6) drawn=streamon@$at:$((drawn % 3 + 1)) ;;
        7) drawn=unplug@$at:$((drawn * 30))ms ;;
        8) drawn=nosignal@$at:$((drawn * 20))ms ;;
        9) pick 320x240 160x120 640x480 && drawn=source_change@$at:$drawn ;;
    esac
}

store_fault() {
    local write=$((RANDOM % (length * fps)))
    between 10 1500
    case $((RANDOM % 5)) in
        0) drawn=stall@$((RANDOM % (length * 1000)))ms:${drawn}ms ;;
        1) drawn=late@$write:$((drawn / 2))ms ;;
        2) drawn=eio@$write:$((drawn % 2 + 1)) ;;
        3) drawn=short@$write:$((drawn % 5 + 1)) ;;
        4) drawn=eagain@$write:$((drawn % 5 + 1)) ;;
    esac
}

# draw_list FUNCTION: two faults in three seconds, and no more than a config may have.
draw_list() {
    local list='' count=$((length * 2 / 3 < 30 ? length * 2 / 3 : 30)) i
    for ((i = 0; i < count; i++)); do
        "$1"
        list+=,$drawn
    done
    drawn=${list#,}
}

# Sends triggers at random and samples descriptors and memory (KiB) once a second, until the process ends.
watch_run() {
    local pid=$1 out=$2 dir=$3
    : >"$out"
    until compgen -G "$dir/*.ledger" >/dev/null || ! kill -0 "$pid" 2>/dev/null; do sleep 0.1; done # before, a trigger would end it
    while kill -0 "$pid" 2>/dev/null; do
        pick USR1 USR1 USR2 '' '' ''
        [ -z "$drawn" ] || kill "-$drawn" "$pid" 2>/dev/null
        echo "$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l) $(awk '/^(VmRSS|HugetlbPages)/ { kib += $2 } END { print kib }' "/proc/$pid/status" 2>/dev/null)" >>"$out"
        sleep 1
    done
}

# The most of column $2 in the first or last half of file $1, whose last line is of a process that ends.
most() { head -n -1 "$1" | awk -v c="$2" -v half="$3" '{ v[NR] = $c } END { for (i = 1; i <= NR; i++) if ((i * 2 <= NR) == (half == "first") && v[i] > m) m = v[i]; print m + 0 }'; }

# Losses by cause, as the ledger tells of them and as the summary counts them: one line each.
ledger_losses() { jq -rs '[.[] | select(.event == "loss")] | group_by(.cause)[] | "\(.[0].cause) \(map(.count) | add)"' "$1" | sort; }
summary_losses() { jq -r '.frames.lost | to_entries[] | select(.value > 0) | "\(.key) \(.value)"' "$1" | sort; }

one_run() {
    local dir=$scratch/run$1 prerecord sync sensor store status pid fds_first fds_last kib_first kib_last
    mkdir -p "$dir"
    RANDOM=$((SLUICE_SEED + $1))
    draw_list sensor_fault; sensor=$drawn
    draw_list store_fault; store=$drawn # a line of a config file is too short for these
    pick 0s 300ms; prerecord=$drawn
    pick 1s segment none; sync=$drawn
    pick 2s 5s
    pattern_config "$dir.ini" "$dir" "segment_time = $drawn
prerecord = $prerecord
sync = $sync"
    pick keep drop
    sed -i "s/^buffers.*/&\nstall_timeout = 300ms\nbad_frames = $drawn/" "$dir.ini"
    "$sluice" run "$dir.ini" --seconds "$length" --set "fault.sensor=$sensor" --set "fault.store=$store" --summary "$dir.json" >"$dir.out" 2>&1 &
    pid=$!
    watch_run "$pid" "$dir.samples" "$dir"
    wait "$pid"
    status=$?
    check "run$1-exit" "exit $status, prerecord $prerecord, $(field "$dir.json" '"\(.frames.recorded) of \(.frames.expected) frames in \(.record.files | length) files"')" \
        equal $((status == 0 || status == 3)) 1
    check "run$1-books" "$(summary_losses "$dir.json" | tr '\n' ' ')" equal "$(field "$dir.json" .frames.balanced)" true
    check "run$1-ledger" "every loss under its cause" equal "$(ledger_losses "$dir"/*.ledger)" "$(summary_losses "$dir.json")"
    if compgen -G "$dir/*.mkv" >/dev/null; then
        check "run$1-files" "each is whole, and each frame the one that its number says" verified "$dir"/*.mkv
    fi
    fds_first=$(most "$dir.samples" 1 first) fds_last=$(most "$dir.samples" 1 last)
    kib_first=$(most "$dir.samples" 2 first) kib_last=$(most "$dir.samples" 2 last)
    # source_change makes rings of other sizes: 60 and 30 frames of 640x480
    check "run$1-leaks" "descriptors $fds_first then $fds_last, memory $kib_first then $kib_last KiB" \
        equal $((fds_last <= fds_first + 4 && kib_last <= kib_first + 65536)) 1
    if ((failed)); then
        echo "# run $1 of SLUICE_SEED=$SLUICE_SEED:"
        sed 's/^/# /' "$dir.ini" "$dir.out"
        printf '# --set fault.sensor=%s --set fault.store=%s\n' "$sensor" "$store"
    else
        rm -rf "$dir"
    fi
}

echo "# SLUICE_SEED=$SLUICE_SEED"
for ((done = 0, run = 1; done < total && !failed; done += length, run++)); do
    one_run "$run"
done
finish
