#!/bin/sh
# The wheel: made by scripts/release.sh, twice with the same bytes, installed into a clean environment, and removed.
# It is used in an empty root: there are glibc, libstdc++, zlib and Python, no network, and an ordinary user. If mounts are
# forbidden, it is used in its environment alone.
#
# usage: test_wheel.sh SOURCE
# shellcheck disable=SC1091,SC2154
set -u

source=$1
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

skip()
{
    echo "skipped: $1"
    exit 77
}

build=$folder/build-python
python=$folder/venv/bin/python
root=$folder/root
env=$(command -v env)

python3 -m venv "$build" >"$folder/log" 2>&1 || skip "python3 has no venv (Debian: python3-venv)"

# release FOLDER OPTION...: what scripts/release.sh makes, in a temporary folder of its own. Two levels of CPUs say as much as
# three: test_device_loader has how the best is chosen. Nothing here is timed, and most of the time goes into compiling: a ccache,
# if the environment asks for one, finds the same paths each time.
release()
{
    made=$1
    shift
    mkdir "$made.work"
    TMPDIR=$made.work CCACHE_BASEDIR=$made.work CCACHE_NOHASHDIR=1 CMAKE_BUILD_PARALLEL_LEVEL=$(nproc) \
        "$source/scripts/release.sh" --home=https://github.com/example/chokepoint --no-page "$made" -- \
        -C cmake.define.CMAKE_C_FLAGS_RELEASE='-O0 -DNDEBUG' "$@" >"$folder/log" 2>&1
}
release "$folder/wheels" -C cmake.define.CHOKEPOINT_CPU_ALSO=x86-64-v3
case $? in
0) ;;
3) skip "$(tail -n 1 "$folder/log")" ;;
*)
    tail -n 40 "$folder/log"
    fail "nothing was made to be published"
    finish
    ;;
esac
(cd "$folder/wheels" && sha256sum --quiet -c SHA256SUMS) || fail "the checksums are not those of the files"
unzip -p "$folder"/wheels/*.whl '*/METADATA' >"$folder/metadata"
grep -nE '\]\([^h#]|(src|srcset)="[^h]' "$folder/metadata" && fail "PyPI would not find these"
python3 -m venv --copies --without-pip "$folder/venv"
find "$folder/venv" | sort >"$folder/before"
"$build/bin/pip" -q --python "$python" install --no-index "$folder/wheels"/*manylinux*.whl || fail "the wheel cannot be installed"

# copy FILE...: into the root, with the libraries that every Linux has, or that Python needs.
copy()
{
    for file in "$@" $(ldd "$@" 2>/dev/null | grep -o '/[^ ]*' | grep -v "^$folder\|:$"); do
        mkdir -p "$root${file%/*}"
        cp -Ln "$file" "$root$file"
    done
}
stdlib=$("$python" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
mkdir -p "$root/proc" "$root/dev" "$root/tmp" "$root/home" "$root$stdlib" "$root$folder"
chmod 1777 "$root/tmp" "$root/home"
tar -c -C "$stdlib" --exclude=test --exclude=site-packages --exclude=dist-packages --exclude='config-*' --exclude=idlelib \
    --exclude=ensurepip . | tar -x -C "$root$stdlib"
cp -r "$folder/venv" "$root$folder/"
copy "$env" "$python" "$stdlib"/lib-dynload/*.so
for name in libstdc++ libgcc_s libm libmvec libdl libpthread librt libz; do
    copy "$(ldconfig -p | grep -o "/.*/$name\.so\.[0-9]*$" | head -n 1)"
done

if [ "$(id -u)" -eq 0 ]; then
    new=--mount user=--userspec=65534:65534
else
    new='--mount --map-root-user' user=--userspec=0:0
