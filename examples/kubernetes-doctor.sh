#!/bin/sh
# The script that kubernetes-cronjob.yaml runs: it looks at every node that has GPUs, and says which is the odd one.
#
#     kubernetes-doctor.sh all     starts a job per node, waits until they have ended, and compares what they left
#     kubernetes-doctor.sh node    in such a job: doctor on each of the node's GPUs, of which there are $GPUS
#
# /results gets doctor-NODE-GPU.json. A node that was not free keeps its file of the last look. Exits as fleet does: with 1
# where a node is out, with 2 where a file could not be read.
set -u

: "${CHOKEPOINT:=chokepoint}"
: "${CHOKEPOINT_RESULTS:=/results}"
: "${CHOKEPOINT_SCRIPTS:=/scripts}"
: "${CHOKEPOINT_SECONDS:=1300}" # for all jobs, which run side by side: longer than one may take
: "${CHOKEPOINT_POLL:=10}"

# A file is whole when it has its name. doctor's exit code is a verdict, which is in the file.
look_at_node()
{
    gpu=0
    while [ "$gpu" -lt "$GPUS" ]; do
        timeout -k 5 300 "$CHOKEPOINT" doctor --device="cuda:$gpu" --format=json --out=/tmp \
            >"$CHOKEPOINT_RESULTS/.doctor-$NODE-$gpu"
        mv "$CHOKEPOINT_RESULTS/.doctor-$NODE-$gpu" "$CHOKEPOINT_RESULTS/doctor-$NODE-$gpu.json"
        gpu=$((gpu + 1))
    done
}

start_jobs()
{
    number=0
    kubectl get nodes --selector=nvidia.com/gpu.present=true --output \
        'jsonpath={range .items[*]}{.metadata.name} {.status.allocatable.nvidia\.com/gpu}{"\n"}{end}' |
        while read -r node gpus; do
            case $gpus in "" | 0 | *[!0-9]*) continue ;; esac
            number=$((number + 1))
            sed -e "s|@NUMBER@|$number|; s|@NODE@|$node|; s|@GPUS@|$gpus|" \
                -e "s|@IMAGE@|$CHOKEPOINT_IMAGE|; s|@CLAIM@|$CHOKEPOINT_CLAIM|" \
                "$CHOKEPOINT_SCRIPTS/kubernetes-job.yaml" | kubectl create --filename=-
        done
}

case ${1:-} in
node)
    look_at_node
    ;;
all)
    : "${CHOKEPOINT_IMAGE:?}" "${CHOKEPOINT_CLAIM:?}"
    kubectl delete jobs --selector=app=chokepoint-doctor --ignore-not-found
    start_jobs
    while [ "$CHOKEPOINT_SECONDS" -gt 0 ] &&
        [ -n "$(kubectl get jobs --selector=app=chokepoint-doctor --output 'jsonpath={.items[*].status.active}')" ]; do
        sleep "$CHOKEPOINT_POLL"
        CHOKEPOINT_SECONDS=$((CHOKEPOINT_SECONDS - CHOKEPOINT_POLL))
    done
    # Nothing is left that could hold a GPU, or wait for one.
    kubectl delete jobs --selector=app=chokepoint-doctor --ignore-not-found
    "$CHOKEPOINT" fleet "$CHOKEPOINT_RESULTS"
    ;;
*)
    echo "usage: kubernetes-doctor.sh all|node" >&2
    exit 2
    ;;
esac
