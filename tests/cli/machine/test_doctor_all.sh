#!/bin/sh
# doctor of eight GPUs, which played_doctor.c plays: one slow, one with an error, one that dies, one that hangs.
#
# usage: test_doctor_all.sh PROGRAM PLAYED_DOCTOR
set -u

program=$1
played=$2
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

all()
{
    what=$1
    shift
    env PLAYED="$what" LD_PRELOAD="$played" "$program" doctor --device=cuda:all "$@"
}

expect 1 "one slow, one with an error" all slow:3,error:5
says out "One after the other"
says out "All at once"
for device in 0 1 2 3 4 5 6 7; do says out "device $device"; done
says out "Odd: device 3 (gemm_fp32 "
says out "Odd: device 5 ("
expect 1 "one that dies" all dies:2
says out "Odd: device 2 (it was ended by signal 6"
says_not out "Between devices"
expect 0 "healthy ones" all none
says out "No device is odd, of 8."
says out "Between devices"
says out "56 of 56"
expect 1 "links that fail" all links:0
says out "fail 56 of 56"
expect 0 "as JSON" all none --format=json
says out '"odd":	[]'
says out '"together"'
refuses "beside other machines" "--against places one device" all none --against="$folder"

# prolog CODE PLAYED TEXT: one line, within a minute.
prolog()
{
    begin=$(date +%s)
    expect "$1" "the prolog with $2" all "$2" --prolog
    is_one_line out
    says out "$3"
    [ $(($(date +%s) - begin)) -lt 60 ] || fail "it took $(($(date +%s) - begin)) s"
}
prolog 0 none ": Fit to measure: yes"
prolog 4 busy:4 "busy (device 4: other_programs: 3 cores)"
prolog 1 error:5 "no (device 5: device: G)"
prolog 1 links:0 "no (between devices: peer_links: 56 of 56)"
prolog 1 hang:6,error:1 "device 1: device: G"

# The cores of each NUMA node, for real.
"$program" doctor --device=cpu:all --prolog >"$folder/out" 2>"$folder/err"
code=$?
case_name="the nodes of this machine"
case $code in 0 | 4) ;; *) fail "exit code $code" ;; esac
is_one_line out

finish
