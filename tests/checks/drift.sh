#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pages made from the option and counter tables are what the binary prints today.
set -euo pipefail

sluice=$1 scratch=$2
bad=0
for pair in reference:configs/reference.ini docs:docs/config.md counters:docs/counters.md; do
    what=${pair%%:*} file=${pair#*:}
    if ! "$sluice" check "--print-$what" >"$scratch/$what" 2>&1; then
        echo "not ok drift sluice check --print-$what: $(head -n 1 "$scratch/$what")"
        bad=1
    elif diff -u "$file" "$scratch/$what"; then
        echo "ok drift $file"
    else
        echo "not ok drift $file is old: sluice check --print-$what >$file"
        bad=1
    fi
done
exit $bad
