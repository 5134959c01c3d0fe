"""Checks a result.json as a strict reader does: what Google Benchmark's tools and those of others need.

usage: check_result.py RESULT.JSON
"""
import json
import math
import sys


def refuse(word):
    raise ValueError(f"{word} is no JSON")


def unique(pairs):
    names = [name for name, _ in pairs]
    assert len(names) == len(set(names)), f"a member is there twice: {names}"
    return dict(pairs)


def check_row(row):
    """What compare.py, github-action-benchmark and Bencher read of a row."""
    for name in ("name", "run_name", "run_type", "time_unit"):
        assert isinstance(row[name], str), (name, row)
    for name in ("family_index", "per_family_instance_index", "repetitions", "threads", "iterations"):
        assert type(row[name]) is int, (name, row)
    assert row["time_unit"] == "us"
    for name in ("real_time", "cpu_time"):
        assert math.isfinite(row[name]), (name, row)
    if row["run_type"] == "iteration":
        assert row["name"] == row["run_name"]
        assert row["real_time"] > 0 and row["cpu_time"] > 0, row
        assert type(row["repetition_index"]) is int
    else:
        assert row["name"] == f"{row['run_name']}_{row['aggregate_name']}"
        assert row["aggregate_unit"] in ("time", "percentage")
    for name, value in row.items():
        assert isinstance(value, (int, float, str)), f"{name} is not flat"


def main(path):
    with open(path, encoding="utf-8", errors="strict") as file:
        result = json.load(file, parse_constant=refuse, object_pairs_hook=unique)
    context = result["context"]
    assert context["json_schema_version"] == 1
    assert isinstance(context["load_avg"], list)
    for cache in context["caches"]:
        assert set(cache) == {"type", "level", "size", "num_sharing"}
    for row in result["benchmarks"]:
        check_row(row)
    scenarios = result["chokepoint"]["scenarios"]
    shown = {row["run_name"].split("/")[0] for row in result["benchmarks"]}
    for scenario in scenarios:
        if scenario["verdict"] in ("skipped", "failed"):
            assert scenario["reason"], scenario["name"]
            assert scenario["name"] not in shown
    print(f"{len(result['benchmarks'])} rows of {len(shown)} scenarios; {len(scenarios)} in all")


main(sys.argv[1])
