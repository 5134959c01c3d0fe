#!/bin/sh
# test_ranks_failures.sh PROGRAM: whatever becomes of a rank, the others end in time, somebody says which one it was and
# why, and neither a process nor a file is left. As root, all of it again as a user without rights.
set -u
program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
needs_mpi "$program"
case $(mpirun --version) in
*"Open MPI"*) ;;
*)
    echo "skipped: it knows ranks by the variables of Open MPI"
    exit 77
    ;;
esac
TMPDIR=$folder/tmp
# Long enough for a rank that a busy machine does not let run, short enough for a test.
patience=6
export TMPDIR CHOKEPOINT_RANK_TIMEOUT=$patience
mkdir "$TMPDIR"
touch "$folder/begin"
train="$program train --device=cpu --ranks=2"
root=$([ "$(id -u)" -ne 0 ] || echo --allow-run-as-root)

# Their seed is in the command line of our ranks alone.
ranks()
{
    pgrep -f "chokepoint .*--seed[= ]$seed( |\$)" | while read -r id; do
        tr '\0' '\n' 2>/dev/null <"/proc/$id/environ" | grep -q '^OMPI_COMM_WORLD_RANK=' && echo "$id"
    done
}

# The process of rank N.
rank()
{
    for id in $(ranks); do
        tr '\0' '\n' <"/proc/$id/environ" | grep -qx "OMPI_COMM_WORLD_RANK=$1" && echo "$id"
    done
}

# await FILE TEXT: until a command in the background has written it.
await()
{
    for _ in $(seq 600); do
        grep -qF -e "$2" "$folder/$1" && return
        kill -0 "$running" 2>/dev/null || break
        sleep 0.1
    done
    fail "$1 never said $2"
    tail -n 5 "$folder/$1"
}

# await_joined N: until rank N has joined. It shares the memory of the other rank then, and both have yet to say so.
await_joined()
{
    for _ in $(seq 600); do
        for id in $(rank "$1"); do
            [ "$(grep -o '/dev/shm/.*segment[^ ]*' "/proc/$id/maps" | sort -u | wc -l)" -ge 2 ] && sleep 0.5 && return
        done
        sleep 0.1
    done
    fail "rank $1 never joined"
}

# Processes and files of commands that have ended.
left_behind()
{
    ranks
    segments_left "$folder/begin"
    find "$TMPDIR" -type f -o -type s
}

leaves_nothing()
{
    for _ in $(seq 80); do
        [ -z "$(left_behind)" ] && break
        sleep 0.1
    done
    [ -z "$(left_behind)" ] || fail "left: $(left_behind)"
}

seed=${$}0
# begins NAME COMMAND...: in the background, as $running.
begins()
{
    case_name=$1
    shift
    seed=$((seed + 1))
    # The shell empties the file in the background, perhaps after somebody has read the words of the case before.
    : >"$folder/out"
    "$@" --seed=$seed >"$folder/out" 2>"$folder/err" &
    running=$!
}

# ends TEXT...: it does, not well, and says all of it. One that does not is ended here.
ends()
{
    for _ in $(seq 450); do
        kill -0 "$running" 2>/dev/null || break
        sleep 0.1
    done
    if kill -0 "$running" 2>/dev/null; then
        fail "it still runs after 45 s, with the ranks $(ranks | tr '\n' ' ')"
        for id in "$running" $(ranks); do kill -KILL "$id"; done
    fi
    wait "$running" && fail "it was hidden"
    for text in "$@"; do
        grep -qF -e "$text" "$folder/out" "$folder/err" || fail "nobody says \"$text\""
    done
    leaves_nothing
}

# shellcheck disable=SC2086
{
    for which in 0 1; do
        begins "rank $which is stopped" $train --steps=1000000
        await out "warmed up"
        kill -STOP "$(rank $which)"
        ends "chokepoint: rank $((1 - which)): train" "waited $patience s in vain for rank $which"
    done

    for setting in parameters=whole parameters=prefetched experts=2; do
        # Nobody waits for one that is gone: mpirun ends the others.
        begins "a rank is killed, $setting" env -u CHOKEPOINT_RANK_TIMEOUT $train --$setting --steps=1000000
        await out "warmed up"
        kill -KILL "$(rank 1)"
        ends "signal 9"
    done

    # As many programs as ranks, so that they differ.
    seed=$((seed + 1))
    case_name="a rank lacks device memory"
    mpirun $root --oversubscribe --bind-to none -n 1 $train --seed=$seed --steps=20 \
        : -n 1 $train --seed=$seed --steps=20 --device-memory=1MiB >"$folder/out" 2>"$folder/err" &
    running=$!
    ends "chokepoint: rank 1: train" "out of device memory"

    # MPI itself waits for all ranks there.
    printf '#!/bin/sh\nkill -STOP $$\nexec "$@"\n' >"$folder/stopped"
    chmod +x "$folder/stopped"
    for which in 0 1; do
        seed=$((seed + 1))
        case_name="rank $which is stopped before it joins"
        first='' second=$folder/stopped
        [ "$which" -eq 1 ] || { first=$folder/stopped && second=''; }
        mpirun $root --oversubscribe --bind-to none -n 1 $first $train --seed=$seed --steps=20 \
            : -n 1 $second $train --seed=$seed --steps=20 >"$folder/out" 2>"$folder/err" &
        running=$!
        ends "chokepoint: rank $((1 - which)): waited $patience s in vain for all ranks to join the job"
    done

    # The launcher waits for the rank itself.
    begins "both are stopped, and the launcher is asked to end" $train --steps=1000000
    await out "warmed up"
    for id in $(ranks); do kill -STOP "$id"; done
    kill -TERM "$running"
    ends

    # Else the rank may be stopped while it fills the cache of images, and the other waits for the lock of that.
    env -u CHOKEPOINT_RANK_TIMEOUT "$program" exec exposed_allreduce --device=cpu --quick --repetitions=1 >"$folder/out" 2>"$folder/err" || fail "no images"

    begins "a rank of a scenario is stopped" "$program" run exposed_allreduce --device=cpu --quick --no-trace --out="$folder/run"
    await_joined 1
    kill -STOP "$(rank 1)"
    ends "failed" "waited $patience s in vain for rank 1"
}

if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    chmod 711 "$folder"
    mkdir -m 777 "$folder/nobody"
    case_name="as nobody"
    # shellcheck disable=SC2086
    if $nobody test -x "$program" -a -r "$0"; then
        $nobody env HOME="$folder/nobody" TMPDIR="$folder/nobody" CHOKEPOINT_CACHE="$folder/nobody/cache" \
            sh "$0" "$program" >"$folder/out" 2>&1 || {
            fail "it does not hold"
            tail -n +21 "$folder/out"
        }
    else
        echo "not tried as nobody, who may not enter $(dirname -- "$program")"
    fi
fi
finish
