#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real streaming under random faults of sensor and disk, with triggers, segments, files that somebody deletes, signals that end a run and
# the next one in the same directory, for SLUICE_TORTURE_SECONDS (20). SLUICE_SEED repeats what was drawn. For each run: the books balance,
# the ledger tells of each loss under the summary's cause, every file that should be there is, is whole and shows the frames that its
# numbers say, and neither descriptors nor memory grow.
# shellcheck disable=SC2317 # draw_list is told what to call
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "$0")/lib.bash"

total=${SLUICE_TORTURE_SECONDS:-20}
: "${SLUICE_SEED:=$((RANDOM * 32768 + RANDOM))}"
fps=60
size=320x240 # the largest of those that are drawn: what a run holds at its beginning is the most that it ever may
depth=1s
length=$((total < 60 ? 10 : 60))
export ASAN_OPTIONS=quarantine_size_mb=1:${ASAN_OPTIONS:-} # what a sanitizer keeps of the freed is no leak

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
        9) pick 320x240 160x120 240x160 && drawn=source_change@$at:$drawn ;;
    esac
}

store_fault() {
    local write=$((RANDOM % (length * fps)))
    between 10 1500
    case $((RANDOM % 6)) in
        0) drawn=stall@$((RANDOM % (length * 1000)))ms:${drawn}ms ;;
        1) drawn=late@$write:$((drawn / 2))ms ;;
        2) drawn=eio@$write:$((drawn % 2 + 1)) ;;
        3) drawn=short@$write:$((drawn % 5 + 1)) ;;
        4) drawn=eagain@$write:$((drawn % 5 + 1)) ;;
        5) drawn=jitter@$write:$((drawn % 15 + 1))ms ;;
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

# How the run ends: by its limit, by a disk that is full, or by the signal that is sent after so many seconds.
draw_end() {
    pick limit limit full TERM HUP INT TERM+TERM; end=$drawn
    between 3 $((length - 2)); end_after=$drawn
    if [ "$end" = full ]; then store+=,enospc@$((end_after * fps / 6)):100; fi # few of the frames get as far as the disk
}

send_end() {
    kill "-${end%+*}" "$1" 2>/dev/null
    if [[ $end = *+* ]]; then # at once: what is not on its way to the disk is given up
        sleep 0.02
        kill "-${end#*+}" "$1" 2>/dev/null
    fi
}

# Deletes a recording, as somebody may who is short of room: also the one that is being written.
delete_one() {
    local files
    mapfile -t files < <(compgen -G "$1/*.mkv")
    if ((${#files[@]} > 1)); then
        pick "${files[@]}"
        rm -f "$drawn"
        basename "$drawn" >>"$1/deleted"
    fi
}

# Sends triggers at random, deletes files, and samples descriptors and memory (KiB) once a second, until the process ends.
watch_run() {
    local pid=$1 out=$2 dir=$3 ledgers=$4 second
    : >"$out"
    until (($(compgen -G "$dir/*.ledger" | wc -l) > ledgers)) || ! kill -0 "$pid" 2>/dev/null; do sleep 0.1; done # before, a trigger would end it
    for ((second = 0; ; second++)); do
        kill -0 "$pid" 2>/dev/null || break
        echo "$(find "/proc/$pid/fd" -mindepth 1 2>/dev/null | wc -l) $(awk '/^(VmRSS|HugetlbPages)/ { kib += $2 } END { print kib }' "/proc/$pid/status" 2>/dev/null)" >>"$out"
        pick USR1 USR1 USR2 delete '' ''
        case $drawn in
            '') ;;
            delete) delete_one "$dir" ;;
            *) kill "-$drawn" "$pid" 2>/dev/null ;;
        esac
        if ((second == end_after)) && [[ $end = [A-Z]* ]]; then send_end "$pid"; fi
        sleep 1
    done
}

# The most of column $2 in the first or last half of file $1, whose last line is of a process that ends.
most() { head -n -1 "$1" | awk -v c="$2" -v half="$3" '{ v[NR] = $c } END { for (i = 1; i <= NR; i++) if ((i * 2 <= NR) == (half == "first") && v[i] > m) m = v[i]; print m + 0 }'; }

# Losses by cause, as the ledger tells of them and as the summary counts them: one line each.
ledger_losses() { jq -rs '[.[] | select(.event == "loss")] | group_by(.cause)[] | "\(.[0].cause) \(map(.count) | add)"' "$1" | sort; }
summary_losses() { jq -r '.frames.lost | to_entries[] | select(.value > 0) | "\(.key) \(.value)"' "$1" | sort; }
closed_frames() { jq -rs '[.[] | select(.event == "segment_close") | .frames] | add // 0' "$1"; }

