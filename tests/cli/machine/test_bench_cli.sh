#!/bin/sh
# `bench` as a user of Google Benchmark meets it: its flags, its JSON, and what is refused.
#
# usage: test_bench_cli.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

bench()
{
    "$program" bench --device=cpu "$@"
}

matches()
{
    grep -q -- "$2" "$folder/$1" || fail "no line of $1 matches $2"
}

quick="--benchmark_min_time=0.001 --benchmark_repetitions=3"

expect 0 "list" bench --benchmark_list_tests
says out "gemm_fp32/256"
expect 0 "list in Google Benchmark's spelling" bench --benchmark_list_tests=true --benchmark_filter=gemm
says out "gemm_fp32/64"
says_not out "lat_launch"
expect 0 "a filter that is inverted" bench --benchmark_list_tests --benchmark_filter=-gemm
says out "lat_launch"
says_not out "gemm"
# shellcheck disable=SC2086
expect 0 "console" bench $quick --benchmark_filter='^lat_(event|readback)$' --benchmark_out="$folder/a.json"
says out "lat_event"
says out "lat_readback"
says err "CPU device"
# shellcheck disable=SC2086
expect 0 "row after row" bench $quick --benchmark_filter='^lat_(event|readback)$' \
    --benchmark_enable_random_interleaving=false
says out "lat_readback_median"
expect 2 "an invalid interleaving" bench --benchmark_enable_random_interleaving=maybe
says err "give true or false"
# shellcheck disable=SC2086
expect 0 "JSON" bench $quick --benchmark_filter='^gemm_fp32/64$' --benchmark_format=json
cp "$folder/out" "$folder/gemm.json"
expect 0 "so many iterations" bench --benchmark_min_time=7x --benchmark_repetitions=2 \
    --benchmark_filter='^gemm_fp32/64$' --benchmark_format=json
says out '"iterations":	7'
if command -v python3 >/dev/null; then
    python3 - "$folder/a.json" "$folder/gemm.json" <<'END' || fail "the JSON is not right"
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

# Every flag of Google Benchmark's that is taken, in its own spelling.
expect 0 "the flags of Google Benchmark" bench --benchmark_min_time=0.001s --benchmark_repetitions=2 \
    --benchmark_filter='^lat_(event|readback)$' --benchmark_out="$folder/b.json" \
    --benchmark_out_format=json --benchmark_format=console
says out "lat_event_median"
says b.json '"repetition_index":	1'
# shellcheck disable=SC2086
expect 0 "repetitions are lines" bench $quick --benchmark_filter='^lat_event$'
[ "$(grep -c '^lat_event ' "$folder/out")" -eq 3 ] || fail "not 3 repetitions"
[ "$(grep -c '^lat_event_' "$folder/out")" -eq 4 ] || fail "not 4 aggregates"
# shellcheck disable=SC2086
expect 0 "a limit that is measured in the same run" bench $quick --benchmark_filter='^gemm_fp32/64$' \
    --benchmark_format=json
says out '"roof_bytes_per_second"'
says out '"roof_flops_per_second_fp32"'
says out '"roofline_share"'
expect 3 "what this device cannot do" bench --benchmark_filter='^gemm_tf32/64$' --benchmark_format=json
says out "the device has no tf32"
expect 0 "list, one name per line" bench --benchmark_list_tests --benchmark_filter='^lat_event$'
is out lat_event
expect 0 "list, as JSON" bench --benchmark_list_tests --benchmark_filter='^lat_event$' --benchmark_format=json
says out '"name":	"lat_event"'
expect 0 "the filter all" bench --benchmark_list_tests --benchmark_filter=all
says out "lat_event"

# Google Benchmark's own tool, where it is installed.
tool=/usr/share/benchmark/compare.py
if [ -r "$tool" ] && /usr/bin/python3 -c 'import numpy, scipy' 2>/dev/null; then
    # shellcheck disable=SC2086
    expect 0 "a second run" bench $quick --benchmark_filter='^lat_(event|readback)$' \
        --benchmark_out="$folder/c.json"
    expect 0 "compare.py" /usr/bin/python3 "$tool" --no-color benchmarks "$folder/a.json" \
        "$folder/c.json"
    says out "lat_readback_pvalue"
    says out "lat_event_median"
    says out "OVERALL_GEOMEAN"
