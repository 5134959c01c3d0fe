#!/bin/sh
# `doctor` as a user and a script meet it: exit codes, formats, and what is refused. What it finds depends
# on the machine, so the exit code is held against the rows.
#
# usage: test_doctor_cli.sh PROGRAM
set -u

program=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
export CHOKEPOINT_CACHE="$folder/cache"
unset CHOKEPOINT_VERBOSE CHOKEPOINT_FAIL
failures=0

# expect CODE NAME ARGUMENT...; "any" is 0 or 1.
expect()
{
    expected=$1
    case_name=$2
    shift 2
    "$program" doctor "$@" >"$folder/out" 2>"$folder/err"
    code=$?
    if [ "$code" != "$expected" ] && { [ "$expected" != any ] || [ "$code" -gt 1 ]; }; then
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

expect any "JSON" --device=cpu --format=json --out="$folder/results"
if [ -e "$folder/results" ] || [ -e "$folder/cache" ] || [ -s "$folder/err" ]; then
    echo "FAILED: $case_name: it made a folder, or wrote to stderr"
    failures=$((failures + 1))
fi
if command -v python3 >/dev/null; then
    python3 - "$folder/out" "$code" <<'END' || failures=$((failures + 1))
import json
import sys

document = json.load(open(sys.argv[1]))
checks = document["checks"]
assert document["schema"] == 1
names = [check["name"] for check in checks]
assert len(set(names)) == len(names), names
for check in checks:
    assert list(check) == ["name", "status", "value", "expected", "advice"], check
    assert check["status"] in ("ok", "low", "fail", "n/a"), check
    assert all(isinstance(value, str) for value in check.values()), check
    assert (check["advice"] == "") == (check["status"] == "ok"), check
assert (sys.argv[2] == "1") == any(check["status"] == "fail" for check in checks), sys.argv[2]
for name in """device cores cpu_governor cpu_turbo cpu_quota smt numa virtualisation load memory swap
huge_pages cache_folder result_folder gpu_driver gpu_counters gpu_ecc gpu_throttle gpu_link copy_h2d memory_bandwidth
gemm_fp32 launch wait numerics_gemm numerics_kernels numerics_jpeg gemm_bf16 tracing cpu_steal""".split():
    assert name in names, name
status = {check["name"]: check["status"] for check in checks}
assert status["numerics_gemm"] == "ok" and status["device"] == "ok", status
END
fi

# A device that fails in the middle: its rows fail, the others stand.
CHOKEPOINT_FAIL=launch:1
export CHOKEPOINT_FAIL
expect 1 "a launch that fails" --device=cpu --format=markdown
unset CHOKEPOINT_FAIL
says out "| **fail** | "
says out "| cores | "

expect 3 "no such device" --device=cuda:77
says out "fail  device"
says out "cores"
says err "there is no device to check"
expect 3 "no such device, as JSON" --device=cuda:77 --format=json
says out '"gpu_driver"'

# A bad result folder.
: >"$folder/file"
expect 3 "a result folder that is a file" --device=cuda:77 --format=json --out="$folder/file"
says out "Not a directory"

for wrong in --device=gpu --format=xml --formt=json argument; do
    expect 2 "$wrong" "$wrong"
    if [ -s "$folder/out" ] || [ "$(wc -l <"$folder/err")" -ne 1 ]; then
        echo "FAILED: $wrong: not one line on stderr alone"
        failures=$((failures + 1))
    fi
done
expect 0 "help" --help
says out "Exit codes"

[ "$failures" -eq 0 ] && echo "all as expected"
exit "$((failures > 0))"
