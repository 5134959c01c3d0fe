#!/bin/sh
# The program as a user meets it: exit codes, messages, help, and what is refused before anything runs.
#
# usage: test_cli.sh PROGRAM
set -u

program=$1
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
export CHOKEPOINT_CACHE="$folder/cache"
unset CHOKEPOINT_VERBOSE
failures=0

# expect CODE NAME COMMAND...: runs it, keeps its output in $folder/out and $folder/err.
expect()
{
    expected=$1
    case_name=$2
    shift 2
    "$@" >"$folder/out" 2>"$folder/err"
    code=$?
    if [ "$code" -ne "$expected" ]; then
        echo "FAILED: $case_name: exit code $code, not $expected"
        sed 's/^/    /' "$folder/out" "$folder/err" | head -20
        failures=$((failures + 1))
    fi
}

# says out|err TEXT: what the last command said holds TEXT.
says()
{
    if ! grep -qF -e "$2" "$folder/$1"; then
        echo "FAILED: $case_name: std$1 does not say \"$2\" but:"
        sed 's/^/    /' "$folder/$1" | head -20
        failures=$((failures + 1))
    fi
}

is_empty()
{
    if [ -s "$folder/$1" ]; then
        echo "FAILED: $case_name: std$1 should be empty, but says:"
        sed 's/^/    /' "$folder/$1" | head -20
        failures=$((failures + 1))
    fi
}

is_one_line()
{
    if [ "$(wc -l <"$folder/$1")" -ne 1 ]; then
        echo "FAILED: $case_name: std$1 should be one line, but says:"
        sed 's/^/    /' "$folder/$1" | head -20
        failures=$((failures + 1))
    fi
}

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
    expect 2 "$command of an unknown scenario" "$program" "$command" item_snyc
    says err "chokepoint: $command: there is no scenario item_snyc; did you mean item_sync?"
    is_one_line err
    is_empty out
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
expect 2 "a number that is none" "$program" run --repetitions=many
says err "--repetitions=many: give a whole number from 1 to 1000"
expect 2 "bytes that are none" "$program" run --device-memory=-1
says err "512MiB"
expect 2 "one word too many" "$program" list everything
says err "everything"
expect 2 "a scenario is missing" "$program" explain
says err "chokepoint list names them"
expect 2 "a format that is none" "$program" run --format=xml
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
says err "$folder/plain is there already and is no folder"
is_empty out
expect 2 "a result folder that cannot be made" "$program" run item_sync --device=cpu --out=/proc/none
says err "/proc/none"
expect 2 "a device that is none" "$program" run item_sync --device=tpu --out="$folder/none"
if [ -e "$folder/none" ]; then
    echo "FAILED: a result folder was made for a device that is none"
    failures=$((failures + 1))
fi
if [ ! -e /dev/nvidiactl ]; then
    expect 3 "a GPU that is not there" "$program" run item_sync --device=cuda --out="$folder/none"
    says err "chokepoint: run: "
    says err "cuda"
    is_empty out
    expect 3 "training on a GPU that is not there" "$program" train --device=cuda
fi

# --- a small real run ---
expect 0 "a training run" "$program" train --device=cpu --model=light --steps=20
says out "samples/s"
says out "held-out"
expect 0 "a training run as JSON" "$program" train --device=cpu --model=light --steps=20 --format=json
says out '"steps":	20'
says out '"held_out_accuracy"'
expect 0 "a sweep" "$program" train --device=cpu --model=light --steps=20 --sweep launch=eager,graph
says out "eager"
says out "graph"
"$program" run item_sync --device=cpu --quick --out="$folder/result" >"$folder/out" 2>"$folder/err"
code=$?
case_name="a quick run"
# 1 is a verdict: on a busy machine a bottleneck may be undecided. That is no failure of the program.
if [ "$code" -gt 1 ]; then
    echo "FAILED: $case_name: exit code $code"
    sed 's/^/    /' "$folder/out" "$folder/err"
    failures=$((failures + 1))
