#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fuzz.sh BUILD_DIR SECONDS: runs every fuzz target for so long. What it learns stays in BUILD_DIR/corpus; inputs worth keeping
# for ever are in tests/fuzz/corpus/TARGET. An input that broke something is left in BUILD_DIR/artifacts, and named.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath "$1")
seconds=$2
passed=0 failed=0
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "fuzz.sh: '$seconds' is not a number of seconds" >&2; exit 2; }

for source in tests/fuzz/*_fuzz.c; do
    [[ -e $source ]] || continue
    name=${source##*/}
    name=${name%.c}
    corpus=("$build/corpus/$name")
    mkdir -p "${corpus[0]}" "$build/artifacts"
    [[ ! -d tests/fuzz/corpus/$name ]] || corpus+=("tests/fuzz/corpus/$name")
    log=$build/$name.log
    if "$build/tests/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="$build/artifacts/$name-" "${corpus[@]}" >"$log" 2>&1 </dev/null; then
        passed=$((passed + 1))
        printf 'ok %s %s inputs in %s s, coverage %s\n' "$name" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$seconds" \
            "$(sed -n 's/.*cov: \([0-9]*\).*/\1/p' "$log" | tail -n1)"
    else
        failed=$((failed + 1))
        tail -n 60 "$log"
        printf 'not ok %s log: %s\n' "$name" "$log"
    fi
done
printf '%d passed, %d failed, 0 skipped\n' "$passed" "$failed"
((failed == 0))
