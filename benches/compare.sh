#!/usr/bin/env bash
# Measures statetop against Spark's own `statestore` reader on the same files in the same run.
#
#   benches/compare.sh [--runs N] [--partitions N] [--rows N] [--fresh]
#
# Real Spark writes the checkpoint first (changelog on and off; kept for the next run unless
# --fresh). Spark's time leaves out the start of its JVM and a warm-up; statetop's is the whole
# process. Ends with 1 when the counts of any partition disagree. Needs Java 17 and Python.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=5 partitions=200 rows=3000000 fresh=no
while [ $# -gt 0 ]; do
    case $1 in
        --runs) runs=$2; shift 2 ;;
        --partitions) partitions=$2; shift 2 ;;
        --rows) rows=$2; shift 2 ;;
        --fresh) fresh=yes; shift ;;
        *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
done

spark=${STATETOP_SPARK_HOME:-$HOME/.cache/statetop/spark}
home=${STATETOP_BENCH_HOME:-${TMPDIR:-/tmp}/statetop-bench}
python=$spark/4.3.0/bin/python

# The profile of everything else: RocksDB is compiled with full optimisation in it too.
cargo build
target=$(cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
statetop=${STATETOP:-$target/debug/statetop}
[ -x "$python" ] || tests/spark/generate.sh --versions 4.3.0 --list >/dev/null

mkdir -p "$home"
log=$home/spark.log

# Spark is talkative: its words go to a log, of which the end is shown when it fails.
with_spark() {
    "$python" "$@" 2>"$log" | tail -n 1 || {
        tail -n 20 "$log" >&2
        return 1
    }
}

measure() {
    local into=$1
    shift
    python3 scripts/measure.py --runs "$runs" --output "$into.report" -- "$@" >"$into.json"
}

status=0
for changelog in on off; do
    work=$home/$partitions-$rows-$changelog
    if [ $fresh = yes ] || [ ! -f "$work/made.json" ]; then
        echo "making $partitions partitions, $rows rows, changelog $changelog ..." >&2
        with_spark tests/spark/bench_checkpoint.py "$work" --partitions "$partitions" \
            --rows "$rows" --changelog "$changelog" >"$work.made"
        mv "$work.made" "$work/made.json"
    fi
    checkpoint=$work/checkpoint
    measure "$work/overview" "$statetop" inspect "$checkpoint" --format json
    measure "$work/snapshot" "$statetop" partitions "$checkpoint" --format json
    measure "$work/exact" "$statetop" partitions "$checkpoint" --exact --format json
    with_spark tests/spark/bench_reader.py "$checkpoint" --runs "$runs" >"$work/spark.json"
    python3 scripts/bench_table.py "$work" "$changelog" || status=1
done
exit $status
