#!/bin/sh
# The examples do what they say, over stand-ins: a program that plays doctor, and an srun that plays three nodes. What
# other tools check in files is checked where those tools are: systemd-analyze, and python3 with YAML.
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
for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -e "$folder/scontrol.called" ] || sleep 0.1
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

# --- What other tools check ---

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
    expect 0 "the DaemonSet" python3 - "$source/examples/kubernetes-daemonset.yaml" <<'END'
import sys

import yaml

document = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
assert document["kind"] == "DaemonSet" and document["apiVersion"] == "apps/v1"
spec = document["spec"]
template = spec["template"]
assert spec["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
volumes = {volume["name"] for volume in template["spec"]["volumes"]}
for container in template["spec"]["containers"]:
    assert {mount["name"] for mount in container["volumeMounts"]} == volumes
END
else
    echo "python3 has no yaml: the DaemonSet is not checked"
fi

finish
