#!/bin/sh
# `compare` as a gate meets it: exit codes, what is printed where, and what is refused.
#
# usage: test_compare_cli.sh PROGRAM
set -u

program=$1
data=$(CDPATH='' cd -- "$(dirname -- "$0")/../../desk/compare/data" && pwd -P)
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

compare()
{
    "$program" compare "$@"
}

# run FILE TIME [DEVICE]: a file with one row of five repetitions around TIME us.
run()
{
    {
        printf '{"context": {"device_name": "%s"}, "benchmarks": [' "${3-A}"
        separator=
        for percent in 1000 1002 998 1001 999; do
            printf '%s{"name": "x", "run_type": "iteration", "real_time": %s, "cpu_time": 1, "time_unit": "us", "bytes_per_second": %s}' \
                "$separator" "$(($2 * percent / 1000))" "$((1000000000 / $2 * percent / 1000))"
            separator=,
        done
        echo ']}'
    } >"$folder/$1"
}

run base1.json 10000
run base2.json 10040
run base3.json 10020
run slow1.json 11000
run slow2.json 11040
run slow3.json 11020
run other.json 10000 B

cd "$folder" || exit 1
expect 3 "one file per side" compare base1.json slow1.json
says out "1 row: 1 undecided"
says out "real_time, best of 5 repetitions per file"
says out "One file per side shows no run-to-run noise: give three per side"
says_not out "Notes"
expect 3 "one file per side, strictly" compare base1.json slow1.json --strict
says out "Cannot tell: 1 undecided beyond the threshold"
says out "To tell, measure both in turns: chokepoint bench --rounds-of OLD NEW"
expect 0 "equals" compare base1.json base2.json base3.json --new base3.json base1.json base2.json --strict
says out "1 row: 1 same"
expect 1 "slower" compare base1.json base2.json base3.json --new slow1.json slow2.json slow3.json
says out "slower"
expect 0 "faster" compare slow1.json slow2.json slow3.json --new base1.json base2.json base3.json
says out "1 faster"
expect 0 "a threshold above the change" compare base1.json --new slow1.json --threshold=20% --noise=1%
says out "1 same"
expect 3 "stated noise" compare base1.json slow1.json --noise=5%
says out "1 undecided"
says out "runs are said to vary by 5.0%"
expect 1 "a rate that falls" compare base1.json slow1.json --metric=bytes_per_second --noise=1%
says out "larger is better"
says out " 100 kB/s"
expect 1 "markdown" compare base1.json slow1.json --noise=1% --format=markdown
says out "| x | 9.98 ms | 11.0 ms | +10.0% |"
says out "**slower** |"
expect 1 "JSON" compare base1.json slow1.json --noise=1% --format=json
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
document = json.load(open(sys.argv[1]))
row = document["rows"][0]
assert document["schema"] == 2
assert document["passed"] is False and document["not_passed_because"] == "1 slower", document
assert row["verdict"] == "slower" and 0.09 < row["change"] < 0.11, row
assert row["statistic"] == "best" and row["best_of"] == 5, row' "$folder/out" ||
        fail "the JSON is not right"
fi

# --- a counter whose name does not say which way is better ---
for file in base1 base2 base3 slow1 slow2 slow3; do sed 's/bytes_per_second/Throughput/g' $file.json >t-$file.json; done
expect 1 "a throughput that falls" compare t-base*.json --new t-slow*.json --metric=Throughput
says out "1 undecided"
says out "The name of Throughput does not say which way is better: give --better=larger"
says out "Not passed: 1 moved"
expect 1 "a throughput that falls, with --better" compare t-base*.json --new t-slow*.json --metric=Throughput --better=larger
says out "1 slower"
expect 0 "a throughput that stays" compare t-base*.json --new t-base2.json t-base3.json t-base1.json --metric=Throughput
says out "1 same"
expect 1 "a throughput in JSON" compare t-base*.json --new t-slow*.json --metric=Throughput --format=json
says out '"larger_is_better":	null'

