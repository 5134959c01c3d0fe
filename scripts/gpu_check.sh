#!/usr/bin/env bash
# Everything that only a machine with a GPU can tell, in one go: each check with a timeout of its own, one
# table at the end.
set -u

usage()
{
    cat <<'END'
usage: gpu_check.sh [OPTION...] FOLDER

Checks chokepoint on this machine's GPU and writes into FOLDER: table.txt, log.txt, machine.txt,
bench.json, result.json, traces.tar, torch.json. Needs no network. A check that fails or hangs costs
itself only.

  --build DIR     the build folder, or a bundle of scripts/gpu_bundle.sh; if not given: CHOKEPOINT_BUILD,
                  this script's folder, or build/ of its checkout, which is built where it is missing
  --device NAME   what is checked; GPU_CHECK_DEVICE or cuda if not given. cpu: the same steps, as far as
                  they make sense, to try the script itself
  --seconds N     for everything; 470 if not given
  --only REGEX    only steps whose name it finds: test|doctor|run|bench|torch|memcheck|racecheck
  --help          this text

Exit codes: 0 all is well, 1 something is not, 2 bad usage, 77 there is no GPU.
END
}

beside=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
build=${CHOKEPOINT_BUILD-}
device=${GPU_CHECK_DEVICE-cuda}
seconds=470
only=.
folder=

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
    --build | --device | --seconds | --only)
        (($# > 1)) || wrong "$1 wants a value"
        case $1 in
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
[[ -n $folder ]] || wrong "give a folder for the results; --help says more"
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

mkdir -p "$folder" || exit 2
folder=$(CDPATH='' cd -- "$folder" && pwd -P)
readonly log=$folder/log.txt table=$folder/table.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
: >"$log"
: >"$table"
export CHOKEPOINT_CACHE=${CHOKEPOINT_CACHE-$work/cache} # generated images
export CHOKEPOINT_TEST_DEVICE=$device
export CHOKEPOINT_TEST_SEED=${CHOKEPOINT_TEST_SEED-1} # of what kernels are given

# CUDA's libraries, where they are no concern of the linker's: the toolkit's, and those of pip's packages.
find_libraries()
{
    local found path=
    for found in "${CUDA_HOME-}/lib64" /usr/local/cuda/lib64 /usr/local/cuda/extras/CUPTI/lib64 \
        /usr/local/nvidia/lib64; do
        [[ ! -d $found ]] || path=$path:$found
    done
    if command -v python3 >/dev/null; then
        while read -r found; do
            path=$path:$found
        done < <(python3 -c '
import glob, site, sys
folders = site.getsitepackages() + [site.getusersitepackages()] + sys.path
for folder in dict.fromkeys(folders):
    for found in sorted(glob.glob(folder + "/nvidia/*/lib")):
        print(found)' 2>/dev/null)
    fi
    printf '%s' "${path#:}"
}
libraries=$(find_libraries)
# The bundle comes last: libraries that were carried find each other there.
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH-}${LD_LIBRARY_PATH:+:}$libraries${libraries:+:}$build

# --- Steps ---

failed=0
readonly start=$SECONDS
bench_seconds=0.4
[[ $device != cpu ]] || bench_seconds=0.05

# row NAME RESULT FIGURE SECONDS
row()
{
    printf '%-30s %-9s %5s  %s\n' "$1" "$2" "$4" "$3" | tee -a "$table"
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
        'RACECHECK SUMMARY: ' '^\[  FAILED  \]' '^\[  PASSED  \]'; do
        found=$(grep -a -- "$pattern" "$1" | tail -n 1)
        [[ -z $found ]] || break
    done
    found=${found#figure: }
    found=${found#skipped: }
    printf '%s' "${found:0:150}"
}

# step NAME LIMIT COMMAND...: runs it for at most LIMIT seconds, and no longer than there is time at all.
# 77 is a step that was skipped. Leaves the output in $work/out.
step()
{
    local name=$1 limit=$2 left=$((seconds - (SECONDS - start))) begin=$SECONDS status=0 result
    shift 2
    [[ $name =~ $only ]] || return 0
    cd "$work" || return 1
    : >"$work/out"
    if ((left < 5)); then
        row "$name" "no time" "" 0
        return 0
    fi
    ((limit < left)) || limit=$left
    printf '\n=== %s: %s\n' "$name" "$*" >>"$log"
    timeout --kill-after=10 "$limit" "$@" >"$work/out" 2>&1 </dev/null || status=$?
    tail -c 400000 "$work/out" >>"$log"
    printf '=== exit code %d after %d s\n' "$status" $((SECONDS - begin)) >>"$log"
    case $status in
    0) result=ok ;;
    77) result=skip ;;
    124 | 137) result="${limit}s over" ;;
    *) result=FAILED ;;
    esac
    row "$name" "$result" "$(figure_of "$work/out")" $((SECONDS - begin))
    return "$status"
}

