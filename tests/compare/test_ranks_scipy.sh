#!/bin/sh
# The statistics of `compare` against scipy's. usage: test_ranks_scipy.sh TEST_MANN_WHITNEY
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
python=/usr/bin/python3
if ! "$python" -c 'import scipy.stats' 2>/dev/null; then
    echo "skipped: scipy is missing for $python"
    exit 77
fi
PYTHONDONTWRITEBYTECODE=1 "$python" "$here/check_ranks.py" "$1"
