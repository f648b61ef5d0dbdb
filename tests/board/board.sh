#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs the tests of this folder on an emulated Cortex-A53 board with the kernel's real V4L2, io_uring and ext4. See
# docs/board-lab.md. Last line: N passed, N failed, N skipped.
set -euo pipefail

usage() {
    cat <<'END'
usage: board.sh [OPTION…] [TEST…]         a TEST is a number (10), a name (10-record-vmalloc) or a part of one
  --kernel 6.12|6.1      the guest's kernel (6.12)
  --allocators 0,1       only tests with these buffer kinds of the sensor: 0 vmalloc, 1 dma-contig
  --seconds N            length of the long recording (60)
  --keep                 keep the data disk with the recordings, and say where it is
  --shell                no tests: a console in the guest ('exit' powers off)
  --refresh              make the cached parts anew, with today's packages
  --no-build             use what is in build/ as it is
END
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=$(cd "$here/../.." && pwd)
cache=${SLUICE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice}/board
out=$source/build/board
kernel=6.12 allocators=0,1 seconds=60 keep=no shell=no build=yes refresh=() wanted=()
memory_mib=3072 boot_limit=180
run='' qemu='' mounted=no

say() { printf 'board: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

options() {
    while (($#)); do
        case $1 in
        --kernel | --allocators | --seconds)
            (($# > 1)) || die "$1 needs a value"
            printf -v "${1#--}" %s "$2"
            shift
            ;;
        --keep) keep=yes ;;
        --shell) shell=yes ;;
        --refresh) refresh=(--refresh) ;;
        --no-build) build=no ;;
        -h | --help) usage; exit 0 ;;
        -*) usage >&2; exit 2 ;;
        *) wanted+=("$1") ;;
        esac
        shift
    done
    [[ $kernel == 6.12 || $kernel == 6.1 ]] || die "--kernel is 6.12 or 6.1"
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || die "--seconds is a whole number"
    [[ $allocators =~ ^[01](,[01])?$ ]] || die "--allocators is 0, 1 or 0,1"
}

