#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A disk that does not answer for a while, in real time: within the ring's depth it costs nothing, beyond it exactly the rest.
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "$0")/lib.bash"

mkdir -p "$scratch/short" "$scratch/long"

pattern_config "$scratch/short.ini" "$scratch/short" "[fault]
store = stall@1s:500ms"
"$sluice" run "$scratch/short.ini" --seconds 3 --summary "$scratch/short.json" >/dev/null 2>&1
status=$?
check stall-0.5s "ring 1 s, stall 0.5 s: exit $status, lost $(field "$scratch/short.json" '[.frames.lost[]]|add'), recorded $(field "$scratch/short.json" .frames.recorded)" \
    equal "$status $(field "$scratch/short.json" '"\(.frames.expected) \(.frames.recorded) \(.frames.balanced)"')" "0 180 180 true"

pattern_config "$scratch/long.ini" "$scratch/long" "[fault]
store = stall@1s:1500ms"
"$sluice" run "$scratch/long.ini" --seconds 4 --summary "$scratch/long.json" >/dev/null 2>&1
status=$?
late=$(field "$scratch/long.json" .frames.lost.disk_late)
other=$(field "$scratch/long.json" '([.frames.lost[]]|add) - .frames.lost.disk_late')
# 90 frames fall due in 1.5 s and the recorder may hold 60 of them. In real time its ends fall between two frames, and a busy
# machine is late: ± 5. (Exactly: writer_recorder_test, with a clock of its own.)
check stall-1.5s "ring 60 frames, stall 90 frames: exit $status, disk_late $late, other causes $other" \
    equal "$status $other $(field "$scratch/long.json" .frames.balanced) $((late >= 25 && late <= 35))" "3 0 true 1"
check stall-files "what was recorded is whole" verified "$scratch"/short/*.mkv "$scratch"/long/*.mkv
finish
