#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# No shell script has anything shellcheck would report.
set -euo pipefail

mapfile -d '' files < <(find . -path ./build -prune -o -path ./.git -prune -o -path ./out -prune -o -type f -size -200k -print0 |
    xargs -0 grep -lZ -m1 -E '^#!/bin/(ba)?sh')
bad=0
for file in "${files[@]}"; do
    shellcheck -x -P SCRIPTDIR --severity=style "$file" || { echo "not ok shellcheck $file"; bad=1; }
done
((bad)) || echo "ok shellcheck ${#files[@]} scripts"
