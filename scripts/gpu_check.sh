#!/usr/bin/env bash
# Everything that only a machine with a GPU can tell, in five parts of less than ten minutes each: every step
# has a timeout of its own, and leaves its line of the table and whole files as soon as it ends. Whenever the
# script is cut, what it had is readable.
set -u

usage()
{
    cat <<'END'
usage: gpu_check.sh [OPTION...] FOLDER

Checks chokepoint on this machine's GPU and writes into FOLDER: table.txt, log.txt, machine.txt, and by
part the files below. Needs no network. A check that fails or hangs costs itself only.

  --part NAME     tests: the tests and doctor
                  run: scenarios of data, copies, launches, waits and number types (run/result.json,
                  run/traces.tar, run/kernels.txt)
                  rest: the other scenarios (rest/)
                  bench: two ranks and the benches (bench_*.json)
                  torch: PyTorch beside (torch.json), the kernels of the heavy step (heavy.txt),
                  compute-sanitizer, ncu (ncu.csv), injected faults
                  all: one after the other, if not given
  --plan          print each step with the seconds that it may take and is expected to, and end
  --build DIR     the build folder, or a bundle of scripts/gpu_bundle.sh; if not given: CHOKEPOINT_BUILD,
                  this script's folder, or build/ of its checkout, which is built where it is missing
  --device NAME   what is checked; GPU_CHECK_DEVICE or cuda if not given. cpu: the same steps, as far as
                  they make sense, to try the script itself
  --seconds N     for each part, the first one with what comes before it; 560 if not given
  --only REGEX    only steps whose name it finds
  --go-on         leave out the steps that FOLDER/table.txt has as ok or skip, as after a call that was cut
  --help          this text

Exit codes: 0 all is well, 1 something is not, 2 bad usage, 77 there is no GPU, 143 it was told to end.
END
}

# part, steps (a pattern; the first that fits counts), seconds it may take, seconds expected on an H200, by what H200s took:
# 95 s for all tests, 13 s per scenario, 115 s for PyTorch once it had compiled, which takes it a minute. The benches' are
# estimates.
readonly plan='
tests  test_gpu_kernels   120   20
tests  test_training_gpu  120   30
tests  test_gradients_gpu  60   15
tests  test_gpu_cupti      60   10
tests  test_*              60    8
tests  doctor              90   45
run    run                440  330
rest   rest               440  240
bench  ranks               60   20
bench  ranks_cpu           60   10
bench  bench_ranks         60   15
bench  bench_copies        70   35
bench  bench_products      70   35
bench  bench_kernels      105   65
torch  torch              240  175
torch  heavy               60   10
torch  memcheck            90   60
torch  initcheck           60   40
torch  ncu                 90   50
torch  faults             180  110
'

beside=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
build=${CHOKEPOINT_BUILD-}
device=${GPU_CHECK_DEVICE-cuda}
seconds=560
parts='tests run rest bench torch'
only=.
folder=
going_on=
planning=

wrong()
{
    echo "gpu_check.sh: $*" >&2
    exit 2
}

while (($# > 0)); do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --plan) planning=yes ;;
    --go-on) going_on=yes ;;
    --part | --build | --device | --seconds | --only)
        (($# > 1)) || wrong "$1 wants a value"
        case $1 in
        --part)
            case $2 in
            all) ;;
            tests | run | rest | bench | torch) parts=$2 ;;
            *) wrong "there is no part $2; tests, run, rest, bench, torch or all" ;;
            esac
            ;;
        --build) build=$2 ;;
        --device) device=$2 ;;
        --seconds) seconds=$2 ;;
        --only) only=$2 ;;
        esac
        shift
        ;;
    -*) wrong "there is no option $1; --help lists them" ;;
    *)
        [[ -z $folder ]] || wrong "$1 is one folder too many"
        folder=$1
        ;;
    esac
    shift
