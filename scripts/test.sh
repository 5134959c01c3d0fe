#!/bin/sh
# Builds chokepoint and runs its tests.
set -eu

usage()
{
    cat <<'END'
usage: scripts/test.sh [--folder DIR] [CMAKE OPTION...]

Installs what the tests need and is missing, builds, and runs all tests; of a test that fails, the
output is shown. The results are written to DIR/ctest.xml (JUnit) too. To run some tests only:
ctest --test-dir build -R NAME

  --folder DIR   build there; build/ of this checkout if not given
  --help         this text
END
}

source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
folder=$source/build
case ${1-} in
--help | -h)
    usage
    exit 0
    ;;
--folder)
    folder=${2:?"--folder wants a folder"}
    shift 2
    ;;
esac

mkdir -p "$folder"
folder=$(CDPATH='' cd -- "$folder" && pwd)
"$source/scripts/setup.sh" --tests
"$source/scripts/build.sh" --folder "$folder" "$@"
# In half cores, and two more: tests/CMakeLists.txt.
exec ctest --test-dir "$folder" --output-on-failure --no-tests=error --output-junit "$folder/ctest.xml" \
    --parallel "$((2 * $(nproc) + 2))"
