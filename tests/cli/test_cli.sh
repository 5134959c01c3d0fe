#!/bin/sh
# The program as a user meets it: exit codes, messages, help, what is refused before anything runs, and one
# small run of each command. test_cli_runs.sh has more of them, for one build only.
#
# usage: test_cli.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../fixtures/command_line.sh"
export CHOKEPOINT_CACHE="$folder/cache"

# --- help and version ---
expect 0 "help" "$program" --help
says out "chokepoint run --quick"
is_empty err
for command in list explain quiz run train bench diagnose compare history doctor exec; do
    for option in --help -h; do
        expect 0 "$command $option" "$program" "$command" "$option"
        says out "Usage: chokepoint $command"
        says out "Examples:"
        is_empty err
        # The text of an option is in column 29, behind its name or on the next line.
        misplaced=$(awk '/^$/ { part++ } part == 1' "$folder/out" | grep -vE '^(      --[^ ].*| {29}[^ ].*)?$')
        [ -z "$misplaced" ] || fail "$command --help breaks a line of its options: $misplaced"
    done
done
expect 0 "help of a command" "$program" help train
says out "Usage: chokepoint train"
refuses "help of what is no command" "there is no command trian; did you mean train?" "$program" help trian
for command in run explain; do
    refuses "$command of nothing" 'there is no scenario' "$program" "$command" ""
    says err '""; chokepoint '
done
expect 0 "-h" "$program" -h
says out "Commands:"
expect 0 "-h after a word" "$program" explain item_sync -h
says out "Usage: chokepoint explain"
for command in run compare; do
    expect 0 "the exit codes of undecided in $command --help" "$program" "$command" --help
    says out "undecided"
    says out "noisy"
    says out "--strict"
done
for variable in $(cd "$(dirname -- "$0")/../.." && grep -rhoE 'getenv\("(CHOKEPOINT_[A-Z]+|NO_COLOR|TMPDIR)"\)' \
    harness scenarios | sed 's/^getenv("\(.*\)")$/\1/' | sort -u) CUDA_HOME CUDA_VISIBLE_DEVICES; do
    expect 0 "$variable in the help" "$program" --help
    says out "$variable"
    grep -qF "\`$variable\`" "$(dirname -- "$0")/../../docs/environment.md" || fail "docs/environment.md lacks it"
done
expect 0 "version" "$program" --version
says out "chokepoint 0."

# --- names ---
expect 2 "no command" "$program"
says err "Commands:"
says err "  train "
is_empty out
expect 2 "an unknown command" "$program" rnu
says err "there is no command rnu; did you mean run?"
is_one_line err
expect 2 "an unknown option before the command" "$program" --halp
says err "did you mean --help?"
refuses "an unknown option before the command" "as in $program run --quick" "$program" --quick
refuses "a command like no other" "there is no command foo; there are list, explain, " "$program" foo
for command in run exec; do
    refuses "$command of an unknown scenario" \
        "chokepoint: $command: there is no scenario item_snyc; did you mean item_sync?" \
        "$program" "$command" item_snyc
    refuses "$command of a scenario like no other" "; chokepoint list shows them" \
        "$program" "$command" nosuch
    says_not err "did you mean"
done
refuses "an unknown flag" "did you mean --repetitions?" "$program" run --repetitons=3
refuses "a flag like no other" "there is no option --filter=x ($program run --help)" \
    "$program" run --filter=x
refuses "a part of a flag" "did you mean --benchmark_filter?" "$program" bench --filter=x
refuses "the value of a flag" "did you mean --format=json?" "$program" run --json
for word in -q -quick --quik; do
    refuses "$word" "did you mean --quick?" "$program" run "$word"
done
refuses "one dash" "there is no option -data=x: options begin with two dashes; did you mean --data?" \
    "$program" run -data=x
