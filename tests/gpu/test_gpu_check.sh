#!/bin/bash
# The promises of scripts/gpu_check.sh, over a build folder of stand-ins: a check that fails or hangs does
# not stop the others, the table says so, the files are few. Its measurements need a GPU.
#
# usage: test_gpu_check.sh CHECKOUT PROGRAM
set -u

check=$1/scripts/gpu_check.sh
program=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

complain()
{
    echo "FAILED: $*"
    [ ! -e "$work/said" ] || cat "$work/said"
    failures=$((failures + 1))
}

# expect STATUS TEXT COMMAND...: ends with STATUS and says TEXT.
expect()
{
    local wanted=$1 text=$2 status=0
    shift 2
    "$@" >"$work/said" 2>&1 || status=$?
    [ "$status" -eq "$wanted" ] || complain "$*: exit code $status instead of $wanted"
    grep -q -- "$text" "$work/said" || complain "$*: nothing of '$text'"
}

# stand_in NAME BODY: a program of the build folder.
stand_in()
{
    printf '#!/bin/sh\n%s\n' "$2" >"$work/build/$1"
    chmod +x "$work/build/$1"
}

# row PATTERN: the table has such a line.
row()
{
    grep -q -- "$1" "$work/results/table.txt" || complain "the table has no '$1'"
}

expect 2 "give a folder" "$check"
expect 2 "there is no option --fast" "$check" --fast "$work/results"
expect 2 "give a whole number" "$check" --seconds soon "$work/results"
expect 2 "holds no chokepoint" "$check" --build "$work" "$work/results"
expect 0 "usage:" "$check" --help
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
    expect 77 "there is no NVIDIA driver here" "$check" --build "$(dirname "$program")" "$work/results"
fi

mkdir "$work/build"
# shellcheck disable=SC2016 # for the stand-in's shell
stand_in chokepoint 'case $1 in
run)
    while [ $# -gt 0 ]; do
        case $1 in --out=*) out=${1#--out=} ;; esac
        shift
    done
    mkdir -p "$out/traces"
    echo trace >"$out/traces/one.before.json.gz"
    head -c 20000000 /dev/zero >"$out/traces/large.before.json.gz"
    echo "{\"context\": {\"device\": \"cuda\"}, \"chokepoint\": {\"scenarios\": [
        {\"name\": \"one\", \"verdict\": \"reproduced\", \"effect\": 1.5, \"reason\": \"\",
         \"settings\": {\"before\": \"model=heavy\"},
         \"tracing\": {\"before\": {\"overhead\": 0.09, \"dropped\": 0}}},
        {\"name\": \"two\", \"verdict\": \"failed\", \"effect\": null, \"reason\": \"lost\",
         \"settings\": {}, \"tracing\": {\"before\": null}}]}}" >"$out/result.json"
    echo "2 scenarios: 1 reproduced, 1 failed"
    exit 1 ;;
bench) echo "not a result" ;;
*) exit 0 ;;
esac'
stand_in test_good 'echo "[  PASSED  ] 3 test(s)."'
stand_in test_bad 'echo "[  FAILED  ] sums_are_right"; exit 1'
stand_in test_absent 'echo "skipped: no such thing here"; exit 77'
stand_in test_hangs 'exec tail -f /dev/null'
printf 'test_gpu_kernels test_good\ntest_gpu_bad test_bad\ntest_gpu_absent test_absent\n' \
    >"$work/build/gpu_tests"

# Nothing hangs: everything has its line.
expect 1 "^all " "$check" --build "$work/build" --device cuda --only 'test|run' "$work/results"
row '^test_gpu_kernels  *ok .*PASSED'
row '^test_gpu_bad  *FAILED .*sums_are_right'
row '^test_gpu_absent  *skip .*no such thing here'
row '^run  *FAILED .*1 reproduced, 1 failed'
if command -v python3 >/dev/null; then
    row '^  one  *ok .*1.50x'
    row '^  two  *failed .*lost'
    row '^tracing a heavy step  *SLOW .*+9.0%'
fi
[ "$(find "$work/results" -type f | wc -l)" -le 8 ] || complain "more than 8 files"
[ -z "$(find "$work/results" -size +16000k)" ] || complain "a file is too large"
tar -tf "$work/results/traces.tar" | grep -q 'one.before' || complain "the small trace is missing"

# A hang ends when the time does, and what came before is kept.
printf 'test_gpu_kernels test_good\ntest_gpu_hangs test_hangs\ntest_gpu_bad test_bad\n' \
    >"$work/build/gpu_tests"
rm -r "$work/results"
expect 1 "^all " "$check" --build "$work/build" --seconds 7 --only 'test|run' "$work/results"
row '^test_gpu_kernels  *ok '
row '^test_gpu_hangs  *[0-9]*s over '
row '^test_gpu_bad  *no time '

# All is well.
printf 'test_gpu_kernels test_good\n' >"$work/build/gpu_tests"
expect 0 "^all  *ok " "$check" --build "$work/build" --only test "$work/results"
stand_in chokepoint 'echo "chokepoint: bench: cuda: the driver finds no GPU here"; exit 3'
expect 77 "^cuda: the driver finds no GPU here" "$check" --build "$work/build" "$work/results"

echo "$failures failed"
[ "$failures" -eq 0 ]
