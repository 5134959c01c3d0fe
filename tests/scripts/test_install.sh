#!/bin/sh
# The program that `cmake --install` puts into a prefix runs from there, however it is called; and the package for Debian and
# Ubuntu that cpack makes depends on packages that this system has, is installed into an empty root, runs there, and is removed.
#
# usage: test_install.sh CMAKE BUILD
set -u

cmake=$1
build=$2
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../fixtures/command_line.sh"
export CHOKEPOINT_CACHE="$folder/cache"
unset CHOKEPOINT_PLUGINS
prefix="$folder/a prefix"
program=$prefix/bin/chokepoint

expect 0 "the installation" "$cmake" --install "$build" --prefix "$prefix"
[ -x "$program" ] || fail "there is no program"
# An empty element of a RUNPATH is the current folder: libraries of whoever's folder it is would be loaded.
for file in "$build/chokepoint" "$build"/libchokepoint_*.so "$program" "$prefix"/lib/chokepoint/*.so; do
    [ -e "$file" ] || continue
    runpath=$(readelf -d "$file" | sed -n 's/.*R\(UN\)\{0,1\}PATH.*\[\(.*\)\]/\2/p')
    case :$runpath: in
    *:'$ORIGIN':*) ;;
    *) fail "$file does not look beside itself for libraries: RUNPATH is '$runpath'" ;;
    esac
    case :$runpath: in
    *::*) fail "$file looks for libraries in the current folder: RUNPATH is '$runpath'" ;;
    esac
done
expect 0 "list" "$program" list
says out "item_sync"
expect 0 "explain" "$program" explain item_sync
says out "$program run item_sync"
expect 0 "explain, found by PATH" env PATH="$prefix/bin:$PATH" chokepoint explain item_sync
says out "  chokepoint run item_sync"
printf '{"traceEvents": []}' >"$folder/empty.json"
expect 0 "report" "$program" report "$folder/empty.json" --out="$folder/page.html"
mv "$prefix/share/chokepoint/recorder" "$folder"
expect 3 "record without its script" "$program" record -- true
says err "is not in $prefix/bin/scripts nor in $prefix/bin/../share/chokepoint"
if [ -e "$build/libchokepoint_cpu.so" ]; then
    expect 0 "train" "$program" train --device=cpu --model=light --steps=5
    says out "samples/s"
    ln -s "$program" "$folder/link"
    expect 0 "train, through a link" "$folder/link" train --device=cpu --model=light --steps=5
    expect any "a run, whose children are the same program" "$program" run launch_overhead \
        --device=cpu --quick --repetitions=1 --no-trace --out="$folder/result"
    says result/result.json '"launch_overhead/before"'
    rm "$prefix/lib/chokepoint/libchokepoint_cpu.so"
    expect 3 "without its plugin" "$program" train --device=cpu
    says err "is not in $prefix/bin nor in $prefix/bin/../lib/chokepoint"
fi

# in_root OPTION...: of dpkg, for a root without a shell.
root=$folder/root
in_root()
{
    dpkg --admindir="$folder/admin" --instdir="$root" --force-depends --force-not-root --force-script-chrootless "$@"
}

if command -v cpack dpkg dpkg-shlibdeps file >/dev/null; then
    mkdir -p "$root" "$folder/admin/updates" "$folder/admin/info"
    touch "$folder/admin/status" "$folder/admin/available"
    expect 0 "cpack" cpack --config "$build/CPackConfig.cmake" -B "$folder/package"
    package=$(echo "$folder"/package/chokepoint_*.deb)
    for name in $(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/,/ /g'); do
        expect 0 "the dependency $name" dpkg -s "$name"
    done
    dpkg-deb -f "$package" Depends | grep -q libisal || fail "it does not depend on ISA-L"
    expect 0 "the package's installation" in_root -i "$package"
    program=$root/usr/bin/chokepoint
    expect 0 "list, of the package" "$program" list
    [ ! -e "$build/libchokepoint_cpu.so" ] ||
        expect 0 "train, of the package" "$program" train --device=cpu --model=light --steps=5
    [ -e "$root/usr/share/chokepoint/schemas/diagnose.schema.json" ] || fail "there are no schemas"
    expect 0 "the package's removal" in_root -r chokepoint
    [ ! -e "$program" ] || fail "it is still there"
fi

finish
