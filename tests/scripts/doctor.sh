#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sluice doctor on this machine: what it says agrees with itself and with run, and looking changes nothing.
# shellcheck source=tests/scripts/lib.bash
. "$(dirname "${BASH_SOURCE[0]}")/lib.bash"

mkdir "$scratch/rec"
pattern_config "$scratch/cam.ini" "$scratch/rec"
report=$scratch/report.json

# examine EXIT ARGUMENTS…
examine() {
    local wanted=$1 status=0
    shift
    "$sluice" doctor "$@" >"$report" 2>"$scratch/stderr" </dev/null || status=$?
    ((status == wanted)) || { echo "exit $status" >>"$scratch/stderr"; return 1; }
}
state() { jq -r --arg name "$1" '.checks[] | select(.name == $name) | .state' "$report"; }
settings() { cat /sys/kernel/mm/hugepages/*/nr_hugepages /sys/kernel/mm/transparent_hugepage/enabled /sys/block/*/queue/scheduler 2>/dev/null; }

before=$(settings)
check text "exit 0" examine 0 "$scratch/cam.ini"
check summary "$(tail -n 1 "$report")" grep -qE '^[0-9]+ checks: 0 cost frames, ' "$report"
if command -v jq >/dev/null; then
    examine 0 "$scratch/cam.ini" --json
    check json "valid, $(jq '.checks | length' "$report") checks" json_holds "$report" '(.checks | length) == ([.counts[]] | add) and .exit == 0'
    check reasons "what is worse than a note has a reason and a cure" \
        json_holds "$report" 'all(.checks[]; (.state != "problem" and .state != "warning") or (.why != null and .cure != null))'
    check need "as check has it" json_holds "$report" '.need.slots == 90 and .need.frame_bytes == 460800'
    check no_fix "nothing was tried" json_holds "$report" '.changes == 0 and all(.checks[]; .fix == null)'

    # What doctor calls a problem is one: run does not start then.
    examine 3 "$scratch/cam.ini" --json --set record.dir=/no/such/directory
    check directory "$(state directory)" equal "$(state directory)" problem
    "$sluice" run "$scratch/cam.ini" --frames 1 --set record.dir=/no/such/directory >/dev/null 2>&1
    check run_agrees "run ends with $?" equal "$?" 1
    examine 3 "$scratch/cam.ini" --json --set ring.depth=10m --set sensor.size=8192x8192 --set ring.hugepages=require
    check ring "$(state huge-pages), $(state free-memory)" equal "$(state free-memory)" "problem"
else
    skip json "jq is not installed"
fi
check unchanged "looking changed no setting" equal "$before" "$(settings)"

check no_config "without a config" examine 0
check bad_option "exit 2" examine 2 --no-such-option
check two_configs "exit 2" examine 2 "$scratch/cam.ini" "$scratch/cam.ini"
echo 'nonsense' >"$scratch/bad.ini"
check bad_config "exit 2" examine 2 "$scratch/bad.ini"
check bad_config_place "FILE:LINE" grep -qE 'bad\.ini:1: ' "$scratch/stderr"

# A user without rights is told so, and nothing happens.
if ((EUID == 0)) && command -v setpriv >/dev/null && command -v jq >/dev/null; then
    public=$(mktemp -d)
    trap 'rm -rf "$public"' EXIT
    chmod 755 "$public"
    mkdir -m 777 "$public/rec"
    cp "$sluice" "$public/"
    pattern_config "$public/cam.ini" "$public/rec"
    # More than is reserved, and little enough for this machine's memory: what is left to say is that the user may not.
    sum=$(awk '{ sum += $1 } END { print sum }' /sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages)
    setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all "$public/sluice" doctor "$public/cam.ini" --json --fix \
        --set ring.depth=$((sum * 4 + 400)) >"$report" 2>"$scratch/stderr"
    check nobody "$(jq -r '.checks[0].fix.not_done' "$report")" json_holds "$report" '.changes == 0 and (.checks[0].fix.not_done | test("needs root"))'
    check nobody_unchanged "no setting" equal "$before" "$(settings)"
else
    skip nobody "needs root, setpriv and jq"
fi
finish
