#!/bin/sh
#SBATCH --job-name=chokepoint-fleet
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=10
# Looks at every node of an allocation, and says which is the odd one:
#
#     sbatch --nodes=64 slurm-fleet.sh FOLDER
#
# FOLDER is on a file system that all nodes share, and gets doctor-NODE.json. Exits with 1 where a node is out, with 2
# where a file could not be read.
set -u

: "${CHOKEPOINT:=chokepoint}"
folder=${1:?usage: slurm-fleet.sh FOLDER}
mkdir -p "$folder" || exit 2
export CHOKEPOINT folder

# A node that is not fit ends its task with 1: what it found is in its file, and the others go on.
# shellcheck disable=SC2016 # the nodes expand it
srun --kill-on-bad-exit=0 sh -c '
    name=${SLURMD_NODENAME:-$(hostname)}
    "$CHOKEPOINT" doctor --format=json --out=/tmp >"$folder/.doctor-$name"
    mv "$folder/.doctor-$name" "$folder/doctor-$name.json"'
"$CHOKEPOINT" fleet "$folder"