# --- equal times of one file a side, lost repetitions, another machine ---
printf '{"benchmarks": [{"name": "x", "real_time": 10, "time_unit": "ms"}, {"name": "x", "real_time": 10, "time_unit": "ms"}]}' >ten.json
sed 's/"real_time": 10/"real_time": 11/g' ten.json >eleven.json
expect 3 "times that are rounded" compare ten.json eleven.json
says out "1 undecided"
for file in base1 base2 base3; do
    sed 's/"real_time": [0-9]*,/"error_occurred": true, "error_message": "boom",/2g' $file.json >flaky-$file.json
done
expect 1 "four of five repetitions fail" compare base1.json base2.json base3.json --new flaky-base*.json
says out "x: new: 4 of 5 failed: boom (in each of 3 files)"
says out "Not passed: 1 lost more repetitions in new than in base"
expect 0 "four of five fail, accepted" compare base1.json base2.json base3.json --new flaky-base*.json --allow-missing
expect 0 "fewer fail than before" compare flaky-base*.json --new base1.json base2.json base3.json
sed 's/"device_name": "A"/"device_name": "A", "mhz_per_cpu": 3000, "host_name": "a"/' base1.json >clock1.json
sed 's/"device_name": "A"/"device_name": "A", "mhz_per_cpu": 2400, "host_name": "b"/' base1.json >clock2.json
refuses "another clock" "clock1.json has 3000 MHz, clock2.json has 2400 MHz; use --force" compare clock1.json clock2.json
expect 0 "another clock, forced" compare clock1.json clock2.json --force
says out "clock1.json has 3000 MHz, clock2.json has 2400 MHz"

# --- many rows: those that decide are named last, and Markdown stays below what a comment takes ---
if command -v python3 >/dev/null; then
    python3 -c 'import json
for side, factor in (("old", 1), ("new", 1.2)):
    for run in range(3):
        rows = [{"name": f"row/{i}", "run_type": "iteration", "real_time": (100 + i % 7) * (1 + run / 1000) *
                 (factor if i in (700, 900) else 1) * (1.1 if i == 900 and side == "new" else 1), "time_unit": "us"}
                for i in range(2000)]
        json.dump({"benchmarks": rows}, open(f"many-{side}-{run}.json", "w"))'
    expect 1 "many rows" compare many-old-*.json --new many-new-*.json
    [ "$(tail -n 1 out)" = "  Slower: row/900 (+32.0%), row/700 (+20.0%)" ] || fail "the last line does not name the rows"
    expect 1 "many rows, only those that changed" compare many-old-*.json --new many-new-*.json --only-changed
    [ "$(grep -c '^  row/' out)" -eq 2 ] || fail "there are not two rows"
    expect 1 "many rows in Markdown" compare many-old-*.json --new many-new-*.json --format=markdown
    [ "$(wc -c <out)" -le 65536 ] || fail "a comment does not take it"
    says out "rows are left out here"
    says out "| row/700 |"
    says out "| row/900 |"
    expect 1 "many rows in Markdown, all" compare many-old-*.json --new many-new-*.json --format=markdown --all-rows
    [ "$(grep -c '^| row/' out)" -eq 2000 ] || fail "there are not 2000 rows"
fi

# --- what a gate would see: these runs vary by 0.2% ---
expect 0 "a plan" compare --plan base1.json base2.json base3.json
says out "varies by 0.2%"
says out "files per side"
[ "$(grep -Ec '^ +(2|3|4|6|8|12|20) +\+' out)" -eq 7 ] || fail "there are not seven lines"
expect 0 "a plan in Markdown" compare --plan base1.json base2.json base3.json --format=markdown
says out "| 3 | "
refuses "a plan of one file" "two files or more" compare --plan base1.json
refuses "a plan of two versions" "leave out --new" compare --plan base1.json --new slow1.json
refuses "a plan of two machines" 'base1.json has "A", other.json has "B"; use --force' compare --plan base1.json other.json
expect 0 "a plan of two machines, forced" compare --plan base1.json other.json --force
refuses "a plan of nothing" "no row of that name and metric" compare --plan base1.json base2.json --metric=nope

