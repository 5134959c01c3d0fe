#!/bin/sh
# The promises of the scripts, tried with stand-ins for apt, dpkg and sudo that write down how they were
# called. Nothing is installed and the checkout is left as it is.
#
# usage: test_scripts.sh CHECKOUT
set -u

checkout=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bin=$work/bin
calls=$work/calls
status=0
failures=0

# The tools that the scripts may count on anywhere; apt, dpkg and sudo are not among them.
only_basic_tools()
{
    rm -rf "$bin"
    mkdir "$bin"
    : >"$calls"
    for tool in sh cat dirname grep head id mktemp printf rm sed sort tail tr; do
        ln -s "$(command -v "$tool")" "$bin/$tool"
    done
}

# stand_in NAME BODY: a command that writes down its arguments, then runs BODY.
stand_in()
{
    rm -f "$bin/$1"
    printf '#!/bin/sh\necho "%s $*" >>"%s"\n%s\n' "$1" "$calls" "$2" >"$bin/$1"
    chmod +x "$bin/$1"
}

# dpkg_knows EXPRESSION: dpkg-query calls those of its arguments installed that sed's EXPRESSION keeps.
dpkg_knows()
{
    stand_in dpkg-query "shift 3; printf '%s\\n' \"\$@\" | sed '$1' | sed 's/\$/:installed/'"
}

setup()
{
    PATH=$bin "$bin/sh" "$checkout/scripts/setup.sh" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}

expect_status()
{
    [ "$status" -eq "$1" ] || complain "exit code $status instead of $1"
}

expect_in()
{
    grep -qe "$2" "$work/$1" || complain "no '$2' in its $1:" "$(cat "$work/$1")"
}

expect_empty()
{
    [ ! -s "$work/$1" ] || complain "its $1 should be empty:" "$(cat "$work/$1")"
}

complain()
{
    echo "    $*"
    complaints=$((complaints + 1))
}

the_list_has_one_package_a_line()
{
    only_basic_tools
    setup --list
    expect_status 0
    expect_in out '^libdnnl-dev$'
    expect_empty err
    expect_empty calls
    builds=$(wc -l <"$work/out")
    setup --list --tests
    expect_in out '^python3-numpy$'
    [ "$(wc -l <"$work/out")" -gt "$builds" ] || complain "--tests adds nothing"
    expect_in out '^python3-matplotlib$'
    setup --list --plots
    expect_in out '^python3-matplotlib$'
    ! grep -q '^python3-numpy$' "$work/out" || complain "--plots adds what the tests need"
}

without_apt_the_packages_are_named()
{
    only_basic_tools
    setup
    expect_status 3
    expect_in err 'there is no apt here'
    expect_in err ' gcc .* cmake .* libdnnl-dev '
}

without_apt_nothing_is_wrong_when_all_is_there()
{
    only_basic_tools
    dpkg_knows ''
    setup --tests
    expect_status 0
    expect_empty err
}

mpich_stays_alone()
{
    only_basic_tools
    dpkg_knows '/openmpi\|libmpich-dev/!d; /openmpi/d'
    setup
    expect_status 3
    expect_in err ' mpich '
    ! grep -q 'openmpi' "$work/err" || complain "Open MPI would become the default"
}

nothing_is_run_when_all_is_there()
{
    only_basic_tools
    dpkg_knows ''
    stand_in apt-get 'exit 1'
    setup --tests
    expect_status 0
    expect_empty out
    expect_empty err
    ! grep -q apt-get "$calls" || complain "apt-get was run"
}

only_missing_packages_are_asked_for()
{
    only_basic_tools
    dpkg_knows '/^cmake$/d;/^libdnnl-dev$/d'
    stand_in apt-get 'exit 0'
    stand_in id 'echo 0'
    setup
    expect_status 0
    expect_in calls '^apt-get .* install .* cmake libdnnl-dev$'
    ! grep -q '^apt-get .* update' "$calls" || complain "the lists were fetched without need"
}

package_lists_are_fetched_when_packages_are_unknown()
{
    only_basic_tools
    dpkg_knows '/^cmake$/d'
    stand_in id 'echo 0'
    stand_in apt-get "case \"\$*\" in
        *update*) : >'$work/updated' ;;
        *) [ -e '$work/updated' ] || { echo 'E: Unable to locate package cmake'; exit 100; } ;;
        esac"
    setup
    expect_status 0
    expect_in calls '^apt-get .* update$'
}

others_than_root_go_through_sudo_and_are_not_asked_without_a_terminal()
{
    only_basic_tools
    dpkg_knows '/^cmake$/d'
    stand_in apt-get 'exit 0'
    stand_in id 'echo 1000'
    stand_in sudo 'exit 0'
    setup
    expect_status 0
    expect_in calls '^sudo -n .*apt-get .* install .* cmake$'
    ! grep -q '^apt-get' "$calls" || complain "apt-get was run without sudo"
}

without_root_and_sudo_the_command_is_named()
{
    only_basic_tools
    dpkg_knows '/^cmake$/d'
    stand_in apt-get 'exit 0'
    stand_in id 'echo 1000'
    setup
    expect_status 3
    expect_in err 'as root run: apt-get install cmake$'
}

