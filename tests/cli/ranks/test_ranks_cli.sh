#!/bin/sh
# test_ranks_cli.sh PROGRAM: train --ranks, from the launcher to the end of a rank.
set -u
program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
needs_mpi "$program"
train="$program train --device=cpu --ranks=2"

# shellcheck disable=SC2086
{
    touch "$folder/begin"
    expect 0 "two ranks" $train --steps=20 --format=json
    says out '"samples":	160'
    says out "ranks=2"
    is_empty err
    [ "$(grep -c '"schema"' "$folder/out")" -eq 1 ] || fail "more than one rank prints"

    mkdir "$folder/plugins"
    ln -s "$(dirname -- "$program")/libchokepoint_cpu.so" "$folder/plugins"
    expect 3 "no plugin" env CHOKEPOINT_PLUGINS="$folder/plugins" $train
    says err "libchokepoint_mpi.so is not in"
    is_one_line err
    expect 3 "no launcher" env PATH=/nowhere $train
    says err "install openmpi-bin"
    is_one_line err

    refuses "a batch that does not divide" "batch=8 with ranks=2 and accumulate=8" $train --accumulate=8
    refuses "a graph" "launch=graph with ranks=2" $train --launch=graph
    refuses "a state" "save_every=never with ranks=2" $train --save="$folder/state"
    refuses "a sweep" "leave out --sweep" $train --sweep workers=0,1
    refuses "a trace" "leave out --sweep and --trace" $train --trace="$folder/t.json"
    refuses "a ladder" "leave out --ranks" $train --ladder

    expect 0 "the traces of a scenario" "$program" exec exposed_allreduce --device=cpu --quick --variant=before \
        --step-time=0.05 --trace="$folder/t.json.gz"
    says err "wrote $folder/t.rank*.json.gz"
    says err "diagnose $folder/t.rank*.json.gz"
    for rank in 0 1; do
        [ -s "$folder/t.rank$rank.json.gz" ] || fail "no trace of rank $rank"
    done

    # The launcher of another MPI, and ranks that it or srun has started, each alone.
    mkdir "$folder/other"
    case $(mpirun --version) in *"Open MPI"*) other=HYDRA ;; *) other="Open MPI" ;; esac
    printf '#!/bin/sh\necho "%s"\n' "$other" >"$folder/other/mpirun"
    chmod +x "$folder/other/mpirun"
    expect 3 "another MPI's launcher" env PATH="$folder/other:$PATH" $train
    says err "$folder/other/mpirun is of"
    is_one_line err
    expect 2 "ranks that srun has not connected" env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=0 $train
    says err "2 ranks were started, but each is alone"
    says err "srun --mpi="

    # One rank ends, and all do.
    case_name="a rank that fails"
    CHOKEPOINT_FAIL=copy:30 $train --steps=20 >"$folder/out" 2>"$folder/err" && fail "it was hidden"
    says err ': train: call 30 of kind "copy" failed'
    says err "chokepoint: rank "

    case_name="a rank that is killed"
    $train --steps=100000 >"$folder/out" 2>"$folder/err" &
    launcher=$!
    ranks=
    for _ in $(seq 300); do
        ranks=$(pgrep -P "$launcher" || :)
        [ "$(echo "$ranks" | wc -w)" -ge 2 ] && grep -q "warmed up" "$folder/out" && break
        sleep 0.1
    done
    kill -KILL "$(echo "$ranks" | tail -n 1)"
    wait "$launcher" && fail "it was hidden"
    says err "signal 9"
    for rank in $ranks; do
        for _ in $(seq 50); do
            kill -0 "$rank" 2>/dev/null || break
            sleep 0.1
        done
        kill -0 "$rank" 2>/dev/null && fail "rank $rank still runs"
    done

    case_name="what is left"
    [ -z "$(segments_left "$folder/begin")" ] || fail "left: $(segments_left "$folder/begin")"
}
finish
