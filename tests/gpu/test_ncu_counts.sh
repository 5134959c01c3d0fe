#!/bin/sh
# The kernels of lessons count here as ncu counted on an H100: results/nvidia-h100/ncu.csv.
#
# usage: test_ncu_counts.sh PROGRAM SOURCE
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" run gpu_kernels --device=cpu --arch=90 --out="$folder/run" >"$folder/log" || {
    cat "$folder/log"
    exit 1
}
"$2/scripts/gpu_ncu.py" --read "$2/results/nvidia-h100/ncu.csv" --result "$folder/run/result.json" "$1" | tee "$folder/said" || exit 1
# No kernel may leave the comparison unnoticed.
grep -q '^figure: 239 of 239 counters within 2%$' "$folder/said"
