#!/bin/sh
# `diagnose` as a user meets it: exit codes, what is printed where, formats, and what is refused.
#
# usage: test_diagnose_cli.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

diagnose()
{
    "$program" diagnose "$@"
}

# event CATEGORY NAME PID TID TS DUR [ARGS]
event()
{
    printf '{"ph": "X", "cat": "%s", "name": "%s", "pid": %d, "tid": %d, "ts": %d, "dur": %d, "args": {%s}}' \
        "$1" "$2" "$3" "$4" "$5" "$6" "${7-}"
}

# trace FILE HEAD STEPS: steps of 100 us, each with a call of 5 us and its kernel of 60 us.
trace()
{
    {
        printf '{%s"traceEvents": [\n' "$2"
        step=0
        while [ "$step" -lt "$3" ]; do
            [ "$step" -eq 0 ] || printf ',\n'
            at=$((100 * step))
            event user_annotation "ProfilerStep#$step" 9 9 "$at" 100
            printf ',\n'
            event cuda_runtime cudaLaunchKernel 9 9 $((at + 10)) 5 "\"correlation\": $((step + 1))"
            printf ',\n'
            event kernel gemm 0 7 $((at + 20)) 60 "\"correlation\": $((step + 1))"
            step=$((step + 1))
        done
        printf '\n]}\n'
    } >"$folder/$1"
}

trace whole.json '' 200
gzip -k "$folder/whole.json"
head -c 20000 "$folder/whole.json" >"$folder/cut.json"
head -c 900 "$folder/whole.json.gz" >"$folder/cut.json.gz"
printf 'nonsense\n' >"$folder/nonsense.json"
: >"$folder/empty.json"
printf '{"context": {}, "benchmarks": []}\n' >"$folder/result.json"
trace rank0.json '"distributedInfo": {"rank": 0, "world_size": 2}, ' 20
trace rank1.json '"distributedInfo": {"rank": 1, "world_size": 2}, ' 20

# --- what is read ---
expect 0 "help" diagnose --help
says out "Examples:"
for file in whole.json whole.json.gz; do
    expect 0 "$file" diagnose "$folder/$file"
    says out "Step: 100 us, mean of 200"
    says out "Device: busy 60"
    says out "Findings"
    is_empty err
done
for file in cut.json cut.json.gz; do
    expect 0 "$file, a truncated trace" diagnose "$folder/$file"
    says out "The file is incomplete: "
    says out "gemm"
    expect 0 "$file as JSON" diagnose "$folder/$file" --format=json
    says out '"partial":	true'
done
from_a_pipe()
{
    cat "$1" | diagnose /dev/stdin
}
expect 0 "a pipe" from_a_pipe "$folder/whole.json.gz"
says out "mean of 200"
expect 0 "the ranks of a run" diagnose "$folder/rank1.json" "$folder/rank0.json"
says out "2 of 2 ranks"
says_not out "Kernels"
expect 0 "one of them" diagnose "$folder/rank1.json" "$folder/rank0.json" --rank=1
says out "rank1.json"
says out "Kernels"
says_not out "rank0.json"
expect 0 "one of them as JSON" diagnose "$folder/rank1.json" "$folder/rank0.json" --rank=1 --format=json
says out '"missing_ranks":'
refuses "a rank that is not there" "--rank=2: none of the traces is of that rank" \
    diagnose "$folder/rank1.json" "$folder/rank0.json" --rank=2
expect 0 "a trace twice" diagnose "$folder/whole.json" "$folder/whole.json"
[ "$(grep -c '^Findings' "$folder/out")" -eq 2 ] || fail "not two pages"

expect 0 "standard input" sh -c '"$1" diagnose - <"$2"' - "$program" "$folder/whole.json.gz"
says out "mean of 200"

# --- folders ---
mkdir "$folder/ranks" "$folder/made" "$folder/made/traces" "$folder/none"
for rank in 0 2 10; do
    trace "ranks/rank$rank.json" "\"distributedInfo\": {\"rank\": $rank, \"world_size\": 12}, " 5
