#!/bin/sh
# test_replicated_state.sh PROGRAM: two ranks each keep half of the optimizer's state, with the same losses, and diagnose
# finds the whole one only before.
set -u
program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
needs_mpi "$program"
expect any "a run" "$program" run replicated_state --device=cpu --quick --repetitions=1 --out="$folder/result"
says_not out "failed"
says_not out "skipped"
python3 - "$folder/result" <<'END' || fail "the result is wrong"
import gzip, json, sys
with open(sys.argv[1] + "/result.json", encoding="utf-8") as file:
    result = json.load(file)["chokepoint"]["scenarios"][0]
before, after = (result["samples"][variant][0] for variant in ("before", "after"))
assert before["losses"] == after["losses"]
whole, half = (sample["metrics"]["optimizer_state_bytes"] for sample in (before, after))
assert abs(whole / 2 - half) < 0.01 * whole, (whole, half)
saved = before["metrics"]["memory_peak_bytes"] - after["metrics"]["memory_peak_bytes"]
assert 0.9 * half < saved < 1.05 * half, (saved, half)  # Parts are padded, in both kinds of buckets.
for variant in "before", "after":
    found = [finding["id"] for finding in result["findings"][variant]]
    assert ("replicated_state" in found) == (variant == "before"), (variant, found)
END

# Each rank's trace has the same finding.
for rank in 0 1; do
    expect any "rank $rank" "$program" diagnose "$folder/result/traces/replicated_state.before.rank$rank.json.gz" --format=json
    says out '"replicated_state"'
done
finish
