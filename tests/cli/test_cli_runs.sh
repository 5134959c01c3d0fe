#!/bin/sh
# Real runs as a user meets them: what is printed, what is written, and what an interrupt leaves.
#
# usage: test_cli_runs.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../fixtures/command_line.sh"
export CHOKEPOINT_CACHE="$folder/cache"

# --- small runs ---
expect 0 "a training run as JSON" "$program" train --device=cpu --model=light --steps=20 --format=json
says out '"steps":	20'
says out '"held_out_accuracy"'
expect 0 "a sweep" "$program" train --device=cpu --model=light --steps=20 --sweep launch=eager,graph
says out "eager"
says out "graph"
# On a busy machine a bottleneck may be undecided. That is no failure of the program.
expect any "a quick run" "$program" run item_sync --device=cpu --quick --out="$folder/result"
says out "item_sync  loss_every 1 -> 20"
says out "$folder/result/result.json"
is_empty err
[ -s "$folder/result/result.json" ] || fail "there is no result file"

# --- traces ---
expect 0 "a trace that is not compressed" "$program" exec launch_overhead --device=cpu \
    --variant=after --trace="$folder/x.json"
says out '"type":"tracing"'
[ "$(head -c 17 "$folder/x.json")" = '{"schemaVersion":' ] ||
    fail "it does not begin as a trace does"
expect any "a run without traces" "$program" run launch_overhead --device=cpu --quick \
    --repetitions=1 --no-trace --out="$folder/untraced"
[ -s "$folder/untraced/result.json" ] || fail "there is no result file"
[ ! -e "$folder/untraced/traces" ] || fail "there is a folder of traces"

expect any "an A/A run" "$program" run item_sync --aa --device=cpu --quick --out="$folder/aa"
# Whatever the verdict is, the exit code must be that verdict's.
verdict=$(sed -n 's/^.*"verdict":[[:space:]]*"\([a-z ]*\)".*$/\1/p' "$folder/aa/result.json")
case $verdict in
"no difference" | undecided | skipped) wanted=0 ;;
different | failed) wanted=1 ;;
*) wanted="that of a verdict of A/A, not of \"$verdict\"" ;;
esac
[ "$code" = "$wanted" ] || fail "exit code $code, not $wanted"
says out "item_sync  loss_every 1 -> 1 (A/A)"
is_empty err
[ ! -e "$folder/aa/traces" ] || fail "traces were made"
[ "$verdict" = skipped ] || says aa/result.json '"item_sync/aa:2"'

# --- interrupted: what is done stays, and the code says by what ---
expect 130 "an interrupted run" timeout --preserve-status -s INT 2 "$program" run all --device=cpu \
    --out="$folder/cut"
says err "stopped by an interrupt"
says cut/result.json '"schema"'

finish