expect 2 "a value that begins with a dash" "$program" run --repetitions -1
says err "--repetitions=-1: give a whole number"
expect 2 "an unknown knob" "$program" train --loss-evry=3
says err "there is no option --loss-evry=3; did you mean --loss-every?"
is_one_line err
expect 2 "an unknown knob in a sweep" "$program" train --sweep worker=1,2
says err "did you mean workers?"
expect 2 "a knob like no other" "$program" train --sweep nothing=1,2
says err 'there is no knob "nothing"; train --help lists them'
refuses "a third knob in a sweep" "give one knob or two" "$program" train --sweep workers=0,1 \
    --sweep batch=4,8 --sweep launch=eager,graph
refuses "a knob twice in a sweep" "given twice with workers; give all its values at once" \
    "$program" train --sweep workers=0,1 --sweep workers=2
refuses "a grid that is too large" "256 pairs of values at most; these are 289" "$program" train \
    --sweep workers=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 \
    --sweep batch=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17
refuses "a ladder of a sweep" "leave out --sweep" "$program" train --ladder --sweep workers=0,1
refuses "a ladder of so many steps" "leave out --sweep" "$program" train --ladder --steps=10
refuses "a time budget without a ladder" "--time-budget is for --ladder" "$program" train --time-budget=10
refuses "no samples" "--batch=0: give a number from 1 to 65536 or auto" "$program" train --batch=0
refuses "a knob by its flag" "--loss-every=often: give a number from 1 to 1000000" \
    "$program" train --loss-every=often
expect 2 "a value that a knob does not take" "$program" train --launch=later
says err "graph"
expect 2 "a flag without its value" "$program" run --out
says err "--out needs a value"
expect 2 "a value for a flag that takes none" "$program" run --quick=yes
says err "--quick takes no value"
expect 2 "text in place of a number" "$program" run --repetitions=many
says err "--repetitions=many: give a whole number from 1 to 1000"
expect 2 "bytes that are none" "$program" run --device-memory=-1
says err "512MiB"
refuses "a word for a command that takes none" 'list takes a group; there is none everything' \
    "$program" list everything
refuses "one name too many" 'explain takes one name; unexpected "precision"' \
    "$program" explain item_sync precision
refuses "one scenario too many" 'exec takes one scenario; unexpected "precision"' \
    "$program" exec item_sync precision
refuses "a scenario is missing" "$program list shows them" "$program" exec
refuses "all where one is wanted" 'exec takes one scenario; "all" stands for several, which run takes' \
    "$program" exec all
expect 2 "an unknown format" "$program" run --format=xml
says err "console, json or markdown"

# --- where an error was noticed ---
expect 2 "verbose" "$program" exec nothing --verbose
expect 2 "verbose before" "$program" exec --verbose nothing
says err "choose.c:"
expect 2 "verbose by the environment" env CHOKEPOINT_VERBOSE=1 "$program" exec nothing
says err "choose.c:"

# --- list and explain need no device ---
expect 0 "list" "$program" list
says out "item_sync"
cp "$folder/out" "$folder/list"
expect 0 "list as JSON" "$program" list --format=json
says out '"schema":	1'
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
listing = json.load(open(sys.argv[1]))
rows = {row["name"]: row for row in listing["scenarios"]}
names = [*rows, *(row["name"] for row in listing["kernels"])]
listed = [line[2:].split()[0] for line in open(sys.argv[2]) if line[:2] in ("  ", "* ") and line[2].islower()]
assert sorted(names) == sorted(name for name in listed if name != "core:"), listed
row = rows["item_sync"]
assert (row["group"], row["knob"], row["before"], row["after"]) == ("syncs", "loss_every", "1", "20")
assert row["core"] and "loss.item()" in row["pytorch"]["before"]
assert row["devices"] == ["cpu", "cuda"] and row["least_cores"] == 2
assert row["expectations"][0]["metric"] == "syncs_per_step" and row["expectations"][0]["at_least"] == 10
assert row["findings"] == [{"id": "host_sync", "where": "anywhere"}]
assert rows["precision"]["least_cores"] == 1
assert all(row["devices"] and row["least_cores"] <= 4 for row in rows.values())
assert rows["strict_fp32"]["devices"] == ["cuda"] and rows["layout_copies"]["devices"] == ["cpu", "cuda"]
assert not rows["naive_attention"]["core"]' "$folder/out" "$folder/list" >"$folder/err" 2>&1 ||
        fail "the JSON is not right"
