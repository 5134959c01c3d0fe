#!/bin/sh
# docs/predictions.md is what scripts/predict_gpu.py writes of the kernels as they are. Exit 77 (skipped)
# where there is no disassembler or another compiler.
#
#     test_predictions.sh SOURCE_DIR
set -u
page=$1/docs/predictions.md
PATH=$PATH:/usr/local/cuda/bin

for tool in nvcc cuobjdump nvdisasm; do
    command -v "$tool" >/dev/null || {
        echo "skipped: there is no $tool"
        exit 77
    }
done
version=$(nvcc --version | sed -n 's/.*, \(V[0-9.]*\)$/\1/p')
grep -q "nvcc $version" "$page" || {
    echo "skipped: the page was made with another compiler than $version"
    exit 77
}
written=$(mktemp) || exit 1
trap 'rm -f "$written"' EXIT
"$1/scripts/predict_gpu.py" >"$written" || exit 1
diff "$page" "$written" || {
    echo "docs/predictions.md is not of these kernels: scripts/predict_gpu.py >docs/predictions.md"
    exit 1
}
