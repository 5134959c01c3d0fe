#!/bin/sh
# `bench` and `run --rounds-of OLD NEW` over programs that stand in for two builds: they write results that are
# made up, so every verdict is known.
#
# usage: test_rounds_of.sh PROGRAM
# command_line.sh sets what it documents.
# shellcheck disable=SC1091,SC2154
set -u

program=$1
scripts=$(CDPATH='' cd -- "$(dirname -- "$0")/../../../scripts" && pwd -P)
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
unset CHOKEPOINT_PLUGINS

# build NAME COMMAND: makes builds/NAME, which notes its name and its arguments in the file calls, runs the shell
# COMMAND, and writes a row of five repetitions around $time us to where its arguments say. No two runs agree.
build()
{
    cat >"builds/$1" <<END_OF_BUILD
#!/bin/sh
folder='$folder'
name='$1'
time=10000
rows='"name": "x"'
echo "\$name \$*" >>"\$folder/calls"
run=\$(wc -l <"\$folder/calls")
$2
for word in "\$@"; do
    case \$word in
    --benchmark_out=*) file=\${word#*=} ;;
    --out=*) mkdir "\${word#*=}" && file=\${word#*=}/result.json ;;
    esac
done
{
    printf '{"context": {"device_name": "A", "date": "2026-03-01T10:%02d:00+00:00"}, "benchmarks": [' "\$run"
    separator=
    for permille in 1000 1002 998 1001 999; do
        printf '%s{%s, "run_type": "iteration", "real_time": %s, "cpu_time": 1, "time_unit": "us"}' \\
            "\$separator" "\$rows" "\$((time * (permille + run % 3) / 1000))"
        separator=,
    done
    echo ']}'
} >"\$file"
exit \${code-0}
END_OF_BUILD
    chmod +x "builds/$1"
}

# clean: the next case begins without results and calls.
clean()
{
    rm -rf "$folder/the rounds" "$folder/calls"
}

rounds()
{
    "$program" bench --out="the rounds" --rounds-of "$@"
}

# called TEXT: which builds were started, in order.
called()
{
    called=$(cut -d ' ' -f 1 calls | tr '\n' ' ')
    [ "$called" = "$1 " ] || fail "started were $called, not $1"
}

# left TEXT: what is in the folder of the rounds.
left()
{
    left=$(cd "the rounds" && echo *)
    [ "$left" = "$1" ] || fail "there is $left, not $1"
}

cd "$folder" || exit 1
mkdir builds
build old ''
build same ''
build talking 'echo words >&3; echo words; echo words >&2'
build slow 'time=11000'
build failing 'code=1'
build crashing 'case $(grep -c "^crashing" "$folder/calls") in 2) kill -SEGV $$ ;; esac'
build absent 'echo "no such device" >&2; exit 3'
build aged 'echo "there is no option --benchmark_filter" >&2; exit 2'
build silent 'exit 0'
build garbage 'for word in "$@"; do case $word in --benchmark_out=*) echo rubbish >"${word#*=}"; exit 0 ;; esac; done'
build rowless 'for word in "$@"; do case $word in --benchmark_out=*) echo "{\"benchmarks\": []}" >"${word#*=}"; exit 0 ;; esac; done'
build other 'rows="\"name\": \"y\""'
# It is interrupted in its second run, by which time the program that waits for it has caught a signal.
build interrupting 'case $(grep -c "^interrupting" "$folder/calls") in 2) kill -INT $PPID; exec sleep 60 ;; esac'

expect 1 "slower" rounds builds/old builds/slow
says out "1 slower"
called "old slow slow old old slow slow old"
left "new-1.json new-2.json new-3.json new-4.json old-1.json old-2.json old-3.json old-4.json"
is_empty err
[ "$(sed 's/^[a-z]* //' calls | sort -u | wc -l)" -eq 1 ] || fail "the command lines differ"
says calls "--benchmark_out=the rounds/unfinished.json"
refuses "results that are there" "the folder is not empty" rounds builds/old builds/slow

