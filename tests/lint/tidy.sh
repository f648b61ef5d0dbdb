#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clang-tidy finds nothing in src/. Takes the compile commands from the build of $1.
set -euo pipefail

build=${1%/*}
[[ -e $build/compile_commands.json ]] || { echo "not ok tidy there is no $build/compile_commands.json"; exit 1; }
# One file a process: the analyzer of clang 14 keeps state between files and then reports va_lists that are in order.
mapfile -t files < <(find "$PWD/src" -name '*.c' | sort)
((${#files[@]})) || { echo "not ok tidy there are no sources"; exit 1; }
bad=0
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P 2 clang-tidy --quiet -p "$build" 2>/dev/null || bad=1
((bad)) && echo "not ok tidy see above" || echo "ok tidy ${#files[@]} files"
