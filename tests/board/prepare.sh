#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# prepare.sh WHAT…: makes what the emulated board is built from, once, in a cache outside the source tree.
#
#   sysroot          arm64 headers and libraries to cross-build against
#   root             read-only disk image with the guest's user space
#   initrd VERSION   initramfs with the modules of that kernel (6.12 or 6.1)
#   kernel VERSION   the kernel package, unpacked
#
# Prints the path of each. A thing is kept until its recipe (package list, mirror, the script that
# makes it) changes; a second run reads stamps only and touches no network. --refresh makes it anew, with today's packages.
#
# Nothing is installed on this machine but the tools: arm64 packages are unpacked, never configured, so that no foreign
# code runs here.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${SLUICE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sluice}/board
mirror=${SLUICE_DEBIAN_MIRROR:-http://deb.debian.org/debian}
security=${SLUICE_DEBIAN_SECURITY:-http://deb.debian.org/debian-security}
refresh=no

sysroot_packages=(libc6-dev linux-libc-dev liburing-dev libv4l-dev libinih-dev libjansson-dev libpng-dev zlib1g-dev
    libisal-dev libssl-dev libdrm-dev check libsubunit-dev)
root_packages=(bash coreutils v4l-utils gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good kmod
    e2fsprogs util-linux mount procps grep sed gawk findutils diffutils jq time strace libc-bin liburing2 libinih1
    libjansson4 libpng16-16 zlib1g libisal2 libssl3 libv4l-0 libdrm2 libsubunit0)
# Modules a test may load; each with what it depends on.
modules=(virtio_pci virtio_mmio virtio_blk virtio_net virtio_console ext4 crc32c_generic libcrc32c crc32c_cryptoapi
    overlay vivid vgem udmabuf dm-flakey dm-delay dm-mod loop veth sch_netem sch_fq tls)

say() { printf 'board: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# need PACKAGE COMMAND …: installs the packages whose command is absent.
need() {
    local missing=()
    while (($#)); do
        PATH=$PATH:/usr/sbin:/sbin command -v "$2" >/dev/null || missing+=("$1")
        shift 2
    done
    ((${#missing[@]})) || return 0
    ((EUID == 0)) || die "missing programs; run: apt-get install ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

digest() { sha256sum | cut -c1-16; }
# A function's text is part of the recipe of what it makes.
recipe() { printf '%s\n' "$mirror" "$security" "$@" | digest; }

# fresh THING KEY: true when THING was made by this recipe.
fresh() { [[ $refresh == no && -e $1 && -f $1.stamp && $(head -n1 "$1.stamp") == "$2" ]]; }
# keep TMP THING KEY [NOTE]: puts a finished thing in its place; the stamp comes last.
keep() {
    rm -rf "$2" "$2.stamp"
    mv "$1" "$2"
    printf '%s\n' "$3" "${4:-}" >"$2.stamp"
}

sources() {
    printf 'deb %s bookworm main\n' "$mirror"
    printf 'deb %s bookworm-updates main\n' "$mirror"
    printf 'deb %s bookworm-security main\n' "$security"
}

apt_private() {
    local cmd=$1 dir=$cache/apt
    shift
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
    sources >"$dir/sources.list"
    "$cmd" -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
        -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$dir/lists" \
        -o Dir::State::status=/dev/null -o Dir::Cache="$dir/cache" "$@"
}

# Unpacks packages and what they depend on, without running their scripts.
extract() {
    local out=$1 mode=unshare
    shift
    ((EUID == 0)) && mode=root
    sources | mmdebstrap --mode="$mode" --variant=extract --architectures=arm64 --skip=check/qemu \
        --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr --format=tar \
        --include="$(IFS=,; echo "$*")" bookworm "$out.tar" - >"$out.log" 2>&1 || { tail -n 20 "$out.log" >&2; die "mmdebstrap failed"; }
    rm -f "$out.log"
    mkdir -p "$out"
    tar -C "$out" --no-same-owner --exclude='./dev/*' -xf "$out.tar"
    rm -f "$out.tar"
}

# Links that start with / would leave the sysroot.
relative_links() {
    local root=$1 link target
    while IFS= read -r -d '' link; do
        target=$(readlink "$link")
        [[ -e $root$target ]] && ln -sfnr "$root$target" "$link"
    done < <(find "$root" -type l -lname '/*' -print0)
    return 0
}

make_sysroot() {
    local out=$cache/sysroot key
    key=$(recipe "${sysroot_packages[@]}" "$(declare -f make_sysroot extract relative_links sources)")
    fresh "$out" "$key" || {
        need mmdebstrap mmdebstrap
        say "making the arm64 sysroot"
        rm -rf "$out.new"
        extract "$out.new" "${sysroot_packages[@]}"
        rm -rf "$out.new"/usr/share/{doc,man,locale} "$out.new"/var
        relative_links "$out.new"
        keep "$out.new" "$out" "$key"
    }
    echo "$out"
}

make_root() {
    local out=$cache/root.img key dir=$cache/root.new size
    key=$(recipe "${root_packages[@]}" "$(declare -f make_root extract sources)")
    fresh "$out" "$key" || {
        need mmdebstrap mmdebstrap e2fsprogs mke2fs
        say "making the guest's root file system"
        rm -rf "$dir" "$out.new"
        extract "$dir" "${root_packages[@]}"
        rm -rf "$dir"/usr/share/{doc,man,locale,info,icons,fonts} "$dir"/var/{lib,cache}/*
        # Made by maintainer scripts on an installed system.
        printf 'root:x:0:0:root:/root:/bin/bash\n' >"$dir/etc/passwd"
        printf 'root:x:0:\n' >"$dir/etc/group"
        printf '127.0.0.1 localhost board\n' >"$dir/etc/hosts"
        [[ -e $dir/usr/bin/awk ]] || ln -s gawk "$dir/usr/bin/awk"
        mkdir -p "$dir"/{root,board,data,proc,sys,dev,run,tmp}
        size=$(du -sm "$dir" | cut -f1)
        PATH=$PATH:/usr/sbin mke2fs -q -t ext4 -L board-root -E root_owner=0:0 -O ^has_journal -m 0 -d "$dir" \
            "$out.new" "$((size + size / 5 + 64))M" >/dev/null 2>&1
        rm -rf "$dir"
        keep "$out.new" "$out" "$key"
    }
    echo "$out"
}

kernel_pattern() {
    case $1 in
    6.12) echo '^linux-image-6\.12\.[0-9]+\+deb12-arm64$' ;;
    6.1) echo '^linux-image-6\.1\.0-[0-9]+-arm64$' ;;
    *) die "no kernel $1: there are 6.12 and 6.1" ;;
    esac
}

make_kernel() {
    local version=$1 out=$cache/kernel-$1 key pattern package tmp
    pattern=$(kernel_pattern "$version")
    key=$(recipe "$pattern" "$(declare -f make_kernel)")
    fresh "$out" "$key" || {
        need dpkg dpkg apt apt-get kmod depmod
        say "fetching kernel $version for arm64"
        apt_private apt-get -qq update >&2
        package=$(apt_private apt-cache pkgnames linux-image-6 | grep -E "$pattern" | sort -V | tail -n1)
        [[ $package ]] || die "the archive has no kernel $version for arm64"
        tmp=$cache/kernel.new
        rm -rf "$tmp"
        mkdir -p "$tmp/deb"
        (cd "$tmp/deb" && apt_private apt-get -qq download "$package" busybox-static >&2)
        for deb in "$tmp"/deb/*.deb; do dpkg -x "$deb" "$tmp"; done
        rm -rf "$tmp/deb"
        mv "$tmp"/boot/vmlinuz-* "$tmp/vmlinuz"
        PATH=$PATH:/usr/sbin depmod -b "$tmp" "$(cd "$tmp/lib/modules" && echo *)"
        keep "$tmp" "$out" "$key" "$package"
    }
    echo "$out"
}

make_initrd() {
    local version=$1 out=$cache/initrd-$1 key kernel release dir module path rel
    kernel=$(make_kernel "$version")
    key=$(recipe "${modules[@]}" "$(cat "$kernel.stamp" "$here/guest-init.sh")" "$(declare -f make_initrd)")
    fresh "$out" "$key" || {
        need kmod modprobe cpio cpio xz-utils xz
        say "making the initramfs for kernel $version"
        release=$(cd "$kernel/lib/modules" && echo *)
        dir=$cache/initrd.new.d
        rm -rf "$dir"
        mkdir -p "$dir"/{bin,proc,sys,dev,newroot,rw} "$dir/lib/modules/$release"
        # Unpacked here, because an emulated CPU is slow at xz.
        for module in "${modules[@]}"; do
            PATH=$PATH:/usr/sbin modprobe -d "$kernel" -S "$release" --show-depends "$module" 2>/dev/null || true
        done | awk '$1 == "insmod" { print $2 }' | sort -u | while read -r path; do
            rel=${path#"$kernel"/}
            mkdir -p "$dir/${rel%/*}"
            case $path in
            *.xz) xz -dc "$path" >"$dir/${rel%.xz}" ;;
            *) cp "$path" "$dir/$rel" ;;
            esac
        done
        cp "$kernel/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$dir/lib/modules/$release/"
        PATH=$PATH:/usr/sbin depmod -b "$dir" "$release"
        cp "$kernel/bin/busybox" "$dir/bin/busybox"
        ln -s busybox "$dir/bin/sh"
        install -m 755 "$here/guest-init.sh" "$dir/init"
        (cd "$dir" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 >"$out.new"
        rm -rf "$dir"
        keep "$out.new" "$out" "$key"
    }
    echo "$out"
}

main() {
    mkdir -p "$cache"
    exec {lock}>"$cache/lock"
    flock "$lock"
    (($#)) || die "usage: prepare.sh [--refresh] sysroot | root | kernel VERSION | initrd VERSION"
    while (($#)); do
        case $1 in
        --refresh) refresh=yes ;;
        sysroot) make_sysroot ;;
        root) make_root ;;
        kernel | initrd)
            (($# > 1)) || die "$1 needs a version"
            "make_$1" "$2"
            shift
            ;;
        *) die "what is '$1'?" ;;
        esac
        shift
    done
}

main "$@"
