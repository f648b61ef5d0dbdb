#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Orderly end, immediate end, and pre-recording with its trigger.
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "$0")/lib.bash"

run_until() { # CONFIG SUMMARY SIGNAL SECONDS
    "$sluice" run "$1" --summary "$2" >/dev/null 2>&1 &
    local pid=$!
    sleep "$4"
    kill -"$3" "$pid"
    wait "$pid"
}

for signal in INT TERM HUP; do
    mkdir -p "$scratch/$signal"
    pattern_config "$scratch/$signal.ini" "$scratch/$signal"
    run_until "$scratch/$signal.ini" "$scratch/$signal.json" "$signal" 1.5
    status=$?
    check "signal-$signal" "exit $status, $(field "$scratch/$signal.json" '"recorded \(.frames.recorded) of \(.frames.expected)"')" \
        equal "$status $(field "$scratch/$signal.json" '"\(.frames.recorded == .frames.expected) \(.frames.balanced) \(.frames.recorded > 60)"')" "0 true true true"
    check "signal-$signal-file" "whole" verified "$scratch/$signal"/*.mkv
done

# Whoever read the messages is gone: the run goes on, and the books say what the messages would have said.
mkdir -p "$scratch/deaf"
pattern_config "$scratch/deaf.ini" "$scratch/deaf" "[fault]
sensor = gap@30:1, gap@60:1"
{
    "$sluice" run "$scratch/deaf.ini" --seconds 2 --summary "$scratch/deaf.json" 2>&1
    echo $? >"$scratch/deaf.status"
} | true
check signal-pipe "exit $(<"$scratch/deaf.status")" \
    equal "$(<"$scratch/deaf.status") $(field "$scratch/deaf.json" '"\(.frames.expected) \(.frames.recorded) \(.frames.lost.sensor_gap)"')" "3 120 118 2"

# A summary goes into a pipe that is there, and is refused a folder before anything is recorded.
mkfifo "$scratch/pipe"
timeout 20 cat "$scratch/pipe" >"$scratch/piped.json" &
"$sluice" run "$scratch/deaf.ini" --frames 20 --summary "$scratch/pipe" >/dev/null 2>&1
wait "$!"
check summary-pipe "$(field "$scratch/piped.json" .frames.recorded) frames" equal "$(test -p "$scratch/pipe" && field "$scratch/piped.json" .frames.recorded)" 20
mkdir -p "$scratch/none"
pattern_config "$scratch/none.ini" "$scratch/none"
"$sluice" run "$scratch/none.ini" --frames 20 --summary "$scratch" >/dev/null 2>&1
check summary-folder "refused at the start" equal "$? $(find "$scratch/none" -type f | wc -l)" "1 0"

# The disk stands still when the second signal comes: the frames that wait are given up and counted.
mkdir -p "$scratch/twice"
pattern_config "$scratch/twice.ini" "$scratch/twice" "[fault]
store = stall@1s:2s"
"$sluice" run "$scratch/twice.ini" --summary "$scratch/twice.json" >/dev/null 2>&1 &
pid=$!
sleep 1.7
kill -INT "$pid"
sleep 0.2
kill -INT "$pid"
wait "$pid"
status=$?
check signal-twice "exit $status, $(field "$scratch/twice.json" '"recorded \(.frames.recorded), disk_late \(.frames.lost.disk_late)"')" \
    equal "$status $(field "$scratch/twice.json" '"\(.frames.balanced) \(.frames.lost.disk_late > 0)"')" "3 true true"
check signal-twice-file "whole" verified "$scratch/twice"/*.mkv

# Two seconds before the trigger are kept.
mkdir -p "$scratch/pre"
pattern_config "$scratch/pre.ini" "$scratch/pre" "prerecord = 1s
trigger = $scratch/pre/trigger"
"$sluice" run "$scratch/pre.ini" --seconds 6 --summary "$scratch/pre.json" >/dev/null 2>&1 &
pid=$!
sleep 3
kill -USR1 "$pid"
sleep 1
echo stop >"$scratch/pre/trigger"
wait "$pid"
status=$?
recorded=$(field "$scratch/pre.json" .frames.recorded)
# One second before, one after; the trigger's moment is known to a tick of 50 ms and the start-up of the run.
check prerecord "exit $status, $recorded frames around the trigger, $(field "$scratch/pre.json" .record.untriggered) outside" \
    equal "$status $(field "$scratch/pre.json" .frames.balanced) $((recorded >= 105 && recorded <= 135))" "0 true 1"
check prerecord-file "whole" verified "$scratch/pre"/*.mkv
finish