fi

expect 0 "compare reads it" "$program" compare "$folder/a.json" "$folder/a.json"
says out "lat_readback"

# Google Benchmark's flags, as its version 1.7.1 and its document of 1.9 have them.
rows()
{
    grep -c "\"run_type\":[[:space:]]*\"$1\"" "$folder/$2"
}
one="--benchmark_filter=^lat_event\$"
# shellcheck disable=SC2086
{
expect 0 "aggregates alone" bench $quick $one --benchmark_report_aggregates_only=true --benchmark_out="$folder/g.json"
says out "lat_event_median"
matches out '^lat_event_mean '
says_not out "lat_event  "
[ "$(rows iteration g.json) $(rows aggregate g.json)" = "0 4" ] || fail "the file has repetitions"
expect 0 "aggregates alone of one repetition" bench --benchmark_min_time=0.001 --benchmark_repetitions=1 $one \
    --benchmark_report_aggregates_only
says out "lat_event  "
expect 0 "aggregates alone on the console" bench $quick $one --benchmark_display_aggregates_only --benchmark_out="$folder/g.json"
says_not out "lat_event  "
[ "$(rows iteration g.json) $(rows aggregate g.json)" = "3 4" ] || fail "the file lacks repetitions"
expect 0 "the same as JSON" bench $quick $one --benchmark_display_aggregates_only --benchmark_format=json \
    --benchmark_out="$folder/g.json"
[ "$(rows iteration out) $(rows iteration g.json)" = "0 3" ] || fail "JSON is displayed too"
expect 0 "a context" bench --benchmark_dry_run $one --benchmark_context=a=1,b=two,a=3 --benchmark_context=host_name=x \
    --benchmark_out="$folder/g.json"
says err "b: two"
matches g.json '"a":[[:space:]]*"1"'
matches g.json '"b":[[:space:]]*"two"'
! grep -q '"host_name":[[:space:]]*"x"' "$folder/g.json" || fail "what is known was replaced"
matches g.json '"iterations":[[:space:]]*1,'
[ "$(rows iteration g.json)" = 1 ] || fail "a dry run is one iteration"
expect 3 "nothing but a row that this device lacks" bench --benchmark_dry_run --benchmark_filter='^lat_copy_peer$'
says out "SKIPPED"
expect 2 "a context without a value" bench $one --benchmark_context=foo
says err "give key=value"
expect 0 "a unit of time" bench $quick $one --benchmark_time_unit=ms --benchmark_out="$folder/g.json"
matches out '^lat_event  *[0-9.]* ms '
matches g.json '"time_unit":[[:space:]]*"ms"'
expect 0 "it is the same time" "$program" compare "$folder/g.json" "$folder/g.json"
expect 2 "a unit that is none" bench $one --benchmark_time_unit=h
expect 0 "counters in columns" bench $quick --benchmark_filter='^gemm_fp32/64$' --benchmark_counters_tabular=true
matches out ' bytes_per_second flops_per_second'
says_not out "flops_per_second="
start=$(date +%s%N)
expect 0 "a warm-up" bench $quick $one --benchmark_min_warmup_time=0.5
[ $(($(date +%s%N) - start)) -ge 500000000 ] || fail "it did not warm up for half a second"
}

# Among other runs: one whose waits are far too short and whose products are far too slow, and one of another device.
mkdir -p "$folder/machines/one" "$folder/machines/none"
# shellcheck disable=SC2086
expect 0 "a run of this machine" bench $quick --benchmark_filter='^(lat_event|gemm_fp32/64)$' \
    --benchmark_out="$folder/own.json"
sed -e 's/\("real_time":\).*/\11e-3,/' -e 's/\("flops_per_second":\)[^,]*/\11e3/' "$folder/own.json" \
    >"$folder/machines/one/bench.json"
