#!/bin/sh
# Packs what scripts/gpu_check.py needs, to be carried to a machine with a GPU that cannot build.
#
# usage: scripts/gpu_bundle.sh [--without-cpu] BUILD FOLDER
#
# Copies from the build folder BUILD into FOLDER, which must not exist: the program, its devices, the tests for GPUs, the
# libraries that they need, which find each other beside themselves, and the scripts of the check. The libraries of C, C++ and
# CUDA are the machine's own. Then it packs FOLDER.tar.gz. On the machine:
#
#   tar -xzf FOLDER.tar.gz && FOLDER/gpu_check.py RESULTS
#
# BUILD has to be for other CPUs, too: scripts/build.sh --folder BUILD -DCHOKEPOINT_CPU=x86-64-v3. --without-cpu leaves out the
# CPU device and oneDNN: a third of the size, but no whole training step is compared with anything. Exit code 1: the archive
# and the files that git tracks, which travel together, are more than 62 MiB.
set -eu

most_mib=62 # 64 MiB may travel; some room is left for what git does not track
plugins='cuda cpu'
if [ "${1-}" = --without-cpu ]; then
    plugins=cuda
    shift
fi
wrong()
{
    echo "gpu_bundle.sh: $*" >&2
    exit 2
}
[ $# -eq 2 ] || wrong "give a build folder and a new folder, as the script's first lines say"
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
build=$1 bundle=$2
[ -x "$build/chokepoint" ] && [ -r "$build/gpu_tests" ] || wrong "$build holds no build of chokepoint with its tests"
[ "$plugins" = cuda ] || ! grep -q '^CHOKEPOINT_CPU:STRING=native$' "$build/CMakeCache.txt" 2>/dev/null ||
    wrong "$build is built for the CPU of this machine only; build with -DCHOKEPOINT_CPU=x86-64-v3, or give --without-cpu"
[ ! -e "$bundle" ] || wrong "$bundle is there already; give a new name"

mkdir -p "$bundle/lone"
cp "$build/chokepoint" "$build/gpu_tests" "$bundle/"
for plugin in $plugins; do
    cp "$build/libchokepoint_$plugin.so" "$bundle/"
done
cut -d ' ' -f 2 "$build/gpu_tests" | sort -u | while read -r program; do
    cp "$build/$program" "$bundle/"
done
# A job of one rank needs no MPI, and its GPU's communicator is NCCL's all the same.
cp "$build/lone/libchokepoint_mpi.so" "$bundle/lone/"
ln -s ../libchokepoint_cuda.so "$bundle/lone/"
cp "$source"/scripts/gpu_check.py "$source"/scripts/gpu_ncu.py "$source"/scripts/gpu_torch.py "$bundle/"

for file in "$bundle"/*; do
    ldd "$file" 2>/dev/null | sed -n 's/.* => \(\/[^ ]*\) (.*/\1/p'
done | sort -u | while read -r library; do
    case ${library##*/} in
    libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux* | libstdc++.so.* | libgcc_s.so.*) ;;
    *) [ -e "$bundle/${library##*/}" ] || cp -L "$library" "$bundle/" ;;
    esac
done
find "$bundle" -type f ! -name '*.py' ! -name gpu_tests -exec strip --strip-debug {} +

# With the names as they are from the archive's own folder.
tar -C "$(dirname -- "$bundle")" -czf "$bundle.tar.gz" "$(basename -- "$bundle")"
archive=$(wc -c <"$bundle.tar.gz")
tree=$(git -C "$source" ls-files -z 2>/dev/null | (cd -- "$source" && xargs -0 cat -- 2>/dev/null) | wc -c)
echo "$bundle.tar.gz: $((archive / 1048576)) MiB, and $((tree / 1048576)) MiB of tracked files, of $most_mib MiB"
[ $(((archive + tree) / 1048576)) -lt "$most_mib" ] ||
    { echo "gpu_bundle.sh: too much to travel together; build for fewer architectures, or give --without-cpu" >&2 && exit 1; }
