#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes the root file system that the emulated board boots with systemd as its first process, once, in the board's cache, and prints its
# path. Packages are unpacked and not configured, as in tests/board/prepare.sh. --refresh makes it anew, with today's packages.
set -euo pipefail

cache=${SLUICE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice}/board
mirror=${SLUICE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
out=$cache/systemd-root.img
packages=(systemd udev systemd-coredump kmod bash coreutils util-linux mount procps grep sed gawk findutils jq libc-bin liburing2 libinih1
    libjansson4 libpng16-16 libisal2 libssl3 libv4l-0)

make_root() {
    local dir=$out.d size mode=unshare
    ((EUID)) || mode=root
    rm -rf "$dir" "$out.new"
    mmdebstrap --mode="$mode" --variant=extract --architectures=arm64 --skip=check/qemu --format=tar \
        --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --include="$(IFS=,; echo "${packages[*]}")" \
        bookworm "$out.tar" "deb $mirror bookworm main" >"$out.log" 2>&1 || { tail -n 20 "$out.log" >&2; return 1; }
    mkdir -p "$dir"
    tar -C "$dir" --no-same-owner --exclude='./dev/*' -xf "$out.tar"
    rm -rf "$out.tar" "$out.log" "$dir"/usr/share/{doc,man,locale,info} "$dir"/var/{lib,cache}/*
    # Made by maintainer scripts on an installed system. A machine id, so that this is no first boot, which would enable everything.
    printf 'root:x:0:0:root:/root:/bin/bash\n' >"$dir/etc/passwd"
    cp "$dir/usr/share/base-passwd/group.master" "$dir/etc/group" 2>/dev/null || printf 'root:x:0:\n' >"$dir/etc/group"
    sed -i 's/:\*:/:x:/' "$dir/etc/group"
    echo 0123456789abcdef0123456789abcdef >"$dir/etc/machine-id"
    ln -sf multi-user.target "$dir/lib/systemd/system/default.target"
    [[ -e $dir/usr/bin/awk ]] || ln -s gawk "$dir/usr/bin/awk"
    mkdir -p "$dir"/{root,board,data,proc,sys,dev,run,tmp}
    size=$(du -sm "$dir" | cut -f1)
    PATH=$PATH:/usr/sbin mke2fs -q -t ext4 -L board-root -E root_owner=0:0 -O ^has_journal -m 0 -d "$dir" "$out.new" \
        "$((size + size / 5 + 64))M" >/dev/null 2>&1
    rm -rf "$dir"
    mv "$out.new" "$out"
}

key=$(printf '%s\n' "$mirror" "${packages[@]}" "$(declare -f make_root)" | sha256sum | cut -c1-16)
mkdir -p "$cache"
exec {lock}>"$cache/systemd-root.lock"
flock "$lock"
if [[ ${1:-} == --refresh || ! -e $out || $(cat "$out.stamp" 2>/dev/null) != "$key" ]]; then
    echo "service: making a root file system with systemd" >&2
    make_root
    echo "$key" >"$out.stamp"
fi
echo "$out"