fi
cd "$root/home" || exit 1
# shellcheck disable=SC2016,SC2086 # for that shell; two words
in_root()
{
    unshare $new --net sh -c 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"' \
        "$root" "$user" "$root" "$env" -i -C /home HOME=/tmp PATH="$folder/venv/bin" CHOKEPOINT_CACHE=/tmp/cache "$@"
}
in_environment()
{
    "$env" -i HOME="$folder" PATH="$folder/venv/bin" CHOKEPOINT_CACHE="$folder/cache" "$@"
}
where=in_root
if ! in_root "$python" -c ''; then
    echo "mounts are forbidden: not in an empty root"
    where=in_environment
fi
[ "$(find "$root" -name sh)" = "" ] || fail "the root is not empty"
printf '{"traceEvents": []}' >empty.json
for name in list doctor bench diagnose explain record train compare history fleet; do
    expect 0 "$name --help" "$where" chokepoint "$name" --help
done
expect 0 "list" "$where" chokepoint list
expect 0 "explain" "$where" chokepoint explain item_sync
expect 0 "diagnose" "$where" chokepoint diagnose empty.json
expect 0 "train" "$where" chokepoint train --device=cpu --model=light --steps=5 --trace=train.json.gz
expect any "run" "$where" chokepoint run launch_overhead --device=cpu --quick --repetitions=1 --no-trace --out=result
says root/home/result/result.json '"launch_overhead/before"'
expect 0 "compare" "$where" chokepoint compare result/result.json result/result.json
expect 0 "bench" "$where" chokepoint bench --device=cpu --benchmark_filter=launch --max-time=0.1 --benchmark_min_time=0.01
expect 0 "history" "$where" chokepoint history add history.jsonl result/result.json
expect any "doctor" "$where" chokepoint doctor --device=cpu --format=json
says out "oneDNN"
cp "$folder/out" doctor.json
expect 3 "fleet, of one machine" "$where" chokepoint fleet doctor.json
expect 0 "record" "$where" chokepoint record --no-page -- python -c 'print(1)'
says err "the program imported no PyTorch"
expect 0 "import chokepoint" "$where" python -c \
    'import chokepoint; print(len(chokepoint.diagnose("train.json.gz")["traces"][0]["findings"]))'
expect 0 "each document has a schema" env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$source/scripts" "$python" -c 'import chokepoint, glob, json, os, json_tables
names = glob.glob(os.path.join(os.path.dirname(chokepoint.__file__), "share/chokepoint/schemas/*.schema.json"))
assert {json.load(open(name))["title"] for name in names} == {f"chokepoint: {name}" for name in json_tables.DOCUMENTS}, names'
cd "$folder" || exit 1
"$build/bin/pip" -q --python "$python" uninstall -y chokepoint || fail "it cannot be removed"
find "$folder/venv" -name __pycache__ -prune -o -print | sort >"$folder/after"
comm -13 "$folder/before" "$folder/after" >"$folder/left"
[ ! -s "$folder/left" ] || fail "the wheel left $(cat "$folder/left")"

# Other Pythons than the system's, where pyenv has some: the oldest and the newest, since those between lack nothing that the
# newest has kept, and know all that the oldest knows.
cp "$root/home/empty.json" "$folder/"
others=$(for other in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
    [ -x "$other" ] && "$other" -c 'import sys; sys.exit(sys.version_info < (3, 8))' && echo "$other"
done | sort -V)
for other in $(echo "$others" | sed -n '1p;$p' | uniq); do
    rm -rf "$folder/venv"
    "$other" -m venv "$folder/venv"
    expect 0 "pip of $other" in_environment "$folder/venv/bin/pip" -q install --no-index "$(echo "$folder"/wheels/*.whl)"
    expect 0 "diagnose, by $other" in_environment chokepoint diagnose "$folder/empty.json"
    expect 0 "import chokepoint, by $other" in_environment python -c \
        'import chokepoint; chokepoint.diagnose(b"""{"traceEvents": []}""")'
done

release "$folder/again" -C cmake.define.CHOKEPOINT_CPU_ALSO=x86-64-v3 || fail "a second time nothing was made"
diff "$folder/wheels/SHA256SUMS" "$folder/again/SHA256SUMS" || fail "the same commit gave other bytes"

finish
