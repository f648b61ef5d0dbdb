#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the documents name exists: files they link to, commands and options they show, config files they give as examples.
# shellcheck disable=SC2016 # backquotes are what is looked for
set -euo pipefail

sluice=$1 scratch=$2
# shellcheck source=tests/checks/links.bash
. "$(dirname "${BASH_SOURCE[0]}")/links.bash"
mapfile -t docs < <(find . -path ./build -prune -o -path ./out -prune -o -path ./.git -prune -o -path ./perf/results -prune -o -name '*.md' -print | sort)
findings=$scratch/findings
: >"$findings"
bad() { printf 'not ok %s\n' "$*" | tee -a "$findings"; }

check() {
    local before
    before=$(wc -l <"$findings")
    "$1"
    (($(wc -l <"$findings") > before)) || printf 'ok %s %s documents\n' "$1" "${#docs[@]}"
}

links() {
    local line
    while read -r line; do bad "links $line"; done < <(broken_links "${docs[@]}")
}

# Paths of ours in backquotes; words in capitals stand for something.
paths() {
    local doc path
    for doc in "${docs[@]}"; do
        while read -r path; do
            compgen -G "$path" >/dev/null || bad "paths $doc: $path does not exist"
        done < <(grep -oE '`(src|tests|perf|docs|configs|cmake|\.ci)/[A-Za-z0-9_./*-]+`' "$doc" | tr -d '`' | grep -vE '[A-Z]{2,}' | sort -u)
    done
}

# Code: indented lines, fenced lines, and what stands in backquotes.
code() { grep -hE '^    ' "$1" || true; awk '/^```/ { on = !on; next } on' "$1"; grep -oE '`[^`]+`' "$1" | tr -d '`' || true; }

sluice_commands() {
    local doc line option command=()
    for doc in "${docs[@]}"; do
        while read -r line; do
            [[ $line =~ (^|[[:space:]/])sluice[[:space:]]+([a-z]+)(.*) ]] || continue
            command=("${BASH_REMATCH[2]}") line=${BASH_REMATCH[3]%%#*}
            "$sluice" --help | grep -qE "^ +${command[0]} " || { bad "sluice_commands $doc: there is no 'sluice ${command[0]}'"; continue; }
            # a benchmark has options of its own
            [[ ${command[0]} != bench || ! $line =~ ^\ +([a-z]+) ]] || command+=("${BASH_REMATCH[1]}")
            while read -r option; do
                [[ $("$sluice" "${command[@]}" --help 2>&1) == *"$option"* ]] ||
                    bad "sluice_commands $doc: 'sluice ${command[*]}' knows no $option"
            done < <(grep -oE -- '--[a-z][a-z0-9-]*' <<<"$line")
        done < <(code "$doc")
    done
}

dev_commands() {
    local doc word
    for doc in "${docs[@]}"; do
        while read -r word; do
            grep -qE "^  $word( |$)" <<<"$(./dev help)" || bad "dev_commands $doc: there is no './dev $word'"
        done < <(code "$doc" | grep -oE '\./dev +[a-z]+' | sed 's/.* //' | grep -vx help | sort -u)
    done
}

# Fenced blocks marked ini that begin with a section are whole config files, and must be valid ones.
configs() {
    local doc block file=$scratch/example
    for doc in "${docs[@]}"; do
        rm -f "$file".*
        awk -v file="$file" '/^```ini$/ { n++; on = 1; next } /^```/ { on = 0 } on { print > (file "." n ".ini") }' "$doc"
        for block in "$file".*; do
            [[ -e $block ]] || continue
            "$sluice" check "$block" >"$scratch/out" 2>&1 || bad "configs $doc: an example is refused: $(tail -n 1 "$scratch/out")"
        done
    done
    for block in configs/*.ini; do
        [[ ! -e $block ]] || "$sluice" check "$block" >"$scratch/out" 2>&1 || bad "configs $block is refused: $(tail -n 1 "$scratch/out")"
    done
}

for what in links paths sluice_commands dev_commands configs; do check "$what"; done
[[ ! -s $findings ]]
