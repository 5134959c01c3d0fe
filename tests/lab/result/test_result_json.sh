#!/bin/sh
# A result file read by other people's tools: Python's strict JSON, and Google Benchmark's compare.py.
#
# usage: test_result_json.sh strict|compare PROGRAM, where PROGRAM --write DIR writes DIR/result.json
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
compare=/usr/share/benchmark/compare.py
python=/usr/bin/python3

skip()
{
    echo "skipped: $1"
    exit 77
}

[ -x "$python" ] || skip "$python is not installed"
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
"$2" --write "$folder"

case $1 in
strict)
    "$python" "$here/check_result.py" "$folder/result.json"
    ;;
compare)
    [ -f "$compare" ] || skip "$compare is not installed (libbenchmark-tools)"
    "$python" -c 'import numpy, scipy' 2>/dev/null || skip "numpy or scipy is missing for $python"
    PYTHONDONTWRITEBYTECODE=1 "$python" "$compare" --no-color filters "$folder/result.json" \
        /before /after | tee "$folder/output"
    # 9 repetitions each, two U tests that need no warning, and the overall figure.
    [ "$(grep -c '^item_sync\[/before vs\. /after\]  ' "$folder/output")" -ge 9 ]
    grep -q '^item_sync\[/before vs\. /after\]_pvalue .*U Test, Repetitions: 9 vs 9$' "$folder/output"
    grep -q '^OVERALL_GEOMEAN .*-0\.33' "$folder/output"
    ! grep -qi 'nan' "$folder/output"
    # The sides of an A/A comparison pair by filters of their own, and only by these.
    ! grep -q 'small_batch' "$folder/output"
    PYTHONDONTWRITEBYTECODE=1 "$python" "$compare" --no-color filters "$folder/result.json" \
        /aa:1 /aa:2 | tee "$folder/output"
    [ "$(grep -c '^small_batch\[/aa:1 vs\. /aa:2\]  ' "$folder/output")" -ge 9 ]
    grep -q '^OVERALL_GEOMEAN .*-0\.0199' "$folder/output"
    ! grep -q 'item_sync' "$folder/output"
    ;;
esac
