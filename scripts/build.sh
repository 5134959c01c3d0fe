#!/bin/sh
# Configures and builds chokepoint. Standard output stays empty, so that run.sh can be piped.
set -eu

usage()
{
    cat <<'END'
usage: scripts/build.sh [--folder DIR] [--program] [CMAKE OPTION...]

Builds chokepoint into build/ of this checkout. Options such as -DCHOKEPOINT_WERROR=ON go to CMake and
are remembered. A second run builds only what changed.

  --folder DIR   build there
  --program      build the program and its devices, and not the tests
  --help         this text

Options of chokepoint:
  -DCHOKEPOINT_CPU=x86-64-v3   build the kernels for that CPU (native: this machine's)
  -DCHOKEPOINT_CUDA_ARCHITECTURES=90   build the CUDA kernels for that compute capability only
  -DCHOKEPOINT_WERROR=ON       warnings are errors
  -DCHOKEPOINT_SANITIZE=...    as gcc's -fsanitize= takes it
END
}

source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
folder=$source/build
target=all
while :; do
    case ${1-} in
    --help | -h)
        usage
        exit 0
        ;;
    --folder)
        folder=${2:?"--folder wants a folder"}
        shift 2
        ;;
    --program)
        target=chokepoint
        shift
        ;;
    *) break ;;
    esac
done

if ! command -v cmake >/dev/null 2>&1; then
    echo "build.sh: there is no cmake here; scripts/setup.sh installs it" >&2
    exit 3
fi
# The toolkit's installer leaves nvcc outside PATH.
if ! command -v nvcc >/dev/null 2>&1 && [ -x /usr/local/cuda/bin/nvcc ]; then
    PATH=$PATH:/usr/local/cuda/bin
fi

# Configured already, from this very source? A checkout that was moved or copied takes its build folder
# with it, which would go on building the old place.
fresh=
if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$source" "$folder/CMakeCache.txt"; then
    fresh=--fresh
    if command -v ninja >/dev/null 2>&1; then
        set -- -G Ninja "$@"
    fi
    echo "building into $folder; the first time takes a few minutes" >&2
fi
# An older one would complain of an option instead.
needed=$(sed -n 's/^cmake_minimum_required(VERSION \(.*\))$/\1/p' "$source/CMakeLists.txt")
version=$(cmake --version | sed -n '1s/^cmake version //p')
if [ "$(printf '%s\n' "$needed" "$version" | sort -V | head -n 1)" != "$needed" ]; then
    echo "build.sh: CMake $needed or newer is needed, and this is $version: pip install cmake has a newer one" >&2
    exit 2
fi
mkdir -p "$folder"
if [ -n "$fresh" ] || [ $# -gt 0 ] || [ ! -e "$folder/cmake_install.cmake" ]; then
    # CMake's report of what it found is of interest only when something is wrong.
    cmake -S "$source" -B "$folder" $fresh "$@" >"$folder/configure.log" 2>&1 || {
        status=$?
        cat "$folder/configure.log" >&2
        exit $status
    }
fi

build()
{
    cmake --build "$folder" --target "$target" --parallel "$(nproc)" "$@"
}

# A line for each tenth of ninja's "[12/345] ...", as it comes, which awk would hold back; all of it is kept in the log.
tenths()
{
    shown=-1
    while IFS= read -r line; do
        printf '%s\n' "$line"
        built=${line%%/*}
        of=${line#*/}
        built=${built#\[} of=${of%%\]*}
        case $built$of in *[!0-9]* | '') continue ;; esac
        tenth=$((10 * built / of))
        [ "$tenth" -le "$shown" ] || echo "[$built/$of] built" >&2
        shown=$tenth
    done >"$folder/build.log"
}

# The first build shows how far it is, at a terminal and in a log. All others say only what went wrong.
if [ -n "$fresh" ] && [ -t 2 ]; then
    build >&2
    exit
fi
rm -f "$folder/build.failed"
if [ -n "$fresh" ] && [ -e "$folder/build.ninja" ]; then
    { build 2>&1 || echo $? >"$folder/build.failed"; } | tenths
else
    quiet=
    [ ! -e "$folder/build.ninja" ] || quiet=--quiet
    build -- $quiet >"$folder/build.log" 2>&1 || echo $? >"$folder/build.failed"
fi
if [ -e "$folder/build.failed" ]; then
    cat "$folder/build.log" >&2
    exit "$(cat "$folder/build.failed")"
fi
grep -A 4 ': warning: ' "$folder/build.log" >&2 || :
