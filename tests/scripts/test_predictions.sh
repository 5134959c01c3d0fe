#!/bin/sh
# docs/predictions.md is what scripts/predict_gpu.py writes of the kernels as they are. The disassembler, of
# 6 MB, is the toolkit's, or comes from pip once and stays in FOLDER. Exit 77 (skipped) where neither is to be
# had or the compiler is another.
#
#     test_predictions.sh SOURCE_DIR FOLDER
set -u
page=$1/docs/predictions.md
tools=$2/disassembler
PATH=$PATH:/usr/local/cuda/bin:$tools/nvidia/cu13/bin

skip()
{
    echo "skipped: $1"
    exit 77
}

# A folder that is there as a whole or not at all. The tools read what older compilers wrote; pip has none
# before 13.2.
install_disassembler()
{
    rm -rf "$tools" "$tools.new"
    python3 -m venv "$tools.new/venv" 2>/dev/null || skip "python3 cannot make a venv (python3-venv)"
    timeout 300 "$tools.new/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --no-compile --no-deps --retries 1 --timeout 10 --target "$tools.new" \
        nvidia-cuda-cuobjdump==13.2.51 nvidia-cuda-nvdisasm==13.2.51 2>"$tools.log" ||
        skip "there is no cuobjdump, and pip could not install it: $(tail -n 1 "$tools.log")"
    rm -rf "$tools.new/venv"
    mv "$tools.new" "$tools"
}

command -v nvcc >/dev/null || skip "there is no nvcc"
version=$(nvcc --version | sed -n 's/.*, \(V[0-9.]*\)$/\1/p')
grep -q "nvcc $version" "$page" || skip "the page was made with another compiler than $version"
if ! command -v cuobjdump >/dev/null || ! command -v nvdisasm >/dev/null; then
    install_disassembler
fi
written=$(mktemp) || exit 1
trap 'rm -f "$written"' EXIT
"$1/scripts/predict_gpu.py" >"$written" || exit 1
diff "$page" "$written" || {
    echo "docs/predictions.md is not of these kernels: scripts/predict_gpu.py >docs/predictions.md"
    exit 1
}