# figures KIND FILE: rows of the table, made from a result.
figures()
{
    local name result figure
    [[ -s $2 ]] || return 0
    if ! command -v python3 >/dev/null; then
        row "figures of $1" skip "there is no python3 here; they are in ${2##*/}" 0
        return 0
    fi
    while IFS=$'\t' read -r name result figure; do
        row "$name" "$result" "$figure" ""
    done < <(python3 "$beside/gpu_figures.py" "$1" "$2" 2>>"$log" || printf 'figures of %s\tFAILED\tsee log.txt\n' "$1")
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
    timeout --kill-after=10 60 "$program" bench --device="$device" --benchmark_filter='^lat_readback' \
        --max-time=0.05 >"$work/out" 2>&1 </dev/null || status=$?
    cat "$work/out" >>"$log"
    if ((status == 3)); then
        sed 's/^chokepoint: bench: //' "$work/out"
        exit 77
    fi
    if ((status != 0)); then
        row "the device opens" FAILED "$(figure_of "$work/out")" 0
        echo "nothing else was tried; see $log"
        exit 1
    fi
    row "the device opens" ok "$(sed -n 1p "$work/out")" 0
}

# The results of kernels are tested first, then everything else except the slowest tests, then those.
tests_first=('^test_gpu_kernels ')
tests_next=(-v -e '^test_gpu_kernels ' -e '^test_faults_gpu ')
tests_last=('^test_faults_gpu ')

# run_tests GREP'S ARGUMENTS: those of the list that it selects.
run_tests()
{
    local name test limit
    if [[ ! -r $build/gpu_tests ]]; then
        [[ ! test =~ $only ]] || row tests FAILED "$build has no gpu_tests: build it again" 0
        return 0
    fi
    while read -r name test; do
        [[ -n $test ]] || continue
        # On the CPU device these are tests like all others, but for those that are of a GPU.
        if [[ $device == cpu && $test == test_gpu_* ]]; then
            continue
        fi
        case $test in
        test_device_kernels | test_training | test_faults) limit=120 ;;
        *) limit=60 ;;
        esac
        step "$name" "$limit" "$build/$test"
    done < <(grep "$@" "$build/gpu_tests")
}

# compute-sanitizer over a few light steps: $1 is its tool.
sanitize()
{
    local tool
    tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
    if [[ $device == cpu || -z $tool ]]; then
        [[ ! $1 =~ $only ]] || row "$1" skip "compute-sanitizer is not here, or not for this device" 0
        return 0
    fi
    step "$1" 60 "$tool" --tool "$1" --error-exitcode 9 --target-processes all "$program" train \
        --device="$device" --model=light --launch=eager --loss-every=1 --steps=2
}

run_scenarios()
{
    step run 220 "$program" run all --device="$device" --quick --color=never --out="$work/run"
    [[ -e $work/run/result.json ]] || return 0
    cp "$work/run/result.json" "$folder/"
    figures run "$folder/result.json"
    # As many traces as fit into 15 MB, the small ones first; they are compressed already.
    (cd "$work/run/traces" 2>/dev/null &&
        find . -type f -printf '%s %f\n' | sort -n |
        awk '{ sum += $1 + 1024 } sum < 15000000 { print $2 }' >"$work/fit" &&
        tar -cf "$folder/traces.tar" -T "$work/fit")
}

# PyTorch finds CUDA's libraries itself, and would take the wrong ones from LD_LIBRARY_PATH.
compare_with_torch()
{
    local small=()
    if ! command -v python3 >/dev/null; then
        [[ ! torch =~ $only ]] || row torch skip "there is no python3 here" 0
        return 0
    fi
    [[ $device != cpu ]] || small=(--small --rounds 1)
    step torch 140 env -u LD_LIBRARY_PATH CHOKEPOINT_LIBRARIES="$LD_LIBRARY_PATH" \
        python3 "$beside/gpu_torch.py" "$program" --device "${device%%:*}" --out "$folder/torch.json" \
        "${small[@]}"
}

describe_machine >"$folder/machine.txt" 2>&1
printf '%-30s %-9s %5s  %s\n' check result s figure | tee "$table"
find_device
run_tests "${tests_first[@]}"
run_tests "${tests_next[@]}"
step doctor 60 "$program" doctor --device="$device"
run_scenarios
# Set up once each: the figures of one run, in the time that there is.
step bench 130 "$program" bench --device="$device" --max-time="$bench_seconds" \
    --benchmark_enable_random_interleaving=false --benchmark_min_time=0.03 \
    --benchmark_filter='^(lat|bw|gemm|attention|layernorm|softmax|gelu|residual|adamw)' \
    --benchmark_out="$folder/bench.json"
[[ ! bench =~ $only ]] || figures bench "$folder/bench.json"
compare_with_torch
sanitize memcheck
sanitize racecheck
run_tests "${tests_last[@]}"
row "all" "$( ((failed == 0)) && echo ok || echo "$failed bad")" "$folder" $((SECONDS - start))
((failed == 0))
