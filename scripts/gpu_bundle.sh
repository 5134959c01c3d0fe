#!/bin/sh
# Puts what scripts/gpu_check.sh needs into one archive, to be carried to a machine with a GPU.
set -eu

usage()
{
    cat <<'END'
usage: scripts/gpu_bundle.sh [--without-cpu] BUILD FOLDER

Copies from the build folder BUILD into FOLDER, which must not exist: the program, its devices, the
tests for GPUs, the libraries that they need beside those of C and C++, and the scripts of the check. They
look for their libraries beside themselves. CUDA's own libraries come from the machine. Then it packs
FOLDER.tar.gz. On the machine:

  tar -xzf FOLDER.tar.gz && FOLDER/gpu_check.sh RESULTS

The archive and the files that git tracks, which travel together, must not be more than 62 MiB: exit code 1.

  --without-cpu  leave out the CPU device, and oneDNN with it: a third of the size, but then no whole
                 training step of the GPU is compared with anything. The CPU device has to be built
                 for other CPUs, too: scripts/build.sh --folder BUILD -DCHOKEPOINT_CPU=x86-64-v3
  --help         this text
END
}

# 64 MiB may travel; some room is left for what git does not track.
most_mib=62
cpu=yes
case ${1-} in
--help | -h)
    usage
    exit 0
    ;;
--without-cpu)
    cpu=
    shift
    ;;
esac
if [ $# -ne 2 ]; then
    usage >&2
    exit 2
fi
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
build=$1
bundle=$2
if [ ! -x "$build/chokepoint" ] || [ ! -r "$build/gpu_tests" ]; then
    echo "gpu_bundle.sh: $build holds no build of chokepoint with its tests; scripts/build.sh --folder $build" >&2
    exit 2
fi
if [ -n "$cpu" ] && grep -q '^CHOKEPOINT_CPU:STRING=native$' "$build/CMakeCache.txt" 2>/dev/null; then
    echo "gpu_bundle.sh: $build is built for the CPU of this machine only; build with" \
        "-DCHOKEPOINT_CPU=x86-64-v3, or give --without-cpu" >&2
    exit 2
fi
if [ -e "$bundle" ]; then
    echo "gpu_bundle.sh: $bundle is there already; give a new name" >&2
    exit 2
fi

mkdir -p "$bundle"
cp "$build/chokepoint" "$build/gpu_tests" "$bundle/"
plugins=
for plugin in cuda ${cpu:+cpu}; do
    if [ -e "$build/libchokepoint_$plugin.so" ]; then
        cp "$build/libchokepoint_$plugin.so" "$bundle/"
        plugins="$plugins $plugin"
    fi
done
sort -u -k 2,2 "$build/gpu_tests" | while read -r _ program; do
    cp "$build/$program" "$bundle/"
done
for script in gpu_check.sh gpu_figures.py gpu_ncu.py gpu_torch.py; do
    cp "$source/scripts/$script" "$bundle/"
done

# Whatever the linker finds for them here, but for the libraries of C and C++, which must be the machine's
# own: CUDA's may want newer ones than these.
for file in "$bundle"/*; do
    ldd "$file" 2>/dev/null | sed -n 's/.* => \(\/[^ ]*\) (.*/\1/p'
done | sort -u | while read -r library; do
    case ${library##*/} in
    libc.so.* | libm.so.* | libmvec.so.* | libdl.so.* | librt.so.* | libpthread.so.* | ld-linux*) ;;
    libstdc++.so.* | libgcc_s.so.*) ;;
    *) [ -e "$bundle/${library##*/}" ] || cp -L "$library" "$bundle/" ;;
    esac
done
for file in "$bundle"/*; do
    case $file in
    *.sh | *.py | */gpu_tests) ;;
    *) strip --strip-debug "$file" ;;
    esac
done
chmod +x "$bundle"/*.sh
echo "$bundle: plugins$plugins, $(sort -u -k 2,2 "$build/gpu_tests" | wc -l) test programs, $(du -sm "$bundle" | cut -f 1) MB"

# With the names as they are from the archive's own folder.
tar -C "$(dirname -- "$bundle")" -czf "$bundle.tar.gz" "$(basename -- "$bundle")"
archive=$(wc -c <"$bundle.tar.gz")
tree=$(git -C "$source" ls-files -z 2>/dev/null | (cd -- "$source" && xargs -0 cat -- 2>/dev/null) | wc -c)
echo "$bundle.tar.gz: $((archive / 1048576)) MiB, and $((tree / 1048576)) MiB of tracked files, of $most_mib MiB"
if [ $(((archive + tree) / 1048576)) -ge "$most_mib" ]; then
    echo "gpu_bundle.sh: too much to travel together; build for fewer architectures, or give --without-cpu" >&2
    exit 1
fi
