#!/bin/sh
# A GPU's clocks are raised before the first row is timed: where the first product fails, so does `bench`, though its
# only row has none. Over the stand-in for CUDA, which is a GPU in this.
#
# usage: test_bench_clocks.sh CHOKEPOINT STAND-IN
set -u

export CHOKEPOINT_PLUGINS="$2" LD_LIBRARY_PATH="$2/lib"
said=$(CHOKEPOINT_FAIL=gemm:1 "$1" bench --device=cuda --benchmark_filter='^lat_readback$' 2>&1)
status=$?
case $status:$said in
[1-9]*:*"raising the clocks"*) exit 0 ;;
esac
echo "FAILED: exit code $status: $said"
exit 1
