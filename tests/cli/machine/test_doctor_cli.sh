#!/bin/sh
# `doctor` as a user and a script meet it: exit codes, formats, and refusals. Its findings depend on the
# machine, so the exit code is compared with the rows.
#
# usage: test_doctor_cli.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
export CHOKEPOINT_CACHE="$folder/cache"

doctor()
{
    "$program" doctor "$@"
}

expect any "JSON" doctor --device=cpu --format=json --out="$folder/results"
is_empty err
if [ -e "$folder/results" ] || [ -e "$folder/cache" ]; then
    fail "it made a folder"
fi
if command -v python3 >/dev/null; then
    python3 - "$folder/out" "$code" <<'END' || fail "the JSON is not right"
import json
import sys

document = json.load(open(sys.argv[1]))
checks = document["checks"]
assert document["schema"] == 2
assert document["context"]["device"] == "cpu" and document["context"]["host_name"], document["context"]
names = [check["name"] for check in checks]
assert len(set(names)) == len(names), names
for check in checks:
    assert list(check) == ["name", "status", "value", "expected", "advice", "number", "bound", "unit", "noise"]
    texts = [check[name] for name in ("name", "status", "value", "expected", "advice")]
    assert check["status"] in ("ok", "low", "fail", "n/a"), check
    assert all(isinstance(text, str) for text in texts), check
    assert (check["number"] is None) == (check["unit"] is None), check
    assert (check["advice"] == "") == (check["status"] == "ok"), check
numbers = {check["name"]: check for check in checks}
assert numbers["host_copy"]["unit"] == "B/s" and numbers["host_copy"]["number"] > 1e8, numbers
assert (document["fit"] == "no") == any(check["status"] == "fail" for check in checks), document
assert (sys.argv[2] == "1") == any(check["status"] == "fail" for check in checks), sys.argv[2]
for name in """device cores cpu_governor cpu_turbo cpu_quota smt numa virtualisation load memory swap
huge_pages cache_folder result_folder gpu_driver gpu_counters gpu_ecc gpu_throttle gpu_link copy_h2d memory_bandwidth
gemm_fp32 launch wait numerics_gemm numerics_kernels numerics_jpeg gemm_bf16 tracing cpu_steal other_programs disk_waits memory_waits""".split():
    assert name in names, name
status = {check["name"]: check["status"] for check in checks}
assert status["numerics_gemm"] == "ok" and status["device"] == "ok", status
END
fi

# The same machine made worse: one processor of those there are, less memory than the benches want, and launches that
# wait. The row of each says so.
one=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
worse()
{
    CUDA_LAUNCH_BLOCKING=1 prlimit --as=3000000000 taskset -c "$one" "$program" doctor "$@"
}
expect any "strictly" worse --device=cpu --format=json --strict
if command -v python3 >/dev/null; then
    python3 - "$folder/out" <<'END' || fail "a row does not say what is worse"
import json
import sys

checks = {check["name"]: check for check in json.load(open(sys.argv[1]))["checks"]}
for name in ("cores", "memory", "CUDA_LAUNCH_BLOCKING"):
    assert checks[name]["status"] in ("low", "fail"), checks[name]
assert checks["cores"]["value"].startswith("1 of "), checks["cores"]
assert checks["memory"]["number"] < 3e9, checks["memory"]
# Others can use no more of one core than there is of it, whatever they do on the rest.
assert checks["other_programs"]["number"] < 1.1, checks["other_programs"]
END
fi
bad=$(grep -cE '"status":[[:space:]]*"(fail|low)"' "$folder/out")
[ "$code" -eq "$((bad > 0))" ] || fail "exit code $code with $bad rows that fail or are low"

# A device that fails in the middle: its rows fail, the others stand.
expect 1 "a launch that fails" env CHOKEPOINT_FAIL=launch:1 "$program" doctor --device=cpu \
    --format=markdown
