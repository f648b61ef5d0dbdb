#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` puts into a tree: the binary runs, the config files are valid, every relative link in the documents leads
# somewhere in that tree.
set -euo pipefail

sluice=$1 scratch=$2
# shellcheck source=tests/checks/links.bash
. "$(dirname "${BASH_SOURCE[0]}")/links.bash"
tree=$scratch/tree doc=$scratch/tree/share/doc/sluice
failed=0
ok() { printf 'ok install-%s\n' "$*"; }
not_ok() {
    printf 'not ok install-%s\n' "$*"
    failed=1
}

cmake --install "$(dirname "$sluice")" --prefix "$tree" >"$scratch/log" 2>&1 || {
    not_ok "tree cmake --install fails: $(tail -n 1 "$scratch/log")"
    exit 1
}
if version=$("$tree/bin/sluice" --version 2>&1 | head -n 1) && [[ $version == sluice* ]]; then
    ok "binary $version"
else
    not_ok "binary bin/sluice --version: $version"
fi

missing=()
for file in README.md CONTRIBUTING.md LICENSE; do
    [[ -s $doc/$file ]] || missing+=("$file")
done
for file in docs/*.md perf/results/*.md; do
    cmp -s "$file" "$doc/$file" || missing+=("$file")
done
if ((${#missing[@]})); then not_ok "documents missing or old in $doc: ${missing[*]}"; else ok "documents all there"; fi

mapfile -t pages < <(find "$tree" -name '*.md' | sort)
broken_links "${pages[@]}" >"$scratch/broken"
while read -r line; do not_ok "links ${line#"$tree/"}"; done <"$scratch/broken"
[[ -s $scratch/broken ]] || ok "links ${#pages[@]} documents"

refused=()
for file in configs/*.ini; do
    "$tree/bin/sluice" check "$tree/share/sluice/$file" >"$scratch/out" 2>&1 || refused+=("$file")
done
if ((${#refused[@]})); then not_ok "configs missing or refused: ${refused[*]}"; else ok "configs all valid"; fi
exit "$failed"
