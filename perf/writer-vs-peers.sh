#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# the writer against fio's best, GStreamer, FFmpeg and dd on the same disk, in alternating pairs
#
#   --pairs N    pairs for each peer (7); the table has medians of the pairs' ratios
#   --frames N   frames in a run (1200: 5 GB)
#   --peers A,B  of fio, sluice-crc32, gst-filesink, gst-matroska, ffmpeg-raw, ffmpeg-mkv, dd-direct (all)
#   --trial      keep no results
#
# Every run ends durable: fio, dd and the writer by themselves, the others with sync(1) within the measured time. fio and the writer are
# compared by their own clocks, which leave out the start of the process (fio's takes longer than the writing of a gigabyte);
# all others as whole processes. CPU is what the kernel charges to the process; write-back by kernel threads after a
# buffered write is charged to nobody.
set -euo pipefail

name=writer-vs-peers arguments=$*
# shellcheck source=perf/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

pairs=7 frames=1200 peers=fio,sluice-crc32,gst-filesink,gst-matroska,ffmpeg-raw,ffmpeg-mkv,dd-direct
while (($#)); do
    case $1 in
    --pairs | --frames | --peers)
        (($# > 1)) || die "$1 needs a value"
        [[ $1 == --peers ]] || number "$1" "$2"
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --trial) trial=yes ;;
    *) die "what is '$1'? See the top of perf/$name.sh" ;;
    esac
    shift
done
bytes=$((frames * frame_bytes))
slots=$(((bytes + 4194303) / 4194304)) # of 4 MiB, for tools that write such blocks
fio_best=()

durable() { "$@" && sync "$work/f"; }

run_sluice() { "$sluice" bench writer --dir "$work" --frames "$frames" "$@"; }

run_fio() {
    fio --name=w --filename="$work/f" --ioengine=io_uring --rw=write --bs=4m --size=$((slots * 4))m --direct=1 --fixedbufs \
        --registerfiles --fallocate=native --end_fsync=1 --output-format=json "$@"
}

run_peer() {
    local source=(-f rawvideo -pix_fmt yuyv422 -s 1920x1080 -r 60 -i /dev/zero -frames:v "$frames" -c copy)
    local fake=(fakesrc "num-buffers=$frames" sizetype=fixed "sizemax=$frame_bytes")
    case $1 in
    fio) run_fio "${fio_best[@]}" ;;
    sluice-crc32) run_sluice --checksum crc32 ;;
    gst-filesink) durable gst-launch-1.0 -q "${fake[@]}" ! filesink location="$work/f" ;;
    gst-matroska)
        durable gst-launch-1.0 -q "${fake[@]}" ! rawvideoparse format=yuy2 width=1920 height=1080 framerate=60/1 ! matroskamux ! \
            filesink location="$work/f"
        ;;
    ffmpeg-raw) durable ffmpeg -v error -y "${source[@]}" -f rawvideo "$work/f" ;;
    ffmpeg-mkv) durable ffmpeg -v error -y "${source[@]}" -f matroska "$work/f" ;;
    dd-direct) dd if=/dev/zero of="$work/f" bs=4M count="$slots" oflag=direct conv=fsync ;;
    *) die "no peer '$1'" ;;
    esac
}

