#!/bin/sh
# doctor of three GPUs over the stand-in for CUDA, for real: one slow, one whose kernels fail, one that hangs. Each takes seven
# seconds of a core; test_doctor_all.sh has eight that are played.
#
# usage: test_doctor_stand_in.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

all()
{
    trouble=$1
    shift
    env STAND_IN_DEVICES=3 STAND_IN_TROUBLE="$trouble" "$program" doctor --device=cuda:all "$@"
}

# Without the kernel that takes most of the time, whose rows fail on all.
export STAND_IN_SKIPS=triad_
expect 1 "one slow, one that fails" all slow:1,error:2
for device in 0 1 2; do says out "device $device"; done
says out "Odd: device 2 (device: cuda:2"
# Simulated products vary by half: the slow one's is the least all the same (test_doctor_all.sh has the line that names it).
awk '$1 == "gemm_fp32" { least = 2; for (i = 2; i < NF; i += 2) { if ($i == "-") { i--; continue }; if ($i + 0 < $least + 0) least = i }
     exit least != 4 }' "$folder/out" || fail "device 1 is not the slowest"

# A simulated GPU on a busy machine may take too long, which is busy, as the other one that hangs is. One that is done has no
# driver of NVIDIA's: a fault, and the line names faults alone.
begin=$(date +%s)
env STAND_IN_DEVICES=2 STAND_IN_TROUBLE=hangs:1 "$program" doctor --device=cuda:all --prolog >"$folder/out" 2>"$folder/err"
code=$?
case_name="the prolog beside one that hangs"
case $code in
4) says out "device 1: it hangs" ;;
1) says out "device 0: gpu_driver: none" ;;
*) fail "exit code $code: $(cat "$folder/out" "$folder/err")" ;;
esac
[ $(($(date +%s) - begin)) -lt 60 ] || fail "it took $(($(date +%s) - begin)) s"
is_one_line out

finish