fi
says out "item_sync  loss_every 1 -> 20"
says out "$folder/result/result.json"
is_empty err
if [ ! -s "$folder/result/result.json" ]; then
    echo "FAILED: $case_name: there is no result file"
    failures=$((failures + 1))
fi

# Of a scenario that needs no balance: a skipped one has no traces.
"$program" run launch_overhead --device=cpu --quick --repetitions=1 --out="$folder/traced" \
    >"$folder/out" 2>"$folder/err"
case_name="a run with traces"
for variant in before after; do
    if ! gzip -t "$folder/traced/traces/launch_overhead.$variant.json.gz"; then
        echo "FAILED: $case_name: there is no trace of $variant"
        failures=$((failures + 1))
    fi
done

# --- traces ---
expect 2 "a trace of both variants at once" "$program" exec item_sync --trace="$folder/x.json.gz"
says err "--trace takes one variant"
expect 2 "a trace into a folder that is not there" "$program" exec launch_overhead --device=cpu \
    --variant=after --trace="$folder/missing/x.json.gz"
says err "cannot write the trace $folder/missing/x.json.gz: No such file or directory"
expect 0 "a trace that is not compressed" "$program" exec launch_overhead --device=cpu \
    --variant=after --trace="$folder/x.json"
says out '"type":"tracing"'
case_name="a trace that is not compressed"
if [ "$(head -c 17 "$folder/x.json")" != '{"schemaVersion":' ]; then
    echo "FAILED: $case_name: it does not begin as a trace does"
    failures=$((failures + 1))
fi
"$program" run launch_overhead --device=cpu --quick --repetitions=1 --no-trace \
    --out="$folder/untraced" >"$folder/out" 2>"$folder/err"
case_name="a run without traces"
if [ ! -s "$folder/untraced/result.json" ] || [ -e "$folder/untraced/traces" ]; then
    echo "FAILED: $case_name: no result file, or a folder of traces"
    failures=$((failures + 1))
fi

"$program" run item_sync --aa --device=cpu --quick --out="$folder/aa" >"$folder/out" 2>"$folder/err"
code=$?
case_name="an A/A run"
# Whatever the verdict is, the exit code must be that verdict's.
verdict=$(sed -n 's/^.*"verdict":[[:space:]]*"\([a-z ]*\)".*$/\1/p' "$folder/aa/result.json")
case $verdict in
"no difference" | undecided | skipped) wanted=0 ;;
different | failed) wanted=1 ;;
*) wanted="that of a verdict of A/A, not of \"$verdict\"" ;;
esac
if [ "$code" != "$wanted" ]; then
    echo "FAILED: $case_name: exit code $code, not $wanted"
    sed 's/^/    /' "$folder/out" "$folder/err"
    failures=$((failures + 1))
fi
says out "item_sync  loss_every 1 -> 1 (A/A)"
is_empty err
if [ -e "$folder/aa/traces" ]; then
    echo "FAILED: $case_name: traces were made"
    failures=$((failures + 1))
fi
if [ "$verdict" != skipped ] && ! grep -q '"item_sync/aa:2"' "$folder/aa/result.json"; then
    echo "FAILED: $case_name: its rows are missing"
    failures=$((failures + 1))
fi
expect 2 "a trace of both sides" "$program" exec item_sync --aa --variant=after --trace="$folder/t.gz"
says err "--aa is for measuring"

# --- interrupted: what is done stays, and the code says by what ---
timeout --preserve-status -s INT 2 "$program" run all --device=cpu --out="$folder/cut" \
    >"$folder/out" 2>"$folder/err"
code=$?
case_name="an interrupted run"
if [ "$code" -ne 130 ]; then
    echo "FAILED: $case_name: exit code $code, not 130"
    sed 's/^/    /' "$folder/err"
    failures=$((failures + 1))
fi
says err "stopped by an interrupt"
if ! grep -q '"schema"' "$folder/cut/result.json"; then
    echo "FAILED: $case_name: there is no valid result file"
    failures=$((failures + 1))
fi

[ "$failures" -eq 0 ] && echo "all is as a user expects"
exit "$((failures > 0))"
