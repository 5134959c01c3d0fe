#!/bin/sh
# Installs with apt what chokepoint needs to be built, and nothing else: only packages that are
# missing are asked for, and when all are there nothing is run.
set -eu

usage()
{
    cat <<'END'
usage: scripts/setup.sh [--report] [--tests] [--torch] [--list]

Installs what is missing to build chokepoint, with apt (Debian 12, Ubuntu 24.04, or newer), as root
or through sudo. Does nothing when all is there.

  --report  also what chokepoint report and scripts/plot.py need
  --tests   also what the tests and the checks of .ci/run need, a browser among it
  --torch   also PyTorch, with pip, into the folder .torch of this checkout, for scripts/twins:
            5.4 GB with CUDA's libraries; 1 GB if PIP_INDEX_URL names PyTorch's index for CPUs
  --list    print the packages, one per line, and install nothing
  --help    this text

Exit codes: 0 all is there, 2 bad usage, 3 something is missing and could not be installed.
END
}

say()
{
    echo "setup.sh: $*" >&2
}

# nvcc hands host code to g++. MPI connects ranks; nothing else needs it. Open MPI beside MPICH would become the default.
packages()
{
    echo gcc g++ libc6-dev cmake ninja-build
    if [ "$list" = no ] && [ -z "$(missing libmpich-dev)" ]; then
        echo libmpich-dev mpich
    else
        echo libopenmpi-dev openmpi-bin
    fi
    echo libdnnl-dev libturbojpeg0-dev libcjson-dev libcmocka-dev libisal-dev libsqlite3-dev zlib1g-dev
    if [ "$report" = yes ] || [ "$tests" = yes ]; then
        echo python3 python3-jinja2 python3-matplotlib
    fi
    if [ "$torch" = yes ]; then
        echo python3 python3-venv
    fi
    if [ "$tests" = yes ]; then
        echo clang-format shellcheck python3-venv python3-numpy python3-scipy
        echo libbenchmark-tools libbenchmark-dev
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

# apt-get as root: directly, or through sudo, which may ask for a password only at a terminal.
apt_get()
{
    set -- apt-get -q -o DPkg::Lock::Timeout=300 "$@"
    if [ "$(id -u)" -ne 0 ]; then
        if [ -t 0 ]; then
            set -- sudo DEBIAN_FRONTEND=noninteractive "$@"
        else
            set -- sudo -n DEBIAN_FRONTEND=noninteractive "$@"
        fi
    fi
    DEBIAN_FRONTEND=noninteractive "$@" </dev/null >>"$log" 2>&1
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

tests=no
torch=no
report=no
list=no
for argument; do
    case $argument in
    --tests) tests=yes ;;
    --report) report=yes ;;
    --torch) torch=yes ;;
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
if [ $# -eq 0 ]; then
    [ "$torch" = no ] || install_torch
    exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
    say "there is no apt here; install what your system calls these, then use scripts/build.sh: $*"
    exit 3
fi
if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null 2>&1; then
    say "installing needs root, and there is no sudo here; as root run: apt-get install $*"
    exit 3
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
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
[ "$torch" = no ] || install_torch