a_missing_network_is_called_so()
{
    only_basic_tools
    dpkg_knows '/^cmake$/d'
    stand_in id 'echo 0'
    stand_in apt-get "echo \"Err:1 Could not resolve 'packages.invalid'\"; exit 100"
    setup
    expect_status 3
    expect_in err 'is there a network?'
    expect_in err 'still missing: cmake$'
}

an_unknown_argument_is_bad_usage()
{
    only_basic_tools
    setup --lst
    expect_status 2
    expect_in err "'--lst'"
}

the_run_keeps_arguments_and_exit_code()
{
    mkdir -p "$work/run/scripts" "$work/run/build"
    cp "$checkout/scripts/run.sh" "$work/run/scripts/"
    printf '#!/bin/sh\n' | tee "$work/run/scripts/setup.sh" >"$work/run/scripts/build.sh"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nprintf "[%%s]" "$@"\nexit 7\n' >"$work/run/build/chokepoint"
    chmod +x "$work/run/scripts/setup.sh" "$work/run/scripts/build.sh" "$work/run/build/chokepoint"
    (cd / && "$work/run/scripts/run.sh" core --out 'two words') >"$work/out" 2>"$work/err"
    status=$?
    expect_status 7
    expect_in out '^\[run\]\[core\]\[--out\]\[two words\]$'
    expect_empty err
}

# Makes a checkout of one empty target: what is tried is the script, not the compiler.
# shellcheck disable=SC2016
small_checkout()
{
    mkdir -p "$1/scripts"
    cp "$checkout/scripts/build.sh" "$1/scripts/"
    printf 'cmake_minimum_required(VERSION 3.25)\nproject(small NONE)\n%s\n' \
        'add_custom_target(made ALL COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_SOURCE_DIR}/made)' \
        >"$1/CMakeLists.txt"
}

a_checkout_that_moved_builds_itself_and_not_the_old_place()
{
    small_checkout "$work/old place"
    (cd / && "$work/old place/scripts/build.sh") >"$work/out" 2>"$work/err"
    status=$?
    expect_status 0
    expect_empty out
    cp -r "$work/old place" "$work/new place"
    rm "$work/old place/made" "$work/new place/made"
    "$work/new place/scripts/build.sh" >"$work/out" 2>"$work/err"
    [ -e "$work/new place/made" ] || complain "the new place was not built"
    [ ! -e "$work/old place/made" ] || complain "the old place was built"
}

a_second_build_is_silent_and_a_failing_one_is_not()
{
    small_checkout "$work/small"
    "$work/small/scripts/build.sh" 2>/dev/null
    "$work/small/scripts/build.sh" >"$work/out" 2>"$work/err"
    status=$?
    expect_status 0
    expect_empty out
    expect_empty err
    echo 'message(FATAL_ERROR "no such thing")' >>"$work/small/CMakeLists.txt"
    "$work/small/scripts/build.sh" >"$work/out" 2>"$work/err"
    status=$?
    [ "$status" -ne 0 ] || complain "exit code 0"
    expect_in err 'no such thing'
}

the_program_is_built_without_the_tests()
{
    small_checkout "$work/part"
    echo 'add_custom_target(chokepoint COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_SOURCE_DIR}/program)' \
        >>"$work/part/CMakeLists.txt"
    "$work/part/scripts/build.sh" --folder "$work/part/there" --program >"$work/out" 2>"$work/err"
    status=$?
    expect_status 0
    [ -e "$work/part/program" ] || complain "the program was not built"
    [ ! -e "$work/part/made" ] || complain "more than the program was built"
}

an_old_cmake_is_named()
{
    small_checkout "$work/aged"
    mkdir "$work/aged/bin"
    printf '#!/bin/sh\necho "cmake version 3.22.1"\n' >"$work/aged/bin/cmake"
    chmod +x "$work/aged/bin/cmake"
    PATH="$work/aged/bin:$PATH" "$work/aged/scripts/build.sh" >"$work/out" 2>"$work/err"
    status=$?
    expect_status 2
    expect_in err 'CMake 3.25 or newer is needed, and this is 3.22.1'
}

floors()
{
    "$checkout/scripts/check_floors.sh" "$@" >"$work/out" 2>"$work/err"
    status=$?
}

no_include_points_up_a_floor()
{
    floors "$checkout"
    expect_status 0
    expect_empty out
}

# planted FILE INCLUDE REASON: in a copy of two honest files, FILE's INCLUDE is found out.
planted()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/harness/base" "$work/tree/harness/device" "$(dirname "$work/tree/$1")"
    echo '#include "harness/base/status.h"' >"$work/tree/harness/device/honest.c"
    floors "$work/tree"
    expect_status 0
    printf '#include <stdio.h>\n  # include "%s"\n' "$2" >"$work/tree/$1"
    floors "$work/tree"
    expect_status 1
    expect_in out "^$1: #include \"$2\": $3"
}

