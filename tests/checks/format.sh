#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All C files are formatted as .clang-format says.
set -euo pipefail

command -v clang-format >/dev/null || { echo "skip format clang-format is not installed"; exit 0; }
bad=0 count=0
while IFS= read -r -d '' file; do
    count=$((count + 1))
    clang-format --dry-run -Werror "$file" >/dev/null 2>&1 || { echo "not ok format $file: run ./dev fmt"; bad=1; }
done < <(find src tests perf -name '*.[ch]' -print0)
((bad)) || echo "ok format $count files"
