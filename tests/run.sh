#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run.sh BUILD_DIR PART…: runs parts of the test suite against a build and counts.
#
#   ctest[:TIER|TIER]  the Check programs, all tiers or those named; every check in them counts as one
#   scripts            tests/scripts/*.sh SLUICE SCRATCH
#   checks             tests/checks/*.sh SLUICE SCRATCH: formatting, module boundaries, documents
#   lint               tests/lint/*.sh: shellcheck, clang-tidy
#   scripts:NAME …     one of these scripts, with every line it prints
#
# A script prints lines `ok NAME …`, `not ok NAME …`, `skip NAME WHY`. One that prints none, or exits with an error and no `not ok`,
# has failed. Last line: N passed, N failed, N skipped; exit status 1 when any failed.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(realpath -m "${1:?usage: run.sh BUILD_DIR PART…}")
shift
passed=0 failed=0 skipped=0 all_lines=
mkdir -p "$build"
scratch=$(mktemp -d "${TMPDIR:-$build}/scratch.XXXXXX") # beside the build: /tmp may be a tmpfs, which has no O_DIRECT
chmod 755 "$scratch" # VLC runs as another user
trap 'rm -rf "$scratch"' EXIT

add() { ((passed += $1, failed += $2, skipped += $3)) || true; }

# Sums "N%: Checks: a, Failures: b, Errors: c" for each test of a verbose ctest log. A test that ctest calls failed
# without a failed check of its own (a crash, a time-out) counts as one failure; so does one that ran no check at all.
count_ctest() {
    awk '
        match($0, /^[0-9]+: [0-9]+%: Checks: [0-9]+, Failures: [0-9]+, Errors: [0-9]+/) {
            split($0, part, /[^0-9]+/)
            test = part[1]; checks[test] += part[3]; bad[test] += part[4] + part[5]
        }
        match($0, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /) {
            test = $0; sub(/^.*Test +#/, "", test); sub(/:.*/, "", test)
            if ($0 ~ /\*\*\*Skipped/) { skipped++; next }
            if (($0 !~ / Passed / || checks[test] == 0) && bad[test] == 0) { failed++; passed += checks[test]; next }
            failed += bad[test]; passed += checks[test] - bad[test]
        }
        END { print passed + 0, failed + 0, skipped + 0 }' "$1"
}

# The output of every test that failed, and of every one that passed without a check, from the same log.
show_failures() {
    awk '
        match($0, /^[0-9]+: /) {
            test = $0; sub(/:.*/, "", test); text[test] = text[test] substr($0, RLENGTH + 1) "\n"
            if ($0 ~ /[0-9]%: Checks: [1-9]/) ran[test] = 1
        }
        match($0, /^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /) && $0 !~ /\*\*\*Skipped/ {
            test = $0; sub(/^.*Test +#/, "", test); sub(/:.*/, "", test)
            if ($0 ~ / Passed / && !(test in ran)) print "---- ran no checks: " $0
            if ($0 !~ / Passed /) printf "---- output of %s\n%s----\n", $0, text[test]
        }' "$1"
}

run_ctest() {
    local log=$scratch/ctest.log rc=0 counts select=()
    [[ ! $1 ]] || select=(-L "^($1)\$")
    ctest --test-dir "$build" -V -j2 "${select[@]}" --no-tests=error 2>&1 </dev/null | tee "$log" |
        grep --line-buffered -E '^ *[0-9]+/[0-9]+ Test|^No tests' || true
    counts=$(count_ctest "$log")
    grep -q 'Total Test time' "$log" || { tail -n 20 "$log"; rc=1; }
    show_failures "$log"
    # shellcheck disable=SC2086 # three numbers
    add $counts
    ((rc == 0)) || add 0 1 0
}

run_script() {
    local script=$1 dir log rc=0 ok bad skip name
    name=${script##*/}
    name=${name%.sh}
    dir=$scratch/$name log=$scratch/$name.log
    mkdir -p "$dir"
    timeout -k 10 "${SLUICE_SCRIPT_TIMEOUT:-300}" bash "$script" "$build/sluice" "$dir" >"$log" 2>&1 </dev/null || rc=$?
    rm -rf "$dir"
    ok=$(grep -c '^ok ' "$log" || true)
    bad=$(grep -c '^not ok ' "$log" || true)
    skip=$(grep -c '^skip ' "$log" || true)
    if ((bad == 0 && (rc || ok + skip == 0))); then
        bad=1
        printf 'not ok %s ended with status %d after %d results\n' "$name" "$rc" "$((ok + skip))" >>"$log"
    fi
    printf '== %s: %d ok, %d not ok, %d skipped\n' "$name" "$ok" "$bad" "$skip"
    if ((bad)) || [[ $all_lines ]]; then
        cat "$log"
    else
        grep -E '^skip ' "$log" || true
    fi
    add "$ok" "$bad" "$skip"
}

run_scripts() {
    local script
    for script in "$@"; do
        [[ ! -e $script ]] || run_script "$script"
    done
}

run_named() {
    if [[ ! -e $1 ]]; then
        echo "run.sh: no $1" >&2
        exit 2
    fi
    all_lines=yes
    run_script "$1"
    all_lines=
}

for part; do
    case $part in
    ctest) run_ctest '' ;;
    ctest:*) run_ctest "${part#ctest:}" ;;
    scripts | checks | lint) run_scripts "tests/$part"/*.sh ;;
    scripts:* | checks:* | lint:*) run_named "tests/${part%%:*}/${part#*:}.sh" ;;
    *)
        echo "run.sh: no part '$part'" >&2
        exit 2
        ;;
    esac
done
printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
