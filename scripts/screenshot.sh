#!/usr/bin/env bash
# Takes the picture in the README: runs the demo in a terminal of 80x24, presses keys, and
# renders what stands on the screen. Needs tmux and Python 3.
#
#   scripts/screenshot.sh [KEYS] [FILE]      default: "2" assets/partitions.svg
#
# KEYS are sent one by one with a pause, as `tmux send-keys` names them: "2 j j Enter".
set -euo pipefail
cd "$(dirname "$0")/.."

keys=${1:-2}
file=${2:-assets/partitions.svg}
columns=80 rows=24

cargo build
binary=${CARGO_TARGET_DIR:-target}/debug/statetop

# A tmux server of its own: nobody's configuration, and nothing else to end at the end.
socket=statetop-screenshot-$$
tmux=(tmux -L "$socket" -f /dev/null)
trap '"${tmux[@]}" kill-server 2>/dev/null || true' EXIT

"${tmux[@]}" new-session -d -s demo -x $columns -y $rows \
    env -u NO_COLOR LANG=C.UTF-8 TERM=tmux-256color COLORTERM=truecolor \
    "$binary" demo --speed 3s
# Long enough for exact counts and for a few batches to arrive.
sleep "${WAIT:-14}"
for key in $keys; do
    "${tmux[@]}" send-keys -t demo "$key"
    sleep 0.5
done
sleep 1
mkdir -p "$(dirname "$file")"
"${tmux[@]}" capture-pane -e -p -t demo |
    python3 scripts/terminal_svg.py --columns $columns --rows $rows \
        --title 'statetop: the partitions of a query with a hot one' >"$file"
printf 'wrote %s\n' "$file"
