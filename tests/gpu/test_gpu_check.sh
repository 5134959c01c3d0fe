#!/bin/bash
# The promises of scripts/gpu_check.sh, over a build folder of stand-ins: a check that fails or hangs does
# not stop the others, the table says so, the files are few, and whenever it is cut off they can be read. Its
# measurements need a GPU.
#
# usage: test_gpu_check.sh CHECKOUT PROGRAM [ROUNDS [SEED]]: ROUNDS times it is cut off at a random moment.
set -u

check=$1/scripts/gpu_check.sh
program=$2
rounds=${3-4}
RANDOM=${4-1}
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
expect 2 "there is no part speed" "$check" --part speed "$work/results"
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
list) echo "{\"kernels\": []}" ;;
bench) echo "bench: ${CUDA_DEVICE_MAX_CONNECTIONS-none}" ;;
*) exit 0 ;;
esac'
stand_in test_good 'echo "[  PASSED  ] 3 test(s)."'
stand_in test_bad 'echo "[  FAILED  ] sums_are_right"; exit 1'
stand_in test_absent 'echo "skipped: no such thing here"; exit 77'
stand_in test_hangs 'exec tail -f /dev/null'
printf 'test_gpu_kernels test_good\ntest_gpu_bad test_bad\ntest_gpu_absent test_absent\n' \
    >"$work/build/gpu_tests"

# Nothing hangs: everything has its line.
expect 1 "^all " "$check" --build "$work/build" --device cuda --only 'test_|run' "$work/results"
row '^test_gpu_kernels  *ok  *[0-9][0-9]*  *20  .*PASSED'
row '^test_gpu_bad  *FAILED .*sums_are_right'
row '^test_gpu_absent  *skip .*no such thing here'
row '^run  *FAILED .*1 reproduced, 1 failed'
if command -v python3 >/dev/null; then
    row '^  one  *ok .*1.50x'
    row '^  two  *failed .*lost'
    row '^tracing a heavy step  *SLOW .*+9.0%'
fi
[ "$(find "$work/results" -type f | wc -l)" -le 11 ] || complain "more than 11 files"
[ -z "$(find "$work/results" -size +16000k)" ] || complain "a file is too large"
tar -tf "$work/results/run/traces.tar" | grep -q 'one.before' || complain "the small trace is missing"
row '^traces of run  *ok .*1 of 2 kept'

# A step that is repeated deletes its own files only.
keeps()
{
    for kept in run/result.json run/traces.tar bench_copies.json bench_products.json torch.json; do
        [ "$kept" = "$2" ] || [ -s "$work/results/$kept" ] || complain "--only $1 deleted $kept"
    done
    [ "$(grep -c reproduced "$work/said")" -eq 0 ] || complain "--only $1 shows the scenarios of another call"
}
for kept in bench_copies bench_products torch; do
    echo '{}' >"$work/results/$kept.json"
done
"$check" --build "$work/build" --part bench --only bench_products "$work/results" >"$work/said" 2>&1
keeps bench_products bench_products.json
[ ! -e "$work/results/bench_products.json" ] || complain "a bench that wrote nothing left an earlier file"
echo '{}' >"$work/results/bench_products.json"
"$check" --build "$work/build" --part torch --only faults "$work/results" >"$work/said" 2>&1
keeps faults ""

# A hang ends when the time does, and what came before is kept.
printf 'test_gpu_kernels test_good\ntest_gpu_hangs test_hangs\ntest_gpu_bad test_bad\n' \
    >"$work/build/gpu_tests"
rm -r "$work/results"
expect 1 "^all " "$check" --build "$work/build" --part tests --seconds 7 --only test_ \
    "$work/results"
row '^test_gpu_kernels  *ok '
row '^test_gpu_hangs  *[0-9]*s over '
row '^test_gpu_bad  *no time '

# The time before the first part is of that part: a machine that is described in more than two seconds
# leaves less than the five that a step needs.
mkdir "$work/slow"
printf '#!/bin/sh\nsleep 0.7\n' >"$work/slow/nvidia-smi"
chmod +x "$work/slow/nvidia-smi"
PATH=$work/slow:$PATH expect 1 "^all " "$check" --build "$work/build" --part tests --seconds 6 --only kernels \
    "$work/results"
row '^test_gpu_kernels  *no time '

