#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What the compiler does not enforce: the direction of includes between modules, the one place of each foreign header,
# lengths of files and functions, the licence line.
set -euo pipefail

declare -A may_use=(
    [core]=''
    [dma]='core'
    [capture]='core dma'
    [writer]='core dma'
    [net]='core dma'
    [pmu]='core'
    [app]='core dma capture writer net pmu'
)
# Foreign header (regular expression) and the files that may include it (another one).
foreign=(
    '<liburing\.h>|<linux/io_uring\.h>' 'src/writer/uring\.c'
    '<ini\.h>' 'src/core/option_ini\.c'
    '<linux/videodev2\.h>|<libv4l2\.h>|<linux/v4l2-[a-z-]*\.h>|<libv4lconvert\.h>' '(src/capture/v4l2[a-z0-9_]*\.[ch]|tests/unit/core_format_test\.c)'
    '<isa-l(\.h|/[a-z_]*\.h)>|<crc\.h>' 'src/core/crc\.c'
    '<png\.h>' 'src/app/png\.c'
    '<openssl/[a-z0-9_]*\.h>' 'src/app/digest\.c'
    '<jansson\.h>' '(src/app/[a-z0-9_]*\.[ch]|tests/(component|torture)/app_[a-z0-9_]*_test\.c|tests/support/run_rig\.[ch])'
    '<check\.h>' 'tests/.*'
)
max_source=800 max_header=140 max_function=80

findings=$(mktemp)
trap 'rm -f "$findings"' EXIT
bad() { printf 'not ok %s\n' "$*" | tee -a "$findings"; }

# Runs a check and says ok when it found nothing.
check() {
    local before
    before=$(wc -l <"$findings")
    "$1"
    (($(wc -l <"$findings") > before)) || printf 'ok %s %s\n' "$1" "$2"
}

all_files() { find src tests -name '*.[ch]' | sort; }

directions() {
    local module file line other
    for module in src/*/; do
        module=${module#src/}
        module=${module%/}
        [[ -v may_use[$module] ]] || { bad "directions src/$module is no module of the architecture"; continue; }
        while IFS=: read -r file line other; do
            other=${other#*\"}
            other=${other%%\"*}
            if [[ $other != */* ]]; then
                bad "directions $file:$line: \"$other\": write the path from src/"
            elif [[ ${other%%/*} != "$module" && " ${may_use[$module]} " != *" ${other%%/*} "* ]]; then
                bad "directions $file:$line: $module may not use $other"
            fi
        done < <(grep -rnE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "src/$module" || true)
    done
}

foreign_headers() {
    local i file
    for ((i = 0; i < ${#foreign[@]}; i += 2)); do
        while read -r file; do
            [[ $file =~ ^${foreign[i + 1]}$ ]] || bad "foreign_headers $file includes ${foreign[i]}, which only ${foreign[i + 1]} may"
        done < <(grep -rlE --include='*.[ch]' "^[[:space:]]*#[[:space:]]*include[[:space:]]*(${foreign[i]})" src tests || true)
    done
}

# A header that other modules include is public.
public_headers() { grep -rhoE --include='*.[ch]' '#include "[a-z]+/[a-z0-9_]+\.h"' src | sort -u | sed 's/.*"\(.*\)"/src\/\1/'; }

file_lengths() {
    local file lines
    while read -r file; do
        lines=$(wc -l <"$file")
        ((lines <= max_source)) || bad "file_lengths $file has $lines lines, more than $max_source"
    done < <(all_files)
    while read -r file; do
        [[ ! -e $file ]] || lines=$(wc -l <"$file")
        ((lines <= max_header)) || bad "file_lengths $file has $lines lines, more than the $max_header of a header"
    done < <(public_headers)
}

# Formatted as .clang-format has it, a function's braces stand alone in column 1.
function_lengths() {
    local where
    while read -r where; do
        bad "function_lengths $where lines, more than $max_function"
    done < <(all_files | xargs -r awk -v max="$max_function" '
        FNR == 1 { start = 0 }
        /^\{/ { start = FNR }
        /^\}/ { if (start && FNR - start - 1 > max) print FILENAME ":" start ": " FNR - start - 1; start = 0 }')
}

licence_lines() {
    local file
    while read -r file; do
        head -n 3 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || bad "licence_lines $file has no SPDX line at its top"
    done < <(
        all_files
        find . -path ./build -prune -o -path ./.git -prune -o -path ./out -prune -o \
            \( -name CMakeLists.txt -o -name '*.cmake' -o -name '*.sh' -o -name '*.test' -o -name '*.host' -o -name '*.ini' -o -name '*.dts' -o -name '*.dtso' \) -print
        echo dev
    )
}

# Header guards follow the path.
header_guards() {
    local file guard
    while read -r file; do
        guard=SL_$(sed 's|^src/||; s|[/.-]|_|g' <<<"$file" | tr '[:lower:]' '[:upper:]')
        grep -q "^#ifndef $guard\$" "$file" || bad "header_guards $file does not start with #ifndef $guard"
    done < <(find src -name '*.h' | sort)
}

count=$(all_files | wc -l)
check directions "$count files"
check foreign_headers "$((${#foreign[@]} / 2)) groups of headers"
check file_lengths "$count files"
check function_lengths "$count files"
check licence_lines "all sources and scripts"
check header_guards "$(find src -name '*.h' | wc -l) headers"
[[ ! -s $findings ]]