clean
expect 0 "a threshold above the change" rounds builds/old builds/slow --threshold=20%
says out "1 same"
clean
expect 0 "the same" rounds builds/old builds/same --rounds=3
says out "1 same"
called "old same same old old same"
clean
expect 0 "programs that print" rounds builds/old builds/talking --rounds=3
says_not out words
clean
expect 0 "A/A" rounds builds/old builds/old --rounds=3
says out "1 same"
clean
expect 0 "faster" rounds builds/slow builds/old --benchmark_format=markdown
says out "| faster |"
clean
expect 3 "one round" rounds builds/old builds/slow --rounds=1
says out "1 undecided"
clean
expect 0 "options" rounds builds/old builds/same --benchmark_filter='a b' --device=cpu \
    --benchmark_repetitions 5 --benchmark_min_time=0.01 --noise=2% --benchmark_format=json --color=never
says out '"passed":	true'
says calls "bench --benchmark_filter=a b --device=cpu --benchmark_repetitions=5 --benchmark_min_time=0.01 --noise=2% --benchmark_out"
clean
expect 1 "rows that are missing" rounds builds/old builds/other
says out "1 missing"
clean
expect 0 "a row that failed is no failure of the rounds" rounds builds/old builds/failing
says out "1 same"

# --- programs that do not end well: never the exit code of "slower" ---
clean
expect 2 "a crash" rounds builds/old builds/crashing
says err "new (builds/crashing), round 2 of 4: ended by signal 11"
is_empty out
is_one_line err
left "new-1.json old-1.json"
clean
expect 3 "no device" rounds builds/absent builds/old
says err "old (builds/absent), round 1 of 4: ended with exit code 3: no such device"
clean
expect 2 "an option that only one knows" rounds builds/old builds/aged --benchmark_filter=x
says err "new (builds/aged), round 1 of 4: ended with exit code 2: there is no option --benchmark_filter"
clean
expect 2 "no results" rounds builds/old builds/silent
says err "it wrote no results"
clean
expect 2 "rubbish" rounds builds/old builds/garbage
says err "its results cannot be read"
left "old-1.json unfinished.json"
clean
expect 2 "no rows" rounds builds/old builds/rowless
says err "its results have no row"
clean
expect 130 "an interrupt" rounds builds/old builds/interrupting
says err "stopped by an interrupt"
says out "1 row: 1 undecided"
left "new-1.json old-1.json"

# --- programs of Google Benchmark, and any command ---
# google NAME TIME: as Google Benchmark's, it knows its own options only.
google()
{
    build "$1" "time=$2; case \"\$1\" in --*) ;; *) echo \"\$0: error: unrecognized command-line flag: \$1\" >&2; exit 1 ;; esac"
}
google google-old 10000
google google-slow 11000
clean
expect 1 "a slower program of Google Benchmark" rounds builds/google-old builds/google-slow --benchmark_filter=x --rounds=3
says out "1 slower"
says calls "google-slow --benchmark_filter=x --benchmark_out=the rounds/unfinished.json"
called "google-old google-old google-slow google-slow google-slow google-old google-old google-slow"
clean
expect 0 "a program of Google Benchmark twice" rounds builds/google-old builds/google-old
says out "1 same"
# A tool writes what hyperfine does, for the word and to the file that it is given. Its repetitions vary, and not its runs.
cat >builds/tool <<'END_OF_TOOL'
#!/bin/sh
echo "tool $1" >>"$3/calls"
[ "$1" != "it's new" ] || slower=${SLOWER-0}
[ "$1" != broken ] || exit 5
printf '{"results": [{"command": "x", "times": [0.1%s00, 0.1%s04, 0.1%s02]}]}' "${slower-0}" "${slower-0}" "${slower-0}" >"$2"
END_OF_TOOL
chmod +x builds/tool
for slower in 0 1; do
    clean
    expect $slower "a command, slower by ${slower}0%" env SLOWER=$slower "$program" bench --out="the rounds" --rounds-of old "it's new" \
        --rounds=3 --command='builds/tool {program} {out} "$PWD"'
    called "tool tool tool tool tool tool"
    says calls "tool it's new"
    left "new-1.json new-2.json new-3.json old-1.json old-2.json old-3.json"
