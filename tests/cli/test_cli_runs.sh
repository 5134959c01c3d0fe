#!/bin/sh
# Real runs as a user meets them: what is printed, what is written, and what an interrupt leaves.
#
# usage: test_cli_runs.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../fixtures/command_line.sh"

# A line for each scenario that begins, and no complaint.
says_what_runs()
{
    grep -q '^\[1/[0-9]*\] ' "$folder/err" || fail "it does not say what runs"
    ! grep -v '^\[[0-9]*/[0-9]*\] [a-z0-9_]*$' "$folder/err" || fail "it complains"
}
export CHOKEPOINT_CACHE="${CHOKEPOINT_CACHE-$folder/cache}"

# --- small runs ---
expect 0 "a training run as JSON" "$program" train --device=cpu --model=light --steps=20 --format=json
says out '"schema":	1'
says out '"step_time":	"us"'
says out '"steps":	20'
says out '"held_out_accuracy"'
says out '"interrupted":	false'
expect 0 "a sweep" "$program" train --device=cpu --model=light --batch=1 --tokens=4 --elementwise=unfused \
    --optimizer=unfused --steps=20 --sweep launch=eager,graph
says out "eager"
says out "graph"
says out "Medians of 3 rounds; spread: half the range of the step time over the rounds,"
# On a busy machine the rounds may disagree or another value may win. The sentence names the row that is marked.
enough=$(sed -n 's/^ *\(eager\|graph\) .* enough$/\1/p' "$folder/out")
if [ -n "$enough" ]; then
    grep -q "^ *launch=$enough is \(enough: the first\|the best, and none before it is within 5%\)" "$folder/out" ||
        fail "launch=$enough is marked, and no sentence names it: $(cat "$folder/out")"
else
    says out "no value is named"
fi
expect 0 "a sweep of one round" "$program" train --device=cpu --model=light --steps=20 --sweep launch=eager,graph \
    --repetitions=1
says out "One round tells no spread"
! grep -q '^ *\(eager\|graph\) .*\(enough\|best\)$' "$folder/out" || fail "one round names a value"
expect 2 "a sweep of what cannot act" "$program" train --device=cpu --sweep workers=0,1
says err "--sweep workers: workers acts only with --input=cached|decoded (here input=resident)"
expect 0 "a setting that cannot act" "$program" train --device=cpu --model=light --steps=4 --bucket-mb=1
says out "bucket_mb acts only with --ranks other than 1 (here ranks=1)."
expect 0 "a grid" "$program" train --device=cpu --model=light --steps=20 --sweep allocation=caching,direct \
    --sweep launch=eager,graph
says out "Samples per second, by allocation (rows) and launch (columns):"
says out "allocation=direct launch=graph: launch=graph with allocation=direct: a graph"
says out "+ is enough, * is the best."
[ "$(grep -c '^ *\(caching\|direct\) ' "$folder/out")" -eq 2 ] || fail "the grid has other rows"
expect 0 "a grid as JSON" "$program" train --device=cpu --model=light --steps=20 --repetitions=2 \
    --sweep allocation=caching,direct --sweep launch=eager,graph --format=json
says out '"enough":'
cp "$folder/out" "$folder/grid.json"
expect any "sweeps are compared" "$program" compare "$folder/grid.json" "$folder/grid.json"
says out "train/allocation:direct/launch:eager "
expect 0 "a short training" "$program" train --device=cpu --model=light --steps=2
says out "MFU        not stated: only "
grep -q 'nan' "$folder/out" && fail "a figure that is not known is printed"
expect 0 "a short training as JSON" "$program" train --device=cpu --model=light --steps=2 --format=json
python3 - "$folder/out" <<'END' || fail "a share of a peak that was not measured"
import json, sys
with open(sys.argv[1]) as file:
    found = json.load(file)["utilisation"]
sys.exit(found["mfu"] is not None or found["peak_flops_per_second"] is not None)
END
expect 0 "a longer training" "$program" train --device=cpu --model=balanced --steps=600
# If something disturbs the machine while the peak is measured, the share is doubtful.
grep -q "where a large matrix product reaches\|MFU  *doubtful: " "$folder/out" || fail "no MFU, and no doubt"
expect any "a run without ceilings" env CHOKEPOINT_FAIL=gemm:1 "$program" run leak --device=cpu --quick --repetitions=1 --no-trace \
    --out="$folder/no-ceilings"
