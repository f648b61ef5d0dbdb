#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The systemd unit as it is installed: systemd understands every line of it, it starts the program that lies beside it, and
# what it may do stays as little as it is now.
set -euo pipefail

sluice=$1 scratch=$2
tree=$scratch/tree
unit=$tree/lib/systemd/system/sluice@.service
failed=0
ok() { printf 'ok service-%s\n' "$*"; }
not_ok() {
    printf 'not ok service-%s\n' "$*"
    failed=1
}

cmake --install "$(dirname "$sluice")" --prefix "$tree" >"$scratch/log" 2>&1 || {
    not_ok "install cmake --install fails: $(tail -n 1 "$scratch/log")"
    exit 1
}
program=$(sed -n 's/^ExecStart=\([^ ]*\) .*/\1/p' "$unit")
page=$(sed -n 's/^Documentation=file:\/\///p' "$unit")
if [[ $program -ef $tree/bin/sluice && -s $page ]]; then
    ok "paths $program"
else
    not_ok "paths the unit starts '$program' and names the page '$page'"
fi
DESTDIR=$scratch/stage cmake --install "$(dirname "$sluice")" --prefix /opt/sluice >/dev/null
if grep -q '^ExecStart=/opt/sluice/bin/sluice ' "$scratch/stage/opt/sluice/lib/systemd/system/sluice@.service"; then
    ok "destdir is no part of the paths"
else
    not_ok "destdir $(grep '^ExecStart=' "$scratch/stage/opt/sluice/lib/systemd/system/sluice@.service")"
fi

command -v systemd-analyze >/dev/null || {
    echo "skip service-verify no systemd-analyze: apt-get install systemd"
    exit "$failed"
}
if systemd-analyze verify --man=no "$unit" >"$scratch/verify" 2>&1 && [[ ! -s $scratch/verify ]]; then
    ok "verify systemd-analyze has nothing to say"
else
    not_ok "verify $(head -n 1 "$scratch/verify")"
fi
# In tenths; an unhardened unit has 96.
if systemd-analyze security --no-pager --offline=yes --threshold=10 "$unit" >"$scratch/security" 2>&1; then
    ok "security $(sed -n 's/.*Overall exposure level for [^:]*: *//p' "$scratch/security")"
else
    not_ok "security $(tail -n 1 "$scratch/security")"
fi
exit "$failed"
