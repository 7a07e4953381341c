"""The error conditions that a Spark release knows, of the families that `statetop explain` explains.

    conditions.py 4.3.0 [4.2.1 ...] --out tests/explain
        writes conditions-<version>.json: names, SQLSTATEs and names of parameters
    conditions.py 4.3.0 --compare tests/explain
        compares the installed package with the file that is there; exit 1 where they differ
    conditions.py 4.3.0 --messages FILE
        writes each condition's message with made-up values, as Spark prints it, and the values:
        what `cargo test --test explain` reads by STATETOP_MESSAGES

Reads the package that `generate.sh` installs: Spark keeps the list in its jar `spark-common-utils`.
"""

import argparse
import json
import os
import re
import sys
import zipfile
from functools import partial
from pathlib import Path

# Conditions whose names begin so are explained. Whole words only, so STREAM is not STREAMING.
FAMILIES = [
    "CANNOT_LOAD_CHECKPOINT_FILE_MANAGER",
    "CANNOT_LOAD_STATE_STORE",
    "CANNOT_WRITE_STATE_STORE",
    "CHECKPOINT_FILE",
    "CONCURRENT_QUERY",
    "CONCURRENT_STREAM_LOG_UPDATE",
    "EMITTING_ROWS_OLDER_THAN_WATERMARK",
    "FOREACH",
    "ILLEGAL_STATE_STORE_VALUE",
    "INCREMENTAL_STATE",
    "STATEFUL_PROCESSOR",
    "STATE_REPARTITION",
    "STATE_REWRITER",
    "STATE_STORE",
    "STDS",
    "STREAMING",
    "STREAM",
]
# Single conditions that wrap those.
NAMES = ["FAILED_EXECUTE_UDF", "INTERNAL_ERROR", "TASK_WRITE_FAILED"]
LISTS = ["error/error-conditions.json", "error/error-classes.json"]
PARAMETER = re.compile(r"<(\w+)>")


def environments():
    home = os.environ.get("STATETOP_SPARK_HOME") or Path.home() / ".cache/statetop/spark"
    return Path(home)


def jar(version):
    """The jar with the list, in the environment that `generate.sh` made for a version."""
    jars = f"{version}/lib/python*/site-packages/pyspark/jars"
    found = sorted(environments().glob(f"{jars}/spark-common-utils_*.jar"))
    if not found:
        make = f"tests/spark/generate.sh --versions {version} --list"
        sys.exit(f"conditions.py: no PySpark {version} in {environments()}; run {make}")
    return found[-1]


def listed(version):
    """Name to (SQLSTATE, message), subclasses by their full names, in the order of names."""
    with zipfile.ZipFile(jar(version)) as archive:
        lists = [json.loads(archive.read(name)) for name in archive.namelist() if name in LISTS]
    # In 4.x error-classes.json is the list of SQLSTATE classes: whose values have no message.
    raw = next(one for one in lists if all("message" in value for value in one.values()))
    conditions = {}
    for name, condition in raw.items():
        of_family = any(name == family or name.startswith(family + "_") for family in FAMILIES)
        if not of_family and name not in NAMES:
            continue
        state, message = condition.get("sqlState"), "\n".join(condition["message"])
        conditions[name] = (state, message)
        for sub, detail in condition.get("subClass", {}).items():
            whole = message + " " + "\n".join(detail["message"])
            conditions[f"{name}.{sub}"] = (state, whole)
    return dict(sorted(conditions.items()))


def parameters(message):
    return list(dict.fromkeys(PARAMETER.findall(message)))


def facts(version):
    conditions = {
        name: {"sqlstate": state, "parameters": parameters(message)}
        for name, (state, message) in listed(version).items()
    }
    return {"spark": version, "conditions": conditions}


def text(version):
    """One condition a line, so that differences between versions are readable."""
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in facts(version)["conditions"].items()]
    return f'{{"spark": {json.dumps(version)}, "conditions": {{\n' + ",\n".join(lines) + "\n}}\n"


def made_up(number, parameter):
    """A value that a parameter could have: numbers for what is counted, words for the rest."""
    counted = re.search(r"(Ids?|Version|Partition[s]?|Size|num\w*|index|Commits|Ms)$", parameter, re.IGNORECASE)
    return str(700 + number) if counted else f"value-{number}"


def value_of(values, match):
    return values[match.group(1)]


def messages(version):
    told = []
    for name, (state, message) in listed(version).items():
        values = {parameter: made_up(number, parameter) for number, parameter in enumerate(parameters(message))}
        filled = PARAMETER.sub(partial(value_of, values), message)
        suffix = f" SQLSTATE: {state}" if state else ""
        told.append({"class": name, "sqlstate": state, "parameters": values, "text": f"[{name}] {filled}{suffix}"})
    return told


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("versions", nargs="+")
    arguments.add_argument("--out", type=Path)
    arguments.add_argument("--compare", type=Path)
    arguments.add_argument("--messages", type=Path)
    asked = arguments.parse_args()
    for version in asked.versions:
        if asked.out:
            (asked.out / f"conditions-{version}.json").write_text(text(version))
        if asked.compare:
            file = asked.compare / f"conditions-{version}.json"
            if json.loads(file.read_text()) != facts(version):
                sys.exit(f"conditions.py: {file} differs from PySpark {version}; write it again with --out")
            print(f"{len(facts(version)['conditions'])} conditions of PySpark {version} are as {file} says")
        if asked.messages:
            asked.messages.write_text(json.dumps(messages(version), indent=1))


if __name__ == "__main__":
    main()