says err "no utilisation is stated, because how fast the device multiplies and copies could not be measured"
[ -s "$folder/no-ceilings/result.json" ] || fail "a run without ceilings left no result"
# On a busy machine it may keep nothing. This is no failure of the program.
expect 0 "a ladder" "$program" train --device=cpu --ladder --model=light --batch=1 --tokens=4 --launch=eager \
    --elementwise=unfused --optimizer=unfused --loss-every=1 --time-budget=8
says out "From the settings that were given"
says out "launch eager -> graph"
says out "The tuned settings"
says out "train --device=cpu --model=light --batch=1 --tokens=4"
is_empty err
mkdir -p "$folder/a-folder-for-temporary-files/whose-path-is-rather-long/as-batch-systems-make-them"
expect 0 "a ladder as JSON" env TMPDIR="$folder/a-folder-for-temporary-files/whose-path-is-rather-long/as-batch-systems-make-them" \
    "$program" train --device=cpu --device-memory=4GiB --ladder --time-budget=1 --format=json
says out "train --device=cpu --device-memory=4294967296"
says out '"end":	"'
says out '"from":	"model=balanced data=images'
says out "workers=0"
# Memory that ran out in a later round leaves the figures of the rounds before it.
found=
for call in 1 2 3 4 5 6 7 8 9 10 11 12; do
    expect any "a sweep without memory from call $call on" env CHOKEPOINT_FAIL="alloc:$call,alloc:$((call + 1))" \
        "$program" train --device=cpu --model=light --steps=20 --sweep launch=eager,graph --format=json
    grep -A1 '"refusal":[[:space:]]*"' "$folder/out" | grep -q '"rounds":[[:space:]]*\[{' || continue
    found=$call
    expect 0 "a sweep whose memory runs out later" env CHOKEPOINT_FAIL="alloc:$call,alloc:$((call + 1))" \
        "$program" train --device=cpu --model=light --steps=20 --sweep launch=eager,graph
    says out "out of device memory"
    says out " to 3 rounds; spread: half" # The other value has all of them.
    [ "$(grep -c '^ *\(eager\|graph\) .*\(%\|-$\)' "$folder/out")" -eq 2 ] || fail "a value has no figures"
    break
done
[ -n "$found" ] || fail "no call failed in a later round"
# On a busy machine a bottleneck may be undecided. This is no failure of the program. The size of the images is that of an
# earlier run: a balance, which such a machine may not have, would be measured for it.
cat >"$folder/size.json" <<'END'
{"context": {"device": "cpu"}, "benchmarks": [], "chokepoint": {"schema": 1, "scenarios": [{"name": "item_sync",
 "settings": {"before": "model=balanced input=decoded jpeg_pixels=64 seed=1"},
 "protocol": {"device_memory": 0, "data": null, "quick": true}}]}}
END
expect any "a quick run" "$program" run item_sync --like="$folder/size.json" --device=cpu --out="$folder/result"
says out "item_sync  loss_every 1 -> 20"
says out "$folder/result/result.json"
says_what_runs
[ -s "$folder/result/result.json" ] || fail "there is no result file"
if command -v python3 >/dev/null; then # Shares are what was measured over ceilings that were, too.
    python3 -c 'import json, statistics, sys
scenario, = json.load(open(sys.argv[1]))["chokepoint"]["scenarios"]
over_peak = any(statistics.median(pair["metrics"]["model_flops_per_second"] for pair in scenario["samples"][name])
                > shares["peak_flops_per_second"] for name, shares in scenario["utilisation"].items())
for name, shares in scenario["utilisation"].items():
    def median(metric):
        return statistics.median(pair["metrics"][metric] for pair in scenario["samples"][name])
    def check(share, metric, ceiling):
        wanted = median(metric) / shares[ceiling]
        assert abs(shares[share] / wanted - 1) < 1e-6 and wanted > 0, (name, shares, wanted)
    assert ("mfu_doubt" in shares, shares["mfu"] is None) == (over_peak, over_peak), shares
    if not over_peak: # It can be if something disturbs the machine while the peak is measured.
        check("mfu", "model_flops_per_second", "peak_flops_per_second")
    check("bandwidth_share", "op_bytes_per_second", "copy_bytes_per_second")
    assert 0 < shares["busy_share"] <= 1, shares' "$folder/result/result.json" >"$folder/err" 2>&1 ||
        fail "the utilisation is not that of the samples"
