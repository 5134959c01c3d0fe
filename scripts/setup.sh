#!/bin/sh
# Installs with apt what chokepoint needs to be built, and nothing else: only packages that are
# missing are asked for, and when all are there nothing is run.
set -eu

usage()
{
    cat <<'END'
usage: scripts/setup.sh [--plots] [--tests] [--web] [--torch] [--arm64] [--list]

Installs what is missing to build chokepoint, with apt (Debian 12, Ubuntu 24.04, or newer), as root
or through sudo. Does nothing when all is there.

  --plots   also what scripts/plot.py needs
  --tests   also what the tests and the checks of .ci/run need, a browser among it
  --web     also what scripts/web.sh needs: emscripten and its compiler, 190 MB to download, 1.2 GB on disk
  --torch   also PyTorch, with pip, into the folder .torch of this checkout, for scripts/twins:
            5.4 GB with CUDA's libraries; 1 GB if PIP_INDEX_URL names PyTorch's index for CPUs
  --arm64   also the cross compiler for 64-bit ARM, qemu, and ARM's libraries, 0.5 GB in the folder .arm64 of
            this checkout, for cmake --preset aarch64
  --list    print the packages, one per line, and install nothing
  --help    this text

Exit codes: 0 all is there, 2 bad usage, 3 something is missing and could not be installed.
END
}

say()
{
    echo "setup.sh: $*" >&2
}

libraries='libdnnl-dev libturbojpeg0-dev libcjson-dev libcmocka-dev libisal-dev libsqlite3-dev zlib1g-dev'

# nvcc hands host code to g++. MPI connects ranks; nothing else needs it. Open MPI beside MPICH would become the default.
packages()
{
    echo gcc g++ libc6-dev cmake ninja-build
    if [ "$list" = no ] && [ -z "$(missing libmpich-dev)" ]; then
        echo libmpich-dev mpich
    else
        echo libopenmpi-dev openmpi-bin
    fi
    echo "$libraries"
    if [ "$plots" = yes ] || [ "$tests" = yes ]; then
        echo python3 python3-matplotlib
    fi
    if [ "$torch" = yes ]; then
        echo python3 python3-venv
    fi
    if [ "$web" = yes ]; then
        echo emscripten node-acorn python3 tcl dpkg-dev make
    fi
    if [ "$arm64" = yes ]; then
        echo gcc-aarch64-linux-gnu mmdebstrap qemu-user-static binfmt-support
    fi
    if [ "$tests" = yes ]; then
        echo git clang-format shellcheck dpkg-dev file unzip python3-venv python3-jsonschema python3-numpy python3-scipy python3-pytest
        echo ccache libbenchmark-tools
        echo chromium chromium-driver python3-selenium
    fi
}

