#!/usr/bin/env bash
# Measures hot keys, full decode and resize against Spark on the same files in the same run.
#
#   benches/state.sh [--runs N] [--spark-runs N] [--partitions N] [--rows N,N] [--changelog on|off] [--fresh]
#
# Real Spark writes the checkpoints first (kept for the next run unless --fresh). Spark's time
# leaves out the start of its JVM and a warm-up; statetop's and the floor's are whole processes.
# Peak memory is the resident set of statetop and of Spark's JVM. Ends with 1 when Spark and
# statetop disagree or a promise is not kept. Needs Java 17 and Python.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=5 spark_runs=3 partitions=200 rows=3000000,9000000 changelog=on fresh=no
while [ $# -gt 0 ]; do
    case $1 in
        --runs) runs=$2; shift 2 ;;
        --spark-runs) spark_runs=$2; shift 2 ;;
        --partitions) partitions=$2; shift 2 ;;
        --rows) rows=$2; shift 2 ;;
        --changelog) changelog=$2; shift 2 ;;
        --fresh) fresh=yes; shift ;;
        *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
done

spark=${STATETOP_SPARK_HOME:-$HOME/.cache/statetop/spark}
home=${STATETOP_BENCH_HOME:-${TMPDIR:-/tmp}/statetop-bench}
python=$spark/4.3.0/bin/python

# The profile of everything else: RocksDB is compiled with full optimisation in it too.
cargo build --bin statetop --example floor
target=$(cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
statetop=${STATETOP:-$target/debug/statetop}
floor=$target/debug/examples/floor
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

# A hundred counts: 8, 16, ... 800.
counts=$(python3 -c 'print(",".join(str(8 * n) for n in range(1, 101)))')

results=()
for many in ${rows//,/ }; do
    work=$home/$partitions-$many-$changelog
    if [ $fresh = yes ] || [ ! -f "$work/made.json" ]; then
        echo "making $partitions partitions, $many rows, changelog $changelog ..." >&2
        with_spark tests/spark/bench_checkpoint.py "$work" --partitions "$partitions" \
            --rows "$many" --changelog "$changelog" >"$work.made"
        mv "$work.made" "$work/made.json"
    fi
    checkpoint=$work/checkpoint
    measure "$work/floor" "$floor" "$checkpoint" --threads "$(getconf _NPROCESSORS_ONLN)"
    measure "$work/keys" "$statetop" keys "$checkpoint" --by account_id --format json
    measure "$work/jsonl" "$statetop" state "$checkpoint" --format jsonl
    measure "$work/curve" "$statetop" plan "$checkpoint" --to 400 --curve "$counts" --format json
    for mode in keys json; do
        with_spark tests/spark/bench_reader.py "$checkpoint" --runs "$spark_runs" --mode $mode \
            --into "$work/spark-json" >"$work/spark-$mode.json"
    done
    wc -l <"$work/jsonl.report" >"$work/jsonl.lines"
    rm -rf "$work/spark-json" "$work/jsonl.report"
    results+=("$work")
done
python3 scripts/state_table.py "${results[@]}"
