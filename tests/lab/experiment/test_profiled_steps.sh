#!/bin/sh
# A profiler that is attached to `exec` captures the timed steps and nothing else: each repetition is one range of
# cudaProfilerStart and cudaProfilerStop, with as many NVTX ranges "step" as the repetition counts, in a range
# named after the variant. Over the stand-in for CUDA.
#
# usage: test_profiled_steps.sh CHOKEPOINT STAND-IN
set -u

chokepoint=$1
python=$(command -v python3) || { echo "skipped: there is no python3"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CHOKEPOINT_PLUGINS="$2" LD_LIBRARY_PATH="$2/lib"

STAND_IN_PROFILE="$folder/profile" NVTX_INJECTION64_PATH="$2/lib/libstand_in_nvtx.so" \
    "$chokepoint" exec launch_overhead --device=cuda --quick --variant=after --repetitions=1 --window=0.02 \
    >"$folder/records" 2>"$folder/err" || {
    cat "$folder/err"
    exit 1
}
"$python" - "$folder/profile" "$folder/records" <<'END'
import json
import sys

records = [json.loads(line) for line in open(sys.argv[2])]
repetitions = [record for record in records if "steps" in record]
wanted = {}
for repetition in repetitions:
    wanted.setdefault(repetition["index"], {})[repetition["variant"]] = repetition["steps"]
assert len(wanted) == 1 and list(wanted[0]) == ["after"], wanted

captured, current, stack, outside = [], None, [], 0
for line in open(sys.argv[1]):
    word, _, name = line.rstrip("\n").partition(" ")
    if word == "start":
        assert current is None and not stack, stack
        current = {}
    elif word == "stop":
        assert current is not None and not stack, stack
        captured.append(current)
        current = None
    elif word == "push":
        stack.append(name)
        if name == "step" and current is not None:
            assert len(stack) == 2 and stack[0] in ("before", "after"), stack
            current[stack[0]] = current.get(stack[0], 0) + 1
        elif name == "step":
            outside += 1
        if name in ("forward", "backward", "optimizer", "graph", "h2d", "data"):
            assert "step" in stack or name == "data", stack
    else:
        stack.pop()
assert current is None and not stack
assert captured == [wanted[index] for index in sorted(wanted)], (captured, wanted)
assert outside > 0  # warm-up, which is not captured
print(captured, outside, "steps outside")
END
