#!/bin/sh
# The wheel: built from a copy of the sources, installed into a clean environment, used there, and removed.
#
# usage: test_wheel.sh SOURCE
# shellcheck disable=SC1091,SC2154
set -u

source=$1
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

skip()
{
    echo "skipped: $1"
    exit 77
}

build=$folder/build-python
wheels=$folder/wheels
python=$folder/venv/bin/python

python3 -m venv "$build" >"$folder/log" 2>&1 || skip "python3 has no venv (Debian: python3-venv)"
"$build/bin/pip" -q install build scikit-build-core >"$folder/log" 2>&1 ||
    skip "pip cannot install scikit-build-core: $(tail -n 1 "$folder/log")"
mkdir "$folder/source"
git -C "$source" archive HEAD | tar -x -C "$folder/source" || skip "the sources are no git checkout"
CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) "$build/bin/python" -m build -n -w -o "$wheels" "$folder/source" \
    >"$folder/log" 2>&1 || { tail -n 40 "$folder/log"; fail "no wheel was built"; finish; }
python3 -m venv "$folder/venv"
find "$folder/venv" | sort >"$folder/before"
"$folder/venv/bin/pip" -q install --no-index "$wheels"/*.whl || fail "the wheel cannot be installed"

# From here on nothing of the checkout and of the environment is known.
cd "$folder" || exit 1
in_wheel()
{
    env -i HOME="$folder" PATH="$folder/venv/bin:/usr/bin:/bin" CHOKEPOINT_CACHE="$folder/cache" "$@"
}
printf '{"traceEvents": []}' >"$folder/empty.json"
for name in list doctor bench diagnose explain record train compare history fleet; do
    expect 0 "$name --help" in_wheel chokepoint "$name" --help
done
expect 0 "list" in_wheel chokepoint list
expect 0 "explain" in_wheel chokepoint explain item_sync
expect 0 "diagnose" in_wheel chokepoint diagnose empty.json
expect 0 "train" in_wheel chokepoint train --device=cpu --model=light --steps=5 --trace=train.json.gz
expect any "run" in_wheel chokepoint run launch_overhead --device=cpu --quick --repetitions=1 --no-trace --out=result
says result/result.json '"launch_overhead/before"'
expect 0 "compare" in_wheel chokepoint compare result/result.json result/result.json
expect 0 "bench" in_wheel chokepoint bench --device=cpu --benchmark_filter=launch --max-time=0.1 --benchmark_min_time=0.01
expect 0 "record" in_wheel chokepoint record --no-page -- python -c 'print(1)'
says err "the program imported no PyTorch"
expect 0 "import chokepoint" in_wheel "$python" -c \
    'import chokepoint; print(len(chokepoint.diagnose("train.json.gz")["traces"][0]["findings"]))'
"$folder/venv/bin/pip" -q uninstall -y chokepoint || fail "it cannot be removed"
find "$folder/venv" -name __pycache__ -prune -o -print | grep -v '/site-packages/pip/' | sort >"$folder/after"
comm -13 "$folder/before" "$folder/after" >"$folder/left"
[ ! -s "$folder/left" ] || fail "the wheel left $(cat "$folder/left")"

finish
