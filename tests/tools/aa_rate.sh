#!/bin/sh
# How often the same settings are called different: A/A runs in a row, counted by verdict. Not a test,
# since the answer is that of the machine: run it by hand, with nothing else running.
set -eu

usage()
{
    cat <<'END'
usage: tests/tools/aa_rate.sh [RUNS] [PROGRAM]

Runs `PROGRAM run SCENARIO --aa --quick` RUNS times (20 if not given; build/chokepoint of this checkout),
each with a seed of its own, and prints one line per run, then the counts. SCENARIO is item_sync, or
what the environment variable SCENARIO names; RUN_OPTIONS, if set, replaces --quick.

Noise puts the interval of the same thing on one side of 1 in fewer than 5 of 100 runs, the looks at 6, 9, 12
and 15 pairs included. A false alarm needs it beyond 5% as well: it should be rarer than that. Undecided
runs say that the noise is larger than 5%.

Exit codes: 0 none was called different, 1 some were, 2 bad usage, 3 a run failed or had to be skipped.
END
}

case ${1-} in
--help | -h)
    usage
    exit 0
    ;;
esac

source=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd -P)
runs=${1:-20}
program=${2:-$source/build/chokepoint}
scenario=${SCENARIO:-item_sync}
options=${RUN_OPTIONS---quick}

case $runs in
'' | *[!0-9]* | 0*)
    echo "aa_rate.sh: \"$runs\" runs: give a whole number from 1" >&2
    exit 2
    ;;
esac
if [ ! -x "$program" ]; then
    echo "aa_rate.sh: there is no program $program; scripts/build.sh builds it" >&2
    exit 2
fi

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
same=0 different=0 undecided=0

run=1
while [ "$run" -le "$runs" ]; do
    code=0
    # Options hold no blanks of their own, so splitting at blanks is meant.
    # shellcheck disable=SC2086
    "$program" run "$scenario" --aa --seed="$run" $options --out="$folder" --format=markdown \
        >"$folder/table" 2>"$folder/errors" || code=$?
    # "### item_sync: loss_every 1 -> 1 (A/A): no difference", then a row of the step time.
    verdict=$(sed -n "s/^### $scenario: .*: //p" "$folder/table")
    row=$(grep "^| step_time " "$folder/table" || :)
    case $verdict in
    "no difference") same=$((same + 1)) ;;
    different) different=$((different + 1)) ;;
    undecided) undecided=$((undecided + 1)) ;;
    *)
        echo "aa_rate.sh: run $run ended with exit code $code and the verdict \"$verdict\":" >&2
        cat "$folder/errors" "$folder/table" >&2
        exit 3
        ;;
    esac
    printf '%s\n' "$row" | awk -F ' *[|] *' -v run="$run" -v verdict="$verdict" \
        '{ printf "%3d  %-14s %s (%s)\n", run, verdict, $5, $6 }'
    run=$((run + 1))
done

echo "$runs runs of $scenario: $same no difference, $different different, $undecided undecided"
[ "$different" -eq 0 ]