fi

# --- the work of an earlier run again ---
# Another size and seed than a run would choose, so that it can have them from the file alone.
mkdir "$folder/old"
sed -e 's/jpeg_pixels=[0-9]*/jpeg_pixels=208/g' -e 's/ seed=1"/ seed=7"/g' \
    "$folder/result/result.json" >"$folder/old/result.json"
expect any "a run like an earlier one" "$program" run --like="$folder/old" --device=cpu --no-trace --repetitions=1 \
    --out="$folder/like"
says out "item_sync  loss_every 1 -> 20"
says out "1 scenario: 1 "
grep -o '"\(before\|after\)":[[:space:]]*"model=[^"]*"' "$folder/old/result.json" >"$folder/old.settings"
grep -o '"\(before\|after\)":[[:space:]]*"model=[^"]*"' "$folder/like/result.json" >"$folder/like.settings"
is like.settings "$(cat "$folder/old.settings")"
says like.settings "jpeg_pixels=208"
says like.settings "seed=7"
says like/result.json '"quick":	true'
expect any "comparing the two" "$program" compare "$folder/old" "$folder/like" --allow-missing
says_not out "other work"

# The memory of the device belongs to the work: it is taken over, and another one is refused.
expect any "a run with little device memory" "$program" run launch_overhead --device=cpu --quick --no-trace \
    --repetitions=1 --device-memory=256MiB --out="$folder/small"
says small/result.json '"device_memory":	268435456'
expect 2 "a run like it with other memory" "$program" run --like="$folder/small" --device=cpu \
    --device-memory=512MiB --out="$folder/small-like"
says err "its device memory is 268435456 bytes, so leave out --device-memory"
[ ! -e "$folder/small-like" ] || fail "a result folder was made"
expect any "a run like it" "$program" run --like="$folder/small" --device=cpu --no-trace --repetitions=1 \
    --out="$folder/small-like"
says small-like/result.json '"device_memory":	268435456'
expect any "comparing runs of equal memory" "$program" compare "$folder/small" "$folder/small-like" --allow-missing
says_not out "other work"

# --- traces ---
expect 0 "a trace that is not compressed" "$program" exec launch_overhead --device=cpu \
    --variant=after --trace="$folder/x.json"
says out '"type":"tracing"'
[ "$(head -c 17 "$folder/x.json")" = '{"schemaVersion":' ] ||
    fail "it does not begin as a trace does"
expect any "a run without traces and repetitions" "$program" run launch_overhead --device=cpu --quick \
    --repetitions=2 --no-trace --benchmark_report_aggregates_only --out="$folder/untraced"
matches untraced/result.json '"run_type":[[:space:]]*"aggregate"'
! grep -q '"run_type":[[:space:]]*"iteration"' "$folder/untraced/result.json" || fail "the file has repetitions"
[ ! -e "$folder/untraced/traces" ] || fail "there is a folder of traces"

expect any "an A/A run" "$program" run launch_overhead --aa --device=cpu --quick --repetitions=6 --out="$folder/aa"
# Whatever the verdict is, the exit code must be that verdict's.
verdict=$(sed -n 's/^.*"verdict":[[:space:]]*"\([a-z ]*\)".*$/\1/p' "$folder/aa/result.json")
case $verdict in
"no difference") wanted=0 ;;
undecided) wanted=3 ;;
different) wanted=1 ;;
*) wanted="that of a verdict of A/A, not of \"$verdict\"" ;;
esac
[ "$code" = "$wanted" ] || fail "exit code $code, not $wanted"
says out "launch_overhead  launch eager -> eager (A/A)"
says_what_runs
[ ! -e "$folder/aa/traces" ] || fail "traces were made"
says aa/result.json '"launch_overhead/aa:2"'

# --- the user's own images: what is wrong with them is found once, before anything starts ---
refuses "a folder of images that is not there" "/nonexistent cannot be read" \
    "$program" run --device=cpu --quick --data=/nonexistent --out="$folder/own"
