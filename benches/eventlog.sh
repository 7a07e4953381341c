#!/usr/bin/env bash
# Measures reading a large event log against jq and Spark on the same file in the same run.
#
#   benches/eventlog.sh [--runs N] [--megabytes N] [--spark-runs N] [--fresh]
#
# The log is a recorded one of real Spark whose batches are repeated with other ids and later
# times (scripts/repeat_event_log.py), uncompressed; kept for the next run unless --fresh. jq
# gets the cheapest filter that finds the same lines. Spark's parsing and its query over the JSON
# leave out the start of the JVM and a warm-up; its history server, from its start until it can
# show the application, and the others are whole processes. Ends with 1 when they do not count
# the same batches and state rows, or a promise is not kept. Needs jq, zstd, Java 17 and Python;
# with --spark-runs 0 no Java.
set -euo pipefail
cd "$(dirname "$0")/.."

runs=5 megabytes=2000 spark_runs=3 fresh=no
while [ $# -gt 0 ]; do
    case $1 in
        --runs) runs=$2; shift 2 ;;
        --megabytes) megabytes=$2; shift 2 ;;
        --spark-runs) spark_runs=$2; shift 2 ;;
        --fresh) fresh=yes; shift ;;
        *) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
done

spark=${STATETOP_SPARK_HOME:-$HOME/.cache/statetop/spark}
home=${STATETOP_BENCH_HOME:-${TMPDIR:-/tmp}/statetop-bench}
python=$spark/4.3.0/bin/python

cargo build --bin statetop --example eventlog
target=$(cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
statetop=${STATETOP:-$target/debug/statetop}
reader=$target/debug/examples/eventlog

work=$home/eventlog-$megabytes
mkdir -p "$work"
log=$work/app
if [ $fresh = yes ] || [ ! -f "$work/made.json" ]; then
    rm -rf "$work/recorded"
    mkdir "$work/recorded"
    zstd -d --long=31 -c tests/telemetry/eventlogs/all-4.3.0/logs.tar.zst |
        tar -x -C "$work/recorded"
    python3 scripts/repeat_event_log.py "$work/recorded/logs/"* "$log" \
        --megabytes "$megabytes" >"$work/made.json"
fi

measure() {
    local into=$1 times=$2
    shift 2
    python3 scripts/measure.py --runs "$times" --output "$into.report" -- "$@" >"$into.json"
}

measure "$work/reader" "$runs" "$reader" "$log"
measure "$work/statetop" "$runs" "$statetop" progress "$log" --format jsonl
# What a person would write: progress events, and the rows of state of each task.
measure "$work/jq" 1 jq -c 'if .Event | endswith("QueryProgressEvent") then {batch: .progress.batchId}
    elif .Event == "SparkListenerTaskEnd" and ."Task End Reason".Reason == "Success" then
    {rows: [."Task Info".Accumulables[]? | select(.Name == "number of total state rows").Update]}
    | select(.rows != []) else empty end' "$log"
rm -f "$work/spark.json" "$work/history.json"
if [ "$spark_runs" -gt 0 ]; then
    [ -x "$python" ] || tests/spark/generate.sh --versions 4.3.0 --list >/dev/null
    "$python" tests/spark/bench_event_log.py "$log" --runs "$spark_runs" 2>"$work/spark.log" |
        tail -n 1 >"$work/spark.json" || { tail -n 20 "$work/spark.log" >&2; exit 1; }
    jars=$("$python" -c 'import os, pyspark; print(os.path.dirname(pyspark.__file__))')
    python3 tests/spark/bench_history_server.py "$log" --spark "$jars" >"$work/history.json"
fi
python3 scripts/eventlog_table.py "$work"
