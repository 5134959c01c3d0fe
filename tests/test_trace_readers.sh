#!/bin/sh
# Traces of real runs in other people's tools: Python's strict JSON, and HolisticTraceAnalysis.
#
# usage: test_trace_readers.sh strict|hta CHOKEPOINT FOLDER, where FOLDER keeps HTA from run to run
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
chokepoint=$2
venv=$3/hta-venv
python=$(command -v python3) || { echo "skipped: there is no python3"; exit 77; }

skip()
{
    echo "skipped: $1"
    exit 77
}

# A folder that is there as a whole or not at all, so that an installation cut short starts anew.
install_hta()
{
    [ ! -x "$venv/bin/python" ] || return 0
    rm -rf "$venv.new"
    "$python" -m venv "$venv.new" 2>/dev/null || skip "python3 cannot make a venv (python3-venv)"
    timeout 120 "$venv.new/bin/python" -m pip install --quiet --disable-pip-version-check \
        --retries 1 --timeout 10 'HolisticTraceAnalysis>=0.5,<0.6' 2>"$venv.log" ||
        skip "pip could not install HolisticTraceAnalysis: $(tail -n 1 "$venv.log")"
    mv "$venv.new" "$venv"
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CHOKEPOINT_CACHE="$3/test-cache"
for variant in before after; do
    "$chokepoint" exec item_sync --device=cpu --variant=$variant --jpeg-pixels=32 \
        --trace="$folder/item_sync.$variant.json.gz"
    "$chokepoint" exec launch_overhead --device=cpu --variant=$variant \
        --trace="$folder/launch_overhead.$variant.json.gz"
done

case $1 in
strict)
    "$python" "$here/check_trace.py" "$folder"/*.json.gz
    ;;
hta)
    install_hta
    "$venv/bin/python" "$here/check_hta.py" "$folder"/*.json.gz 2>"$folder/log" ||
        { tail -n 20 "$folder/log"; exit 1; }
    ;;
esac
