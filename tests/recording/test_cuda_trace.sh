#!/bin/sh
# Traces of the CUDA device over the stand-ins for CUDA and CUPTI, from the program to the file: what a
# strict reader finds in them, and what becomes of a trace that CUPTI refuses or loses records of.
#
# usage: test_cuda_trace.sh CHOKEPOINT STAND-IN
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
chokepoint=$1
python=$(command -v python3) || { echo "skipped: there is no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CHOKEPOINT_PLUGINS="$2" LD_LIBRARY_PATH="$2/lib"
failures=0

fail()
{
    echo "FAILED: $1"
    failures=$((failures + 1))
}

# The length of a step need not be measured first: nothing here depends on it.
trace()
{
    "$chokepoint" exec launch_overhead --device=cuda --quick --variant="$1" --step-time=0.05 \
        --trace="$folder/$1.json.gz" >"$folder/out" 2>"$folder/err"
}

for variant in before after; do
    trace $variant || fail "tracing $variant: $(cat "$folder/err")"
done
"$python" "$here/check_trace.py" "$folder"/*.json.gz || fail "check_trace.py"
"$python" "$here/check_causes.py" "$folder"/*.json.gz || fail "check_causes.py"

rm -f "$folder"/*.gz
export CHOKEPOINT_FAKE_CUPTI=subscribe=39
trace before
[ $? -eq 3 ] || fail "the exit code where another profiler is attached"
grep -q "another profiler is attached to this process" "$folder/err" || fail "$(cat "$folder/err")"
[ ! -e "$folder/before.json.gz" ] || fail "a trace that could not be recorded was written"

export CHOKEPOINT_FAKE_CUPTI=dropped=5
trace after || fail "tracing with losses: $(cat "$folder/err")"
"$python" -c 'import gzip, json, sys
assert json.load(gzip.open(sys.argv[1]))["droppedRecords"] == 5' "$folder/after.json.gz" ||
    fail "the trace does not say that records were dropped"

[ "$failures" -eq 0 ]
