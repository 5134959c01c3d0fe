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
for command in list explain run train exec; do
    expect 0 "$command --help" "$program" "$command" --help
    says out "Usage: chokepoint $command"
    says out "Examples:"
    is_empty err
done
expect 0 "version" "$program" --version
says out "chokepoint 0."

# --- names ---
expect 2 "no command" "$program"
says err "chokepoint: a command is missing"
is_empty out
expect 2 "an unknown command" "$program" rnu
says err "there is no command rnu; did you mean run?"
is_one_line err
expect 2 "an unknown option before the command" "$program" --halp
says err "did you mean --help?"
for command in "explain" "run" "exec"; do
    refuses "$command of an unknown scenario" \
        "chokepoint: $command: there is no scenario item_snyc; did you mean item_sync?" \
        "$program" "$command" item_snyc
done
expect 2 "an unknown flag" "$program" run --repetition-count=3
says err "did you mean --repetitions?"
is_one_line err
expect 2 "an unknown knob" "$program" train --loss-evry=3
says err "there is no option --loss-evry=3; did you mean --loss-every?"
is_one_line err
expect 2 "an unknown knob in a sweep" "$program" train --sweep worker=1,2
says err "did you mean workers?"
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
expect 2 "one word too many" "$program" list everything
says err "everything"
expect 2 "a scenario is missing" "$program" explain
says err "chokepoint list shows them"
expect 2 "an unknown format" "$program" run --format=xml
says err "console, json or markdown"

# --- where an error was noticed ---
expect 2 "verbose" "$program" explain nothing --verbose
expect 2 "verbose before" "$program" explain --verbose nothing
says err "choose.c:"
expect 2 "verbose by the environment" env CHOKEPOINT_VERBOSE=1 "$program" explain nothing
says err "choose.c:"

# --- list and explain need no device ---
expect 0 "list" "$program" list
says out "item_sync"
expect 0 "explain" "$program" explain item_sync
says out "Symptom"
says out "chokepoint train --model=balanced --input=decoded --workers=0 --launch=graph --loss-every=1"
says out "--loss-every=20"
expect 0 "every scenario can be explained" sh -c '
    "$1" list | sed -n "s/^  \([a-z_0-9]\{1,\}\) .*/\1/p" | while read -r name; do
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

# --- A small real run ---
expect 0 "a training run" "$program" train --device=cpu --model=light --steps=20
says out "samples/s"
says out "held-out"
# This scenario needs no balance, so it is never skipped: a skipped one has no traces.
expect any "a run with traces" "$program" run launch_overhead --device=cpu --quick --repetitions=1 \
    --out="$folder/traced"
for variant in before after; do
    gzip -t "$folder/traced/traces/launch_overhead.$variant.json.gz" ||
        fail "there is no trace of $variant"
done

expect 2 "a trace of both variants at once" "$program" exec item_sync --trace="$folder/x.json.gz"
says err "--trace records one variant"
expect 2 "a trace into a folder that is not there" "$program" exec launch_overhead --device=cpu \
    --variant=after --trace="$folder/missing/x.json.gz"
says err "cannot write $folder/missing/x.json.gz: No such file or directory"
expect 2 "a trace of both sides" "$program" exec item_sync --aa --variant=after --trace="$folder/t.gz"
says err "--aa compares two sides"

expect 0 "a bench" "$program" bench --device=cpu --benchmark_min_time=0.001 \
    --benchmark_filter='^lat_(event|readback)$'
says out "lat_readback"
expect any "doctor" "$program" doctor --device=cpu
says out "bandwidth"
expect 0 "diagnose" "$program" diagnose "$folder/traced/traces/launch_overhead.before.json.gz"
says out "kernels"
expect any "compare" "$program" compare "$folder/traced/result.json" "$folder/traced/result.json"
says out "launch_overhead/before"

finish
