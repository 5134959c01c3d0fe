# shellcheck shell=sh
# What the tests of the command line share: each command is run by `expect`, which keeps what it says in
# $folder/out and $folder/err, and the functions after it look there. A check that fails is counted and
# shown with what the command said; the others go on, and `finish` tells.
#
# usage: . tests/command_line.sh

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset CHOKEPOINT_VERBOSE CHOKEPOINT_FAIL NO_COLOR
failures=0
case_name="before the first case"

# fail TEXT: of the last case.
fail()
{
    echo "FAILED: $case_name: $1"
    head -n 20 "$folder/out" "$folder/err" | sed 's/^/    /'
    failures=$((failures + 1))
}

# expect CODE NAME COMMAND...: runs it and leaves its exit code in $code. CODE "any" is 0 or 1, where that
# is a verdict on the machine.
expect()
{
    expected=$1
    case_name=$2
    shift 2
    "$@" >"$folder/out" 2>"$folder/err"
    code=$?
    if [ "$code" != "$expected" ] && { [ "$expected" != any ] || [ "$code" -gt 1 ]; }; then
        fail "exit code $code, not $expected"
    fi
}

# says FILE TEXT, where FILE is out, err or another one of the folder; so for those below.
says()
{
    grep -qF -e "$2" "$folder/$1" || fail "$1 does not say \"$2\""
}

says_not()
{
    ! grep -qF -e "$2" "$folder/$1" || fail "$1 says \"$2\""
}

is_empty()
{
    [ ! -s "$folder/$1" ] || fail "$1 should be empty"
}

is_one_line()
{
    [ "$(wc -l <"$folder/$1")" -eq 1 ] || fail "$1 should be one line"
}

# is FILE CONTENT: all of it.
is()
{
    [ "$(cat "$folder/$1")" = "$2" ] || fail "$1 is not \"$2\""
}

# refuses NAME TEXT COMMAND...: exit code 2, nothing on stdout, one line on stderr that holds TEXT.
refuses()
{
    refused_name=$1
    refused_text=$2
    shift 2
    expect 2 "$refused_name" "$@"
    says err "$refused_text"
    is_empty out
    is_one_line err
}

finish()
{
    [ "$failures" -eq 0 ] && echo "all as expected"
    exit "$((failures > 0))"
}
