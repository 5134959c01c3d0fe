#!/bin/sh
# The kernels that an H200 has timed took as long as their machine code's bound or longer, and at the median not much longer
# (scripts/predict_gpu.py). The disassembler, of 6 MB, is the toolkit's, or comes from pip once and stays in FOLDER. Exit 77
# (skipped) where neither is to be had.
#
#     test_predictions.sh SOURCE_DIR FOLDER
set -u
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
if ! command -v cuobjdump >/dev/null || ! command -v nvdisasm >/dev/null; then
    install_disassembler
fi
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
"$1/scripts/predict_gpu.py" "$1/results/nvidia-h200/bench.json" >"$said" || exit 1
cat "$said"
sed -n 's/.*measured .* us, \(.*\) times$/\1/p' "$said" | sort -n | awk '
    { ratio[NR] = $1 }
    END { exit !(NR >= 28 && ratio[int((NR + 1) / 2)] <= 1.25) }' || {
    echo "fewer than 28 kernels are compared, or half of them take more than 1.25 times their bound"
    exit 1
}