fi
expect 0 "explain" "$program" explain item_sync
says out "Symptom"
says out "$program train --model=balanced --input=decoded --workers=0 --launch=graph --loss-every=1"
says out "--loss-every=20"
says out "$program run item_sync"
expect 0 "explain nothing" "$program" explain
says out "* item_sync "
says out "  host_sync "
expect 0 "explain all" "$program" explain all
[ "$(grep -c 'Look for' "$folder/out")" -eq "$("$program" list | grep -c -e '->')" ] ||
    fail "not every scenario is explained"
[ "$(grep -c 'Threshold' "$folder/out")" -gt 30 ] || fail "findings are not explained"
expect 0 "explain findings" "$program" explain findings
[ "$(grep -c 'Threshold' "$folder/out")" -gt 30 ] || fail "not every finding is explained"
says_not out "Look for"
expect 0 "explain the checklist" "$program" explain checklist
[ "$(grep -c '^[1-7]\. .*?$' "$folder/out")" -eq 7 ] || fail "not seven questions"
[ "$(grep -c 'Guides' "$folder/out")" -eq 7 ] || fail "a question without the guides that ask it"
says_not out "device_bound"
expect 0 "explain with an earlier result" "$program" explain item_sync --result="$(dirname -- "$0")/../../results/cpu-xeon-amx-2cores"
says out "Measured earlier"
says out "syncs_per_step: down 2"
expect 0 "explain what a result lacks" "$program" explain cache_flush --result="$(dirname -- "$0")/../../results/cpu-epyc-zen4-2cores"
says_not out "Measured earlier"
refuses "a hand-out of nothing" "--format=markdown: name what is to be explained, or all" "$program" explain \
    --format=markdown
refuses "explain with a result that is not there" "nowhere" "$program" explain item_sync --result=nowhere
expect 0 "explain a finding" "$program" explain host_sync
says out "host_sync: The host waits"
says out "Shown by    item_sync"
says out "Symptom     the device is idle right after a call"
says out "$program run item_sync"
says out "Severity    none below 5% of a step"
expect 0 "explain a finding that costs no time" "$program" explain memory_growth
says_not out "Severity"
expect 0 "explain a finding of two scenarios" "$program" explain launch_bound
says out "launch_overhead"
says out "small_batch"
expect 0 "explain a finding that no scenario shows" "$program" explain insufficient_data
says out "Shown by    no scenario"
expect 0 "a scenario and a finding of one name" "$program" explain naive_attention
says out "Look for"
says out "Threshold"
refuses "a finding that is misspelt" "did you mean data_loading?" "$program" explain data_loadin
refuses "neither scenario nor finding" "there is no scenario or finding nosuch; chokepoint explain lists" \
    "$program" explain nosuch
expect 0 "every scenario can be explained" sh -c '
    "$1" list | sed -n "s/^[* ] \([a-z_0-9]\{1,\}\) .*/\1/p" | while read -r name; do
        "$1" explain "$name" >/dev/null || exit 1
        echo "$name"
    done' - "$program"
says out "loader_workers"
expect 2 "a full standard output" sh -c '"$1" list >/dev/full' - "$program"
says err "cannot write to standard output"

# --- refused before anything runs ---
touch "$folder/plain"
expect 2 "a result folder that is a file" "$program" run item_sync --device=cpu --out="$folder/plain"
says err "chokepoint: run: "
says err "$folder/plain exists and is not a folder"
is_empty out
expect 2 "a result folder that cannot be made" "$program" run item_sync --device=cpu --out=/proc/none
says err "--out=/proc/none: "
says err "cannot create the folder /proc/none: No such file or directory; choose another folder"
expect 2 "an unknown device" "$program" run item_sync --device=tpu --out="$folder/none"
[ ! -e "$folder/none" ] || fail "a result folder was made"
if [ ! -e /dev/nvidiactl ]; then
    expect 3 "a GPU that is not there" "$program" run item_sync --device=cuda --out="$folder/none"
    says err "chokepoint: run: "
    says err "cuda"
    is_empty out
    expect 3 "training on a GPU that is not there" "$program" train --device=cuda
