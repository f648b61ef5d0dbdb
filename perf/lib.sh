# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# For the scripts beside it, which set `name` and `arguments` before they source it.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
sluice=$PWD/build/release/sluice
results=$PWD/perf/results
work=${SLUICE_BENCH_DIR:-$PWD/out/bench}
# shellcheck disable=SC2034 # used by the scripts
frame_bytes=4147200 # 1080p, two bytes a pixel
restore=()

say() { printf '%s: %s\n' "${name:?}" "$*" >&2; }
die() { say "$*"; exit 1; }
number() { [[ $2 =~ ^[1-9][0-9]*$ ]] || die "$1 takes a whole number above 0, not '$2'"; }

# prepare BYTES: the working directory, empty, with that much room.
prepare() {
    local free
    [[ -x $sluice ]] || die "no $sluice; run ./dev build"
    mkdir -p "$work"
    rm -rf "${work:?}"/*
    free=$(df --output=avail -B1 "$work" | tail -n 1)
    ((free >= $1)) || die "$work has $((free / 1000000)) MB free, $(($1 / 1000000)) MB are needed (SLUICE_BENCH_DIR names another place)"
}

# timed COMMAND…: prints "wall user sys" in seconds of the command and all it waited for; its output goes to $work/out, what it
# has to say to $work/log.
timed() {
    local TIMEFORMAT='%3R %3U %3S' rc=0 figures
    { figures=$({ time "$@" >"$work/out" 2>"$work/log"; } 2>&1); } || rc=$?
    ((rc == 0)) || { tail -n 20 "$work/log" >&2; say "failed ($rc): $*"; return 1; }
    printf '%s\n' "$figures"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# calc EXPRESSION [DIGITS]
calc() { awk "BEGIN { printf \"%.${2:-3}f\", $1 }"; }

# What a reader needs to judge the figures, as a list in markdown.
machine_facts() {
    printf -- '- date: %s\n' "$(date -u +%Y-%m-%dT%H:%MZ)"
    printf -- '- command: perf/%s.sh%s\n' "$name" "${arguments:+ $arguments}"
    printf -- '- machine: %s, %s CPUs, %s MB memory, Linux %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" \
        "$(awk '/^MemTotal/ { print int($2 / 1000) }' /proc/meminfo)" "$(uname -r)"
    printf -- '- disk: %s\n' "$(findmnt -rno SOURCE,FSTYPE,OPTIONS --target "$work" | tail -n 1)"
    printf -- '- huge pages: %s of %s kB; transparent: %s\n' "$(awk '/^HugePages_Total/ { print $2 }' /proc/meminfo)" \
        "$(awk '/^Hugepagesize/ { print $2 }' /proc/meminfo)" "$(cat /sys/kernel/mm/transparent_hugepage/enabled)"
    "$sluice" --version | sed 's/^/- /'
}

# Prints stdin and, unless it was a trial, keeps it in perf/results/.
report() {
    if [[ ${trial:-no} == yes ]]; then
        cat
    else
        mkdir -p "$results"
        tee "$results/$1"
        say "kept in perf/results/$1"
    fi
}

# reserve_hugepages MIB: for as long as the script runs, when it may and there are fewer.
reserve_hugepages() {
    local file=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages before
    [[ -w $file ]] || { say "not root: huge pages stay as they are"; return 0; }
    before=$(<"$file")
    (($1 / 2 > before)) || return 0
    echo $(($1 / 2)) >"$file"
    restore+=("echo $before >$file")
}

cleanup() {
    local command
    rm -rf "${work:?}"/*
    for command in "${restore[@]}"; do eval "$command"; done
}
trap cleanup EXIT
trap 'exit 130' INT TERM