done
touch "$folder/ranks/README"
cp "$folder/whole.json.gz" "$folder/made/traces/a.before.json.gz"
cp "$folder/whole.json" "$folder/made/traces/a.after.json"
printf '{"context": {}, "benchmarks": []}\n' >"$folder/made/result.json"
expect 0 "a folder" diagnose "$folder/ranks/"
says out "3 of 12 ranks"
expect 0 "a folder in order" diagnose "$folder/ranks" --format=json
[ "$(sed -n 's/^.*"file":.*\/\(.*\)".*$/\1/p' "$folder/out" | tail -n 3 | tr '\n' ' ')" = \
    "rank0.json rank2.json rank10.json " ] || fail "not in order"
for result in "$folder/made" "$folder/made/result.json"; do
    expect 0 "the folder of a run: $result" diagnose "$result"
    [ "$(grep -c '^Findings' "$folder/out")" -eq 2 ] || fail "not two pages"
done
refuses "a folder without traces" "$folder/none has no traces" diagnose "$folder/none"
cp "$folder/made/result.json" "$folder/none"
refuses "a result without traces" "none/result.json has no traces beside it" diagnose "$folder/none"

# A run into a folder that has traces puts its own into traces-2, and the run after it into traces again.
mkdir "$folder/again" "$folder/again/traces-2"
cp "$folder/whole.json.gz" "$folder/again/traces-2/a.before.json.gz"
printf '{"chokepoint": {"scenarios": [{"traces": {"before": "traces-2/a.before.json.gz"}}]}}\n' \
    >"$folder/again/result.json"
expect 0 "a trace of the second run" diagnose "$folder/again/traces/a.before.json.gz"
says out "again/traces-2/a.before.json.gz"
says out "mean of 200"
refuses "a trace that no run wrote" "again/traces/b.before.json.gz: No such file" \
    diagnose "$folder/again/traces/b.before.json.gz"
refuses "a trace of another folder" "again/other/a.before.json.gz: No such file" \
    diagnose "$folder/again/other/a.before.json.gz"

# --- one of several is bad ---
expect 2 "one of three" diagnose "$folder/whole.json" "$folder/nonsense.json" "$folder/whole.json.gz"
[ "$(grep -c '^Findings' "$folder/out")" -eq 2 ] || fail "not two pages"
says err "chokepoint: diagnose: reading $folder/nonsense.json: "
says err "chokepoint: diagnose: 1 of 3 files could not be read"
cp "$folder/cut.json" "$folder/empty.json" "$folder/made/traces" 2>/dev/null
expect 2 "one of a folder" diagnose "$folder/made" --format=json
[ "$(grep -c '"file":' "$folder/out")" -eq 3 ] || fail "not three traces"
expect 2 "all of several" diagnose "$folder/empty.json" "$folder/nonsense.json"
is_empty out
says err "2 of 2 files could not be read"
expect 2 "a folder without traces among others" diagnose "$folder/none" "$folder/whole.json"
says out "mean of 200"
says err "chokepoint: diagnose: $folder/none/result.json has no traces"
says err "chokepoint: diagnose: 1 of 2 files and folders could not be read"
expect 2 "only folders without traces" diagnose "$folder/none" "$folder/none"
is_empty out
says err "2 of 2 files and folders could not be read"

# --- formats ---
expect 0 "JSON" diagnose "$folder/whole.json" --format=json
says out '"file":'
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
def refuse(word): raise ValueError(word)
trace, = json.load(open(sys.argv[1]), parse_constant=refuse)["traces"]
steps = trace["steps"]
assert [steps[name] for name in ("count", "mean_ns", "min_ns", "max_ns")] == [200] + 3 * [100000]
assert steps["duration_ns"] == 200 * [100000] and sum(steps["parts"].values()) == 100000
window = trace["window"]
assert sum(window["causes"].values()) == window["idle_ns"]
assert abs(window["busy_share"] - window["busy_ns"] / (window["busy_ns"] + window["idle_ns"])) < 1e-12
assert "timeline" not in trace
assert trace["busy_ns"] == 200 * 60000 and trace["span_ns"] == 199 * 100000 + 60000
assert sum(trace["idle"].values()) == trace["idle_ns"] == trace["span_ns"] - trace["busy_ns"]
assert trace["partial"] is False' "$folder/out" >"$folder/err" 2>&1 || fail "the JSON is not right"
fi
expect 0 "a timeline" diagnose "$folder/whole.json" --format=json --timeline=3
says out '"timeline":'
expect 0 "a timeline for people" diagnose "$folder/whole.json" --timeline
says out "Timeline: step 0, the most typical of 200"
says out "  stream 7     |............+#####"
expect 0 "one of three steps" diagnose "$folder/whole.json" --timeline=3
says out "Timeline: steps 0 to 2 of 200"
expect 0 "thresholds" diagnose "$folder/whole.json" --thresholds
says out "Thresholds"
expect 0 "a checklist" diagnose "$folder/whole.json" --checklist
says out "Checklist"
[ "$(grep -c '^  [1-7]\. ' "$folder/out")" -eq 7 ] || fail "not seven answers"
says_not out "Kernels"
expect 0 "Markdown" diagnose "$folder/whole.json" --format=markdown
says out "### Findings"
expect 0 "no colour where none is asked for" diagnose "$folder/whole.json"
! grep -q "$(printf '\033')" "$folder/out" || fail "colours in a file"
expect 0 "colour" diagnose "$folder/whole.json" --color=always
grep -q "$(printf '\033')" "$folder/out" || fail "no colours"

# --- what is refused ---
refuses "no file named" "a trace is missing" diagnose
refuses "no such file" "nowhere.json: No such file" diagnose "$folder/nowhere.json"
refuses "no JSON" "not a trace" diagnose "$folder/nonsense.json"
refuses "an empty file" "not a trace" diagnose "$folder/empty.json"
cp "$folder/result.json" "$folder/base.json"
refuses "a result file" 'a result of benchmarks: compare reads it' diagnose "$folder/base.json"
# A file that is no trace is told by its first bytes: test_foreign_files has all kinds.
printf 'SQLite format 3\0' >"$folder/nsys.sqlite"
refuses "a database that is cut" "is no database of SQLite" diagnose "$folder/nsys.sqlite"
printf '\200\004\225\0\0\0\0\0\0\0\0\214\010segments' >"$folder/memory.pickle"
refuses "a snapshot that is cut" "it has no end: the file is cut" diagnose "$folder/memory.pickle"
printf '<module> (train.py:12);step (train.py:5) 31\n' >"$folder/stacks.txt"
refuses "stacks" "this is a list of stacks and how often they were seen" diagnose "$folder/stacks.txt"
mkdir "$folder/archived"
cp "$folder/rank0.json" "$folder/archived/trace.json"
(cd "$folder" && tar cf - archived | gzip >"$folder/traces.tar.gz")
refuses "an archive" "this is a tar archive: unpack it" diagnose "$folder/traces.tar.gz"
printf '{"schema": "1.0", "nodes": []}' >"$folder/execution.json"
refuses "an execution trace" "this is an execution trace of PyTorch" diagnose "$folder/execution.json"

# --- folders of profilers ---
mkdir -p "$folder/board/plugins/profile/run1" "$folder/ascend/a_ascend_pt/ASCEND_PROFILER_OUTPUT" "$folder/logs/run1" \
    "$folder/jax/plugins/profile/run1" "$folder/deep/a/b"
for place in board/plugins/profile/run1/worker0 logs/run1/worker0.pt.trace ascend/a_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view \
    deep/a/b/worker0; do
    cp "$folder/rank0.json" "$folder/$place.json"
done
printf '{}' >"$folder/ascend/a_ascend_pt/profiler_info.json"
printf '{}' >"$folder/ascend/a_ascend_pt/ASCEND_PROFILER_OUTPUT/communication.json"
printf '\n\003\0' >"$folder/jax/plugins/profile/run1/host.xplane.pb"
for place in board logs ascend ascend/a_ascend_pt ascend/a_ascend_pt/ASCEND_PROFILER_OUTPUT; do
    expect 0 "the folder $place" diagnose "$folder/$place"
    [ "$(grep -c '^Findings' "$folder/out")" -eq 1 ] || fail "$place: not one trace"
done
refuses "a folder of JAX" "jax has no traces, but an XPlane of JAX or TensorFlow: XProf" diagnose "$folder/jax"
refuses "a trace two levels down" "no file in it, or in a folder in it, ends in" diagnose "$folder/deep"
refuses "a long timeline" "--timeline=101" diagnose "$folder/whole.json" --timeline=101
refuses "a timeline without steps" "--timeline=0" diagnose "$folder/whole.json" --timeline=0
refuses "an unknown format" "console, json or markdown" diagnose "$folder/whole.json" --format=html
refuses "an unknown flag" "did you mean --format?" diagnose "$folder/whole.json" --frmat=json
if [ "$(id -u)" -ne 0 ]; then
    chmod 000 "$folder/rank0.json"
    refuses "a file that may not be read" "Permission denied" diagnose "$folder/rank0.json"
fi
if [ -e /dev/full ]; then
    to_a_full_disk()
    {
        diagnose "$1" >/dev/full
    }
    expect 2 "a full disk" to_a_full_disk "$folder/whole.json"
    says err "cannot write to standard output"
fi

# --- as a check ---
# waiting FILE: steps of 100 us in which the host waits 60 us for the device and then works for 35 us.
waiting()
{
    {
        printf '{"deviceProperties": [{"id": 0, "name": "NVIDIA Made"}], "traceEvents": [\n'
        step=0
        while [ "$step" -lt 50 ]; do
            [ "$step" -eq 0 ] || printf ',\n'
            at=$((100 * step))
            event user_annotation "ProfilerStep#$step" 9 9 "$at" 100
            printf ',\n'
            event cuda_runtime cudaLaunchKernel 9 9 $((at + 1)) 2 "\"correlation\": $((step + 1))"
            printf ',\n'
            event kernel gemm 0 7 $((at + 4)) 60 "\"correlation\": $((step + 1)), \"device\": 0, \"stream\": 7"
            printf ',\n'
            event cuda_runtime cudaDeviceSynchronize 9 9 $((at + 3)) 61
            step=$((step + 1))
        done
        printf '\n]}\n'
    } >"$folder/$1"
}
waiting waiting.json
expect 0 "a finding, and no check" diagnose "$folder/waiting.json"
says out "host_sync"
expect 1 "a check that finds something" diagnose "$folder/waiting.json" --fail-on=minor
says out "Not passed: host_sync ("
expect 1 "a check beside JSON" diagnose "$folder/waiting.json" --fail-on=minor --format=json
says err "Not passed: host_sync ("
says_not out "Not passed"
expect 0 "a check of what is not there" diagnose "$folder/waiting.json" --fail-on=critical
says_not out "Not passed"
expect 3 "a check of a trace that was cut" diagnose "$folder/cut.json" --fail-on=critical
says out "Cannot tell: "
says out "cut.json is incomplete"
printf '{"traceEvents": []}' >"$folder/nothing.json"
expect 3 "a check of a trace without events" diagnose "$folder/nothing.json" --fail-on=critical
says out "Cannot tell"
expect 1 "a finding counts for more" diagnose "$folder/waiting.json" "$folder/nothing.json" --fail-on=minor
says out "Cannot tell"
says out "Not passed: host_sync ("
refuses "a check of nothing" "--fail-on=information" diagnose "$folder/waiting.json" --fail-on=information

# --- what if ---
expect 0 "without a cause" diagnose "$folder/waiting.json" --what-if=host_sync,data_loading
says out "What if"
says out "as recorded"
says out "without host_sync"
says out "and data_loading"
expect 0 "in all combinations" diagnose "$folder/waiting.json" --what-if
says out "without host_sync"
says_not out "and data_loading"
expect 0 "with nothing to leave out" diagnose "$folder/whole.json" --what-if
says out "No finding has a change that a replay could make."
refuses "a cause that is not there" "there is no cause hst_sync; did you mean host_sync?" \
    diagnose "$folder/waiting.json" --what-if=hst_sync
refuses "no cause" "there is no cause \"\"; replays know " diagnose "$folder/waiting.json" --what-if=
refuses "a cause that no replay knows" "--what-if=small_kernels: no replay knows that change, but those of " \
    diagnose "$folder/waiting.json" --what-if=host_sync,small_kernels
refuses "a cause twice" "host_sync is named twice" diagnose "$folder/waiting.json" --what-if=host_sync,host_sync
refuses "a run" "name it with --rank=N" diagnose "$folder/rank0.json" "$folder/rank1.json" --what-if
expect 0 "a rank" diagnose "$folder/rank0.json" "$folder/rank1.json" --rank=0 --what-if
expect 0 "a run as JSON" diagnose "$folder/rank0.json" "$folder/rank1.json" --what-if --format=json
says out '"what_if":'

finish
