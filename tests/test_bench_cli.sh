#!/bin/sh
# `bench` as a user of Google Benchmark meets it: its flags, its JSON, and what is refused.
#
# usage: test_bench_cli.sh PROGRAM
set -u

program=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
unset CHOKEPOINT_VERBOSE CHOKEPOINT_FAIL
failures=0

# expect CODE NAME ARGUMENT...
expect()
{
    expected=$1
    case_name=$2
    shift 2
    "$program" bench --device=cpu "$@" >"$folder/out" 2>"$folder/err"
    code=$?
    if [ "$code" -ne "$expected" ]; then
        echo "FAILED: $case_name: exit code $code, not $expected"
        sed 's/^/    /' "$folder/out" "$folder/err" | head -20
        failures=$((failures + 1))
    fi
}

# says out|err TEXT
says()
{
    if ! grep -qF -e "$2" "$folder/$1"; then
        echo "FAILED: $case_name: std$1 does not say \"$2\" but:"
        sed 's/^/    /' "$folder/$1" | head -20
        failures=$((failures + 1))
    fi
}

# says_not out|err TEXT
says_not()
{
    if grep -qF -e "$2" "$folder/$1"; then
        echo "FAILED: $case_name: std$1 says \"$2\""
        failures=$((failures + 1))
    fi
}

quick="--benchmark_min_time=0.001 --benchmark_repetitions=3"

expect 0 "list" --benchmark_list_tests
says out "gemm_fp32/256"
expect 0 "list in Google Benchmark's spelling" --benchmark_list_tests=true --benchmark_filter=gemm
says out "gemm_fp32/64"
says_not out "lat_launch"
expect 0 "a filter that is inverted" --benchmark_list_tests --benchmark_filter=-gemm
says out "lat_launch"
says_not out "gemm"
# shellcheck disable=SC2086
expect 0 "console" $quick --benchmark_filter='^lat_(event|readback)$' --benchmark_out="$folder/a.json"
says out "lat_event"
says out "lat_readback"
says err "CPU device"
# shellcheck disable=SC2086
expect 0 "JSON" $quick --benchmark_filter='^gemm_fp32/64$' --benchmark_format=json
cp "$folder/out" "$folder/gemm.json"
expect 0 "so many iterations" --benchmark_min_time=7x --benchmark_repetitions=2 \
    --benchmark_filter='^gemm_fp32/64$' --benchmark_format=json
says out '"iterations":	7'
# shellcheck disable=SC2086
expect 0 "aggregates only" $quick --benchmark_filter='^gemm_fp32/64$' --benchmark_format=json \
    --benchmark_report_aggregates_only=true
says_not out '"iteration"'
says out '"gemm_fp32/64_median"'

if command -v python3 >/dev/null; then
    python3 - "$folder/a.json" "$folder/gemm.json" <<'END' || failures=$((failures + 1))
import json
import sys


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


launch, gemm = (json.load(open(path), parse_constant=no_constant) for path in sys.argv[1:])
assert launch["context"]["device"] == "cpu" and launch["context"]["json_schema_version"] == 1
rows = [row for row in launch["benchmarks"] if row["run_type"] == "iteration"]
assert [row["name"] for row in rows] == ["lat_event"] * 3 + ["lat_readback"] * 3, rows
assert all(row["real_time"] > 0 and row["time_unit"] == "ns" for row in rows)
for row in gemm["benchmarks"]:
    if row["run_type"] == "iteration":
        rate = row["flops_per_second"] * row["real_time"] * 1e-9
        assert abs(rate - 2 * 64**3) < 1, rate
END
fi

"$program" compare "$folder/a.json" "$folder/a.json" >"$folder/out" 2>"$folder/err"
case_name="compare reads it"
says out "lat_readback"

# expect_failure: the first bench cannot allocate, the next is measured nevertheless.
CHOKEPOINT_FAIL=alloc:1
export CHOKEPOINT_FAIL
# shellcheck disable=SC2086
expect 1 "a bench that fails" $quick --benchmark_filter='^lat_(event|readback)$' \
    --benchmark_out="$folder/failed.json"
unset CHOKEPOINT_FAIL
says out "failed:"
grep -q '"name":	"lat_event"' "$folder/failed.json" && grep -q '"lat_readback_median"' "$folder/failed.json" || {
    echo "FAILED: $case_name: the file holds neither the failure nor the next bench"
    failures=$((failures + 1))
}

expect 2 "a filter that finds nothing" --benchmark_filter=nothing
says err "finds no row"
expect 2 "an empty filter" --benchmark_filter=
expect 2 "a filter that is none" --benchmark_filter='('
says err "no regular expression"
expect 2 "a format that is none" --benchmark_format=csv
says err "give console or json"
expect 2 "no time" --benchmark_min_time=0
expect 2 "no repetitions" --benchmark_repetitions=0
expect 2 "an unknown flag" --benchmark_repetition_count=3
expect 2 "an argument" gemm
expect 2 "a file that cannot be written" --benchmark_filter=gemm --benchmark_out=/nowhere/x.json
says_not out "GFLOP"
expect 3 "no such device" --device=cuda:77 --benchmark_filter=gemm

[ "$failures" -eq 0 ] && echo "all as expected"
exit "$((failures > 0))"
