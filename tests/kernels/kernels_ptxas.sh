#!/bin/sh
# Compiles every kernel as CUDA, in each storage type, for the oldest and the newest architecture we
# build for, and fails on a warning, a spill or a stack frame: all of a kernel's values must fit in
# registers. Runs no GPU. Exit 77 (skipped) where there is no nvcc of CUDA 13.0 or newer.
#
#     kernels_ptxas.sh SOURCE_DIR [KERNEL_FILE...]
set -u
source_dir=$1
shift
cd "$source_dir" || exit 1
[ $# -gt 0 ] || set -- kernels/*.kernel.c

nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || {
    echo "skipped: nvcc was found neither in PATH nor in /usr/local/cuda/bin"
    exit 77
}
release=$("$nvcc" --version | sed -n 's/.*release \([0-9]*\)\..*/\1/p')
if [ "${release:-0}" -lt 13 ]; then
    echo "skipped: $nvcc is of CUDA ${release:-unknown}; the kernels want CUDA 13.0 or newer"
    exit 77
fi

reports=$(mktemp -d) || exit 1
trap 'rm -rf "$reports"' EXIT

# One translation unit, as in the plugin: reading CUDA's headers takes longer than compiling the kernels.
unit=$reports/kernels.cu
for file in "$@"; do echo "#include \"$file\""; done >"$unit"

for type in F32 BF16; do
    for architecture in sm_75 sm_90; do echo "$type $architecture"; done
done | xargs -P "$(nproc)" -L 1 sh -c '
    report=$1/$3.$4
    "$0" -x cu -std=c++17 -I. -D"REAL_$3" --Werror all-warnings -Xptxas -v -arch="$4" -cubin \
        -o "$report.cubin" "$2" >"$report.log" 2>&1 || echo "$3.$4" >>"$1/failed"
' "$nvcc" "$reports" "$unit"

status=0
if [ -f "$reports/failed" ]; then
    echo "does not compile without warnings:"
    while read -r report; do
        echo "$report:"
        grep -v 'ptxas info' "$reports/$report.log"
    done <"$reports/failed"
    status=1
fi

# ptxas names a function, then its frame: "40 bytes stack frame, 8 bytes spill stores, ...".
offenders=$(awk '/Function properties for/ { name = $NF }
    /bytes stack frame/ && ($1 > 0 || $5 > 0 || $9 > 0) { print "  " name ":" $0 }' "$reports"/*.log)
if [ -n "$offenders" ]; then
    echo "kernels that do not fit in registers:"
    echo "$offenders"
    status=1
fi

# Twice as many functions as kernels and types: once an architecture.
compiled=$(cat "$reports"/*.log | grep -c 'Function properties for')
kernels=$(cat "$@" | grep -cE '^KERNEL_(ROWS|PACKS)')
if [ "$compiled" -ne $((4 * kernels)) ]; then
    echo "$kernels kernels make $((4 * kernels)) functions; ptxas reported $compiled"
    status=1
fi
most=$(cat "$reports"/*.log | sed -n 's/.*Used \([0-9]*\) registers.*/\1/p' | sort -n | tail -1)
echo "$kernels kernels, $compiled functions, at most ${most:-0} registers"
exit $status
