# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What the host part of a test has at hand, after the guest is off: BOARD_DIR is the test's folder on the data disk (read
# only), SLUICE the host's own build, TMPDIR scratch. It ends by calling one of ok, not_ok and skip.

board_end() {
    echo "$1 ${2//$'\n'/; }" >"$BOARD_RESULT"
    exit 0
}
ok() { board_end ok "$*"; }
not_ok() { board_end not_ok "$*"; }
skip() { board_end skip "$*"; }

FRAME_BYTES=$((1920 * 1080 * 2))

recordings() { find "$BOARD_DIR" -name '*.mkv' | sort; }

sluice_md5() { "$SLUICE" verify "$1" --md5 | awk 'NF == 2 && length($2) == 32 { print $2 }'; }
ffmpeg_md5() {
    ffmpeg -v error -i "$1" -map 0:v -c copy -f framemd5 - | awk -F', *' '!/^#/ { print $NF }'
}
# gst_md5 FILE FRAMES: the first frames, decoded by GStreamer.
gst_md5() {
    gst-launch-1.0 -q filesrc location="$1" ! matroskademux ! "video/x-raw" ! identity eos-after="$(($2 + 1))" ! fdsink fd=1 |
        split -b "$FRAME_BYTES" --filter='md5sum' - | awk '{ print $1 }'
}

# same_md5 FILE GST-FRAMES: ends the test unless sluice, FFmpeg and GStreamer read the same frames. Adds to frames.
same_md5() {
    local ours=$TMPDIR/ours theirs=$TMPDIR/ffmpeg gst=$TMPDIR/gst n ffmpeg_pid
    ffmpeg_md5 "$1" >"$theirs" &
    ffmpeg_pid=$!
    sluice_md5 "$1" >"$ours" || not_ok "sluice verify --md5 failed on ${1##*/}"
    wait "$ffmpeg_pid" || not_ok "ffmpeg failed on ${1##*/}"
    n=$(wc -l <"$ours")
    ((n > 0)) || not_ok "sluice verify --md5 named no frame of ${1##*/}"
    cmp -s "$ours" "$theirs" || not_ok "FFmpeg reads other frames than sluice in ${1##*/} ($n against $(wc -l <"$theirs"))"
    gst_md5 "$1" "$2" >"$gst"
    ((n > $2)) && n=$2
    head -n "$n" "$ours" | cmp -s - <(head -n "$n" "$gst") || not_ok "GStreamer reads other frames than sluice in ${1##*/}"
    frames=$((${frames:-0} + $(wc -l <"$ours")))
}