refuses "a folder of images with too long a name" "longer than 511 characters" \
    "$program" run --device=cpu --data="$(printf '%0600d' 0)" --out="$folder/own"
mkdir -p "$folder/images/a" "$folder/images/b"
generated="$CHOKEPOINT_CACHE/images-v1-64px"
cp "$generated/000_degrees_wide"/0000[0-3].jpg "$folder/images/a"
cp "$generated/036_degrees_wide"/0000[0-3].jpg "$folder/images/b"
refuses "too few images" "item_sync trains on 8 images per step, and the folder has 6 to train on" \
    "$program" run item_sync --device=cpu --quick --data="$folder/images" --out="$folder/own"
[ ! -e "$folder/own" ] || fail "a result folder was made"
cp "$generated/000_degrees_wide"/*.jpg "$folder/images/a"
cp "$generated/036_degrees_wide"/*.jpg "$folder/images/b"
echo noise >"$folder/images/b/00007.jpg"
expect any "own images" env -C "$folder" "$program" run precision small_batch --device=cpu --quick \
    --no-trace --repetitions=1 --data=images --out=own
says out "Images: the 228 in $(cd "$folder/images" && pwd -P), resized."
# Results are compared by the folder, however it was named.
says own/result.json "\"data\":	\"$(cd "$folder/images" && pwd -P)\""
says out "1 of them cannot be decoded and was left out:"
says out "images/b/00007.jpg"
says out "small_batch trains on generated sequences, not on images."
says_not out skipped
expect 2 "no place for generated images" env -u HOME -u XDG_CACHE_HOME -u CHOKEPOINT_CACHE \
    "$program" run core --device=cpu --quick --out="$folder/homeless"
says err "set CHOKEPOINT_CACHE"
is_one_line err
[ ! -e "$folder/homeless" ] || fail "a result folder was made"
mkdir -p "$folder/read-only/lock" # Nobody can write to that.
expect 2 "a cache folder that cannot be written" env CHOKEPOINT_CACHE="$folder/read-only" \
    "$program" run core --device=cpu --quick --out="$folder/unwritten"
says err "read-only/lock cannot be written"
is_one_line err
[ ! -e "$folder/unwritten" ] || fail "a result folder was made"

# --- one core: what needs two is skipped, and a run that showed nothing does not pass ---
one=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
expect 3 "a run of what needs two cores, on one" taskset -c "$one" "$program" run item_sync \
    loader_workers --device=cpu --quick --out="$folder/one"
says out "shows only on a GPU, or on a host with at least two cores"
says out "2 scenarios: 2 skipped"
says out "Nothing was reproduced"
says_not out "traces"
says_what_runs
expect 3 "an A/A run of what needs two cores, on one" taskset -c "$one" "$program" run loader_workers --aa \
    --device=cpu --quick --out="$folder/one-aa"
says out "Nothing was compared"
cp "$folder/result/result.json" "$folder/kept.json"
expect 3 "a run that measures nothing, over older results" taskset -c "$one" "$program" run \
    loader_workers --device=cpu --quick --out="$folder/result"
says err "keeps the results of"
cmp -s "$folder/kept.json" "$folder/result/result.json" || fail "the older results are gone"
[ -d "$folder/result/traces" ] || fail "the older traces are gone"
# Beside one that was reproduced a skipped scenario passes, but not strictly.
for flag in --color=never --strict; do
    expect any "one skipped, with $flag" taskset -c "$one" "$program" run item_sync launch_overhead \
        --device=cpu --quick --repetitions=6 --no-trace --out="$folder/beside" "$flag"
    verdict=$(sed -n 's/^.*"verdict":[[:space:]]*"\([a-z ]*\)".*$/\1/p' "$folder/beside/result.json" | head -n 1)
    case "$flag $verdict" in
    *never*' reproduced') wanted=0 ;;
    *never*) wanted=3 ;;
    *) wanted=1 ;;
    esac
    [ "$code" = "$wanted" ] || fail "exit code $code, not $wanted, where launch_overhead is $verdict"
done
expect 0 "the list, on one core" taskset -c "$one" "$program" list
tr -s '\n ' ' ' <"$folder/out" >"$folder/joined" # The widest name decides how the list folds its lines.
says joined "only on a GPU, or on a host with at least two cores: not here"

# --- what top and ps show ---
# named RUN: sets $name to the name and the first argument of the child that measures for process RUN.
named()
{
    while kill -0 "$1" 2>/dev/null; do
        for process in $(pgrep -P "$1"); do
            name=$(cat "/proc/$process/comm"):$(tr '\0' ' ' <"/proc/$process/cmdline" | cut -d' ' -f1-3)
            [ "$name" != "chokepoint:$program exec launch_overhead" ] || return 0
        done
    done 2>/dev/null
}
case_name="the name of a child"
name="none was seen"
"$program" run launch_overhead --device=cpu --quick --repetitions=3 --no-trace \
    --out="$folder/named" >"$folder/out" 2>"$folder/err" &
named $!
wait $!
[ "$name" = "chokepoint:$program exec launch_overhead" ] || fail "it is $name"

# --- a trace that cannot be written fails the run, and is said ---
until rmdir "$folder/removed/traces" 2>/dev/null; do sleep 0.05; done &
expect any "a run whose folder of traces goes away" "$program" run small_batch --device=cpu --quick --repetitions=6 \
    --out="$folder/removed"
wait
says out "no trace before the fix: "
says out "no trace after the fix: "
says out "$folder/removed/traces/small_batch.after.json.gz"
! grep -q "1 reproduced" "$folder/out" || [ "$code" -eq 3 ] || fail "exit code $code, not 3"
says removed/result.json '"verdict"'

# --- interrupted before a scenario is complete: all stays as it was ---
# interrupted COMMAND...: once its first child has started, which measures no scenario yet.
interrupted()
{
    "$@" &
    until pgrep -P $! >/dev/null || ! kill -0 $!; do sleep 0.05; done
    kill -INT $!
    wait $!
}
cp "$folder/result/result.json" "$folder/before.json"
expect 130 "an interrupted run" interrupted "$program" run all --device=cpu --out="$folder/result"
says err "has results of 20"
says err "stopped by an interrupt before a scenario was measured"
says_not out "result.json"
cmp -s "$folder/before.json" "$folder/result/result.json" || fail "the older results are gone"
[ "$(ls "$folder/result")" = "$(printf 'result.json\ntraces')" ] || fail "more is left than there was"
expect 130 "an interrupted run in a new folder" interrupted "$program" run all --device=cpu --out="$folder/cut"
says err "there are no results"
[ -z "$(ls "$folder/cut")" ] || fail "something is left"

# --- in a folder with results: those of other scenarios stay, with their traces ---
expect any "a run in the same folder" "$program" run precision --device=cpu --quick --repetitions=1 --out="$folder/result"
says err "has results of 20"
[ -s "$folder/result/traces/precision.before.json.gz" ] || fail "there is no trace"
[ -s "$folder/result/traces/item_sync.before.json.gz" ] || fail "an older trace is gone"
grep -q '"item_sync/before"' "$folder/result/result.json" || fail "the older rows are gone"
grep -q '"precision/before"' "$folder/result/result.json" || fail "there are no new rows"
expect any "a pair of kernels in the same folder" "$program" run bank_conflicts --device=cpu --out="$folder/result"
grep -q '"item_sync/before"' "$folder/result/result.json" || fail "a second of counting took minutes of measurement"
[ -s "$folder/result/traces/item_sync.before.json.gz" ] || fail "its trace is gone"
expect any "a scenario again" "$program" run precision --device=cpu --quick --repetitions=1 --out="$folder/result"
[ -s "$folder/result/traces-2/precision.before.json.gz" ] || fail "the trace is not where it was free"
[ ! -e "$folder/result/traces/precision.before.json.gz" ] || fail "the older trace is still there"
expect 0 "diagnose finds them" "$program" diagnose "$folder/result"
says out "item_sync.before"
says out "precision.before"
expect 0 "by the name that it had" "$program" diagnose "$folder/result/traces/precision.before.json.gz"
sed -i 's/"host_name":[^,]*/"host_name": "elsewhere"/' "$folder/result/result.json"
expect any "on another machine" "$program" run bank_conflicts --device=cpu --out="$folder/result"
says err "are of another machine or build"
[ -s "$folder/result.1/traces/item_sync.before.json.gz" ] || fail "what was set aside is gone"

finish
