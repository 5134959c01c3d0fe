#!/bin/sh
# The desk stands alone: in a folder that has nothing of the lab it builds, links no library of a device, and its tests
# pass.
#
# usage: test_desk_alone.sh CMAKE CHECKOUT
set -eu

cmake=$1
checkout=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

copy()
{
    (cd "$checkout" && tar cf - "$@") | tar xf - -C "$work/tree"
}

mkdir "$work/tree"
copy CMakeLists.txt cmake docs scripts viewer \
    harness/base harness/text harness/checks harness/desk harness/fleet \
    harness/cli/CMakeLists.txt harness/cli/desk_main.c harness/cli/line harness/cli/traces harness/cli/gate harness/cli/fleet harness/cli/site \
    tests/CMakeLists.txt tests/base tests/text tests/checks tests/desk tests/fleet tests/fixtures tests/fuzz \
    tests/cli/CMakeLists.txt tests/cli/traces tests/cli/gate tests/cli/fleet tests/cli/site
rm -r "$work/tree/tests/fixtures/lab"

# No optimisation: most of the time goes into compiling. A ccache, if the environment asks for one, finds the same paths
# each time.
export CCACHE_BASEDIR="$work" CCACHE_NOHASHDIR=1
"$cmake" -S "$work/tree" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 \
    >"$work/log" 2>&1 && "$cmake" --build "$work/build" -- --quiet >>"$work/log" 2>&1 || {
    echo "FAILED  the desk alone does not build"
    tail -40 "$work/log"
    exit 1
}
[ ! -e "$work/build/chokepoint" ] || {
    echo "FAILED  the folder has a lab"
    exit 1
}
ldd "$work/build/chokepoint-desk" >"$work/libraries"
if grep -E 'cuda|cupti|nccl|dnnl|gomp|jpeg|mpi' "$work/libraries"; then
    echo "FAILED  the desk's program needs a library of the lab"
    exit 1
fi
grep -q libisal "$work/libraries" || {
    echo "FAILED  the libraries of the program are not known"
    exit 1
}
cd "$work/build"
# The five that compute for seconds find here what they find in a checkout with a lab, whose libraries they link as well.
ctest --no-tests=error --output-on-failure --label-exclude '^once$' --parallel "$(nproc)" \
    --exclude-regex '^(test_out_of_memory|test_change_points|test_step_change|test_fleet|test_reader)$'