# A step that was done before a cut is not done again: the one that hung is.
stand_in test_hangs 'echo "[  PASSED  ] 1 test(s)."'
: >"$work/results/log.txt"
expect 1 "^all " "$check" --build "$work/build" --part tests --go-on "$work/results"
[ "$(grep -c '^=== .*: env ' "$work/results/log.txt")" -eq 2 ] || complain "a step that was done is done again, or one is left out"
row '^test_gpu_hangs  *ok '
row '^test_gpu_bad  *FAILED '
row '^doctor  *ok '
expect 1 "^all " "$check" --build "$work/build" --part tests --go-on "$work/results"
[ "$(grep -c '^=== .*/test_good' "$work/results/log.txt")" -eq 0 ] || complain "a test that passed is run again"
[ "$(grep -c '^=== .*/test_bad' "$work/results/log.txt")" -eq 2 ] || complain "a test that failed is not run again"

# All is well. Only tests get the connections that their gates need.
# shellcheck disable=SC2016 # for the stand-in's shell
stand_in test_good 'echo "[  PASSED  ] connections: ${CUDA_DEVICE_MAX_CONNECTIONS-none}"'
printf 'test_gpu_kernels test_good\n' >"$work/build/gpu_tests"
expect 0 "^all  *ok " "$check" --build "$work/build" --part tests "$work/results"
row '^doctor  *ok '
row '^test_gpu_kernels  *ok .*connections: 32'
grep -q '^bench: none' "$work/results/log.txt" || complain "the bench has connections of the tests"

# Two ranks: what they learn is compared, and what is missing for them is a reason.
cp "$work/build/chokepoint" "$work/usual"
# shellcheck disable=SC2016 # for the stand-in's shell
ranks='case "$*" in
*--ranks=2*--device=cpu* | *--device=cpu*--ranks=2*) echo "{\"loss\": 2.3010}" ;;
*bench*--ranks=2*) for option; do case $option in --benchmark_out=*) out=${option#*=} ;; esac; done
    echo "{\"context\": {\"device\": \"cuda\"}, \"chokepoint\": {}, \"benchmarks\": [{\"run_name\": \"coll_allreduce/64/ranks:2\",
        \"aggregate_name\": \"median\", \"real_time\": 4, \"time_unit\": \"us\", \"bus_bytes_per_second\": 5e10}]}" >"$out" ;;
*--ranks=2*) echo "{\"loss\": $LOSS}" ;;
esac'
if command -v python3 >/dev/null; then
    stand_in chokepoint "$ranks"
    rm -r "$work/results"
    LOSS=2.3011 expect 1 "^all " "$check" --build "$work/build" --part bench --only ranks "$work/results"
    row '^ranks  *ok '
    row '^losses of two ranks  *ok .*2.3011 here, 2.301 on the CPU device'
    row '^all-reduce, bus  *ok .*50.0 GB/s'
    row '^all-gather, bus  *FAILED .*no row'
    LOSS=2.4 expect 1 "^all " "$check" --build "$work/build" --part bench --only ranks "$work/results"
    row '^losses of two ranks  *FAILED '
    LOSS=NaN expect 1 "^all " "$check" --build "$work/build" --part bench --only '^ranks' "$work/results"
    grep -q '^losses of two ranks  *FAILED .*nan here' "$work/said" || complain "a loss that is no number passes"
fi
stand_in chokepoint 'case "$*" in *--ranks=2*) echo "chokepoint: each rank takes a GPU, and there is 1" >&2; exit 3 ;; esac'
rm -rf "$work/results"
expect 0 "^all  *ok " "$check" --build "$work/build" --part bench --only ranks "$work/results"
row '^ranks  *skip .*there is 1'
row '^bench_ranks  *skip .*there is 1'
! grep -q '^ranks_cpu' "$work/results/table.txt" || complain "there was nothing to compare with"
mv "$work/usual" "$work/build/chokepoint"

# The calls are within their time by the plan, and so is each of their steps.
expect 0 "^torch  *all " "$check" --build "$(dirname "$program")" --plan
awk '{ most = $(NF - 4); sum = $(NF - 1) } $2 == "all" && sum > 0.8 * most { exit 1 }' "$work/said" ||
    complain "the plan does not fit"

# A bundle with a CPU device is for other CPUs than this one.
if grep -q '^CHOKEPOINT_CPU:STRING=native$' "$(dirname "$program")/CMakeCache.txt"; then
    expect 2 "x86-64-v3" "$1/scripts/gpu_bundle.sh" "$(dirname "$program")" "$work/bundle"
    [ ! -e "$work/bundle" ] || complain "a bundle that would not run was made"
fi