fi

# --- the work of an earlier run, refused ---
# like NAME DEVICE VERDICT SETTINGS [DATA]: a result of a run of item_sync.
like()
{
    printf '{"context": {"device": "%s"}, "benchmarks": [], "chokepoint": {"scenarios": [%s]}}' "$2" \
        '{"name": "item_sync", "verdict": "'"$3"'", "settings": {"before": "'"$4"'"}, "protocol": {"data": '"${5:-null}"', "device_memory": 0}}' \
        >"$folder/$1"
}
like cpu.json cpu undecided "jpeg_pixels=96 seed=1"
like other_seed.json cpu undecided "jpeg_pixels=96 seed=7"
like gpu.json cuda reproduced "jpeg_pixels=96 seed=1"
like broken.json cpu reproduced "jpeg_pixels=many seed=1"
like newer.json cpu reproduced "jpeg_pixels=96 warp=9"
like empty.json cpu reproduced ""
like skipped.json cpu skipped "jpeg_pixels=96 seed=1"
echo '{"benchmarks": []}' >"$folder/bench.json"
head -c 60 "$folder/cpu.json" >"$folder/cut.json"
# like_refused FILE TEXT OPTION...
like_refused()
{
    like_file=$folder/$1
    like_text=$2
    shift 2
    refuses "a run like $(basename "$like_file")" "$like_text" "$program" run --device=cpu \
        --out="$folder/none" --like="$like_file" "$@"
    [ ! -e "$folder/none" ] || fail "a result folder was made"
}
like_refused nowhere.json "nowhere.json cannot be opened"
like_refused cut.json "cut.json is not JSON"
like_refused bench.json "it has no scenario that was measured: give a result of chokepoint run"
like_refused cpu.json "it has no precision: name scenarios that it has, or leave the names out" precision
like_refused broken.json 'jpeg_pixels: "many"'
like_refused newer.json "warp"
like_refused empty.json "it does not state the settings of item_sync"
like_refused skipped.json "it has no scenario that was measured"
like_refused skipped.json "item_sync was not measured in it (skipped): name other scenarios, or leave the names out" item_sync
like_refused gpu.json 'was measured on a device of the kind "cuda", and this is'
like_refused cpu.json "its seed is 1, so leave out --seed=2" --seed=2
like_refused other_seed.json "its seed is 7, so leave out --seed=1" --seed=1
like_refused cpu.json "it had the device's own memory, so leave out --device-memory" --device-memory=1GiB
# Another name of the folder that it names is none that contradicts it: the folder is what is refused.
mkdir "$folder/like_data"
like own.json cpu undecided "jpeg_pixels=96 seed=1" "\"$folder/like_data\""
like_refused own.json "/like_data has no sub-folders" --data="$folder/../$(basename "$folder")/like_data/"
like_refused cpu.json "its images are generated, so leave out --data=/tmp" --data=/tmp

# --- data that cannot be had ---
no_home()
{
    env -u HOME -u XDG_CACHE_HOME -u CHOKEPOINT_CACHE "$program" "$@"
}
no_cache()
{
    env CHOKEPOINT_CACHE=/proc/none/cache "$program" "$@"
}
refuses "training without a home" "neither HOME nor XDG_CACHE_HOME is set" no_home train --device=cpu
refuses "a run without a home" "neither HOME nor XDG_CACHE_HOME is set" no_home run --device=cpu \
    --out="$folder/none"