# A run's "wall user sys", with the disk quiet before it.
one() {
    rm -rf "${work:?}"/*
    sync
    sleep 1
    timed "$@"
}

# The same as the tool itself saw it, after one().
own_clock() {
    case $1 in
    sluice) jq -r '"\(.seconds) \(.cpu.user_s) \(.cpu.sys_s)"' "$work/out" ;;
    fio) jq -r '.jobs[0] | "\(.write.runtime / 1000) \(.usr_cpu * .job_runtime / 1e5) \(.sys_cpu * .job_runtime / 1e5)"' "$work/out" ;;
    esac
}

# fio's best of buffer memory and queue depth, by two runs each.
find_fio_best() {
    local memory depth best=0 speed
    for memory in mmaphuge mmap; do
        for depth in 4 8; do
            speed=$(for _ in 1 2; do
                rm -f "$work/f"
                run_fio --iomem=$memory --iodepth=$depth 2>/dev/null | jq '.jobs[0].write.bw_bytes' || echo 0
            done | sort -g | tail -n 1)
            say "fio $memory, depth $depth: $(calc "$speed / 1e6" 0) MB/s"
            ((speed > best)) || continue
            best=$speed
            fio_best=("--iomem=$memory" "--iodepth=$depth")
        done
    done
    ((best)) || die "fio did not run; see: fio --ioengine=io_uring"
}

# One line of the table, from the CSV lines of one peer.
table_row() {
    local peer=$1 wall cpu ratio_wall ratio_cpu gb
    gb=$(calc "$bytes / 1e9" 6)
    wall=$(awk -F, -v p="$peer" '$1 == p && $3 == p { print $4 }' "$csv" | median)
    cpu=$(awk -F, -v p="$peer" '$1 == p && $3 == p { print $5 + $6 }' "$csv" | median)
    ratio_wall=$(pair_ratios "$peer" wall | median)
    ratio_cpu=$(pair_ratios "$peer" cpu | median)
    printf '| %s | %s | %s | %s | %s | %s |\n' "$peer" "$(calc "$bytes / 1e6 / $wall" 0)" "$(calc "$cpu / $gb" 4)" "$(calc "$cpu" 3)" \
        "$(calc "$ratio_wall" 2)" "$(calc "$ratio_cpu" 1)"
}

# Peer / sluice for each pair: above 1 the peer took more.
pair_ratios() {
    awk -F, -v p="$1" -v what="$2" '
        $1 == p { value = what == "wall" ? $4 : $5 + $6; if ($3 == "sluice") ours[$2] = value; else theirs[$2] = value }
        END { for (i in ours) if (i in theirs && ours[i] > 0) print theirs[i] / ours[i] }' "$csv"
}

# own_row PATTERN: our runs beside the peers that match.
own_row() {
    local wall cpu
    wall=$(awk -F, -v p="$1" '$1 ~ p && $3 == "sluice" { print $4 }' "$csv" | median)
    cpu=$(awk -F, -v p="$1" '$1 ~ p && $3 == "sluice" { print $5 + $6 }' "$csv" | median)
    printf '| **sluice** | %s | %s | %s | 1 | 1 |\n' "$(calc "$bytes / 1e6 / $wall" 0)" "$(calc "$cpu / ($bytes / 1e9)" 4)" "$(calc "$cpu" 3)"
}

# table PATTERN PEER…
table() {
    local pattern=$1 peer
    shift
    printf '\n| tool | MB/s, durable | CPU s/GB | CPU s | wall, ratio | CPU, ratio |\n|---|---|---|---|---|---|\n'
    own_row "$pattern"
    for peer; do table_row "$peer"; done
}

prepare $((bytes * 2))
reserve_hugepages 320
csv=$(mktemp)
[[ ,$peers, != *,fio,* ]] || find_fio_best
one run_sluice >/dev/null # memory and page cache are warm from here on
for peer in ${peers//,/ }; do
    one run_peer "$peer" >/dev/null
    for ((i = 1; i <= pairs; i++)); do
        order=(sluice "$peer")
        ((i % 2)) || order=("$peer" sluice)
        for tool in "${order[@]}"; do
            if [[ $tool == sluice ]]; then figures=$(one run_sluice); else figures=$(one run_peer "$tool"); fi
            [[ $peer != fio ]] || figures=$(own_clock "$tool")
            read -r wall user sys <<<"$figures"
            say "$peer pair $i: $tool $wall s, CPU $user + $sys s"
            printf '%s,%s,%s,%s,%s,%s\n' "$peer" "$i" "$tool" "$wall" "$user" "$sys" >>"$csv"
        done
    done
done

{
    printf '# The writer against other tools\n\n'
    machine_facts
    [[ ! ${fio_best[*]} ]] || printf -- '- fio: best of the search: %s\n' "${fio_best[*]}"
    printf '\n%s frames of %s bytes (%s GB) as fast as the disk takes them; medians of %s pairs. Ratios are peer / sluice within a pair:\n' \
        "$frames" "$frame_bytes" "$(calc "$bytes / 1e9" 2)" "$pairs"
    printf 'above 1 the peer took longer, or more CPU. Raw runs: %s.csv.\n' "$name"
    if [[ ,$peers, == *,fio,* ]]; then
        printf '\nThe limit of the disk, by the clock of each tool:\n'
        table '^fio$' fio
    fi
    others=$(tr , '\n' <<<"$peers" | grep -vx fio || true)
    if [[ $others ]]; then
        printf '\nOther recorders, from the start to the end of the process:\n'
        # shellcheck disable=SC2086 # a list of names
        table '^(sluice|gst|ffmpeg|dd)' $others
    fi
} | report "$name.md"
{ echo 'peer,pair,tool,wall_s,user_s,sys_s'; cat "$csv"; } | report "$name.csv" >/dev/null
rm -f "$csv"