sed 's/\("device_name":\).*/\1"another",/' "$folder/own.json" >"$folder/machines/another.json"
against="--benchmark_filter=^(lat_event|gemm_fp32/64|bw_copy_h2d/65536)$ --against=$folder/machines"
# shellcheck disable=SC2086
expect 0 "against other runs" bench $quick $against
says out "Beside the 1 result of machines like this one"
matches out 'lat_event .* 2 of 2 '
matches out 'gemm_fp32/64 .* 1 of 2 '
says out "1 of 3 figures are in none of them."
# shellcheck disable=SC2086
expect 0 "against other runs, as Markdown" bench $quick $against --benchmark_format=markdown
matches out '^| gemm_fp32/64 | .* | 1 of 2 | '
# shellcheck disable=SC2086
expect 0 "against other runs, as JSON" bench $quick $against --benchmark_format=json
says out '"row":	"gemm_fp32/64"'
rm "$folder/machines/one/bench.json"
# shellcheck disable=SC2086
expect 0 "nothing to compare with" bench $quick $against
[ "$(grep -c 'No file there is of a machine' "$folder/out")" -eq 1 ] || fail "it is not said once"
expect 2 "a folder without files" bench --against="$folder/machines/none"
says err "has no file that ends in .json"
expect 2 "against, without measuring" bench --against="$folder/machines" --benchmark_list_tests
says err "--against places what is measured"
expect 2 "Markdown, without --against" bench --benchmark_format=markdown
says err "--against"
expect 0 "without --against" bench --benchmark_min_time=1x --benchmark_repetitions=1 --benchmark_filter='^lat_event$'
says_not out "Beside"

# The first bench cannot allocate; the next is still measured.
# shellcheck disable=SC2086
expect 1 "a bench that fails" env CHOKEPOINT_FAIL=alloc:1 "$program" bench --device=cpu $quick \
    --benchmark_filter='^lat_(event|readback)$' --benchmark_out="$folder/failed.json"
says out "ERROR OCCURRED"
says failed.json '"name":	"lat_event"'
says failed.json '"lat_readback_median"'

expect 2 "a filter that finds nothing" bench --benchmark_filter=nothing
says err "matches no row"
expect 2 "an empty filter" bench --benchmark_filter=
expect 2 "an invalid filter" bench --benchmark_filter='('
says err "not a regular expression"
expect 2 "an unknown format" bench --benchmark_format=csv
says err "give console, json or markdown"
expect 2 "no time" bench --benchmark_min_time=0
expect 2 "no repetitions" bench --benchmark_repetitions=0
expect 2 "an unknown flag" bench --benchmark_repetition_count=3
says err "benchmark_repetition_count"
expect 2 "a file for people" bench --benchmark_out="$folder/none.json" --benchmark_out_format=console
says err "benchmark_out_format=console: give json"
for flag in --benchmark_perf_counters=cycles --benchmark_stop=1; do
    expect 2 "a flag that is not taken" bench --benchmark_out="$folder/none.json" "$flag"
    says err "there is no option ${flag%%=*}"
done
expect 2 "an unknown flag beside a file" bench --benchmark_out="$folder/none.json" --bogus
expect 2 "an empty filter beside a file" bench --benchmark_out="$folder/none.json" --benchmark_filter=
expect 2 "no row beside a file" bench --benchmark_out="$folder/none.json" --benchmark_filter=nothing
[ ! -e "$folder/none.json" ] || fail "a file was written for a run that was refused"
expect 2 "an argument" bench gemm
expect 2 "a file that cannot be written" bench --benchmark_filter=gemm --benchmark_out=/nowhere/x.json
says_not out "Benchmark"
# A limit on the size of files stands in for a full disk: what was written before stays.
echo '{"old": 1}' >"$folder/full.json"
on_a_full_disk()
(
    trap '' XFSZ
    ulimit -f 1
    exec "$@"
)
expect 2 "a full disk" on_a_full_disk "$program" bench --device=cpu \
    --benchmark_filter='^lat_event$' --benchmark_out="$folder/full.json"
says err "full.json"
says_not out "lat_event"
is full.json '{"old": 1}'
expect 3 "no such device" bench --device=cuda:77 --benchmark_filter=gemm

finish