refuses "training without a cache" "the cache folder /proc/none cannot be made" no_cache train --device=cpu
refuses "a run without a cache" "the cache folder /proc/none cannot be made" no_cache run --device=cpu \
    --out="$folder/none"
[ ! -e "$folder/none" ] || fail "a result folder was made"
refuses "training on a folder that is not there" "the folder $folder/none cannot be read" \
    "$program" train --device=cpu --data="$folder/none"

# --- A small real run ---
expect 0 "a training run" "$program" train --device=cpu --model=light --steps=20
says out "samples/s"
says out "held-out"
says out "  Steps 1 to 80 warmed up and are not timed."
says out "       100 " # the first row ends after 20 steps more
says out "of the step time"
expect 0 "a run that is saved" "$program" train --device=cpu --model=light --steps=20 --save="$folder/saved"
says out "The state after 100 steps is in"
expect 0 "a run that is saved, as JSON" "$program" train --device=cpu --model=light --steps=20 \
    --save="$folder/saved-json" --format=json
says out "\"saved\":	\"$folder/saved-json/training.state\""
[ -s "$folder/saved-json/training.state" ] || fail "the state is not there"
expect 0 "a run that goes on" "$program" train --device=cpu --model=light --steps=20 --resume="$folder/saved"
says out "  Steps 101 to 180 warmed up and are not timed."
says out "       200 "
says_not out "The state after"
refuses "a run that goes on with other settings" "was saved with seed=1 instead of 2; give these settings" \
    "$program" train --device=cpu --model=light --steps=20 --resume="$folder/saved" --seed=2
refuses "a run that goes on from nothing" "there is no saved state $folder/none/training.state" \
    "$program" train --device=cpu --model=light --resume="$folder/none"
refuses "a sweep that is saved" "leave one of them out" "$program" train --device=cpu \
    --save="$folder/saved" --sweep workers=1,2
refuses "a state that cannot be saved" "cannot create the folder /proc/none" \
    "$program" train --device=cpu --model=light --save=/proc/none
with_small_files() {
    (ulimit -f 8 && "$@")
}
expect 2 "a run whose last state has no room" with_small_files "$program" train --device=cpu --model=light \
    --steps=20 --save="$folder/full"
says out "held-out"
says_not out "The state after"
says err "$folder/full/training.state: File too large"
[ -z "$(ls "$folder/full")" ] || fail "something was left of it"
expect 0 "a run that is rarely saved" "$program" train --device=cpu --model=light --steps=20 \
    --save="$folder/rare" --save-every=1000000
says out "Steps 1 to 400 warmed up"
expect 0 "a run that is rarely saved, by time" "$program" train --device=cpu --model=light \
    --save="$folder/rare" --save-every=1000000
expect 2 "a run whose log has no room" with_small_files "$program" train --device=cpu --model=light \
    --steps=500 --loss-every=1 --log=queued
says out "held-out"
says err "the log in "
says err ": File too large; make room there, set TMPDIR to another folder, or log=none"
expect 0 "training on images" "$program" train --device=cpu --model=balanced --steps=20
says_not out "images in"
mkdir "$folder/own"
for class in "$CHOKEPOINT_CACHE"/images-*/*_wide; do
    mkdir "$folder/own/$(basename "$class")"
    for image in $(ls "$class" | head -n 30); do
        cp "$class/$image" "$folder/own/$(basename "$class")"
    done
    damaged=${damaged-$folder/own/$(basename "$class")/$(ls "$class" | head -n 1)}
done
classes=$(ls "$folder/own" | wc -l)
echo nonsense >"$damaged"
expect 0 "training on one's own images" "$program" train --device=cpu --model=balanced --steps=200 \
    --input=decoded --data="$folder/own"
says out "$((30 * classes)) images in $classes classes in $folder/own; $((3 * classes)) of them are held out"
sed 's/^ *//' "$folder/out" | tr '\n' ' ' >"$folder/line"
says line "1 file cannot be decoded: $damaged; "
# This scenario needs no balance, so it is never skipped: a skipped one has no traces.
expect any "a run with traces" "$program" run launch_overhead --device=cpu --quick --repetitions=1 \
    --out="$folder/traced"
