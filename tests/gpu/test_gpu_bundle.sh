#!/bin/bash
# A bundle as it is carried to a machine with a GPU: one archive. In a root that holds glibc, libstdc++, a shell and its tools,
# and nothing else, its programs find all that they need; and its gpu_check.py goes through its tests. The stand-in for CUDA is
# in the archive in the plugin's place.
#
# usage: test_gpu_bundle.sh CHECKOUT BUILD STAND_IN PTX
set -u

checkout=$1 build=$2 stand_in=$3 ptx=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

fail()
{
    echo "FAILED: $1"
    exit 1
}

# A build folder with what gpu_bundle.sh takes from it. Without its CMakeCache.txt the CPU device counts as built for any CPU.
mkdir -p "$work/build" "$root"/{tmp,dev,bin,usr,var/tmp}
ln -s /bin "$root/usr/bin"
cp -r "$build"/{chokepoint,gpu_tests,lone} "$work/build/"
cut -d ' ' -f 2 "$build/gpu_tests" | sort -u | while read -r program; do
    cp "$build/$program" "$work/build/"
done
cp -L "$stand_in"/libchokepoint_{cuda,cpu}.so "$work/build/"
"$checkout/scripts/gpu_bundle.sh" "$work/build" "$work/bundle" >"$work/said" || fail "$(cat "$work/said")"
[ "$(find "$work" -maxdepth 1 -name '*.tar.gz' | wc -l)" -eq 1 ] || fail "more or less than one archive"
cat "$work/said"
if grep -q '^CHOKEPOINT_CPU:STRING=native$' "$build/CMakeCache.txt"; then
    ! "$checkout/scripts/gpu_bundle.sh" "$build" "$work/native" 2>"$work/said" || fail "a bundle that would not run was made"
    grep -q x86-64-v3 "$work/said" || fail "$(cat "$work/said")"
fi

mkdir "$work/there"
tar -C "$work/there" -xzf "$work/bundle.tar.gz"
LD_LIBRARY_PATH=$stand_in/lib STAND_IN_PTX=$ptx "$work/there/bundle/gpu_check.py" --part tests \
    --only '^test_gpu_(copy|ranks)$' "$work/results" || fail "$(cat "$work/results/log.txt")"
[ "$(grep -c '^test_gpu_.*ok ' "$work/results/table.txt")" -eq 2 ] || fail "a test did not pass"

if [ "$(id -u)" -ne 0 ] || ! mknod -m 666 "$root/dev/null" c 1 3 2>/dev/null || ! : 2>/dev/null >"$root/dev/null"; then
    echo "skipped: an empty root needs root, and a device file"
    exit 77
fi

# copy_libraries PATTERN FILE...: the libraries that the loader finds for them, where the pattern finds the name.
copy_libraries()
{
    local pattern=$1 library
    shift
    ldd "$@" 2>/dev/null | grep -o '/[^ ]*' | grep -E "/($pattern)\.so" | sort -u | while read -r library; do
        mkdir -p "$root${library%/*}"
        cp -Ln "$library" "$root$library"
    done
}
for name in bash tar gzip; do
    file=$(command -v "$name") || fail "there is no $name"
    cp -L "$file" "$root/bin/$name"
    copy_libraries '[^/]*' "$file"
done
copy_libraries 'libc|libm|libmvec|libdl|librt|libpthread|ld-linux[^/]*|libstdc\+\+|libgcc_s' \
    "$work/build/chokepoint" "$work/build/"*.so
cp -Lr "$stand_in/lib" "$root/stand_in"
cp -r "$ptx" "$root/ptx"
cp "$work/bundle.tar.gz" "$root/"

# There is no /proc either, by which the program finds its folder: hence CHOKEPOINT_PLUGINS.
# shellcheck disable=SC2016 # for that shell
env -i PATH=/bin LD_LIBRARY_PATH=/stand_in:/bundle STAND_IN_PTX=/ptx CHOKEPOINT_TEST_DEVICE=cuda CHOKEPOINT_PLUGINS=/bundle \
    "$(command -v chroot)" "$root" /bin/bash -c 'cd / && tar -xzf bundle.tar.gz && cd bundle && ./test_device_copy &&
        ./test_gpu_training && ./chokepoint list' >"$work/said" 2>&1 || fail "$(tail -n 50 "$work/said")"
