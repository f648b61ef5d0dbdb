#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# frames lost against the number of buffers, with a disk that is fast enough on average but uneven; on the emulated board with --board
#
#   --board       V4L2 buffers of the emulated board (tests/board/71-ring-depth.test); without: the test pattern on this machine
#   --seconds S   length of each run (10); there are 15, and 5 more without --board
#   --mean T      what the disk takes for a frame on average, in ms (12; on the board always 12)
#   --trial       keep no results
#
# A camera at 60 frames a second brings one each 16.7 ms. [fault] store = jitter@SEED:TIME is a disk that serves one frame after the other
# and takes a random time for each, the same ones for a seed. On this machine files go to memory (tmpfs), so that the script is
# the only disk there is; SLUICE_BENCH_DIR names another place.
set -euo pipefail

name=ring-depth arguments=$*
export SLUICE_BENCH_DIR=${SLUICE_BENCH_DIR:-/dev/shm/sluice-ring-depth}
# shellcheck source=perf/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

seconds=10 mean=12 where=host fps=60 seeds=(1 2 3)
while (($#)); do
    case $1 in
    --seconds | --mean)
        (($# > 1)) || die "$1 needs a value"
        number "$1" "$2"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --board) where=board ;;
    --trial) trial=yes ;;
    *) die "what is '$1'? See the top of perf/$name.sh" ;;
    esac
    shift
done
[[ $where == host || $mean == 12 ]] || die "--mean is for this machine; the board's test has its own"

# one BUFFERS SEED: a line of the table. The pattern holds two buffers as a driver would, the recorder the rest. SEED 0: no jitter.
one() {
    local depth=$(($1 - 2)) fault=()
    ((depth > 1)) || depth=10ms # one frame, which a number cannot say
    ((!$2)) || fault=(--set "fault.store=jitter@$2:${mean}ms")
    rm -rf "$work/rec"
    mkdir -p "$work/rec"
    "$sluice" run configs/pattern.ini --seconds "$seconds" --summary "$work/summary" --set "record.dir=$work/rec" --set record.checksum=none \
        --set record.sync=none --set record.queue_depth=1 --set sensor.buffers=2 --set "ring.depth=$depth" "${fault[@]}" >"$work/log" 2>&1 </dev/null || (($? == 3)) ||
        { tail -n 5 "$work/log" >&2; die "the run with $1 buffers failed"; }
    jq -r --arg b "$1" --arg s "$2" '[$b, $s, .frames.expected, .frames.recorded, ([.frames.lost[]] | add), .frames.lost.no_slot,
        .frames.lost.disk_late, .frames.lost.sensor_gap] | join(",")' "$work/summary"
}

on_this_machine() {
    local buffers seed
    prepare $((seconds * fps * frame_bytes + 500000000))
    for buffers in 3 4 8 16 32; do
        for seed in "${seeds[@]}" 0; do one "$buffers" "$seed"; done
    done
}

on_the_board() {
    tests/board/board.sh --seconds $((seconds * 20)) 71-ring-depth >&2
    sed -n 's/^row 71-ring-depth|\([0-9].*\)/\1/p' build/board/results | tr '|' ','
}

# Frames lost in a hundred when the recorder may hold C of them, by playing the same kind of disk a million times.
model() {
    awk -v c="$1" -v mean="$mean" -v fps="$fps" 'BEGIN {
        srand(1); n = 1000000; head = tail = 0; busy = 0
        for (i = 0; i < n; i++) {
            now = i * 1000 / fps
            while (head < tail && done[head % 64] <= now) head++
            if (tail - head >= c) { lost++; continue }
            for (halvings = 0; rand() < 0.5; halvings++);
            if (busy < now) busy = now
            busy += mean * 2 / 3 * (halvings + rand())
            done[tail++ % 64] = busy
        }
        printf "%.1f", 100 * lost / n }'
}

share() { calc "100 * $1 / $2" 1; } # PART WHOLE