says out "| **fail** | "
says out "| cores | "
says out "**Fit to measure: no ("

expect 3 "no such device" doctor --device=cuda:77
says out "fail device"
says out "cores"
says err "there is no device to check"
expect 3 "no such device, as JSON" doctor --device=cuda:77 --format=json
says out '"gpu_driver"'

# Among other machines: the files that it wrote itself.
mkdir -p "$folder/machines/one" "$folder/none"
expect any "as JSON" doctor --device=cpu --format=json
cp "$folder/out" "$folder/machines/one/doctor.json"
expect any "against one machine" doctor --device=cpu --against="$folder/machines"
says out "Beside the 1 result of machines like this one"
says out " of 2"

# For a scheduler: a machine that others use is busy, and has no fault. The loops end by themselves.
prolog()
{
    "$program" doctor --device=cpu --prolog "$@"
    code=$?
    case $code in 0 | 4) return 0 ;; esac
    return "$code"
}
expect 0 "one line" prolog
is_one_line out
says out ": Fit to measure: "
loops=
for _ in $(seq "$(nproc)"); do
    timeout 60 sh -c 'while :; do :; done' &
    loops="$loops $!"
done
expect 4 "beside a loop per core" doctor --device=cpu --prolog
is_one_line out
says out ": Fit to measure: busy ("
says out "other_programs: "
# shellcheck disable=SC2086
kill $loops
refuses "no such file" "No such file or directory" doctor --against="$folder/nowhere.json"
refuses "a folder without files" "has no file that ends in .json" doctor --against="$folder/none"

# A soak: all bits equal, and one that is not. Nothing else of doctor launches this kernel, four times per iteration, of
# which there were four before the first that is compared.
expect any "a soak" doctor --device=cpu --soak=1s --format=json
for row in time fp32_steps fp32_bits fp32_step fp32_drift bf16_steps bf16_bits bf16_step bf16_drift clock ecc; do
    says out "\"soak_$row\""
done
if command -v python3 >/dev/null; then
    python3 - "$folder/out" <<'END' || fail "the rows of the soak are not right"
import json
import sys

rows = {check["name"]: check for check in json.load(open(sys.argv[1]))["checks"]}
assert rows["soak_time"]["number"] >= 1 and rows["soak_time"]["unit"] == "s", rows["soak_time"]
for precision in "fp32", "bf16":
    bits, steps = rows[f"soak_{precision}_bits"], rows[f"soak_{precision}_steps"]
    assert (bits["status"], bits["number"], bits["bound"], bits["unit"]) == ("ok", 0, 0, "iterations"), bits
    assert steps["number"] >= 4 and steps["number"] % 4 == 0, steps
    assert rows[f"soak_{precision}_step"]["unit"] == "ns", rows
assert rows["soak_clock"]["status"] == "n/a", rows
END
fi
expect 1 "a wrong bit" env CHOKEPOINT_FAIL=flip:token_embedding_forward:20:77 "$program" doctor --device=cpu \
    --soak=1s --color=never
says out "step 4: embedding"
says out "first in iteration 1, step 4: embedding, after token_embedding;"
expect 1 "a wrong bit in one line" env CHOKEPOINT_FAIL=flip:token_embedding_forward:24:77 "$program" doctor \
    --device=cpu --soak=1s --prolog
says out "soak_bf16_bits"
is_one_line out
for wrong in 5 0s 25h soon; do
    refuses "--soak=$wrong" "give a duration, as in 90s, 10m or 1h, at most 24h" doctor --soak="$wrong"
done

# A bad result folder.
: >"$folder/file"
expect 3 "a result folder that is a file" doctor --device=cuda:77 --format=json --out="$folder/file"
says out "Not a directory"

for wrong in --device=gpu --format=xml --formt=json argument; do
    refuses "$wrong" "chokepoint: doctor: " doctor "$wrong"
done
expect 0 "help" doctor --help
says out "Exit codes"

finish