# Prints those of the packages that are not installed; without dpkg, all of them.
missing()
{
    command -v dpkg-query >/dev/null 2>&1 || {
        echo "$*"
        return
    }
    # A package that dpkg never heard of makes dpkg-query complain; it is missing, that is all.
    installed=$(dpkg-query -W -f '${Package}:${db:Status-Status}\n' "$@" 2>/dev/null) || :
    for package in "$@"; do
        case "
$installed
" in
        *"
$package:installed
"*) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# A command as root: directly, or through sudo, which may ask for a password only at a terminal.
as_root()
{
    if [ "$(id -u)" -ne 0 ]; then
        if [ -t 0 ]; then
            set -- sudo DEBIAN_FRONTEND=noninteractive "$@"
        else
            set -- sudo -n DEBIAN_FRONTEND=noninteractive "$@"
        fi
    fi
    DEBIAN_FRONTEND=noninteractive "$@" </dev/null >>"$log" 2>&1
}

apt_get()
{
    as_root apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

# Says what apt's log means, in one sentence where it is known.
explain_failure()
{
    if grep -Eq 'Could not resolve|Temporary failure resolving|Could not connect|Unable to connect|Cannot initiate the connection|Network is unreachable' "$log"; then
        say "apt cannot reach its package servers: is there a network?"
    elif grep -q 'Unable to locate package' "$log"; then
        say "apt does not know $(sed -n 's/.*Unable to locate package //p' "$log" | sort -u | tr '\n' ' ')(on Ubuntu, enable universe)"
    elif grep -Eq '^sudo: ' "$log"; then
        say "sudo gives no root rights here: $(sed -n 's/^sudo: //p' "$log" | head -n 1); run this as root once"
    else
        tail -n 20 "$log" >&2
        say "apt failed; its last words are above"
    fi
    say "still missing: $*"
}

install_wheel()
{
    say "installing PyTorch into $folder: about 2.5 GB to download, 5.4 GB on disk, some minutes;" \
        "PIP_INDEX_URL may name PyTorch's index of wheels for CPUs, which take 1 GB"
    "$folder/bin/pip" -q install torch
}

# PyTorch is large, and no package of Debian's: it gets a python3 of its own.
install_torch()
{
    folder=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)/.torch
    if [ -x "$folder/bin/python" ] && "$folder/bin/python" -c 'import torch' 2>/dev/null; then
        return
    fi
    if ! { python3 -m venv "$folder" && "$folder/bin/pip" -q install numpy && install_wheel; }; then
        say "PyTorch could not be installed: is there a network, and room in $folder?"
        exit 3
    fi
}

install_packages()
{
    if ! command -v apt-get >/dev/null 2>&1; then
        say "there is no apt here; install what your system calls these, then use scripts/build.sh: $*"
        exit 3
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
        say "installing needs root, and there is no sudo here; as root run: apt-get install $*"
        exit 3
    fi

    say "installing $*"
    # Known package lists save a download; lists that are absent or out of date are fetched once.
    apt_get install -y --no-install-recommends "$@" || {
        : >"$log"
        apt_get update || :
        apt_get install -y --no-install-recommends "$@" || {
            explain_failure "$@"
            exit 3
        }
    }
}

# The libraries that programs for ARM are linked with, unpacked into a folder: nothing of this system changes, whose package lists may not
# have ARM's. Links that begin at the root would leave the folder.
install_arm64()
{
    folder=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)/.arm64
    if [ ! -e "$folder/chokepoint.complete" ]; then
        rm -rf "$folder"
        : >"$log"
        say "unpacking libraries for ARM into $folder"
        if ! mmdebstrap --variant=extract --architectures=arm64 \
            --include="libc6-dev libopenmpi-dev $libraries" "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)" \
            "$folder" >"$log" 2>&1; then
            explain_failure "libraries for ARM"
            exit 3
        fi
        find "$folder/usr" -type l -lname '/*' | while IFS= read -r link; do
            ln -srf "$folder$(readlink "$link")" "$link"
        done
        touch "$folder/chokepoint.complete"
    fi
    # Linux starts qemu for a program of ARM's once it is told to, at its next start by itself.
    if ! "$folder/lib/ld-linux-aarch64.so.1" --version >/dev/null 2>&1; then
        as_root update-binfmts --enable qemu-aarch64 || :
        "$folder/lib/ld-linux-aarch64.so.1" --version >/dev/null 2>&1 || {
            say "Linux starts no programs of ARM's here: they need binfmt_misc, which root may mount and fill" \
                "(update-binfmts --enable qemu-aarch64), in a container its host's"
            exit 3
        }
    fi
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
tests=no
torch=no
arm64=no
web=no
plots=no
list=no
for argument; do
    case $argument in
    --tests) tests=yes ;;
    --plots) plots=yes ;;
    --torch) torch=yes ;;
    --web) web=yes ;;
    --arm64) arm64=yes ;;
    --list) list=yes ;;
    --help | -h)
        usage
        exit 0
        ;;
    *)
        say "unknown argument '$argument'; --help lists those there are"
        exit 2
        ;;
    esac
done

# Names hold no blanks, so splitting at blanks is meant, here and below.
# shellcheck disable=SC2046
set -- $(packages)
if [ "$list" = yes ]; then
    printf '%s\n' "$@"
    exit 0
fi
# shellcheck disable=SC2046
set -- $(missing "$@")
[ $# -eq 0 ] || install_packages "$@"
[ "$torch" = no ] || install_torch
[ "$arm64" = no ] || install_arm64
