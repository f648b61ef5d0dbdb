# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# What a test in the guest has at hand. A test is sourced with this file in a shell of its own and ends by calling exactly one
# of ok, not_ok and skip. It has BOARD_DIR (an empty folder on the data disk) and BOARD_SECONDS.

SLUICE=/board/bin/sluice
FRAME_BYTES=$((1920 * 1080 * 2))

# board_header FILE KEY DEFAULT: the value of a "# KEY: VALUE" line at the top of a test.
board_header() {
    local value
    value=$(sed -n "1,15s/^# $2: *//p" "$1" | head -n1)
    echo "${value:-$3}"
}

# board_vivid ALLOCATOR: the kernel's test sensor, anew, with vmalloc (0) or dma-contig (1) buffers, its HDMI input set to
# 1080p60; "none" removes it.
board_vivid() {
    local i
    [[ -d /sys/module/vivid ]] && { rmmod vivid || return 1; }
    [[ $1 == none ]] && return 0
    modprobe vivid n_devs=1 node_types=0x1 allocators="$1" || return 1
    for ((i = 0; i < 50; i++)); do
        [[ -c /dev/video0 ]] && break
        sleep 0.1
    done
    [[ -c /dev/video0 ]] || return 1
    v4l2-ctl -d /dev/video0 --set-input=3 && v4l2-ctl -d /dev/video0 --set-dv-bt-timings index=14 &&
        v4l2-ctl -d /dev/video0 --set-fmt-video=width=1920,height=1080,pixelformat=YUYV
}

board_end() {
    if [[ -e $BOARD_RESULT ]]; then
        echo "not ok $BOARD_NAME - the test gave more than one result" >"$BOARD_RESULT"
    else
        echo "$1 $BOARD_NAME - ${2//$'\n'/; }" >"$BOARD_RESULT"
    fi
    exit 0
}
ok() { board_end ok "$*"; }
not_ok() { board_end "not ok" "$*"; }
skip() { board_end skip "$*"; }

# row CELL…: a line of the table that board.sh prints for this test; the first one is the heading.
row() {
    local IFS='|'
    echo "$BOARD_NAME|$*" >>"$BOARD_ROWS"
}

need_sluice() { [[ -x $SLUICE ]] || skip "no sluice binary was built"; }

# record_config FILE DIR [LINE…]: a config for the HDMI input. A LINE "section.key=value" adds or replaces one. No checksum: the
# carry-less multiplication it is made of costs an emulated core far more than a real one; 15-checksum has it on. Real-time priority, because vivid skips a frame when a
# thread that holds the device's lock waits for a CPU too long.
record_config() {
    local file=$1 dir=$2 line section key
    shift 2
    declare -A value=(
        [sensor.source]=v4l2 [sensor.device]=/dev/video0 [sensor.input]=3 [sensor.dv_timings]=1920x1080p60
        [sensor.format]=YUYV [sensor.size]=1920x1080 [sensor.fps]=60 [sensor.memory]=auto
        [ring.depth]=1s [record.dir]=$dir [record.checksum]=none [realtime.priority]=10
    )
    for line in "$@"; do value[${line%%=*}]=${line#*=}; done
    for section in sensor ring record realtime fault; do
        [[ " ${!value[*]}" == *" $section."* ]] || continue
        echo "[$section]"
        for key in "${!value[@]}"; do
            if [[ $key == "$section".* ]]; then echo "${key#*.} = ${value[$key]}"; fi
        done
    done >"$file"
}

# record SECONDS [LINE…]: runs the appliance into BOARD_DIR. Sets status, and summary to the path of its JSON.
record() {
    local seconds=$1
    shift
    summary=$BOARD_DIR/summary.json
    record_config "$BOARD_DIR/sensor.ini" "$BOARD_DIR" "$@"
    cat "$BOARD_DIR/sensor.ini"
    status=0
    /usr/bin/time -q -f '%e %U %S' -o "$BOARD_DIR/time" \
        timeout -s INT -k 10 $((seconds + 30)) "$SLUICE" run "$BOARD_DIR/sensor.ini" --seconds "$seconds" --summary "$summary" || status=$?
    echo "sluice run: exit $status"
    [[ -s $summary ]] || not_ok "sluice run ended with $status and left no summary; last words: $(tail_log)"
    cat "$summary"
}

tail_log() { tail -n 3 "/data/log/$BOARD_NAME.log" | tr '\n' ' ' | cut -c1-300; }

# field JQ-EXPRESSION: a value of the summary.
field() { jq -r "$1" "$summary"; }

# field_is JQ-EXPRESSION VALUE: ends the test unless the summary says so.
field_is() {
    local is
    is=$(field "$1")
    [[ $is == "$2" ]] || not_ok "$1 is $is, not $2; $(books)"
}

books() {
    field '.frames | "expected \(.expected) captured \(.captured) recorded \(.recorded) lost " +
        ([.lost | to_entries[] | select(.value > 0) | "\(.key) \(.value)"] | if . == [] then "0" else join(", ") end)'
}

# books_hold WANTED: ends the test unless the run lost nothing of WANTED frames (one more or less at the ends), or nothing but
# what the emulated sensor skipped by itself. Where the sensor skipped frames the host was too busy for the guest, and what else was
# lost then proves nothing about sluice: the test is skipped. Sets detail.
books_hold() {
    local wanted=$1 expected gaps others
    detail=$(books)
    field_is .frames.balanced true
    expected=$(field .frames.expected) gaps=$(field .frames.lost.sensor_gap)
    ((expected >= wanted - 2 && expected <= wanted + 2)) || not_ok "expected should be about $wanted: $detail"
    others=$(field '[.frames.lost | to_entries[] | select(.key != "sensor_gap") | .value] | add')
    if ((gaps + others > 0)); then
        ((status == 3)) || not_ok "exit $status, although frames were lost: $detail"
        ((gaps > 0)) || not_ok "frames were lost by our own doing: $detail"
        ((others == 0 && gaps * 5 <= expected)) || skip "the host is too busy to judge: $detail"
        detail="NOT QUITE: the emulated sensor skipped frames (busy host?): $detail"
    else
        ((status == 0)) || not_ok "exit $status, although no frame was lost: $detail"
    fi
}

recordings() { find "$BOARD_DIR" -name '*.mkv' | sort; }