# --- other work, and rows that are not there ---
# work FILE TIME PIXELS: a file of `run` whose scenario s has the rows s/before and s/after.
work()
{
    run "$1" "$2"
    sed -i -e 's/"name": "x"/"name": "s\/before"/g' \
        -e 's/]}$/], "chokepoint": {"scenarios": [{"name": "s", "settings": {"before": "jpeg_pixels='"$3"' seed=1"}}]}}/' "$1"
}
work small.json 10000 32
work large.json 30000 96
work small2.json 10000 32
expect 3 "other work" compare small.json large.json --noise=1%
says out "1 row: 1 other work"
says out "s/before: other work: jpeg_pixels 32 and 96"
says out "Cannot tell: no row could be compared, 1 other work"
expect 3 "other work, forced" compare small.json large.json --noise=1% --force
expect 3 "other work in Markdown" compare small.json large.json --noise=1% --format=markdown
says out "| other work |"
expect 3 "other work in JSON" compare small.json large.json --noise=1% --format=json
says out '"other work":	1'
expect 0 "the same work" compare small.json small2.json --noise=1%
says out "1 same"

expect 3 "no row in common" compare base1.json small.json --allow-missing
says out "1 missing, 1 new"
says out "Cannot tell: no row could be compared"
sed 's/"name": "x"/"name": "y"/g' base1.json >renamed.json
sed -i 's/\("benchmarks": \[\)\(.*\)\]}/\1\2,/' renamed.json
sed 's/.*"benchmarks": \[//' base1.json >>renamed.json
expect 1 "a row is missing in new" compare renamed.json base1.json --noise=1%
says out "2 rows: 1 same, 1 missing"
says out "Not passed: 1 missing"
expect 0 "a row is missing, accepted" compare renamed.json base1.json --noise=1% --allow-missing
expect 0 "a row is new" compare base1.json renamed.json --noise=1% --strict
says out "1 new"

mkdir folder
cp base1.json folder/result.json
expect 0 "a folder of results" compare folder base2.json
expect 3 "Google Benchmark's own, without a row dropped" compare "$data/google_benchmark_171_a.json" \
    "$data/google_benchmark_171_aggregates.json"
says out "BM_fails"
says out "not measured"
says out 'base and new: 5 of 5 failed: the "device" is gone'

refuses "another device" 'base1.json has "A", other.json has "B"; use --force' compare base1.json other.json
expect 0 "another device, forced" compare base1.json other.json --force
says out "another device: base1.json has"
refuses "one file" "chokepoint compare BASE NEW" compare base1.json
refuses "three files" "put --new before the first" compare base1.json base2.json base3.json
refuses "a file twice on one side" "base1.json is given twice" compare base1.json base1.json --new slow1.json
refuses "no such file" "nowhere.json cannot be opened" compare base1.json nowhere.json
head -c 100 base1.json >cut.json
refuses "a file that was cut" "cut.json is not JSON" compare base1.json cut.json
echo '{"traceEvents": []}' >trace.json
refuses "another kind of JSON" "is a trace" compare base1.json trace.json
refuses "a filter that finds nothing" "no row's name matches the filter" compare base1.json base2.json --filter=gemm
refuses "an empty filter" "--filter is empty" compare base1.json base2.json --filter=
refuses "an invalid filter" "not a regular expression" compare base1.json base2.json '--filter=('
refuses "a counter that no row has" "there are real_time, cpu_time, bytes_per_second" compare base1.json \
    base2.json --metric=nope
refuses "an unknown flag" "did you mean --threshold" compare base1.json base2.json --treshold=3
refuses "an invalid threshold" "--threshold=much" compare base1.json base2.json --threshold=much

finish
