#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recording played as a sensor: recorded again it holds the same frames, and its end is an end, not a gap.
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "$0")/lib.bash"

mkdir -p "$scratch/first" "$scratch/second"
pattern_config "$scratch/first.ini" "$scratch/first"
"$sluice" run "$scratch/first.ini" --frames 60 >/dev/null 2>&1
for paced in yes no; do
    cat >"$scratch/second.ini" <<END
[sensor]
name = again
source = replay
file = $(echo "$scratch"/first/*.mkv)
paced = $paced
[record]
dir = $scratch/second
keep_free = 0
END
    "$sluice" run "$scratch/second.ini" --summary "$scratch/second.json" >"$scratch/log" 2>&1
    status=$?
    check "replay-paced-$paced" "exit $status, $(field "$scratch/second.json" '"recorded \(.frames.recorded) of \(.frames.expected)"')" \
        equal "$status $(field "$scratch/second.json" '"\(.frames.expected) \(.frames.recorded) \(.frames.balanced)"')" "0 60 60 true"
    check "replay-paced-$paced-bytes" "the same frames" verified "$scratch"/second/*.mkv
    rm -f "$scratch"/second/*
done
finish