done
[[ -n $folder || -n $planning ]] || wrong "give a folder for the results; --help says more"
[[ $seconds =~ ^[0-9]+$ ]] || wrong "--seconds $seconds: give a whole number"

# --- Where things are ---

if [[ -z $build && -x $beside/chokepoint ]]; then
    build=$beside
elif [[ -z $build ]]; then
    build=$beside/../build
    if [[ ! -x $build/chokepoint ]]; then
        echo "gpu_check.sh: building first, which is not counted" >&2
        "$beside/build.sh" || exit 2
    fi
fi
build=$(CDPATH='' cd -- "$build" 2>/dev/null && pwd -P) || wrong "there is no folder $build"
readonly program=$build/chokepoint
[[ -x $program ]] || wrong "$build holds no chokepoint; build it, or give --build"

# The names of the tests, one a line, in the order in which they run: the results of kernels first.
# On the CPU device the tests are like all others, but for those that are of a GPU.
names_of_tests()
{
    [[ -r $build/gpu_tests ]] || return 0
    awk -v device="$device" '
        NF < 2 || $1 == "test_faults_gpu" || (device == "cpu" && $2 ~ /^test_gpu_/) { next }
        $1 == "test_gpu_kernels" { print $1; next }
        { others = others $1 "\n" }
        END { printf "%s", others }' "$build/gpu_tests"
}

# program_of TEST: its path.
program_of()
{
    awk -v name="$1" -v folder="$build" '$1 == name { print folder "/" $2 }' "$build/gpu_tests"
}

# row_of_plan NAME: sets $part, $limit and $expected of the step.
row_of_plan()
{
    local pattern
    while read -r part pattern limit expected; do
        # shellcheck disable=SC2053 # a pattern
        [[ -z $part || $1 != $pattern ]] || return 0
    done <<<"$plan"
    echo "gpu_check.sh: the step $1 is not in the plan" >&2
    exit 2
}

# steps_of PART: the names of its steps.
steps_of()
{
    case $1 in
    tests)
        names_of_tests
        echo doctor
        ;;
    *) awk -v part="$1" '$1 == part { print $2 }' <<<"$plan" ;;
    esac
}

if [[ -n $planning ]]; then
    for wanted in $parts; do
        sum=0
        for name in $(steps_of "$wanted"); do
            row_of_plan "$name"
            printf '%-6s %-30s at most %4d s, expected %4d s\n' "$wanted" "$name" "$limit" "$expected"
            sum=$((sum + expected))
        done
        printf '%-6s %-30s at most %4d s, expected %4d s\n' "$wanted" all "$seconds" "$sum"
    done
    exit 0
fi

mkdir -p "$folder" || exit 2
folder=$(CDPATH='' cd -- "$folder" && pwd -P)
readonly log=$folder/log.txt table=$folder/table.txt now=$folder/now.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CHOKEPOINT_CACHE=${CHOKEPOINT_CACHE-$work/cache} # generated images
export CHOKEPOINT_TEST_DEVICE=$device
export CHOKEPOINT_TEST_SEED=${CHOKEPOINT_TEST_SEED-1} # of what kernels are given

# CUDA's libraries, where they are no concern of the linker's: the toolkit's, and those of pip's packages.
find_libraries()
{
    local found path=
    for found in ${CUDA_HOME:+"$CUDA_HOME/lib64"} /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64 \
        /usr/local/nvidia/lib64; do
        [[ ! -d $found ]] || path=$path:$found
    done
    if command -v python3 >/dev/null; then
        while read -r found; do
            [[ -z $found ]] || path=$path:$found
        done <<<"$(python3 -c '
import glob, site, sys
folders = site.getsitepackages() + [site.getusersitepackages()] + sys.path
for folder in dict.fromkeys(folders):
    for found in sorted(glob.glob(folder + "/nvidia/*/lib")):
        print(found)' 2>/dev/null)"
    fi
    printf '%s' "${path#:}"
}
readonly given=${LD_LIBRARY_PATH-}
libraries=$(find_libraries)
# The bundle comes last: libraries that were carried find each other there.
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH-}${LD_LIBRARY_PATH:+:}$libraries${libraries:+:}$build

