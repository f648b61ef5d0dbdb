# SPDX-License-Identifier: Apache-2.0
# For the test scripts: each takes the sluice binary and a scratch directory and prints one line a check.
set -uo pipefail

sluice=$(realpath "$1")
scratch=$2
mkdir -p "$scratch"
scratch=$(realpath "$scratch")
failed=0

ok() { echo "ok $*"; }
not_ok() { echo "not ok $*"; failed=1; }
skip() { echo "skip $*"; }

# check NAME DETAIL CONDITION...: the condition is a command.
check() {
    local name=$1 detail=$2
    shift 2
    if "$@"; then ok "$name" "$detail"; else not_ok "$name" "$detail (failed: $*)"; fi
}

# pattern_config FILE DIR [LINES FOR OTHER SECTIONS]: a small pattern sensor that records into DIR.
pattern_config() {
    cat >"$1" <<END
[sensor]
name = cam
source = pattern
format = ${format:-YUYV}
size = ${size:-640x360}
fps = ${fps:-60}
buffers = ${buffers:-30}
[ring]
depth = ${depth:-1s}
[record]
dir = $2
keep_free = ${keep_free:-0}
${3:-}
END
}

# field SUMMARY JQ-PATH
field() { jq -r "$2" "$1"; }

# json_holds FILE FILTER: the file is one JSON text, of which the filter is true.
json_holds() { jq -es "length == 1 and (.[0] | $2)" "$1" >/dev/null; }

# equal A B
equal() { [ "$1" = "$2" ]; }

# verified FILES...: every file whole, every frame's bytes right.
verified() { "$sluice" verify --pattern "$@" >"$scratch/verify.log" 2>&1; }

finish() { exit "$failed"; }
