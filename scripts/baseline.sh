#!/bin/sh
# Builds two checkouts of chokepoint, measures them in turns on this machine, and compares them.
# docs/baseline.md says how a CI uses it.
set -eu

usage()
{
    cat <<'END_OF_USAGE'
usage: scripts/baseline.sh BASE HEAD RESULTS [BENCH OPTION...]

Builds the checkouts BASE and HEAD, each with its own scripts/build.sh, runs `bench --rounds-of` on both with the
options, and prints the comparison as Markdown. RESULTS is a new folder for the results.

Exit codes: those of chokepoint compare: 1 if HEAD is slower, or lacks a row of BASE; 2 or more if a
checkout could not be built or measured.
END_OF_USAGE
}

case ${1-} in
--help | -h)
    usage
    exit 0
    ;;
esac
if [ $# -lt 3 ]; then
    usage >&2
    exit 2
fi
base=$1
head=$2
results=$3
shift 3

for checkout in "$base" "$head"; do
    "$checkout/scripts/build.sh" || {
        echo "baseline.sh: $checkout cannot be built" >&2
        exit 2
    }
done
exec "$head/build/chokepoint" bench --rounds-of "$base/build/chokepoint" "$head/build/chokepoint" \
    --out="$results" --benchmark_format=markdown "$@"