# --- Steps ---

failed=0
running= # the step's name, and the process that runs it
process=
start=$SECONDS
bench_seconds=0.4
[[ $device != cpu ]] || bench_seconds=0.05

# row NAME RESULT FIGURE SECONDS EXPECTED: one line, at once.
row()
{
    printf '%-30s %-9s %5s %8s  %s\n' "$1" "$2" "$4" "$5" "$3" | tee -a "$table"
    case $2 in
    ok | skip) ;;
    *) failed=$((failed + 1)) ;;
    esac
}

# The last line of a step's output that says most: a figure, a skipped test's reason, or the summary.
figure_of()
{
    local found
    for pattern in '^figure: ' '^skipped: ' '^chokepoint: ' '^[0-9]* scenarios*: ' '^[0-9]* checks: ' 'ERROR SUMMARY: ' \
        '^\[  FAILED  \]' '^\[  PASSED  \]'; do
        found=$(grep -a -- "$pattern" "$1" | tail -n 1)
        [[ -z $found ]] || break
    done
    found=${found#figure: }
    found=${found#skipped: }
    printf '%s' "${found:0:150}"
}

# The steps that an earlier call ended, one a line. Two ranks are compared with the CPU device's by one call.
done_before=
[[ -z $going_on || ! -r $table ]] ||
    done_before=$(awk 'substr($0, 32, 3) == "ok " || substr($0, 32, 5) == "skip " { print $1 }' "$table")
[[ $'\n'$done_before$'\n' == *$'\nranks_cpu\n'* ]] || done_before=$(grep -vx ranks <<<"$done_before")

# wanted NAME: whether --only finds the step, and --go-on does not leave it out.
wanted()
{
    [[ $1 =~ $only && $'\n'$done_before$'\n' != *$'\n'"$1"$'\n'* ]]
}

# The running step's output goes into the log.
keep_output()
{
    [[ -e $now ]] || return 0
    tail -c 400000 "$now" >>"$log"
    printf '\n=== %s\n' "$1" >>"$log"
    rm -f "$now"
}

# Told to end: so is the step, which has five seconds to write what it has.
cut_off()
{
    trap '' TERM INT HUP
    if [[ -n $process ]]; then
        kill -TERM "$process" 2>/dev/null # timeout's, which tells all that it started
        for ((i = 0; i < 50; i++)); do
            kill -0 "$process" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL -- "-$process" 2>/dev/null
    fi
    keep_output "$running was cut off"
    rm -f "$folder"/*.new
    [[ -z $running ]] || row "$running" cut "the script was told to end" "$((SECONDS - start))" ""
    row all cut "$folder" $((SECONDS - start)) ""
    exit 143
}
trap cut_off TERM INT HUP

# run NAME LIMIT FILE COMMAND...: the command's output goes to FILE. In the background, since a trap waits for
# what is not.
run()
{
    local status=0 limit=$2 file=$3
    running=$1
    shift 3
    timeout --kill-after=10 "$limit" "$@" >"$file" 2>&1 </dev/null &
    process=$!
    wait "$process" || status=$?
    process=
    running=
    return "$status"
}

# step NAME COMMAND...: runs it for at most as long as the plan says, and no longer than the part has time.
# 77 is a step that was skipped. Its output is in $now while it runs, and in the log then.
step()
{
    local name=$1 left=$((seconds - (SECONDS - start))) begin=$SECONDS status=0 result figure
    local part limit expected
    shift
    row_of_plan "$name"
    wanted "$name" || return 0
    cd "$work" || return 1
    if ((left < 5)); then
        row "$name" "no time" "" 0 "$expected"
        return 0
    fi
    ((limit < left)) || limit=$left
    printf '\n=== %s: %s\n' "$name" "$*" >>"$log"
    run "$name" "$limit" "$now" "$@" || status=$?
    figure=$(figure_of "$now")
    case $status in
    0) result=ok ;;
    77) result=skip ;;
    124 | 137) result="${limit}s over" ;;
    *) result=FAILED ;;
    esac
    # compute-sanitizer in a container that has a kernel of its own
    if [[ $result == FAILED ]] && grep -qa 'Device not supported' "$now"; then
        result=skip
        figure="$(grep -a -m 1 'Device not supported' "$now")"
    fi
    keep_output "$name: exit code $status after $((SECONDS - begin)) s, expected $expected"
    row "$name" "$result" "${figure:0:150}" $((SECONDS - begin)) "$expected"
    return "$status"
}

# run_figures NAME FILE ARGUMENT...: gpu_figures.py, whose complaints go into the log.
run_figures()
{
    local name=$1 file=$2
    shift 2
    # shellcheck disable=SC2016 # for that shell
    run "$name" 120 "$file" bash -c 'exec python3 "$@" 2>>"$0"' "$log" "$beside/gpu_figures.py" "$@"
}

# figures KIND FILE...: rows of the table, made from results.
figures()
{
    local name result figure status=0
    [[ -s $2 ]] || return 0
    if ! command -v python3 >/dev/null; then
        row "figures of $1" skip "there is no python3 here; they are in ${2##*/}" 0 ""
        return 0
    fi
    run_figures "figures of $1" "$work/figures" "$@" || status=$?
    while IFS=$'\t' read -r name result figure; do
        row "$name" "$result" "$figure" "" ""
    done <"$work/figures"
    ((status == 0)) || row "figures of $1" FAILED "exit code $status; see log.txt" "" ""
}

describe_machine()
{
    local command
    for command in "uname -a" "nvidia-smi" "nvidia-smi -q" "nvidia-smi topo -m" "nvcc --version" "lscpu" \
        "free -m" "python3 --version"; do
        printf '\n=== %s\n' "$command"
        # shellcheck disable=SC2086 # words of a command
        timeout 20 $command 2>&1 </dev/null
    done
    printf '\nLD_LIBRARY_PATH=%s\n' "$LD_LIBRARY_PATH"
}

# Whether the device opens at all; what it says if not ends the check.
find_device()
{
    local status=0
    run "the device opens" 60 "$work/out" "$program" bench --device="$device" \
        --benchmark_filter='^lat_readback' --max-time=0.05 || status=$?
    cat "$work/out" >>"$log"
    if ((status == 3)); then
        sed 's/^chokepoint: bench: //' "$work/out"
        exit 77
    fi
    if ((status != 0)); then
        row "the device opens" FAILED "$(figure_of "$work/out")" 0 ""
        echo "nothing else was tried; see $log"
        exit 1
    fi
    row "the device opens" ok "$(sed -n 1p "$work/out")" 0 ""
}

# --- The parts ---

# A stream that waits at a test's gate must not hold up another. Figures are taken without it, as
# users take them.
readonly connections=CUDA_DEVICE_MAX_CONNECTIONS=32

run_tests()
{
    local name
    if [[ ! -r $build/gpu_tests ]]; then
        ! wanted test || row tests FAILED "$build has no gpu_tests: build it again" 0 ""
        return 0
    fi
    for name in $(names_of_tests); do # without /dev/fd, which a small machine may lack
        step "$name" env "$connections" "$(program_of "$name")"
    done
}

part_tests()
{
    run_tests
    step doctor "$program" doctor --device="$device"
}

# list_kernels FILE TRACE...: their kernels' names by precision, and how long they take.
list_kernels()
{
    local file=$1
    shift
    command -v python3 >/dev/null && [[ -e $1 ]] || return 0
    run_figures "names of kernels" "$work/kernels.txt" names "$@" &&
        cp "$work/kernels.txt" "$folder/$file.new" && mv "$folder/$file.new" "$folder/$file"
}

# The heavy step with everything fixed but the graph, so that each kernel has a row; docs/predictions.md foretells them.
trace_heavy()
{
    local trace=$work/heavy.json.gz
    ! wanted heavy || rm -f "$folder/heavy.txt" # of an earlier check
    step heavy "$program" train --device="$device" --model=heavy --input=resident --precision=bf16 \
        --attention=fused --launch=eager --steps=8 --trace="$trace" && list_kernels heavy.txt "$trace"
}

# pack_traces NAME: as many traces as fit into 15 MB, the small ones first; they are compressed already. The others
# are deleted.
pack_traces()
{
    local result=ok
    [[ -d $folder/$1/traces ]] || return 0
    # shellcheck disable=SC2016 # for that shell
    run traces 120 "$work/packed" bash -c '
        cd "$1/traces" && find . -type f -printf "%s %f\n" | sort -n >"$0/traces" &&
        awk "{ sum += \$1 + 1024 } sum < 15000000 { print \$2 }" "$0/traces" >"$0/fit" &&
        tar -cf "$1/traces.new" -T "$0/fit" && mv "$1/traces.new" "$1/traces.tar" && rm -r "$1/traces" &&
        echo "$(wc -l <"$0/fit") of $(wc -l <"$0/traces") kept"' "$work" "$folder/$1" || result=FAILED
    row "traces of $1" "$result" "$(tail -n 1 "$work/packed")" "" ""
}

# Each row is set up once: the figures of one run, in the time that there is.
bench()
{
    ! wanted "$1" || rm -f "$folder/$1.json" # of an earlier check
    step "$1" "$program" bench --device="$device" --max-time="$bench_seconds" \
        --benchmark_enable_random_interleaving=false --benchmark_min_time=0.03 \
        --benchmark_filter="$2" --benchmark_out="$folder/$1.json"
}

# A step that lacks something, a second GPU or MPI, is skipped, with what it says as the reason.
# shellcheck disable=SC2016 # for that shell
readonly or_skip='"$@"; status=$?; ((status != 3)) || status=77; exit "$status"'

# train_ranks STEP DEVICE: two ranks, whose loss goes to a file.
train_ranks()
{
    step "$1" bash -c "out=\$1; shift; { $or_skip; } >\"\$out\"" - "$work/$1.json" "$program" train --device="$2" --ranks=2 \
        --steps=20 --format=json --model=balanced --data=images --input=decoded --batch=12 --patch=8 --tokens=5 \
        --width=64 --blocks=2 --precision=fp32 --launch=eager
}

# Two ranks learn the same as two ranks of the CPU device; and what they communicate.
check_ranks()
{
    rm -f "$work"/ranks*.json
    train_ranks ranks "$device" && train_ranks ranks_cpu cpu && [[ -s $work/ranks.json && -s $work/ranks_cpu.json ]] &&
        figures losses "$work/ranks.json" "$work/ranks_cpu.json"
    wanted bench_ranks || return 0
    rm -f "$folder/bench_ranks.json" # of an earlier check
    step bench_ranks bash -c "$or_skip" - "$program" bench --device="$device" --ranks=2 --max-time="$bench_seconds" \
        --benchmark_out="$folder/bench_ranks.json" && figures collectives "$folder/bench_ranks.json"
}

# run_scenarios NAME GROUP...: into a folder of that name. A step that is repeated (--only) leaves the files of the others.
run_scenarios()
{
    local name=$1
    shift
    if wanted "$name"; then
        rm -rf "${folder:?}/$name" # of an earlier check
        step "$name" "$program" run "$@" --device="$device" --quick --color=never --out="$folder/$name"
        figures run "$folder/$name/result.json"
        list_kernels "$name/kernels.txt" "$folder/$name"/traces/*.gz
        pack_traces "$name"
    fi
}

part_run()
{
    run_scenarios run data copies launches syncs dtypes
}

part_rest()
{
    run_scenarios rest kernels memory logging ranks measuring
}

part_bench()
{
    local copies=$folder/bench_copies.json kernels=$folder/bench_kernels.json
    check_ranks
    bench bench_copies '^(lat|bw)_'
    ! wanted bench_copies || figures copies "$copies"
    bench bench_products '^(gemm|attention)'
    ! wanted bench_products || figures products "$folder/bench_products.json"
    bench bench_kernels '^(layernorm|softmax|gelu|residual|split|merge|bias|adamw)'
    ! { wanted bench_kernels && [[ -s $kernels && -s $copies ]]; } || figures kernels "$copies" "$kernels"
}

# sanitize TOOL TEST: compute-sanitizer's TOOL over a test. None of our kernels uses shared memory, so racecheck would
# examine only NVIDIA's libraries.
sanitize()
{
    local tool
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
    if [[ $device == cpu || -z $tool ]]; then
        ! wanted "$1" || row "$1" skip "compute-sanitizer is not here, or not for this device" 0 ""
        return 0
    fi
    if ! grep -q "^$2 " "$build/gpu_tests" 2>/dev/null; then
        ! wanted "$1" || row "$1" skip "$build has no $2" 0 ""
        return 0
    fi
    step "$1" env CHOKEPOINT_TEST_TYPE=bf16 "$tool" --tool "$1" --error-exitcode 9 --target-processes all \
        "$(program_of "$2")"
}

# PyTorch finds CUDA's libraries itself, and would take the wrong ones from our LD_LIBRARY_PATH; it may find the
# driver by the one that was given.
compare_with_torch()
{
    local small=()
    ! wanted torch || rm -f "$folder/torch.json" # of an earlier check
    if ! command -v python3 >/dev/null; then
        ! wanted torch || row torch skip "there is no python3 here" 0 ""
        return 0
    fi
    [[ $device != cpu ]] || small=(--size small --rounds 1)
    step torch env LD_LIBRARY_PATH="$given" CHOKEPOINT_LIBRARIES="$LD_LIBRARY_PATH" \
        python3 "$beside/gpu_torch.py" "$program" --device "${device%%:*}" --out "$folder/torch.json" \
        "${small[@]}"
}

# ncu's counters of the pairs of kernels, beside those that we count. A container may forbid the counters.
compare_with_ncu()
{
    local tool
    tool=$(command -v ncu || ls /usr/local/cuda/bin/ncu 2>/dev/null)
    if [[ $device == cpu || -z $tool ]]; then
        ! wanted ncu || row ncu skip "ncu is not here, or not for this device" 0 ""
        return 0
    fi
    step ncu python3 "$beside/gpu_ncu.py" --ncu "$tool" --device "$device" --out "$folder/ncu.csv" "$program"
}

part_torch()
{
    compare_with_torch
    trace_heavy
    # Whole steps, with NVIDIA's libraries; a library may read what it never uses, so kernels alone where it is looked
    # for what nobody wrote, and without a filter, which would forget what others write.
    sanitize memcheck test_gpu_training
    sanitize initcheck test_gpu_kernels
    compare_with_ncu
    ! grep -q '^test_faults_gpu ' "$build/gpu_tests" ||
        step faults env "$connections" "$(program_of test_faults_gpu)"
}

describe_machine >"$folder/machine.txt" 2>&1
printf '%-30s %-9s %5s %8s  %s\n' check result s expected figure | tee -a "$table"
find_device
# The first part's time includes what came before it: --seconds bounds the whole call then.
next=$start
for part in $parts; do
    start=$next
    "part_$part"
    next=$SECONDS
done
row "all" "$( ((failed == 0)) && echo ok || echo "$failed bad")" "$folder" $((SECONDS - start)) ""
((failed == 0))