# table ROWS: by number of buffers; lines for the plot go to $work/points.
table() {
    local buffers frames lost each none holds expected has_none=no
    ! grep -q '^[0-9]*,0,' "$1" || has_none=yes
    printf '| buffers | the recorder may hold | lost, %% | by seed, %% | by the model, %%%s\n' "$([[ $has_none == no ]] || printf ' | without jitter, %%') |"
    printf '|---|---|---|---|---|%s\n' "$([[ $has_none == no ]] || printf -- '---|')"
    : >"$work/points"
    while read -r buffers; do
        read -r frames lost <<<"$(awk -F, -v b="$buffers" '$1 == b && $2 { f += $3; l += $5 - $8 } END { print f, l }' "$1")"
        each=$(awk -F, -v b="$buffers" '$1 == b && $2 { printf "%s%.1f", n++ ? ", " : "", 100 * ($5 - $8) / $3 }' "$1")
        none=$(awk -F, -v b="$buffers" '$1 == b && !$2 { printf " | %.1f", 100 * ($5 - $8) / $3 }' "$1")
        holds=$((buffers > 3 ? buffers - 2 : 1))
        expected=$(model "$holds")
        printf '| %s | %s | %s | %s | %s%s |\n' "$buffers" "$holds" "$(share "$lost" "$frames")" "$each" "$expected" "$none"
        awk -F, -v b="$buffers" '$1 == b && $2 { print "dot", b, 100 * ($5 - $8) / $3 }' "$1" >>"$work/points"
        printf 'line %s %s\nmodel %s %s\n' "$buffers" "$(share "$lost" "$frames")" "$buffers" "$expected" >>"$work/points"
    done < <(cut -d, -f1 "$1" | sort -nu)
}

mkdir -p "$work"
rows=$(if [[ $where == board ]]; then on_the_board; else on_this_machine; fi)
[[ $rows ]] || die "no results"
{
    echo buffers,seed,expected,recorded,lost,no_slot,disk_late,sensor_gap
    printf '%s\n' "$rows"
} >"$work/rows.csv"
tail -n +2 "$work/rows.csv" >"$work/rows"
{
    if [[ $where == board ]]; then
        printf '# Buffers and lost frames, on the emulated board\n\n'
        printf -- '- date: %s\n- command: perf/%s.sh %s\n' "$(date -u +%Y-%m-%dT%H:%MZ)" "$name" "$arguments"
        printf -- '- board: %s, two emulated Cortex-A53 cores ([docs/board-lab.md](../../docs/board-lab.md)); vivid, HDMI 1080p60, the buffers its own (mmap)\n' \
            "$(sed -n 's/^booted \([^ ]*\).*/Linux \1/p' build/board/results)"
        printf '\nEach run lasts %s s' "$seconds"
    else
        printf '# Buffers and lost frames, on one machine\n\n'
        machine_facts
        printf '\nThe test pattern at 1080p60, %s s a run' "$seconds"
    fi
    printf ', with seeds %s. The disk takes %s ms a frame on average where 16.7 ms are to be had, and a random time\n' "$(tr ' ' ',' <<<"${seeds[*]}")" "$mean"
    printf 'for each (half of them below %s ms, one in a hundred above %s). Two of the buffers stay with the driver, the recorder may hold the rest, at least one.\n' \
        "$(calc "$mean * 2 / 3" 0)" "$(calc "$mean * 2 / 3 * 6.6" 0)"
    [[ $where == host ]] || printf "The board's disk is a file on the host, and adds stalls of its own to the script's.\n"
    printf 'Frames that the sensor itself skipped (in the CSV) are not counted. The model plays the same disk a million times against an even camera.\n\n'
    table "$work/rows"
    printf '\n![frames lost against buffers](%s-%s.svg)\n\n' "$name" "$where"
    printf 'The disk is fast enough, with a quarter of its time to spare: what costs frames is the lack of room to wait in.\n'
} >"$work/report.md"
awk -f perf/plot.awk -v title="1080p60, a disk that takes $mean ms a frame on average" -v xlabel='buffers' -v ylabel='frames lost, %' "$work/points" \
    >"$work/plot.svg"
report "$name-$where.csv" <"$work/rows.csv" >/dev/null
report "$name-$where.svg" <"$work/plot.svg" >/dev/null
report "$name-$where.md" <"$work/report.md"
