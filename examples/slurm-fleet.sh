#!/bin/sh
#SBATCH --job-name=chokepoint-fleet
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=10
# Looks at every node of an allocation, and says which is the odd one:
#
#     sbatch --nodes=64 slurm-fleet.sh FOLDER
#
# FOLDER is on a file system that all nodes share, and gets doctor-NODE.json, or doctor-NODE-GPU.json of each GPU. Exits with 1 where a node is out, with 2
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
    gpus=$("$CHOKEPOINT" doctor --device=cuda:count 2>/dev/null)
    case $gpus in "" | *[!0-9]*) gpus=0 ;; esac
    gpu=0
    while :; do
        device=cpu file=$name
        [ "$gpus" -eq 0 ] || device=cuda:$gpu file=$name-$gpu
        "$CHOKEPOINT" doctor --device="$device" --format=json --out=/tmp >"$folder/.doctor-$file"
        mv "$folder/.doctor-$file" "$folder/doctor-$file.json"
        gpu=$((gpu + 1))
        [ "$gpu" -lt "$gpus" ] || break
    done'
"$CHOKEPOINT" fleet "$folder"
