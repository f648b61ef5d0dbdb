#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pages made from tables are those the binary prints.
set -uo pipefail

sluice=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
failed=0

# same FILE OPTION
same() {
    local difference
    if difference=$(diff -u "$1" <("$sluice" check "$2") 2>&1) && [[ -s $1 ]]; then
        echo "ok drift $1"
    else
        head -n 20 <<<"$difference"
        echo "not ok drift $1 is not what this prints: sluice check $2 > $1"
        failed=1
    fi
}

same configs/reference.ini --print-reference
same docs/config.md --print-docs
same docs/counters.md --print-counters
exit "$failed"
