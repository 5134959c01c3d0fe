#!/bin/sh
# `history` as a user and a gate meet it: exit codes, what is printed where, and what is refused.
#
# usage: test_history_cli.sh PROGRAM
# command_line.sh sets what it documents.
# shellcheck disable=SC1091,SC2154
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

history()
{
    "$program" history "$@"
}

# result DAY TIME: result.json of one row, measured on that day of March.
result()
{
    printf '{"context": {"date": "2026-03-%02dT10:00:00+00:00", "num_cpus": 2, "host_name": "here"}, "benchmarks": [
        {"name": "x", "run_type": "iteration", "real_time": %s, "cpu_time": 1, "time_unit": "us"}]}' "$1" "$2" >result.json
}

cd "$folder" || exit 1
day=1
for time in 1000 1010 995 1003 990 1006 1012 998 1001 1007 996 1004; do
    result $day $time
    expect 0 "a run is added" history add h.jsonl result.json
    says out "1 row added"
    day=$((day + 1))
done
expect 0 "the same run again" history add h.jsonl result.json
says out "0 rows added, 1 there already"
[ "$(wc -l <h.jsonl)" -eq 12 ] || fail "h.jsonl has not 12 lines"
expect 0 "nothing changed" history check h.jsonl
says out "1 row: 1 same"
says out "at most 1%"
for time in 1100 1110 1095 1103 1090; do
    result $day $time
    expect 0 "a slower run is added" history add h.jsonl result.json --commit=slow$day
    day=$((day + 1))
done
expect 1 "slower" history check h.jsonl
says out "slow13"
says out "2026-03-13"
says out "Not passed: 1 slower"
expect 1 "slower, in JSON" history check h.jsonl --format=json
says out '"verdict":	"slower"'
expect 0 "a threshold above the change" history check h.jsonl --threshold=20%
expect 3 "an accepted change" history check h.jsonl --since=slow13
says out "1 too few runs"
expect 0 "shown" env LC_ALL=C "$program" history show h.jsonl
says out "runs to see 3%"
says out "#"
expect 0 "shown in blocks" env LC_ALL=C.UTF-8 "$program" history show h.jsonl
says out "█"
expect 0 "shown as Markdown" history show h.jsonl --format=markdown
says out '**slower**'

for day in $(seq 1 30); do
    printf '{"date":"2026-04-%02dT10:00:00+00:00","machine":"m","row":"x","metric":"real_time","statistic":"best",' "$day"
    printf '"unit":"us","value":%d,"repetitions":9}\n' $((1000 + day * 7919 % 13 + 2 * day))
done >drift.jsonl
expect 1 "a drift without a step" history check drift.jsonl
says out "x drifts"
says_not out "first run"

expect 1 "a page" history check h.jsonl --out=page.html
says out "page in page.html"
says page.html 'id="document"'
expect 0 "a page of what is shown" history show h.jsonl -o page.html
expect 2 "a page and a format" history show h.jsonl -o page.html --format=json
says err "has no --format"
expect 2 "a page of what is added" history add h.jsonl result.json -o page.html
says err "of show or check"
expect 2 "a page in no folder" history show h.jsonl -o absent/page.html
says err "absent/page.html"

cp h.jsonl damaged.jsonl
echo 'rubbish' >>damaged.jsonl
expect 2 "a damaged line" history check damaged.jsonl
says out "1 row: 1 slower"
says err "1 damaged line: line 18 (not JSON)"
expect 2 "no file" history check absent.jsonl
says err "absent.jsonl cannot be opened"
expect 2 "a folder" history show .
says err "Is a directory"
expect 2 "a folder to add to" history add . result.json
says err "a folder"
expect 2 "a full disk" history add /dev/full result.json
says err "not a regular file"
expect 2 "no history" history check
expect 2 "no such action" history chek h.jsonl
says err "did you mean check?"
expect 2 "no results" history add h.jsonl
says err "RESULT"
expect 2 "another metric" history add h.jsonl result.json --metric=launches
says err "no row has a value of launches"
expect 2 "no such row" history check h.jsonl --filter=y
expect 2 "no such machine" history check h.jsonl --machine=there
expect 1 "the machine" history check h.jsonl --machine=CPUs
: >empty.jsonl
expect 2 "an empty history" history check empty.jsonl
says err "add some"
if [ "$(id -u)" != 0 ]; then
    : >closed.jsonl
    chmod 400 closed.jsonl
    expect 2 "no permission" history add closed.jsonl result.json
    says err "cannot write closed.jsonl"
fi
# A limit on file sizes stands for a full disk: the first part of the line fits, and may not stay.
size=$(wc -c <h.jsonl)
result 28 1000
sed "s/\"x\"/\"$(printf '%0600d' 0)\"/" result.json >long.json
expect 2 "no room" sh -c "ulimit -f $((size / 512 + 1)); exec '$program' history add h.jsonl long.json"
says err "cannot write h.jsonl"
[ "$(wc -c <h.jsonl)" -eq "$size" ] || fail "h.jsonl has another size"
expect 0 "room" history add h.jsonl long.json
says out "1 row added"

# --- pools of runners: each run has a host name of its own ---
# pooled DAY TIME MHZ: result.json of a runner.
pooled()
{
    printf '{"context": {"date": "2026-03-%02dT10:00:00+00:00", "num_cpus": 8, "mhz_per_cpu": %s, "host_name": "runner-%s",
        "caches": [{"type": "Unified", "level": 3, "size": 33554432}]}, "benchmarks": [
        {"name": "x", "real_time": %s, "ops": %s, "time_unit": "us"}]}' "$1" "$3" "$1" "$2" "$((100000000 / $2))" >result.json
}
day=1
for time in 1000 1010 995 1003 990 1006 1012 998 1001 1007 996 1004 1300 1310 1295 1303 1290; do
    pooled $day $time 3500
    expect 0 "a runner's run is added" history add pool.jsonl result.json
    expect 0 "a runner's counter is added" history add ops.jsonl result.json --metric=ops
    pooled $day $time $((2000 + 100 * day))
    expect 0 "a run of any machine is added" history add mixed.jsonl result.json
    expect 0 "a run of any machine is added to one" history add named.jsonl result.json --machine=runners
    day=$((day + 1))
done
expect 1 "a pool of equal runners" history check pool.jsonl
says out "8 CPUs, L3 32 MiB, 3.5 GHz"
says out "Not passed: 1 slower"
expect 3 "a pool of unlike runners" history check mixed.jsonl
says out "17 rows: 17 too few runs"
says out "the one with the most runs lacks 9"
says out "add --machine=KEY"
says out "Cannot tell: no row has enough runs to be judged: 9 more are needed"
expect 3 "a pool of unlike runners in JSON" history check mixed.jsonl --format=json
says out '"passed":	false'
expect 1 "a pool with a name" history check named.jsonl
says out "1 row: 1 slower"
truncate -s 3G huge.jsonl
refuses "a history that is too large" "huge.jsonl is larger than 256 MB" history show huge.jsonl
refuses "a history without an end" "/dev/zero is larger than 256 MB" history show /dev/zero
refuses "a pool without a name" "--machine is empty" history add named.jsonl result.json --machine=
expect 1 "a counter that moved" history check ops.jsonl
says out "1 row: 1 moved"
says out "--better does not say which way is better"
expect 1 "a counter that is better larger" history check ops.jsonl --better=larger
says out "1 row: 1 slower"
expect 0 "a counter that is better smaller" history check ops.jsonl --better=smaller
says out "1 row: 1 faster"

finish
