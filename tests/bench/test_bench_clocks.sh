#!/bin/sh
# A GPU's clocks are raised before the first row is timed: where the first product fails, so does `bench`, though its
# only row has none. Over the stand-in for CUDA, as a whole GPU: slices of
# one multiprocessor, as it is else, are not waited for.
#
# usage: test_bench_clocks.sh CHOKEPOINT STAND-IN
set -u

export CHOKEPOINT_PLUGINS="$2" LD_LIBRARY_PATH="$2/lib" STAND_IN_MULTIPROCESSORS=132
said=$(CHOKEPOINT_FAIL=gemm:1 "$1" bench --device=cuda --benchmark_filter='^lat_readback$' 2>&1)
status=$?
case $status:$said in
[1-9]*:*"raising the clocks"*) exit 0 ;;
esac
echo "FAILED: exit code $status: $said"
exit 1