# Recordings in a directory: those that its ledgers say are there, those that are, and how many of earlier runs made room (no names are told).
of_ledgers() { cat "$1"/*.ledger | jq -r "select($2) | .file | split(\"/\") | last"; }
files_told() {
    of_ledgers "$1" '.event == "segment_close" and .frames > 0' | sort |
        comm -23 - <({ of_ledgers "$1" '.event == "segment_removed" and .file'; cat "$1/deleted"; } | sort -u)
}
files_there() { find "$1" -name '*.mkv' -printf '%f\n' | sort; }
removed_unnamed() { cat "$1"/*.ledger | jq -r 'select(.event == "segment_removed" and .segment == 0)' | jq -s length; }

check_files() {
    local lacking
    lacking=$(comm -23 <(files_told "$2") <(files_there "$2") | wc -l)
    check "$1-there" "what was recorded, but $(wc -l <"$2/deleted") files that were deleted and $lacking that made room, and nothing else" \
        equal "$lacking $(comm -13 <(files_told "$2") <(files_there "$2"))" "$(removed_unnamed "$2") "
    check "$1-rests" "no .next, .gone or .probe" equal "$(find "$2" -name '*.next' -o -name '*.gone' -o -name '.*.probe')" ''
    if compgen -G "$2/*.mkv" >/dev/null; then
        check "$1-files" "each is whole, and each frame the one that its number says" verified "$2"/*.mkv
    fi
}

check_leaks() {
    local fds_first fds_last kib_first kib_last
    (($(wc -l <"$2") > 5)) || return 0
    fds_first=$(most "$2" 1 first) fds_last=$(most "$2" 1 last)
    kib_first=$(most "$2" 2 first) kib_last=$(most "$2" 2 last)
    # a file more or less, a huge page more or less, and what the heap keeps ready
    check "$1-leaks" "descriptors $fds_first then $fds_last, memory $kib_first then $kib_last KiB" \
        equal $((fds_last <= fds_first + 4 && kib_last <= kib_first + 6144)) 1
}

# one_part NAME DIR: a process, from its start to its end.
one_part() {
    local name=$1 dir=$2 sensor store prerecord sync segment bad_frames when_full end end_after pid status ledger
    draw_list sensor_fault; sensor=$drawn
    draw_list store_fault; store=$drawn # a line of a config file is too short for these
    draw_end
    pick 0s 300ms; prerecord=$drawn
    pick 1s segment none; sync=$drawn
    pick 2s 5s; segment=$drawn
    pick keep drop; bad_frames=$drawn
    pick stop overwrite-oldest; when_full=$drawn
    pattern_config "$dir.ini" "$dir" "segment_time = $segment
prerecord = $prerecord
sync = $sync
when_full = $when_full"
    sed -i "s/^buffers.*/&\nstall_timeout = 300ms\nbad_frames = $bad_frames/" "$dir.ini"
    "$sluice" run "$dir.ini" --seconds "$length" --set "fault.sensor=$sensor" --set "fault.store=$store" --summary "$dir.json" >"$dir.out" 2>&1 &
    pid=$!
    watch_run "$pid" "$dir.samples" "$dir" "$(compgen -G "$dir/*.ledger" | wc -l)"
    wait "$pid"
    status=$?
    ledger=$(field "$dir.json" .record.ledger)
    check "$name-exit" "exit $status ($(field "$dir.json" .reason); $end, $when_full), prerecord $prerecord, $(field "$dir.json" \
        '"\(.frames.recorded) of \(.frames.expected) frames in \(.record.segments) files, \(.sensor.openings) openings"')" \
        equal $((status == 0 || status == 3)) 1
    check "$name-books" "$(summary_losses "$dir.json" | tr '\n' ' ')" equal "$(field "$dir.json" .frames.balanced)" true
    check "$name-ledger" "every loss under its cause" equal "$(ledger_losses "$ledger")" "$(summary_losses "$dir.json")"
    check "$name-segments" "the frames of all files are those recorded" equal "$(closed_frames "$ledger")" "$(field "$dir.json" .frames.recorded)"
    check_leaks "$name" "$dir.samples"
    if ((failed)); then
        sed 's/^/# /' "$dir.ini" "$dir.out"
        printf '# --set fault.sensor=%s --set fault.store=%s\n' "$sensor" "$store"
    fi
}

# Up to three processes, one after the other, in the same directory.
one_run() {
    local dir=$scratch/run$1 part parts
    mkdir -p "$dir"
    : >"$dir/deleted"
    RANDOM=$((SLUICE_SEED + $1 * 4))
    between 1 3; parts=$drawn
    for ((part = 1; part <= parts && !failed && SECONDS < total; part++)); do
        RANDOM=$((SLUICE_SEED + $1 * 4 + part)) # how many were drawn before depends on the time it took
        one_part "run$1.$part" "$dir"
    done
    check_files "run$1" "$dir"
    if ((failed)); then echo "# run $1 of SLUICE_SEED=$SLUICE_SEED"; else rm -rf "$dir"; fi
}

echo "# SLUICE_SEED=$SLUICE_SEED"
SECONDS=0
for ((run = 1; SECONDS < total && !failed; run++)); do
    one_run "$run"
done
finish
