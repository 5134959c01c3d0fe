#!/bin/sh
# Checks that no file includes one from a floor above its own, and that no folder is too full to be looked over.
#
# A folder is a floor, and the longest name in the lists below that a path starts with is the path's
# floor. Above the ground stand two wings: the desk, which reads traces and results, and the lab, which makes them. The
# desk includes nothing of the lab, and the program is above both. kernels/ is compiled by nvcc as well, so it includes nothing but itself; tests/ is for tests.
set -eu

case ${1-} in
--help | -h)
    echo "usage: scripts/check_floors.sh [CHECKOUT]"
    echo "Prints each #include that points up a floor or from the desk to the lab, and each folder of more than 20"
    echo "files; exit code 1 if there is one."
    exit 0
    ;;
esac
cd -- "${1:-$(dirname -- "$0")/..}"

ground='harness/base harness/base/figures harness/base/words harness/base/facts harness/base/system harness/text harness/checks'
desk='harness/desk/trace
      harness/desk/analysis/names harness/desk/analysis/timeline harness/desk/analysis/soundness
      harness/desk/analysis/tables
      harness/desk/analysis/host harness/desk/analysis/replay harness/desk/analysis
      harness/desk/read/input harness/desk/read/kineto harness/desk/read/nsys harness/desk/read harness/desk/snapshot
      harness/desk/diagnosis/facts harness/desk/diagnosis/rules harness/desk/diagnosis/digest harness/desk/diagnosis
      harness/desk/compare/file harness/desk/compare harness/desk/compare/history harness/desk/compare/traces
      harness/desk/compare/trial
      harness/desk/page/tables harness/desk/page harness/desk/page/json harness/desk/files harness/desk harness/fleet harness/fleet/job'
lab='kernels/dialect kernels/model kernels harness/simt/code harness/simt/access harness/simt/lanes harness/simt/reader harness/simt harness/device/types harness/device harness/device/plugin
     harness/device/cpu/arithmetic harness/device/cpu/queue harness/device/cpu
     harness/device/mpi harness/device/cuda/kernels harness/device/cuda/libraries
     harness/device/cuda/cupti harness/device/cuda/attention harness/device/cuda
     harness/recording
     harness/engine/settings harness/engine/data/images harness/engine/data
     harness/engine/memory harness/engine/model/ops harness/engine/model harness/engine/step/measuring harness/engine/step/parts harness/engine/step/ranks harness/engine/step
     harness/bench benches/parts benches
     harness/lab/doctor/host harness/lab/doctor harness/fleet/devices
     harness/lab/kernel/input harness/lab/kernel scenarios/gpu_kernels scenarios harness/lab/experiment harness/lab/experiment/child harness/lab/experiment/parent
     harness/lab/search harness/lab/result harness/lab/quiz'
program_of_desk='harness/cli/line harness/cli/traces harness/cli/gate harness/cli/fleet harness/cli/site'
program='harness/cli/job harness/cli/kernel harness/cli/train harness/cli/machine harness/cli/teach harness/cli'
# The folders that may be full: a file of each is a thing of the same kind.
full='scenarios'
most=20

folders=
for folder in harness kernels scenarios benches tests; do
    [ ! -d "$folder" ] || folders="$folders $folder"
done
if [ -z "$folders" ]; then
    echo "check_floors.sh: $PWD is no checkout of chokepoint: it has no harness/, kernels/ or scenarios/" >&2
    exit 2
fi

# shellcheck disable=SC2086
find $folders -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) \
    -exec grep -H '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' {} + |
    awk -v floors="$ground $desk $lab tests $program_of_desk $program" -v desk="$desk $program_of_desk" -v lab="$lab" '
        BEGIN {
            count = split(floors, name)
            for (i = split(desk, names); i > 0; i--)
                is_desk[names[i]] = 1
            for (i = split(lab, names); i > 0; i--)
                is_lab[names[i]] = 1
        }

        # The number of the floor that a path is on; 0: on none.
        function floor_of(path, i, best) {
            best = 0
            for (i = 1; i <= count; i++)
                if (index(path, name[i] "/") == 1 && (!best || length(name[i]) > length(name[best])))
                    best = i
            return best
        }

        function complain(reason) {
            print file ": #include \"" target "\": " reason
            wrong = 1
        }

        {
            file = substr($0, 1, index($0, ":") - 1)
            split(substr($0, length(file) + 2), quoted, "\"")
            target = quoted[2]
            own = floor_of(file)
            other = floor_of(target)
            included++
            if (!own)
                complain("the folder of " file " is on no floor; give it one in scripts/check_floors.sh")
            else if (!other)
                complain("write the path from the root of the checkout")
            else if (is_desk[name[own]] && is_lab[name[other]])
                complain(name[own] " is of the desk, and " name[other] " of the lab")
            else if (other > own)
                complain(name[other] " is above " name[own])
            else if (name[own] ~ /^kernels/ && name[other] !~ /^kernels/)
                complain("kernels includes nothing but kernels")
            else if (name[other] == "tests" && other != own)
                complain("only tests includes tests")
        }

        END {
            if (!included) {
                print "no #include was found: nothing was checked"
                wrong = 1
            }
            exit wrong
        }'

# CMakeLists.txt counts as well: it is a file to look at.
# shellcheck disable=SC2086
find $folders -type f ! -path '*/.*' | sed 's|/[^/]*$||' | sort | uniq -c |
    awk -v most="$most" -v full="$full" '
        $1 > most && $2 != full {
            print $2 " has " $1 " files, more than " most ": give it rooms"
            wrong = 1
        }
        END {
            exit wrong
        }'
