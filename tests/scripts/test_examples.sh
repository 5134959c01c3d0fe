#!/bin/sh
# The examples do what they say, over stand-ins: a program that plays doctor, and an srun that plays three nodes. Checks
# by other tools run where those tools are: systemd-analyze, and python3 with YAML.
#
# usage: test_examples.sh PROGRAM SOURCE
set -u

program=$1
source=$2
# shellcheck source=tests/fixtures/command_line.sh
. "$source/tests/fixtures/command_line.sh"

# --- A job's prolog ---

cat >"$folder/doctor" <<'END'
#!/bin/sh
echo "node1: Fit to measure: $PLAYED"
echo "$*" >>"$0.called"
exit "$CODE"
END
cat >"$folder/scontrol" <<END
#!/bin/sh
echo "\$*" >>"$folder/scontrol.called"
END
chmod +x "$folder/doctor" "$folder/scontrol"
prolog()
{
    env PATH="$folder:$PATH" CHOKEPOINT="$folder/doctor" CHOKEPOINT_LOG="$folder/log" SLURM_JOB_ID=42 "$@" \
        "$source/examples/slurm-prolog.sh"
}
# The verdict, doctor's exit code, and whether the node is drained.
while read -r played code drained; do
    expect "$drained" "the prolog of a node that is $played" prolog PLAYED="$played" CODE="$code"
    says log "job 42 exit $code "
    says log "node1: Fit to measure: $played"
done <<'END'
yes 0 0
with-care 0 0
no 1 1
no-device 3 1
busy 4 0
usage 2 0
crashed 139 0
END
says doctor.called "doctor --prolog --device=cuda:all"
[ ! -e "$folder/scontrol.called" ] || fail "a job is requeued although nobody asked for that"
expect 0 "a busy node, and jobs that wait" prolog PLAYED=busy CODE=4 CHOKEPOINT_BUSY=requeue
# The prolog does not wait for it.
for _ in $(seq 100); do
    [ -s "$folder/scontrol.called" ] || sleep 0.1
done
says scontrol.called "requeue 42"
expect 0 "a prolog without the program drains no node" prolog CHOKEPOINT="$folder/nowhere"
says log "exit 127 unknown"

# --- All nodes of an allocation ---

# srun OPTION... COMMAND...: on seven nodes, of which n3 does a fifth less.
cat >"$folder/srun" <<'END'
#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
for node in n1 n2 n3 n4 n5 n6 n7; do
    SLURMD_NODENAME=$node "$@" || echo "srun: error: $node: task exited with exit code $?" >&2
done
END
cat >"$folder/chokepoint" <<END
#!/bin/sh
if [ "\$1" = fleet ]; then
    exec '$program' "\$@"
fi
rate=100
[ "\$SLURMD_NODENAME" != n3 ] || rate=80
printf '{"context": {"host_name": "%s", "device_name": "A"}, "fit": "no", "checks": [{"name": "gemm", "status": "ok", "number": %s, "unit": "FLOP/s"}]}' "\$SLURMD_NODENAME" \$rate
exit 1
END
chmod +x "$folder/srun" "$folder/chokepoint"
expect 1 "a fleet by srun" env PATH="$folder:$PATH" CHOKEPOINT="$folder/chokepoint" \
    "$source/examples/slurm-fleet.sh" "$folder/nodes"
says out "Out: n3 (gemm 20% less)"
says out "7 nodes"
expect 2 "no folder" env PATH="$folder:$PATH" "$source/examples/slurm-fleet.sh"

# --- All nodes of a cluster ---

# kubectl: four nodes, of which one has no GPU that pods may have, and one is in use: its job never starts. The others'
# jobs do as they say at once.
mkdir "$folder/cluster" "$folder/cluster-results"
cat >"$folder/kubectl" <<END
#!/bin/sh
echo "\$*" >>"$folder/kubectl.called"
case "\$1 \$2" in
"get nodes")
    printf 'n1 8\nno-gpu \nn3.example.org 1\nused 1\n'
    ;;