an_include_that_points_up_is_named()
{
    planted harness/base/bad.c harness/device/device.h 'harness/device is above harness/base'
    planted harness/desk/read/bad.h scenarios/scenario.h 'harness/desk/read is of the desk, and scenarios of the lab'
    planted harness/engine/step/bad.c scenarios/scenario.h 'scenarios is above harness/engine/step'
    planted harness/device/cpu/bad.c harness/lab/experiment/result.h 'harness/lab/experiment is above'
    planted tests/bad.c harness/cli/line/options.h 'harness/cli/line is above tests'
    planted kernels/bad.c harness/base/status.h 'kernels includes nothing but kernels'
    planted harness/cli/bad.c tests/workbench.h 'only tests includes tests'
    planted harness/desk/page/bad.c status.h 'write the path from the root'
    planted harness/other/bad.c harness/base/status.h 'the folder of .* is on no floor'
    planted harness/desk/page/bad.c harness/device/device.h 'harness/desk/page is of the desk, and harness/device of'
    planted harness/cli/gate/bad.c scenarios/scenario.h 'harness/cli/gate is of the desk, and scenarios of the lab'
}

a_folder_that_is_too_full_is_named()
{
    rm -rf "$work/tree"
    mkdir -p "$work/tree/harness/base" "$work/tree/scenarios"
    for number in 01 02 03 04 05 06 07 08 09 10 11 12 13 14 15 16 17 18 19 20; do
        echo '#include "harness/base/status.h"' >"$work/tree/harness/base/file$number.c"
        echo '#include "scenarios/scenario.h"' >"$work/tree/scenarios/file$number.c"
    done
    echo '#include "scenarios/scenario.h"' >"$work/tree/scenarios/file21.c"
    floors "$work/tree"
    expect_status 0
    touch "$work/tree/harness/base/CMakeLists.txt"
    floors "$work/tree"
    expect_status 1
    expect_in out '^harness/base has 21 files, more than 20: give it rooms'
}

names()
{
    "$checkout/scripts/check_names.sh" "$@" >"$work/out" 2>"$work/err"
    status=$?
}

no_name_means_two_things()
{
    names "$checkout"
    expect_status 0
    expect_empty out
}

# put FILE LINE...: a file of the tree.
put()
{
    mkdir -p "$(dirname "$work/tree/$1")"
    file=$work/tree/$1
    shift
    printf '%s\n' "$@" >"$file"
}

# honest: a tree in which nothing public is called like something else.
honest()
{
    rm -rf "$work/tree"
    put harness/base/one.h 'struct one;' 'struct row {' '};' 'int one_open(void);'
    put harness/base/one.c 'struct one {' '};' 'static int find(int a,' '                int b)' '{' '}' \
        'int one_open(void)' '{' '}'
    put harness/text/two.h 'struct one;' 'struct row;'
    put harness/text/two.c 'struct own {' '};' 'static int find(void)' '{' '}' 'int two_open(void)' '{' '}'
    put harness/text/three.c 'struct own {' '};' 'int one_open(void);'
    names "$work/tree"
    expect_status 0
    expect_empty out
}

# taken WHAT PLACE OTHER: the last change made a collision.
taken()
{
    names "$work/tree"
    expect_status 1
    expect_in out "^$2: $1 is taken by $3; "
}

a_name_that_is_taken_is_told_with_both_places()
{
    honest
    put harness/text/four.h 'struct row {' '};'
    taken 'type row' harness/text/four.h:1 harness/base/one.h:2
    honest
    put harness/text/two.c '' 'struct one {' '};'
    taken 'type one' harness/text/two.c:2 harness/base/one.c:1
    honest
    put harness/text/three.c 'struct row {' '};'
    taken 'type row' harness/text/three.c:1 harness/base/one.h:2
    honest
    put harness/text/two.c 'enum status' 'one_open(int a,' '         int b)' '{' '}'
    taken 'function one_open' harness/text/two.c:2 harness/base/one.c:7
    honest
    put scenarios/one.h 'int other(void);'
    taken 'header one.h' scenarios/one.h harness/base/one.h
}

for test in the_list_has_one_package_a_line without_apt_the_packages_are_named \
    without_apt_nothing_is_wrong_when_all_is_there mpich_stays_alone nothing_is_run_when_all_is_there \
    only_missing_packages_are_asked_for package_lists_are_fetched_when_packages_are_unknown \
    others_than_root_go_through_sudo_and_are_not_asked_without_a_terminal \
    without_root_and_sudo_the_command_is_named a_missing_network_is_called_so \
    an_unknown_argument_is_bad_usage the_run_keeps_arguments_and_exit_code \
    a_checkout_that_moved_builds_itself_and_not_the_old_place \
    a_second_build_is_silent_and_a_failing_one_is_not \
    the_program_is_built_without_the_tests an_old_cmake_is_named no_include_points_up_a_floor \
    an_include_that_points_up_is_named a_folder_that_is_too_full_is_named no_name_means_two_things \
    a_name_that_is_taken_is_told_with_both_places; do
    complaints=0
    "$test"
    if [ "$complaints" -eq 0 ]; then
        echo "ok      $test"
    else
        echo "FAILED  $test"
        failures=$((failures + 1))
    fi
done
[ "$failures" -eq 0 ]
