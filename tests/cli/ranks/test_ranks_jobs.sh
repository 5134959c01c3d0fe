#!/bin/sh
# test_ranks_jobs.sh PROGRAM: scenarios in a job that mpirun has started, and with another number of ranks.
set -u
program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
needs_mpi "$program"
under_mpi="$(dirname -- "$0")/../../fixtures/under_mpi.sh"

# job RANKS COMMAND...: each rank runs it.
cat >"$folder/job" <<'END'
#!/bin/sh
shift # the number that under_mpi.sh puts first
exec "$@"
END
chmod +x "$folder/job"
ln -s "$(dirname -- "$program")/libchokepoint_mpi.so" "$folder"
job()
{
    ranks=$1
    shift
    "$under_mpi" "$ranks" "$folder/job" "$@"
}
exec="$program exec exposed_allreduce --device=cpu --quick --repetitions=1"

# shellcheck disable=SC2086
{
    expect 0 "exec joins the job" job 2 $exec
    says out "ranks=2"
    [ "$(grep -c '"type":"end"' "$folder/out")" -eq 1 ] || fail "not one rank writes records"

    case_name="exec in a job of three"
    job 3 $exec >"$folder/out" 2>"$folder/err" && fail "it was accepted"
    says err "2 ranks were asked for, but the job has 3"

    # The ranks would write to the same folder: each has its own.
    # Slurm that runs here starts ranks too.
    case $(mpirun --version) in *"Open MPI"*) connected=--mpi=pmix ;; *) connected=--mpi=pmi2 ;; esac
    if timeout 10 srun -n 2 $connected true 2>/dev/null; then
        expect 0 "exec joins srun's job" srun -n 2 $connected $exec
        says out "ranks=2"
        [ "$(grep -c '"type":"end"' "$folder/out")" -eq 1 ] || fail "not one rank writes records"
    else
        echo "not tried with srun, which starts no two processes here"
    fi

    case_name="run in a job"
    job 2 sh -c "exec $program run exposed_allreduce --device=cpu --quick --out=$folder/\$\$" >"$folder/out" 2>"$folder/err"
    says out "skipped"
    says out "chokepoint exec SCENARIO"

    expect 0 "exec with more ranks" $exec --ranks=4
    says out "ranks=4"
    expect 0 "exec with a trace" $exec --variant=after --trace="$folder/t.json"
    says err "wrote $folder/t.rank"
    [ -s "$folder/t.rank1.json" ] || fail "there is no trace of rank 1"

    expect any "a run with more ranks" "$program" run exposed_allreduce --device=cpu --quick --repetitions=1 --ranks=4 --out="$folder/four" --no-trace --format=json
    says out "ranks=4"
    refuses "a run that is like it, with fewer" "leave out --ranks=2" "$program" run --like="$folder/four" --ranks=2 --out="$folder/two"
    expect 3 "ranks that do not divide the batch" "$program" run exposed_allreduce --device=cpu --quick --repetitions=1 --ranks=3 --out="$folder/three"
    says out "skipped"
    says out "batch=4 with ranks=3"
    refuses "ranks of a scenario that has one" "item_sync trains on one rank" "$program" run item_sync --ranks=2
    refuses "the same of exec" "item_sync trains on one rank" "$program" exec item_sync --ranks=2
    refuses "one rank" "--ranks=1" "$program" exec exposed_allreduce --ranks=1
}
finish
