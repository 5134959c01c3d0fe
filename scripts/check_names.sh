#!/bin/sh
# Checks that no name means two things: no public type, no external function and no header is called
# like another one, and no private type like a public one.
#
# Types and functions are found by the format that clang-format gives: a definition begins in the first
# column, and so does the brace of a function's body.
set -eu

case ${1-} in
--help | -h)
    echo "usage: scripts/check_names.sh [CHECKOUT]"
    echo "Prints each name that is taken twice, with both places; exit code 1 if there is one."
    exit 0
    ;;
esac
cd -- "${1:-$(dirname -- "$0")/..}"

# Names that are meant to be there twice: the kernels' dialect, once for the compiler of the CPU and once for that
# of the GPU; the functions that every plugin and every program are entered by; and *_absent.c, which is built in place of the
# file whose functions it has.
twins='kernels/dialect/kernel_cpu.h kernels/dialect/kernel_cuda.h kernels/dialect/tile_cpu.h kernels/dialect/tile_cuda.h chokepoint_device_driver main'

folders=
for folder in harness kernels scenarios benches; do
    [ ! -d "$folder" ] || folders="$folders $folder"
done
if [ -z "$folders" ]; then
    echo "check_names.sh: $PWD is no checkout of chokepoint: it has no harness/, kernels/ or scenarios/" >&2
    exit 2
fi

# A device is told apart by its properties: only the loader and the plugins know the names of the kinds.
# shellcheck disable=SC2086
if grep -rnE '(cmp\(.*|== )"(cpu|cuda)"' $folders | grep -v '^harness/device/'; then
    echo "check_names.sh: ask a property of the device (DEVICE_TRAITS), not the name of its kind"
    exit 1
fi

# shellcheck disable=SC2086
find $folders -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' \) |
    sort | awk -v twins="$twins" '
        BEGIN {
            count = split(twins, names)
            for (i = 1; i <= count; i++)
                is_twin[names[i]] = 1
        }

        # A name is taken by the first place that is noted, and every further one is a collision.
        function note(kind, name, place, advice, key) {
            key = kind SUBSEP name
            noted++
            if (!(key in taken)) {
                taken[key] = place
                file_of[key] = file
            } else if (file_of[key] != file) {
                print place ": " kind " " name " is taken by " taken[key] "; " advice
                wrong = 1
            }
        }

        function read_line(line, words) {
            if (line ~ /^namespace \{/)
                hidden = 1
            else if (line ~ /^\} *\/\/ namespace/)
                hidden = 0
            if (is_header && line ~ /^(struct|union|enum) [a-z_0-9]+;/) {
                split(line, words, /[ ;]/)
                is_opaque[folder, words[2]] = 1
            } else if (line ~ /^(typedef )?(struct|union|enum) [a-z_0-9]+ \{/) {
                sub(/^typedef /, "", line)
                split(line, words, " ")
                if (is_header && !is_twin[file])
                    note("type", words[2], file ":" number, "one of the two needs another name")
                else if (!is_header) {
                    type[++types] = words[2]
                    type_place[types] = file ":" number
                    type_folder[types] = folder
                }
            } else if (line ~ /^[A-Za-z_].*\(/) {
                gsub(/__attribute__\(\([^;]*\)\) ?/, "", line)
                candidate = line
                candidate_line = number
            } else if (line ~ /^\{/ && candidate != "") {
                sub(/\(.*/, "", candidate)
                is_external = !is_header && !hidden && candidate !~ /^static / && candidate ~ /[a-z]/
                sub(/.*[ *]/, "", candidate)
                if (is_external && !is_twin[candidate] && file !~ /_absent\.c$/)
                    note("function", candidate, file ":" candidate_line,
                         "begin it with the name of its module, or make it static")
                candidate = ""
            } else if (line ~ /;$/)
                candidate = ""
        }

        {
            file = $0
            folder = file
            sub(/\/[^\/]*$/, "", folder)
            is_header = file ~ /\.(h|cuh)$/
            candidate = ""
            hidden = number = 0
            if (is_header) {
                basename = file
                sub(/.*\//, "", basename)
                note("header", basename, file, "a file is named after its one idea: say more than its folder")
            }
            while ((getline line < file) > 0) {
                number++
                read_line(line)
            }
            close(file)
        }

        END {
            for (i = 1; i <= types; i++) # those that a header beside them declares, without their members
                if (is_opaque[type_folder[i], type[i]]) {
                    file = type_place[i]
                    note("type", type[i], type_place[i], "one of the two needs another name")
                }
            for (i = 1; i <= types; i++) # those that only their own file sees
                if (!is_opaque[type_folder[i], type[i]] && ("type", type[i]) in taken) {
                    print type_place[i] ": type " type[i] " is taken by " taken["type", type[i]] \
                        "; a private type needs a name that no header has"
                    wrong = 1
                }
            if (!noted) {
                print "no name was found: nothing was checked"
                wrong = 1
            }
            exit wrong
        }'
