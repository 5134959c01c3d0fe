#!/bin/sh
# Makes a package for Debian and Ubuntu: chokepoint for all CPUs of x86-64, and with CUDA where the toolkit is.
set -eu

usage()
{
    cat <<'END'
usage: scripts/package.sh FOLDER [CMAKE OPTION...]

Builds FOLDER/chokepoint_VERSION_ARCHITECTURE.deb in FOLDER/build, for systems like this one. It holds the program, its devices,
its scripts and the JSON Schemas, and depends on the libraries that these link. The libraries that the CUDA device loads are the
system's own.
END
}

case ${1-} in
'' | -*)
    usage
    [ "${1-}" = --help ] || [ "${1-}" = -h ] || exit 2
    exit 0
    ;;
esac
for tool in cpack dpkg-shlibdeps file; do
    command -v "$tool" >/dev/null || {
        echo "package.sh: there is no $tool here: apt-get install cmake dpkg-dev file" >&2
        exit 3
    }
done
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
mkdir -p "$1"
folder=$(CDPATH='' cd -- "$1" && pwd -P)
shift
portable=
if [ "$(uname -m)" = x86_64 ]; then
    portable='-DCHOKEPOINT_CPU=x86-64-v2 -DCHOKEPOINT_CPU_ALSO=x86-64-v3;x86-64-v4'
fi
# shellcheck disable=SC2086 # options without blanks
"$source/scripts/build.sh" --folder "$folder/build" $portable -DCMAKE_BUILD_TYPE=Release -DCHOKEPOINT_TESTS=OFF "$@"
cd "$folder"
cpack --config build/CPackConfig.cmake -B "$folder" >build/cpack.log 2>&1 || {
    cat build/cpack.log >&2
    exit 1
}
rm -rf _CPack_Packages