# A sanitizer that cannot work here is no failure, nor is a bundle without a test.
PATH=$work/bin:$PATH expect 0 "^all  *ok " "$check" --build "$work/build" --part torch --only memcheck "$work/results"
row '^memcheck  *skip '
printf 'test_gpu_kernels test_good\ntest_gpu_training test_good\n' >"$work/build/gpu_tests"
mkdir "$work/bin"
printf '#!/bin/sh\necho "Error: Device not supported"\nexit 1\n' >"$work/bin/compute-sanitizer"
chmod +x "$work/bin/compute-sanitizer"
PATH=$work/bin:$PATH expect 0 "^all  *ok " "$check" --build "$work/build" --part torch --only check "$work/results"
row '^memcheck  *skip .*Device not supported'
row '^initcheck  *skip .*Device not supported'

# Nor is an ncu that may not count.
printf '#!/bin/sh\necho "==ERROR== ERR_NVGPUCTRPERM" >&2\nexit 1\n' >"$work/bin/ncu"
chmod +x "$work/bin/ncu"
PATH=$work/bin:$PATH expect 0 "^all  *ok " "$check" --build "$work/build" --part torch --only '^ncu' "$work/results"
! command -v python3 >/dev/null || row '^ncu  *skip .*ERR_NVGPUCTRPERM'

# Uninitialised memory is looked for in tests of kernels alone, all of them: with a filter it would be forgotten what the
# others write.
# shellcheck disable=SC2016 # for the stand-in's shell
printf '#!/bin/sh\necho "$CHOKEPOINT_TEST_TYPE: $@"\n' >"$work/bin/compute-sanitizer"
PATH=$work/bin:$PATH expect 0 "^all  *ok " "$check" --build "$work/build" --part torch --only 'check$' "$work/results"
grep -q '^bf16: --tool initcheck --error-exitcode 9 --target-processes all [^ ]*/test_good$' "$work/results/log.txt" ||
    complain "initcheck is not over the tests of kernels"
grep -q '^bf16: --tool memcheck ' "$work/results/log.txt" || complain "memcheck is not over whole steps"

# Tables that gpu_figures.py makes of bench's rows: their names as Google Benchmark's form has them, and a row that
# is missing is said to be missing.
if command -v python3 >/dev/null; then
    cat >"$work/bench.json" <<'END'
{"context": {"device": "cuda"}, "chokepoint": {}, "benchmarks": [
 {"run_name": "lat_launch_enqueue/manual_time", "aggregate_name": "median", "real_time": 2.5, "time_unit": "us"},
 {"run_name": "lat_sync_stream/32", "aggregate_name": "median", "real_time": 4, "time_unit": "us"}]}
END
    expect 0 "^launch, enqueued.ok.2.5 us" python3 "$1/scripts/gpu_figures.py" copies "$work/bench.json"
    grep -q '^synchronise a stream.ok.4 us' "$work/said" || complain "no figure of a wait"
    grep -q '^copy, host to device.FAILED.no row bw_copy_h2d' "$work/said" || complain "a missing row is not told"
fi

# The names of kernels, by precision.
if command -v python3 >/dev/null; then
    printf '%s\n' '{"schemaVersion":1,' '"chokepoint":{"schema":1,"settings":"model=heavy precision=bf16"},' \
        '"traceEvents":[' '{"ph":"X","cat":"kernel","name":"gemm<a, \"b\">","pid":0,"ts":1.5,"dur":2000.5},' \
        '{"ph":"X","cat":"kernel","name":"gemm<a, \"b\">","pid":0,"ts":9,"dur":1000},' '{"ph":"X","cat":"gpu_memcpy","name":"copy"}]}' |
        gzip >"$work/trace.json.gz"
    expect 0 '^heavy.bf16.2.1500.25.3.001.gemm<a, "b">$' python3 "$1/scripts/gpu_figures.py" names "$work/trace.json.gz"
    [ "$(wc -l <"$work/said")" -eq 1 ] || complain "more than the kernels"

    # Traces that cannot be read cost themselves only: no UTF-8, and a stream that is damaged.
    printf '\377\n' | gzip >"$work/bad.json.gz"
    printf '\037\213\010\000\000\000\000\000\000\003\377\377\377' >"$work/damaged.json.gz"
    expect 0 '^heavy.bf16.2.' python3 "$1/scripts/gpu_figures.py" names "$work/bad.json.gz" \
        "$work/damaged.json.gz" "$work/trace.json.gz"
    [ "$(wc -l <"$work/said")" -eq 3 ] || complain "each bad trace has one line"
fi

# --- Cut off ---

