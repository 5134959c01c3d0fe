#!/bin/sh
# Traces of real runs in other people's tools, and theirs here: Python's strict JSON,
# HolisticTraceAnalysis, PyTorch.
#
# usage: test_trace_readers.sh strict|hta|torch CHOKEPOINT TRACE_FIGURES FOLDER
#
# FOLDER keeps HTA from run to run. PyTorch is too large to be fetched by a test: it is that of the python3
# that CHOKEPOINT_TORCH_PYTHON names. CHOKEPOINT_TRACES names a folder of PyTorch's traces for HTA.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
chokepoint=$2
figures=$3
venv=$4/hta-venv
python=$(command -v python3) || { echo "skipped: there is no python3"; exit 77; }

skip()
{
    echo "skipped: $1"
    exit 77
}

# install PACKAGE...: into the new environment, compiling only what is imported.
install()
{
    timeout 300 "$venv.new/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
        --retries 1 --timeout 10 "$@" 2>"$venv.log" ||
        skip "pip could not install $*: $(tail -n 1 "$venv.log")"
}

# A folder that is there as a whole or not at all, so that an installation cut short starts anew. HTA asks
# for Jupyter too, of 90 packages, for pictures that nobody looks at here.
install_hta()
{
    [ ! -x "$venv/bin/python" ] || return 0
    rm -rf "$venv.new"
    "$python" -m venv "$venv.new" 2>/dev/null || skip "python3 cannot make a venv (python3-venv)"
    install 'pandas<3' networkx plotly psutil pyyaml
    install --no-deps 'HolisticTraceAnalysis>=0.5,<0.6'
    mv "$venv.new" "$venv"
}

record()
{
    for variant in before after; do
        "$chokepoint" exec item_sync --device=cpu --variant=$variant --jpeg-pixels=32 \
            --trace="$folder/item_sync.$variant.json.gz"
        "$chokepoint" exec launch_overhead --device=cpu --variant=$variant \
            --trace="$folder/launch_overhead.$variant.json.gz"
    done
}

# Those of several ranks, where there is MPI.
record_ranks()
{
    command -v mpirun >/dev/null 2>&1 && [ -e "$(dirname -- "$chokepoint")/libchokepoint_mpi.so" ] || {
        echo "without ranks: there is no MPI here (libopenmpi-dev, openmpi-bin)"
        return 0
    }
    for variant in before after; do
        "$chokepoint" exec exposed_allreduce --device=cpu --quick --variant=$variant \
            --trace="$folder/exposed_allreduce.$variant.json.gz"
    done
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

case $1 in
strict)
    record
    "$python" "$here/check_trace.py" "$folder"/*.json.gz
    ;;
hta)
    install_hta
    record
    record_ranks
    theirs=${CHOKEPOINT_TRACES:-$here/../../../shared/traces}
    set -- "$folder"/*.json.gz
    for trace in "$theirs"/*.json.gz; do
        [ ! -e "$trace" ] || set -- "$@" "$trace"
    done
    "$venv/bin/python" "$here/check_hta.py" "$figures" "$@" 2>"$folder/log" ||
        { tail -n 20 "$folder/log"; exit 1; }
    ;;
torch)
    "${CHOKEPOINT_TORCH_PYTHON:-$python}" "$here/check_torch.py" "$figures" "$chokepoint"
    ;;
esac