"create --filename=-")
    job=$folder/cluster/\$(ls "$folder/cluster" | wc -l).yaml
    cat >"\$job"
    NODE=\$(sed -n 's/.*values: \["\(.*\)"\]/\1/p' "\$job")
    GPUS=\$(sed -n 's|.*nvidia.com/gpu: \([0-9]*\)|\1|p' "\$job")
    export NODE GPUS
    grep -q 'command: .*kubernetes-doctor.sh, node' "\$job" || exit 1
    [ "\$NODE" = used ] || "$source/examples/kubernetes-doctor.sh" node
    ;;
"get jobs")
    printf 1
    ;;
esac
END
cat >"$folder/chokepoint" <<END
#!/bin/sh
if [ "\$1" = fleet ]; then
    exec '$program' "\$@"
fi
rate=100
[ "\$NODE \$2" != "n1 --device=cuda:5" ] || rate=70
printf '{"context": {"host_name": "%s", "device_name": "A", "device_index": "%s"}, "fit": "no", "checks": [{"name": "gemm", "status": "ok", "number": %s, "unit": "FLOP/s"}]}' "\$NODE" "\${2#*:}" \$rate
exit 1
END
chmod +x "$folder/kubectl"
kubernetes()
{
    env PATH="$folder:$PATH" CHOKEPOINT="$folder/chokepoint" CHOKEPOINT_RESULTS="$folder/cluster-results" \
        CHOKEPOINT_SCRIPTS="$source/examples" CHOKEPOINT_SECONDS=2 CHOKEPOINT_POLL=1 CHOKEPOINT_IMAGE=registry/image:1 \
        CHOKEPOINT_CLAIM=claim "$source/examples/kubernetes-doctor.sh" "$@"
}
expect 1 "a fleet by kubectl" kubernetes all
says out "Out: n1 GPU 5 (gemm 30% less)"
says out "2 nodes, 9 GPUs"
[ "$(tail -n 1 "$folder/kubectl.called")" = "delete jobs --selector=app=chokepoint-doctor --ignore-not-found" ] ||
    fail "jobs are left that hold GPUs: $(cat "$folder/kubectl.called")"
[ ! -e "$folder/cluster-results/doctor-used-0.json" ] || fail "a node in use has a file"
expect 2 "no role" kubernetes

# --- Checks by other tools ---

if command -v systemd-analyze >/dev/null; then
    # It wants the program to be there.
    sed "s|/usr/local/bin/chokepoint|$program|" "$source/examples/chokepoint-doctor.service" \
        >"$folder/chokepoint-doctor.service"
    cp "$source/examples/chokepoint-doctor.timer" "$folder"
    expect 0 "systemd's units" systemd-analyze verify "$folder/chokepoint-doctor.service" \
        "$folder/chokepoint-doctor.timer"
    says_not err chokepoint-doctor # it may complain about other units of this machine
else
    echo "systemd-analyze is not here: the units are not checked"
fi
if python3 -c 'import yaml' 2>/dev/null; then
    expect 0 "the CronJob and the jobs that it starts" python3 - "$source/examples/kubernetes-cronjob.yaml" "$folder/cluster/"*.yaml <<'END'
import sys

import yaml

documents = {}
for path in sys.argv[1:]:
    for document in yaml.safe_load_all(open(path, encoding="utf-8")):
        documents.setdefault(document["kind"], []).append(document)
cron = documents["CronJob"][0]["spec"]
assert cron["concurrencyPolicy"] == "Forbid"
jobs = [document["spec"] for document in documents["Job"]]
assert len(jobs) == 3
for job in jobs + [cron["jobTemplate"]["spec"]]:
    pod = job["template"]["spec"]
    assert pod["restartPolicy"] == "Never" and job["backoffLimit"] == 0, "it would start again"
    assert 0 < job["activeDeadlineSeconds"] <= 3600, "it could hold a GPU for ever"
    volumes = {volume["name"] for volume in pod["volumes"]}
    for container in pod["containers"]:
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
assert "resources" not in cron["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
gpus = [job["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] for job in jobs]
assert gpus == [8, 1, 1], gpus
verbs = {verb for rule in documents["ClusterRole"][0]["rules"] for verb in rule["verbs"]}
assert verbs <= {"get", "list", "create", "delete", "deletecollection"}
END
else
    echo "python3 has no yaml: Kubernetes' files are not checked"
fi

finish