need_tools() {
    local missing=() package command
    while read -r package command; do
        PATH=$PATH:/usr/sbin command -v "$command" >/dev/null || missing+=("$package")
    done <<'END'
qemu-system-arm qemu-system-aarch64
gcc-aarch64-linux-gnu aarch64-linux-gnu-gcc
cmake cmake
ninja-build ninja
pkg-config pkg-config
e2fsprogs mke2fs
jq jq
bsdextrautils column
ffmpeg ffmpeg
gstreamer1.0-tools gst-launch-1.0
END
    [[ " ${missing[*]} " == *" gstreamer1.0-tools "* ]] && missing+=(gstreamer1.0-plugins-base gstreamer1.0-plugins-good)
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || die "missing programs; run: apt-get install ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

header() {
    local value
    value=$(sed -n "1,15s/^# $2: *//p" "$1" | head -n1)
    echo "${value:-$3}"
}

# Prints the files of the tests that were asked for; without any, all but those that run alone.
chosen() {
    local file name vivid want match
    for file in "$here"/[0-9]*.test; do
        name=$(basename "$file" .test)
        vivid=$(header "$file" vivid none)
        [[ $vivid == none || ,$allocators, == *,$vivid,* ]] || continue
        match=no
        ((${#wanted[@]})) || [[ $(header "$file" alone no) == yes ]] || match=yes
        for want in ${wanted[@]+"${wanted[@]}"}; do [[ $name == *$want* ]] && match=yes; done
        [[ $match == yes ]] && echo "$file"
    done
    return 0
}

compile() {
    [[ $build == yes && -f $source/CMakeLists.txt ]] || return 0
    local preset
    for preset in arm64 release; do
        (cd "$source" && cmake --preset "$preset" && cmake --build --preset "$preset") >"$run/build.log" 2>&1 ||
            { tail -n 30 "$run/build.log" >&2; die "the $preset build failed"; }
    done
}

# The small disk with everything of ours that the guest runs.
make_tests_disk() {
    local dir=$run/tests.d file size
    mkdir -p "$dir"/{bin,tests,unit}
    cp "$here/guest-run.sh" "$here/guest-lib.sh" "$dir/"
    for file in "$@"; do
        cp "$file" "$dir/tests/"
        [[ -e ${file%.test}.host ]] && : >"$dir/tests/$(basename "$file" .test).host"
    done
    [[ -x $source/build/arm64/sluice ]] && cp "$source/build/arm64/sluice" "$dir/bin/"
    for file in "$source"/build/arm64/tests/*_test; do
        [[ -x $file ]] && cp "$file" "$dir/unit/"
    done
    find "$dir/bin" "$dir/unit" -type f -exec aarch64-linux-gnu-strip --strip-debug {} +
    printf 'export BOARD_SECONDS=%s BOARD_SHELL=%s\n' "$seconds" "$shell" >"$dir/env"
    size=$(du -sm "$dir" | cut -f1)
    mke2fs -q -t ext4 -O ^has_journal -E root_owner=0:0 -m 0 -d "$dir" "$run/tests.img" "$((size + size / 4 + 16))M" >/dev/null 2>&1
    rm -rf "$dir"
}

# Room for every recording that the host reads, for the largest of those that the guest deletes, and for what sluice keeps free.
data_mib() {
    local file need kept=0 most=0
    for file in "$@"; do
        need=$(header "$file" disk 64)
        if [[ -e ${file%.test}.host ]]; then kept=$((kept + need)); else most=$((need > most ? need : most)); fi
    done
    echo $((kept + most + (kept + most) / 20 + 2048))
}

make_data_disk() {
    local mib free
    mib=$(data_mib "$@")
    free=$(df -Pm "$run" | awk 'NR == 2 { print $4 }')
    ((free > mib + 2048)) || die "needs $((mib + 2048)) MiB of disk at $run, there are $free: choose fewer tests, or set SLUICE_CACHE"
    fallocate -l "${mib}M" "$run/data.img"
    mke2fs -q -t ext4 -T largefile4 -m 0 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0 "$run/data.img" >/dev/null 2>&1
    sync "$run/data.img" # or writing it back would disturb the first test
}

# Becomes the emulator. $@: what to do with the console.
start_qemu() {
    ((EUID)) || chrt -r -p 1 "$BASHPID" # a board has its cores to itself
    exec qemu-system-aarch64 -M virt -accel tcg,thread=single -icount shift=0,sleep=on,align=off -cpu cortex-a53 -smp 2 -m "$memory_mib" -nodefaults -display none -no-reboot \
        -kernel "$cache/kernel-$kernel/vmlinuz" -initrd "$cache/initrd-$kernel" \
        -append "console=ttyAMA0 panic=-1 quiet hugepagesz=32M hugepages=12 hugepagesz=2M hugepages=40 cma=256M" \
        -drive "if=none,id=root,file=$cache/root.img,format=raw,readonly=on" -device virtio-blk-pci,drive=root,serial=root \
        -drive "if=none,id=tests,file=$run/tests.img,format=raw,readonly=on" -device virtio-blk-pci,drive=tests,serial=tests \
        -drive "if=none,id=data,file=$run/data.img,format=raw,cache=none,aio=io_uring" -device virtio-blk-pci,drive=data,serial=data \
        -device virtio-serial-pci -chardev "file,id=results,path=$run/results" \
        -device virtserialport,chardev=results,name=board.results "$@"
}

# Boots, shows the results as they come, and waits for the power-off or the limit.
run_guest() {
    local limit=$boot_limit file shown=0 lines began=$SECONDS
    for file in "$@"; do limit=$((limit + $(header "$file" limit 60))); done
    : >"$run/results"
    start_qemu -serial "file:$run/console.log" -monitor none &
    qemu=$!
    while kill -0 "$qemu" 2>/dev/null; do
        lines=$(wc -l <"$run/results")
        if ((lines > shown)); then
            sed -n "$((shown + 1)),${lines}s/^\(start\|booted\|ok\|not ok\|skip\) /guest: &/p" "$run/results" >&2
            shown=$lines
        fi
        if ((SECONDS - began > limit)) || { ((SECONDS - began > boot_limit)) && [[ ! -s $run/results ]]; }; then
            say "the guest did not end in time; stopping it"
            kill -9 "$qemu"
            break
        fi
        sleep 0.2
    done
    wait "$qemu" || true
    qemu=''
}

# Makes the data disk's files readable at $run/data.
open_data() {
    mkdir -p "$run/data"
    if ((EUID == 0)) && mount -o loop,ro,noload "$run/data.img" "$run/data" 2>/dev/null; then
        mounted=yes
    else
        say "no loop mount here; copying the files out of the image"
        debugfs -R "rdump / $run/data" "$run/data.img" >/dev/null 2>&1
    fi
}

# One verdict for each test, from its guest line and its host part. Sets verdict.
judge() {
    local file=$1 name line result detail
    name=$(basename "$file" .test)
    line=$(grep -E "^(ok|not ok|skip) $name - " "$run/results" | tail -n1) || line="not ok $name - the guest stopped before this test ended"
    verdict=$line
    [[ $line == ok\ * && -e ${file%.test}.host ]] || return 0
    say "host part of $name"
    mkdir -p "$run/tmp.$name"
    # shellcheck disable=SC2016 # expanded by the inner shell
    BOARD_DIR=$run/data/$name BOARD_RESULT=$run/host.$name SLUICE=$source/build/release/sluice TMPDIR=$run/tmp.$name \
        timeout -k 5 "$(header "${file%.test}.host" limit 120)" \
        bash -c 'set -euo pipefail; . "$0"; . "$1"' "$here/host-lib.sh" "${file%.test}.host" >"$out/$name.host.log" 2>&1 </dev/null || true
    read -r result detail <"$run/host.$name" || { result=not_ok detail='the host part ended without a result'; }
    case $result in
    ok) verdict="$line; $detail" ;;
    skip) verdict="$line; host part skipped: $detail" ;;
    *) verdict="not ok $name - host part: $detail; guest: ${line#ok "$name" - }" ;;
    esac
}

report() {
    local file verdict
    for file in "$@"; do
        judge "$file"
        echo "$verdict"
    done | tee "$run/verdicts"
    if grep -q '^row ' "$run/results"; then
        echo
        sed -n 's/^row [^|]*|//p' "$run/results" | column -t -s '|' -o '  '
        echo
    fi
    awk '/^ok /{p++} /^not ok /{f++} /^skip /{s++} END {printf "%d passed, %d failed, %d skipped\n", p, f, s}' "$run/verdicts"
    ! grep -q '^not ok ' "$run/verdicts"
}

finish() {
    set +e
    if [[ $qemu ]]; then
        kill -9 "$qemu"
        wait "$qemu"
    fi 2>/dev/null
    [[ $mounted == yes ]] && umount "$run/data"
    if [[ $keep == yes && -f $run/data.img ]]; then
        say "kept: $run/data.img (mount -o loop,ro,noload)"
    elif [[ $run ]]; then
        rm -rf "$run"
    fi
}

main() {
    local tests
    options "$@"
    export PATH=$PATH:/usr/sbin:/sbin
    need_tools
    mapfile -t tests < <(chosen)
    ((${#tests[@]})) || die "no such test; there are: $(cd "$here" && echo [0-9]*.test)"
    "$here/prepare.sh" ${refresh[@]+"${refresh[@]}"} sysroot root initrd "$kernel" >/dev/null
    mkdir -p "$out"
    run=$(mktemp -d "$cache/run.XXXXXX")
    trap finish EXIT
    trap 'exit 130' INT TERM
    compile
    make_tests_disk "${tests[@]}"
    make_data_disk "${tests[@]}"
    if [[ $shell == yes ]]; then
        (start_qemu -serial mon:stdio)
        exit 0
    fi
    rm -f "$out"/*
    run_guest "${tests[@]}"
    cp "$run/console.log" "$run/results" "$out/"
    open_data
    cp "$run"/data/log/* "$out/" 2>/dev/null || true
    report "${tests[@]}" || { say "logs: $out"; exit 1; }
}

main "$@"
