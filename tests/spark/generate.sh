#!/usr/bin/env bash
# Regenerate the fixtures from nothing: virtual environments with pinned PySpark releases, then every case.
#
#   tests/spark/generate.sh                       all versions, all cases, into tests/fixtures
#   tests/spark/generate.sh --smoke --out DIR     the smallest cases with the newest Spark only
#   tests/spark/generate.sh --versions 4.3.0 --cases join,tws
#
# Needs Java 17 and Python 3.9 to 3.11. Environments live in $STATETOP_SPARK_HOME
# (default ~/.cache/statetop/spark) and are reused.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
export STATETOP_SPARK_HOME=${STATETOP_SPARK_HOME:-$HOME/.cache/statetop/spark}
reader=4.3.0
versions="3.5.9 4.0.5 4.1.4 4.2.1 4.3.0"
python=${PYTHON:-python3}
libraries=(pandas==2.3.3 pyarrow==21.0.0 numpy==2.2.6 protobuf==6.33.5)

wanted=""
previous=""
for argument in "$@"; do
  case "$previous" in --versions) wanted=${argument//,/ } ;; esac
  case "$argument" in
    --smoke) wanted=${wanted:-$reader} ;;
    --versions=*) wanted=${argument#--versions=}; wanted=${wanted//,/ } ;;
  esac
  previous=$argument
done
wanted=${wanted:-$versions}

command -v java >/dev/null || { echo "generate.sh: Java 17 is needed (package openjdk-17-jre-headless)" >&2; exit 2; }

for version in $(printf '%s\n' $wanted $reader | sort -u); do
  home=$STATETOP_SPARK_HOME/$version
  if "$home/bin/python" -c "import pyspark, pandas, pyarrow, google.protobuf" 2>/dev/null; then continue; fi
  echo "making the environment for Spark $version in $home"
  "$python" -m venv "$home"
  "$home/bin/pip" install --quiet --disable-pip-version-check "pyspark==$version" "${libraries[@]}"
done

exec "$STATETOP_SPARK_HOME/$reader/bin/python" "$here/generate.py" "$@"