# The script that makes figures of a step's files may hang, and is ended like a step.
if command -v python3 >/dev/null; then
    # shellcheck disable=SC2016 # for the stand-in's shell
    printf '#!/bin/sh\ncase $1 in -*) exit 0 ;; esac\n: >"$0.began"\nexec tail -f /dev/null\n' >"$work/bin/python3"
    chmod +x "$work/bin/python3"
    PATH=$work/bin:$PATH timeout --kill-after=9 30 "$check" --build "$work/build" --part run --only '^run$' "$work/results" \
        >"$work/said" 2>&1 &
    checking=$!
    while [ ! -e "$work/bin/python3.began" ] && kill -0 "$checking" 2>/dev/null; do
        sleep 0.1
    done
    kill -TERM "$checking"
    status=0
    wait "$checking" || status=$?
    [ "$status" -eq 143 ] || complain "told to end while figures were made: exit code $status"
    row '^figures of run  *cut '
    rm "$work/bin/python3"
fi

# readable WHEN: the results are whole files and whole lines.
readable()
{
    local file
    : >"$work/said"
    while IFS= read -r -d '' file; do
        case $file in
        *.json) python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$file" 2>>"$work/said" ||
            complain "$1: ${file##*/} cannot be read" ;;
        *.tar) tar -tf "$file" >/dev/null 2>>"$work/said" || complain "$1: ${file##*/} cannot be read" ;;
        esac
    done < <(find "$work/results" -type f -print0)
    [ ! -s "$work/results/table.txt" ] || [ -z "$(tail -c 1 "$work/results/table.txt")" ] ||
        complain "$1: the table ends in mid-line"
    ! grep -vE '^.{30} [^ ]+( [^ ]+)? +[0-9]* +[0-9]*  |^check ' "$work/results/table.txt" >"$work/said" ||
        complain "$1: a line of the table is not whole"
}

# Programs that take random moments, and write what they have whenever they have more, as ours do.
# shellcheck disable=SC2016 # for the stand-in's shell
stand_in chokepoint 'moment()
{
    read -r delay <"$0.delay"
    sleep "$delay"
}
put()
{
    echo "{\"context\": {\"device\": \"cuda\"}, \"benchmarks\": [], \"chokepoint\": {\"scenarios\": []}}" >"$1.new"
    mv "$1.new" "$1"
}
for option; do
    case $option in --out=* | --benchmark_out=*) out=${option#*=} ;; esac
done
case $1 in
run)
    mkdir -p "$out/traces"
    for i in 1 2 3; do
        moment
        head -c 100000 /dev/zero >"$out/traces/$i.json.gz"
        put "$out/result.json"
    done
    echo "3 scenarios: 3 reproduced" ;;
bench)
    for i in 1 2 3; do
        moment
        [ -z "$out" ] || put "$out"
    done ;;
*) moment ;;
esac'
# shellcheck disable=SC2016
stand_in test_slow 'read -r delay <"${0%/*}/chokepoint.delay"; sleep "$delay"; echo "[  PASSED  ] 1 test(s)."'
printf 'test_gpu_kernels test_slow\ntest_gpu_other test_slow\ntest_faults_gpu test_slow\n' >"$work/build/gpu_tests"
command -v python3 >/dev/null || rounds=0
for ((round = 0; round < rounds; round++)); do
    rm -rf "$work/results"
    echo "0.0$((RANDOM % 10))" >"$work/build/chokepoint.delay"
    signal=TERM
    ((round % 4 < 3)) || signal=KILL
    moment=$((1 + RANDOM % 21)) # A shell that is killed as it starts may run the trap of this one.
    "$check" --build "$work/build" "$work/results" >"$work/output" 2>&1 &
    checking=$!
    sleep "$((moment / 10)).$((moment % 10))"
    kill "-$signal" "$checking" 2>/dev/null
    status=0
    wait "$checking" 2>/dev/null || status=$?
    when="round $round, $signal after $moment tenths of a second, exit code $status"
    [ -e "$work/results/table.txt" ] || continue # It had not begun.
    readable "$when"
    if [ "$signal" = TERM ]; then
        [ ! -e "$work/results/now.txt" ] || complain "$when: the output of the last step is not in the log"
        grep -q '^all  ' "$work/results/table.txt" || complain "$when: the table has no last line"
    fi
done
echo "cut off $rounds times"

printf 'test_gpu_kernels test_good\n' >"$work/build/gpu_tests"
stand_in chokepoint 'echo "chokepoint: bench: cuda: the driver finds no GPU here"; exit 3'
expect 77 "^cuda: the driver finds no GPU here" "$check" --build "$work/build" "$work/results"

echo "$failures failed"
[ "$failures" -eq 0 ]