for variant in before after; do
    gzip -t "$folder/traced/traces/launch_overhead.$variant.json.gz" ||
        fail "there is no trace of $variant"
done

# --- a trace of one's own configuration ---
expect 0 "a trace of a training run" "$program" train --device=cpu --model=light --launch=eager \
    --steps=20 --trace="$folder/mine.json.gz"
says out "wrote $folder/mine.json.gz: open it at ui.perfetto.dev, or with $program diagnose "
says out "Findings"
says out "samples/s"
gzip -t "$folder/mine.json.gz" || fail "there is no trace"
cp "$folder/out" "$folder/train"
expect 0 "that trace, diagnosed again" "$program" diagnose "$folder/mine.json.gz"
sed -n '/^Findings/,$p' "$folder/train" >"$folder/brief"
while read -r line; do
    says out "$line"
done <"$folder/brief"
expect 0 "the same as JSON" "$program" train --device=cpu --model=light --launch=eager --steps=20 \
    --trace="$folder/mine.json" --format=json
says out '"steps":	20'
says out "\"trace\":	\"$folder/mine.json\""
says out '"findings":'
says_not out "wrote"
says mine.json '"traceEvents"'
if command -v python3 >/dev/null; then # The step time is that of the steps without a tracer.
    python3 -c 'import json, sys
printed, trace = (json.load(open(path)) for path in sys.argv[1:])
about = trace["chokepoint"]
assert abs(about["step_time_us"] - printed["step_time"]) < 1e-4, about
assert about["settings"] == printed["settings"]
steps = [event for event in trace["traceEvents"] if event["name"].startswith("ProfilerStep#")]
assert len(steps) >= about["steps"] >= 3, len(steps)' "$folder/out" "$folder/mine.json" >"$folder/err" 2>&1 ||
        fail "the trace is not of this run"
fi
refuses "a trace with another name" "ends in .json.gz" "$program" train --trace="$folder/mine"
refuses "a trace of a sweep" "leave one of them out" "$program" train --device=cpu \
    --trace="$folder/mine.json" --sweep workers=1,2
refuses "a trace that cannot be written" "cannot write $folder/missing/x.json: No such file" \
    "$program" train --device=cpu --trace="$folder/missing/x.json"
expect 0 "a trace of a variant" "$program" exec launch_overhead --device=cpu --quick --variant=after \
    --trace="$folder/after.json.gz"
says out '"type":"tracing"'
says err "wrote $folder/after.json.gz: open it at ui.perfetto.dev"

expect 2 "a trace of both variants at once" "$program" exec item_sync --trace="$folder/x.json.gz"
says err "--trace records one variant"
expect 2 "a trace into a folder that is not there" "$program" exec launch_overhead --device=cpu \
    --variant=after --trace="$folder/missing/x.json.gz"
says err "cannot write $folder/missing/x.json.gz: No such file or directory"
expect 2 "a trace of both sides" "$program" exec item_sync --aa --variant=after --trace="$folder/t.json.gz"
says err "--aa compares two sides"

expect 0 "a bench" "$program" bench --device=cpu --benchmark_min_time=0.001 \
    --benchmark_filter='^lat_(event|readback)$'
says out "lat_readback"
expect any "doctor" "$program" doctor --device=cpu
says out "bandwidth"
expect 0 "diagnose" "$program" diagnose "$folder/traced/traces/launch_overhead.before.json.gz"
says out "kernels"
expect 0 "diagnose a folder of run" "$program" diagnose "$folder/traced"
grep -o 'launch_overhead\.[a-z]*\.json\.gz' "$folder/out" | uniq | head -n 2 | tr '\n' ' ' >"$folder/line"
says line "launch_overhead.before.json.gz launch_overhead.after.json.gz"
expect any "compare" "$program" compare "$folder/traced/result.json" "$folder/traced/result.json"
says out "launch_overhead/before"

finish
