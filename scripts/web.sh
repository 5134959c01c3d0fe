#!/bin/sh
# Builds chokepoint.html: the viewer with the desk, the lessons and the quiz as WebAssembly, all in one file.
set -eu

usage()
{
    cat <<'END'
usage: scripts/web.sh [--folder DIR]

Builds DIR/chokepoint.html, a page that needs no server and no network, and the same as files for a server in DIR/site.
A second run builds only what changed. docs/page.md says what the page is for.

  --folder DIR   build there, instead of build-web/ of this checkout
  --help         this text

It needs emscripten, which scripts/setup.sh --web installs, and once a network: apt fetches the sources of cJSON, ISA-L and
SQLite, 15 MB, into DIR/sources.

Exit codes: 0 the page is there; 3 emscripten or the sources are missing; others are those of the build.
END
}

source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
folder=$source/build-web
while [ $# -gt 0 ]; do
    case $1 in
    --help | -h)
        usage
        exit 0
        ;;
    --folder)
        folder=${2:?"--folder wants a folder"}
        shift 2
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
done

say()
{
    echo "web.sh: $*" >&2
}

for program in emcc emcmake cmake ninja node python3 apt-get dpkg-source tclsh make cc; do
    command -v "$program" >/dev/null || {
        say "there is no $program here; scripts/setup.sh --web installs it"
        exit 3
    }
done
mkdir -p "$folder"
folder=$(CDPATH='' cd -- "$folder" && pwd -P)
sources=$folder/sources
# Where Debian has node's libraries, which emscripten does not find by itself.
export NODE_PATH=/usr/share/nodejs
# Objects are kept by ccache, if it is there.
command -v ccache >/dev/null && export CMAKE_C_COMPILER_LAUNCHER=ccache

# apt's lists for sources, beside those of the system, which may have none.
source_lists()
{
    mkdir -p apt/parts apt/lists/partial
    for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
        [ -e "$list" ] || continue
        case $list in
        *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" >"apt/parts/${list##*/}" ;;
        *.list) sed -n 's/^deb /deb-src /p' "$list" >"apt/parts/${list##*/}" ;;
        esac
    done
    cat >apt/conf <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$PWD/apt/parts";
Dir::State::Lists "$PWD/apt/lists";
Dir::Cache::PkgCache "";
Dir::Cache::SrcPkgCache "";
APT::Sandbox::User "root";
END
}

# fetch NAME: the source of that package, unpacked in NAME.
fetch()
{
    apt-get -q source --download-only "$1"
    dpkg-source --no-check -x "$1"_*.dsc "$1"
}

fetch_all()
{
    source_lists
    export APT_CONFIG="$PWD/apt/conf"
    apt-get -q update
    fetch cjson
    fetch libisal
    (cd libisal/igzip && sed -i -f "$source/cmake/web_isal.sed" adler32_base.c igzip_base_aliases.c igzip_icf_body.c)
    fetch sqlite3
    (cd sqlite3 && sh configure --disable-tcl && make sqlite3.c)
    touch complete
}

if [ ! -e "$sources/complete" ]; then
    rm -rf "$sources"
    mkdir -p "$sources"
    (cd "$sources" && fetch_all) >"$folder/sources.log" 2>&1 || {
        tail -n 5 "$folder/sources.log" >&2
        say "the sources of cJSON, ISA-L and SQLite could not be fetched; $folder/sources.log has all that apt said"
        exit 3
    }
fi
if ! grep -qsxF "CMAKE_HOME_DIRECTORY:INTERNAL=$source" "$folder/CMakeCache.txt"; then
    emcmake cmake -G Ninja -S "$source" -B "$folder" --fresh -DCMAKE_BUILD_TYPE=Release \
        -DCHOKEPOINT_WEB_SOURCES="$sources" >"$folder/configure.log" 2>&1 || {
        cat "$folder/configure.log" >&2
        exit 1
    }
fi
cmake --build "$folder" >"$folder/build.log" 2>&1 || {
    cat "$folder/build.log" >&2
    exit 1
}
# A function that is called by other types than its own ends the program when it runs.
if grep -A 3 'warning:' "$folder/build.log" >&2; then
    exit 1
fi
python3 "$source/scripts/web_page.py" "$folder"