done
says out "1 slower"
clean
expect 2 "a command that fails" rounds old broken --command='builds/tool {program} {out} .'
says err "new (broken), round 1 of 4: ended with exit code 5"
refuses "a command without a file" "--command has no {out}" rounds old new --command='builds/tool {program}'
refuses "a command without a program" "--command has no {program}" rounds old new --command='builds/tool {out}'
refuses "a command of nothing" "belong to --rounds-of" "$program" bench --command='{program} {out}'
if command -v hyperfine >/dev/null; then
    clean
    expect 0 "hyperfine" rounds true true --rounds=3 --command='hyperfine -N -n tool --export-json {out} {program}'
fi

# --- run ---
clean
expect 1 "run" "$program" run --out="the rounds" --rounds-of builds/old builds/slow item_sync --quick --rounds=3
says out "1 slower"
says calls "slow run --quick --like=the rounds/old-1 --out=the rounds/unfinished item_sync"
[ "$(grep -c -e --like calls)" -eq 5 ] || fail "not all runs but the first have --like"
[ -e "the rounds/new-3/result.json" ] || fail "there is no new-3"
clean
expect 1 "run like an earlier one" "$program" run --out="the rounds" --like=base --rounds-of builds/old builds/slow
[ "$(grep -c -e --like=base calls)" -eq 8 ] || fail "not all runs have --like=base"

# --- what is refused before anything is measured ---
clean
refuses "one program" "bench --rounds-of OLD NEW" rounds builds/old
refuses "three programs" 'unexpected "builds/slow"' rounds builds/old builds/same builds/slow
refuses "no such program" "builds/none cannot be started" rounds builds/old builds/none
refuses "a folder" "builds is a folder" rounds builds/old builds
refuses "no rounds" "give a whole number" rounds builds/old builds/same --rounds=0
refuses "a file of its own" "leave out" rounds builds/old builds/same --benchmark_out=x.json
refuses "shared devices" "CHOKEPOINT_PLUGINS" env CHOKEPOINT_PLUGINS=x "$program" bench --rounds-of builds/old builds/same
refuses "rounds of nothing" "belong to --rounds-of" "$program" bench --rounds=3
refuses "programs without --rounds-of" "takes options only" "$program" bench builds/old builds/same
refuses "a table of rows" "--rounds-of" "$program" bench --benchmark_format=markdown
refuses "rounds of no scenario" "belong to --rounds-of" "$program" run --threshold=3%
[ ! -e calls ] || fail "a program was started"

# --- the script that a CI calls, over two checkouts ---
# checkout NAME BUILD: whose build is BUILD, and the program itself where --rounds-of is given.
checkout()
{
    mkdir -p "$1/scripts"
    cat >"$1/scripts/build.sh" <<END_OF_SCRIPT
#!/bin/sh
mkdir -p '$folder/$1/build' && cp '$folder/builds/$2' '$folder/$1/build/chokepoint'
sed -i '2i case " \$* " in *" --rounds-of "*) exec "$program" "\$@" ;; esac' '$folder/$1/build/chokepoint'
END_OF_SCRIPT
    chmod +x "$1/scripts/build.sh"
}
clean
checkout "the base" old
checkout "the head" same
expect 0 "a head like its base" "$scripts/baseline.sh" "the base" "the head" "the rounds" --benchmark_filter=x
says out "| x |"
says out "1 same"
checkout "the head" slow
clean
expect 1 "a slower head" "$scripts/baseline.sh" "the base" "the head" "the rounds" --benchmark_filter=x
says out "| **slower** |"
clean
expect 0 "a slower head, allowed" "$scripts/baseline.sh" "the base" "the head" "the rounds" --threshold=20%
checkout "the head" crashing
clean
expect 2 "a head that crashes" "$scripts/baseline.sh" "the base" "the head" "the rounds"
says err "ended by signal 11"
echo 'exit 1' >"the head/scripts/build.sh"
clean
expect 2 "a head that does not build" "$scripts/baseline.sh" "the base" "the head" "the rounds"
says err "the head cannot be built"

finish
