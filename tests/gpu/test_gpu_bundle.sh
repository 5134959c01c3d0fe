#!/bin/bash
# A bundle as it is carried to a machine with a GPU: one archive, and one command, in a root that holds glibc, libstdc++, a
# shell and its tools, and nothing else. There the tests run over the stand-in for CUDA, which is in the archive in the
# plugin's place.
#
# usage: test_gpu_bundle.sh CHECKOUT BUILD STAND_IN PTX ['SECONDS OPTION...'...]: calls of gpu_check.sh, each of which is
# cut off after so many seconds and then goes on. If none is given, two small tests, cut off at some moment; if some are, the
# results go to BUNDLE_RESULTS.
set -u

checkout=$1 build=$2 stand_in=$3 ptx=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root

fail()
{
    echo "FAILED: $1"
    exit 1
}

# A build folder with what gpu_bundle.sh takes from it. Without its CMakeCache.txt the CPU device counts as built for any CPU.
mkdir -p "$work/build" "$root/tmp" "$root/dev" "$root/bin" "$root/usr" "$root/var/tmp" "$root/results"
ln -s /bin "$root/usr/bin"
cp "$build/chokepoint" "$build/gpu_tests" "$work/build/"
sort -u -k 2,2 "$build/gpu_tests" | while read -r _ program; do
    cp "$build/$program" "$work/build/"
done
cp -L "$stand_in"/libchokepoint_{cuda,cpu}.so "$work/build/"
"$checkout/scripts/gpu_bundle.sh" "$work/build" "$work/bundle" >"$work/said" || fail "$(cat "$work/said")"
[ "$(find "$work" -maxdepth 1 -name '*.tar.gz' | wc -l)" -eq 1 ] || fail "more or less than one archive"
cat "$work/said"

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
for name in bash env cat cp cut date dirname find grep head ls mkdir mktemp mv rm sed sleep sort tail tar tee timeout \
    tr uname wc xargs awk gzip; do
    file=$(command -v "$name") || fail "there is no $name"
    cp -L "$file" "$root/bin/$name"
    copy_libraries '[^/]*' "$file"
done
copy_libraries 'libc|libm|libmvec|libdl|librt|libpthread|ld-linux[^/]*|libstdc\+\+|libgcc_s' \
    "$work/build/chokepoint" "$work/build/"*.so
cp -Lr "$stand_in/lib" "$root/stand_in"
mkdir "$root/ptx"
cp "$ptx"/kernels_*.ptx "$root/ptx/"
cp "$work/bundle.tar.gz" "$root/"

# There is no /proc either, by which the program finds its folder, and starts processes: by hand there is.
proc=()
if [ $# -gt 0 ]; then
    mkdir "$root/proc"
    # shellcheck disable=SC2016 # for that shell
    proc=(unshare --mount /bin/sh -c 'mount -t proc proc "$0/proc" && exec "$@"' "$root")
fi
check=("${proc[@]}" env -i PATH=/bin LD_LIBRARY_PATH=/stand_in STAND_IN_PTX=/ptx CHOKEPOINT_PLUGINS=/bundle "$(command -v chroot)" "$root"
    /bin/bash -c 'cd / && tar -xzf bundle.tar.gz && exec bundle/gpu_check.sh "$@" /results' -)

# cut_off SECONDS OPTION...: a call that is told to end meanwhile.
cut_off()
{
    local moment=$1 status=0 calling
    shift
    "${check[@]}" "$@" &
    calling=$!
    sleep "$moment"
    kill -TERM "$calling" 2>/dev/null
    wait "$calling" || status=$?
    echo "cut off after $moment s: exit code $status"
}
by_hand=$#
[ $# -gt 0 ] || set -- "$((RANDOM % 3)).$((1 + RANDOM % 9)) --part tests --only ^test_gpu_(copy|stream)$"
for call; do
    # shellcheck disable=SC2086 # words
    cut_off $call
    # shellcheck disable=SC2086
    "${check[@]}" ${call#* } --go-on
    status=$?
done
if [ "$by_hand" -gt 0 ]; then
    cp -r "$root/results/." "${BUNDLE_RESULTS:-.}"
    exit "$status"
fi
[ "$status" -eq 0 ] || fail "exit code $status: $(tail -n 50 "$root/results/log.txt")"
for name in copy stream; do
    [ "$(grep -c "^test_gpu_$name  *ok " "$root/results/table.txt")" -eq 1 ] || fail "test_gpu_$name did not pass once"
done
