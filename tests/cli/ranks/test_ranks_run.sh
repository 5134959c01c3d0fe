#!/bin/sh
# test_ranks_run.sh PROGRAM: a scenario of many ranks, as `run` starts and traces it, and what becomes of it when a
# rank dies or hangs.
set -u
program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
needs_mpi "$program"
run="$program run exposed_allreduce --device=cpu --quick --repetitions=1"
# It still measures when the rank ends.
long_run="$program run exposed_allreduce --device=cpu --quick --repetitions=200"

# The process ids of ranks below ours.
ranks()
{
    pgrep -f "chokepoint exec exposed_allreduce .*--seed $seed" | while read -r id; do
        case $(readlink "/proc/$id/exe") in */chokepoint) echo "$id" ;; esac
    done
}

# await_ranks: waits for the first rank that measures.
await_ranks()
{
    for _ in $(seq 600); do
        [ "$(ranks | wc -l)" -ge 2 ] && break
        sleep 0.1
    done
    sleep 1
}

is_gone()
{
    for _ in $(seq 80); do
        [ -z "$(ranks)" ] && break
        sleep 0.1
    done
    [ -z "$(ranks)" ] || fail "ranks still run: $(ranks)"
}

# shellcheck disable=SC2086
{
    seed=$$
    expect any "a run" $run --seed=$seed --out="$folder/result"
    says out "allreduce after_backward -> overlap"
    says_not out "failed"
    says_not out "skipped"
    for trace in before.rank0 before.rank1 after.rank0 after.rank1; do
        [ -s "$folder/result/traces/exposed_allreduce.$trace.json.gz" ] || fail "no trace $trace"
    done
    python3 - "$folder/result" <<'END' || fail "the result is wrong"
import gzip, json, sys
with open(sys.argv[1] + "/result.json", encoding="utf-8") as file:
    result = json.load(file)["chokepoint"]["scenarios"][0]
for variant in "before", "after":
    metrics = result["samples"][variant][0]["metrics"]
    assert metrics["collectives_per_step"] == 4, metrics
    assert metrics["collective_bytes_per_step"] == 3307648, metrics
late = [result["samples"][variant][0]["metrics"]["late_gradient_bytes_per_step"] for variant in ("before", "after")]
assert late[0] == 3307648 and 0 < late[1] <= 1 << 20, late
assert result["samples"]["before"][0]["losses"] == result["samples"]["after"][0]["losses"]
assert "exposed_communication" in json.dumps(result["findings"]["before"]), result["findings"]
for rank in 0, 1:
    with gzip.open(f"{sys.argv[1]}/traces/exposed_allreduce.before.rank{rank}.json.gz", "rt") as file:
        trace = json.load(file)
    assert trace["distributedInfo"] == {"backend": "mpi", "rank": rank, "world_size": 2}
    sums = [event["args"] for event in trace["traceEvents"] if event.get("args", {}).get("Collective name")]
    steps = sum(event.get("name", "").startswith("ProfilerStep") and event["cat"] == "user_annotation"
                for event in trace["traceEvents"])
    assert len(sums) == 4 * steps and steps > 0, (len(sums), steps)
    assert sum(one["In msg nelems"] for one in sums) * 4 == steps * 3307648
    assert {(one["Group size"], one["dtype"], one["Rank"]) for one in sums} == {(2, "Float", rank)}
END

    expect any "the traces of all ranks" "$program" diagnose "$folder"/result/traces/exposed_allreduce.before.rank*.json.gz
    says out "2 of 2 ranks"

    expect any "no plugin" env PATH=/nowhere $run --out="$folder/none"
    says out "skipped"
    says out "install openmpi-bin"

    # The last words of a rank are the reason.
    case_name="a rank that fails"
    CHOKEPOINT_FAIL=copy:30 $run --out="$folder/fails" >"$folder/out" 2>"$folder/err"
    says out "failed"
    says out 'call 30 of kind "copy" failed'

    case_name="a rank that is killed"
    seed=$(($$ + 1))
    $long_run --seed=$seed --out="$folder/killed" >"$folder/out" 2>"$folder/err" &
    await_ranks
    kill -KILL "$(ranks | tail -n 1)"
    wait $!
    says out "failed"
    says out "signal 9"
    is_gone

    case_name="a run that is interrupted while a rank hangs"
    seed=$(($$ + 2))
    $long_run --seed=$seed --out="$folder/hangs" >"$folder/out" 2>"$folder/err" &
    running=$!
    await_ranks
    kill -STOP "$(ranks | tail -n 1)"
    kill -INT "$running"
    wait "$running"
    is_gone

    case_name="a run that is killed"
    seed=$(($$ + 3))
    $long_run --seed=$seed --out="$folder/gone" >"$folder/out" 2>"$folder/err" &
    running=$!
    await_ranks
    kill -KILL "$running"
    wait "$running" 2>/dev/null
    is_gone

    case_name="what is left"
    left=$(segments_left "$folder/result")
    [ -z "$left" ] || fail "left: $left"
}
finish
