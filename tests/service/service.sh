#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs sluice@.service under a real systemd on the emulated board of tests/board, through everything that docs/service.md promises. Takes
# a few minutes. Last line: N passed, N failed, N skipped. Console, results and journal are then in build/service/.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
cache=${SLUICE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice}/board
out=$source/build/service kernel=6.12 limit=${SLUICE_SERVICE_LIMIT:-900}
export PATH=$PATH:/usr/sbin:/sbin

[[ ${1:-} == --no-build ]] || (cd "$source" && ./dev build arm64 release)
"$source/tests/board/prepare.sh" initrd "$kernel" >/dev/null
root=$("$here/prepare.sh")
run=$(mktemp -d "$cache/service.XXXXXX")
qemu=''
finish() {
    [[ ! $qemu ]] || kill -9 "$qemu" 2>/dev/null || true
    rm -rf "$run"
}
trap finish EXIT
trap 'exit 130' INT TERM
rm -rf "$out"
mkdir -p "$out" "$run/tests.d"

cp "$here"/guest-{run.sh,test.sh,test.service} "$run/tests.d/"
DESTDIR=$run/tests.d/install cmake --install "$source/build/arm64" --prefix /usr/local --strip >"$out/install.log"
mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -m 0 -d "$run/tests.d" "$run/tests.img" 64M >/dev/null 2>&1
fallocate -l 4G "$run/data.img"
mke2fs -q -t ext4 -T largefile4 -m 0 -E nodiscard,root_owner=0:0 "$run/data.img" >/dev/null 2>&1

: >"$run/results"
((EUID)) || chrt -r -p 1 "$BASHPID"
qemu-system-aarch64 -M virt -accel tcg,thread=single -icount shift=0,sleep=on,align=off -cpu cortex-a53 -smp 2 -m 2048 -nodefaults \
    -display none -no-reboot -kernel "$cache/kernel-$kernel/vmlinuz" -initrd "$cache/initrd-$kernel" \
    -append "console=ttyAMA0 panic=-1 quiet hugepagesz=2M hugepages=40" -serial "file:$out/console.log" -monitor none \
    -drive "if=none,id=root,file=$root,format=raw,readonly=on" -device virtio-blk-pci,drive=root,serial=root \
    -drive "if=none,id=tests,file=$run/tests.img,format=raw,readonly=on" -device virtio-blk-pci,drive=tests,serial=tests \
    -drive "if=none,id=data,file=$run/data.img,format=raw,cache=none,aio=io_uring" -device virtio-blk-pci,drive=data,serial=data \
    -device virtio-serial-pci -chardev "file,id=results,path=$run/results" -device virtserialport,chardev=results,name=board.results &
qemu=$!
((EUID)) || chrt -o -p 0 "$BASHPID"
timeout "$limit" tail --pid="$qemu" -f "$run/results" || { echo "service: the guest did not end within $limit s" >&2; kill -9 "$qemu"; }
wait "$qemu" || true
qemu=''

# The file that a power-off found open, and all the others, on the host.
mkdir "$run/data"
debugfs -R "rdump / $run/data" "$run/data.img" >/dev/null 2>&1
cp "$run/results" "$run"/data/{log,journal} "$out/" 2>/dev/null || true
{
    grep -q '^end' "$run/results" || echo "not ok guest ended before its tests did"
    for file in "$run"/data/*/*.mkv; do
        if "$source/build/release/sluice" verify "$file" >"$out/verify.log" 2>&1; then echo "ok file ${file##*/}"; else
            echo "not ok file ${file##*/}: $(tail -n 1 "$out/verify.log")"
        fi
    done
    if tail -n 1 "$run"/data/last/*.ledger | grep -q '"stop"'; then echo "ok power-off ends the run in order"; else echo "not ok power-off cut the run"; fi
} | tee -a "$out/results"
awk '/^ok /{p++} /^not ok /{f++} END {printf "%d passed, %d failed, 0 skipped\n", p, f; exit f > 0 || !p}' "$out/results"
