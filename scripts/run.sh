#!/bin/sh
# From a fresh checkout to a result: installs what is missing, builds, runs.
set -eu

usage()
{
    cat <<'END'
usage: scripts/run.sh [SCENARIO...|core|all] [OPTION...]

Installs what is missing (scripts/setup.sh), builds (scripts/build.sh) and hands its arguments to `build/chokepoint run`. Its exit code is that of the run. For the options of the run itself:

  build/chokepoint run --help

examples:
  scripts/run.sh core --quick        the core bottlenecks, in less time
  scripts/run.sh item_sync --out /tmp/result
END
}

case ${1-} in
--help | -h)
    usage
    exit 0
    ;;
esac

source=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
"$source/scripts/setup.sh"
"$source/scripts/build.sh" --program
# In place of this shell: the exit code and Ctrl-C are the run's own.
exec "$source/build/chokepoint" run "$@"
