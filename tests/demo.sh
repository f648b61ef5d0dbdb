#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh SLUICE: records 10 s of 1080p60 from the built-in test pattern, verifies every byte of it, says how to play the file.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
sluice=$(realpath "$1")
seconds=${SLUICE_DEMO_SECONDS:-10}
# 249 MB a second, what the recorder extends ahead, and the reserve it leaves free (keep_free).
need=$((seconds * 249 * 1000 * 1000 + 1500 * 1000 * 1000))

bold='' plain=''
[[ ! -t 1 ]] || bold=$'\033[1m' plain=$'\033[0m'
say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
# The first directory that can be made and has the room.
choose() {
    local dir free
    for dir in "$PWD/out/demo" "${TMPDIR:-/tmp}/sluice-demo"; do
        mkdir -p "$dir" 2>/dev/null || continue
        rm -f "$dir"/*.mkv "$dir"/*.ledger
        free=$(df --output=avail -B1 "$dir" | tail -n 1)
        if ((free >= need)); then
            echo "$dir"
            return
        fi
        echo "demo: $dir has $((free / 1000000)) MB free, $((need / 1000000)) MB are needed" >&2
    done
    return 1
}

dir=$(choose) || exit 1
say "Recording $seconds s of 1920×1080 YUYV at 60 frames a second into $dir"
lost=0
"$sluice" run configs/pattern.ini --seconds "$seconds" --set "record.dir=$dir" --summary "$dir/summary.json" || lost=$?
((lost == 0 || lost == 3)) || exit "$lost"
file=$(find "$dir" -name '*.mkv' | sort | head -n 1)
[[ $file ]] || { echo "demo: no recording in $dir" >&2; exit 1; }

say "Verifying: structure, checksums, books, and every pixel of the pattern"
"$sluice" verify --pattern "$dir"/*.mkv

say "Summary ($dir/summary.json)"
cat "$dir/summary.json"

say "What the file holds"
"$sluice" show "$file"

say "To play it, any of"
cat <<END
  ffplay $file
  vlc $file
  gst-launch-1.0 filesrc location=$file ! matroskademux ! videoconvert ! autovideosink
One frame as a picture:
  $sluice export $file --frame 60 frame.png
END
exit "$lost"
