#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Records the test pattern in several formats and lets other programs play the files: every frame must come out with the bytes
# that sluice wrote. One line per player, format and size: "ok …", "not ok …" or "skip …". Exit 1 when one is not ok.
#
#     players.sh SLUICE SCRATCH [FRAMES]
set -u
sluice=$(realpath "${1:?usage: players.sh SLUICE SCRATCH [FRAMES]}")
work=$(realpath "${2:?usage: players.sh SLUICE SCRATCH [FRAMES]}")
frames=${3:-6}
failed=0

# What GStreamer's matroskademux has no caps for (1.22): it refuses the file with any content.
gst_unknown=" NV12 NV16 "
# What FFmpeg's raw video decoder has no name for (5.1): it delivers the bytes and cannot tell what they are.
ffmpeg_unknown=" NV16 "

say() {
    echo "$1 players-$2"
    if [ "$1" = "not ok" ]; then failed=1; fi
}

record() { # FORMAT SIZE: makes $work/rec/*.mkv, prints its path
    rm -rf "$work/rec" && mkdir "$work/rec"
    cat >"$work/sensor.ini" <<END
[sensor]
name = players
source = pattern
format = $1
size = $2
fps = 60
[ring]
depth = 8
[record]
dir = $work/rec
END
    "$sluice" run "$work/sensor.ini" --frames "$frames" >"$work/run.log" 2>&1
    local rc=$?
    # 3: the machine was too slow for 60 a second; what is in the file must play all the same
    if [ $rc != 0 ] && [ $rc != 3 ]; then
        cat "$work/run.log" >&2
        return 1
    fi
    ls "$work"/rec/*.mkv
}

compare() { # PLAYER-FORMAT-SIZE FILE-OF-MD5
    if cmp -s "$work/ours" "$2"; then
        say "ok" "$1"
    else
        say "not ok" "$1"
        diff "$work/ours" "$2" | head -4 >&2
    fi
}

ffmpeg_plays() { # FORMAT SIZE FILE
    if ! command -v ffmpeg >/dev/null; then
        say "skip" "ffmpeg-$1-$2 (not installed)"
        return
    fi
    ffmpeg -nostdin -v fatal -i "$3" -map 0:v -c copy -f framemd5 - | sed -n 's/^[0-9].*, *\([0-9a-f]*\)$/\1/p' >"$work/ffmpeg"
    compare "ffmpeg-copy-$1-$2" "$work/ffmpeg"
    if [[ "$ffmpeg_unknown" == *" $1 "* ]]; then
        say "skip" "ffmpeg-decode-$1-$2 (its raw decoder does not know the format)"
        return
    fi
    # decoded and encoded again: also the pixel format must have been understood
    ffmpeg -nostdin -v error -i "$3" -map 0:v -c:v rawvideo -f framemd5 - | sed -n 's/^[0-9].*, *\([0-9a-f]*\)$/\1/p' >"$work/ffmpeg"
    compare "ffmpeg-decode-$1-$2" "$work/ffmpeg"
    if [ "$(ffprobe -v error -select_streams v -show_entries stream=width,height -of csv=p=0:s=x "$3")" = "$2" ]; then
        say "ok" "ffprobe-size-$1-$2"
    else
        say "not ok" "ffprobe-size-$1-$2"
    fi
}

gstreamer_plays() { # FORMAT SIZE FILE
    if ! command -v gst-launch-1.0 >/dev/null; then
        say "skip" "gstreamer-$1-$2 (not installed)"
        return
    fi
    if [[ "$gst_unknown" == *" $1 "* ]]; then
        say "skip" "gstreamer-$1-$2 (its Matroska demuxer does not know the format)"
        return
    fi
    rm -rf "$work/gst" && mkdir "$work/gst"
    timeout 120 gst-launch-1.0 -q filesrc location="$3" ! matroskademux ! multifilesink location="$work/gst/%06d" >"$work/gst.log" 2>&1 ||
        cat "$work/gst.log" >&2
    (cd "$work/gst" && md5sum -- * 2>/dev/null | cut -d' ' -f1) >"$work/gst.md5"
    compare "gstreamer-$1-$2" "$work/gst.md5"
}

# What sluice makes of a file for a pipe is what FFmpeg makes of the same file, and a PNG of a grey frame is that frame.
exports_agree() { # FORMAT SIZE FILE
    local planar=yuv422p
    if ! command -v ffmpeg >/dev/null || [[ "$ffmpeg_unknown" == *" $1 "* ]]; then
        say "skip" "export-$1-$2 (FFmpeg does not know the format, or is not installed)"
        return
    fi
    case $1 in NV12) planar=yuv420p ;; GREY) planar=gray ;; esac
    ffmpeg -nostdin -v error -i "$3" -map 0:v -pix_fmt $planar -f framemd5 - | sed -n 's/^[0-9].*, *\([0-9a-f]*\)$/\1/p' >"$work/decoded"
    "$sluice" export "$3" --to y4m - 2>/dev/null | ffmpeg -nostdin -v error -f yuv4mpegpipe -i - -pix_fmt $planar -f framemd5 - |
        sed -n 's/^[0-9].*, *\([0-9a-f]*\)$/\1/p' >"$work/exported"
    if [ -s "$work/exported" ] && cmp -s "$work/decoded" "$work/exported"; then
        say "ok" "export-y4m-$1-$2"
    else
        say "not ok" "export-y4m-$1-$2"
    fi
    if [ "$1" = GREY ]; then
        "$sluice" export "$3" --frame 2 "$work/frame.png"
        if [ "$(ffmpeg -nostdin -v error -i "$work/frame.png" -pix_fmt gray -f md5 -)" = "MD5=$(sed -n 3p "$work/ours")" ]; then
            say "ok" "export-png-$1-$2"
        else
            say "not ok" "export-png-$1-$2"
        fi
    fi
}

# mkvmerge parses everything and writes another file: FFmpeg reads the frames out of that one.
mkvmerge_remuxes() { # FORMAT SIZE FILE
    if ! command -v mkvmerge >/dev/null || ! command -v ffmpeg >/dev/null; then
        say "skip" "mkvmerge-$1-$2 (not installed)"
        return
    fi
    mkvmerge -q -o "$work/remuxed.mkv" "$3" >"$work/mkvmerge.log" 2>&1 || cat "$work/mkvmerge.log" >&2
    ffmpeg -nostdin -v error -i "$work/remuxed.mkv" -map 0:v -c copy -f framemd5 - 2>/dev/null |
        sed -n 's/^[0-9].*, *\([0-9a-f]*\)$/\1/p' >"$work/remuxed"
    rm -f "$work/remuxed.mkv"
    compare "mkvmerge-$1-$2" "$work/remuxed"
}

vlc_plays() { # FORMAT SIZE FILE: VLC will not run as root
    local as=() home
    if ! command -v vlc >/dev/null; then
        say "skip" "vlc-$1-$2 (not installed)"
        return
    fi
    if [ "$(id -u)" = 0 ]; then as=(runuser -u nobody --); fi
    # where another user may go: the scratch directory can lie below one that only root may enter
    home=$(mktemp -d) && chmod 777 "$home"
    # mux=dummy writes the frames one after the other, as they are
    HOME=$home timeout 120 "${as[@]}" vlc -I dummy --no-audio --ignore-config fd://0 \
        --sout "#std{access=file,mux=dummy,dst=$home/out}" vlc://quit <"$3" >"$work/vlc.log" 2>&1
    rm -rf "$work/vlc" && mkdir "$work/vlc" && mv "$home/out" "$work/vlc/" 2>>"$work/vlc.log"
    rm -rf "$home"
    split -a 6 -d -b "$(stat -c %s "$work/vlc/out" 2>/dev/null | awk -v n="$(wc -l <"$work/ours")" '{print $1 / n}')" \
        "$work/vlc/out" "$work/vlc/frame." 2>>"$work/vlc.log"
    (cd "$work/vlc" && md5sum frame.* 2>/dev/null | cut -d' ' -f1) >"$work/vlc.md5"
    cmp -s "$work/ours" "$work/vlc.md5" || tail -4 "$work/vlc.log" >&2
    compare "vlc-$1-$2" "$work/vlc.md5"
}

# Which formats players understand, as docs/file-format.md says it: the picture as FFmpeg decodes it against the one sluice exports, and
# whether GStreamer's demuxer has a name for the format.
understood() { # FORMAT FFMPEG(right|wrong|refused) GSTREAMER(known|unknown)
    local file pix=yuv444p found=right
    if ! file=$(record "$1" 640x360); then
        say "not ok" "record-$1-640x360"
        return
    fi
    if command -v ffmpeg >/dev/null; then
        "$sluice" export "$file" --to y4m - 2>/dev/null | ffmpeg -nostdin -v error -f yuv4mpegpipe -i - -pix_fmt $pix -f md5 - >"$work/exported"
        if ! ffmpeg -nostdin -v fatal -i "$file" -map 0:v -pix_fmt $pix -f md5 - >"$work/decoded" 2>/dev/null; then
            found=refused
        elif ! cmp -s "$work/exported" "$work/decoded"; then
            found=wrong
        fi
        if [ "$found" = "$2" ]; then say "ok" "ffmpeg-picture-$1-$2"; else say "not ok" "ffmpeg-picture-$1-$2 (is $found)"; fi
    else
        say "skip" "ffmpeg-picture-$1 (not installed)"
    fi
    if command -v gst-launch-1.0 >/dev/null; then
        found=unknown
        timeout 120 gst-launch-1.0 -v filesrc location="$file" ! matroskademux ! fakesink 2>&1 | grep -q "caps = video/x-raw" && found=known
        if [ "$found" = "$3" ]; then say "ok" "gstreamer-caps-$1-$3"; else say "not ok" "gstreamer-caps-$1-$3 (is $found)"; fi
    else
        say "skip" "gstreamer-caps-$1 (not installed)"
    fi
}

for format in YUYV UYVY YU12 YV12 GREY; do understood $format right known; done
for format in YVYU NV12 NV21 422P; do understood $format right unknown; done
for format in NV16 NV61; do understood $format refused unknown; done
understood VYUY wrong unknown

for format in YUYV UYVY NV12 NV16 GREY; do
    for size in 1920x1080 1280x720 642x358; do
        if ! file=$(record "$format" "$size"); then
            say "not ok" "record-$format-$size"
            continue
        fi
        if "$sluice" verify "$file" >"$work/verify.log" 2>&1; then
            say "ok" "verify-$format-$size"
        else
            say "not ok" "verify-$format-$size"
            cat "$work/verify.log" >&2
        fi
        "$sluice" verify --md5 "$file" 2>"$work/verify.log" | cut -d' ' -f2 >"$work/ours"
        if grep -q "not in this build" "$work/verify.log"; then
            say "skip" "compare-$format-$size (sluice was built without libcrypto)"
            continue
        fi
        if [ ! -s "$work/ours" ]; then
            say "not ok" "md5-$format-$size"
            continue
        fi
        ffmpeg_plays "$format" "$size" "$file"
        gstreamer_plays "$format" "$size" "$file"
        exports_agree "$format" "$size" "$file"
        mkvmerge_remuxes "$format" "$size" "$file"
        vlc_plays "$format" "$size" "$file"
    done
done
exit $failed
