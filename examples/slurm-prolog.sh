#!/bin/sh
# A prolog of Slurm (slurm.conf: Prolog=/etc/slurm/slurm-prolog.sh) that keeps jobs from machines that are not fit:
# where it exits with something else than 0, Slurm drains the node and puts the job back into the queue
# (https://slurm.schedmd.com/prolog_epilog.html). It takes less than a minute.
#
# CHOKEPOINT: the program. CHOKEPOINT_LOG: the file that gets a line per job.
set -u

: "${CHOKEPOINT:=/usr/local/bin/chokepoint}"
: "${CHOKEPOINT_LOG:=/var/log/chokepoint-prolog.log}"

# No job may wait for a device that hangs.
line=$(timeout 60 "$CHOKEPOINT" doctor --prolog --out=/tmp 2>&1)
code=$?
echo "$(date -Is) job ${SLURM_JOB_ID:-none} exit $code $line" >>"$CHOKEPOINT_LOG"
exit "$code"
