#!/bin/sh
# A prolog of Slurm (slurm.conf: Prolog=/etc/slurm/slurm-prolog.sh) that keeps jobs from machines that have a fault:
# if it exits with something else than 0, Slurm drains the node and puts the job back into the queue
# (https://slurm.schedmd.com/prolog_epilog.html). It takes less than a minute.
#
# Only a fault of the node itself drains it: a row that fails twice, no device, or a device that hangs. A node that
# others use just now is busy, and a program that is missing says nothing about the node.
#
# CHOKEPOINT: the program. CHOKEPOINT_LOG: the file that gets a line per job. CHOKEPOINT_DEVICE: what to check.
# CHOKEPOINT_BUSY: what becomes of the job if the node is busy: "pass" (if not set) lets it start, "requeue" puts it back
# into the queue. The node is not drained in either case.
set -u

: "${CHOKEPOINT:=/usr/local/bin/chokepoint}"
: "${CHOKEPOINT_LOG:=/var/log/chokepoint-prolog.log}"
: "${CHOKEPOINT_DEVICE:=cuda:all}"
: "${CHOKEPOINT_BUSY:=pass}"

# chokepoint gives up on a device that hangs; timeout is for a driver that lets no process end.
line=$(timeout -k 5 90 "$CHOKEPOINT" doctor --prolog --device="$CHOKEPOINT_DEVICE" 2>&1)
code=$?
case $code in
0) verdict=fit drain=0 ;;
1 | 3 | 124 | 137) verdict=drained drain=1 ;;
4) verdict=busy drain=0 ;;
*) verdict=unknown drain=0 ;;
esac
echo "$(date -Is) job ${SLURM_JOB_ID:-none} exit $code $verdict $line" >>"$CHOKEPOINT_LOG"
# In the background, since Slurm waits for the prolog before it touches the job.
if [ "$verdict" = busy ] && [ "$CHOKEPOINT_BUSY" = requeue ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    scontrol requeue "$SLURM_JOB_ID" >>"$CHOKEPOINT_LOG" 2>&1 &
fi
exit "$drain"
