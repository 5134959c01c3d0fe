#!/bin/sh
# `fleet` as people meet it: one file, many, broken ones among them, ten thousand, and exit codes.
#
# usage: test_fleet_cli.sh PROGRAM
set -u

program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"

fleet()
{
    "$program" fleet "$@"
}

# nodes FOLDER COUNT [SLOW]: files of COUNT machines; the one of number SLOW does a fifth less.
nodes()
{
    mkdir -p "$folder/$1"
    awk -v folder="$folder/$1" -v count="$2" -v slow="${3:--1}" 'BEGIN {
        srand(1)
        for (i = 0; i < count; i++) {
            file = folder "/doctor-" i ".json"
            rate = 1e11 * (1 + 0.01 * (rand() - 0.5)) * (i == slow ? 0.8 : 1)
            printf "{\"schema\": 2, \"context\": {\"host_name\": \"node%d\", \"device_name\": \"A\"," \
                   " \"cpu_model\": \"B\"}, \"fit\": \"yes\", \"checks\": [{\"name\": \"gemm\"," \
                   " \"status\": \"ok\", \"value\": \"-\", \"number\": %.0f, \"unit\": \"FLOP/s\"}]}\n",
                   i, rate >file
            close(file)
        }
    }'
}

nodes healthy 20
expect 0 "healthy machines" fleet "$folder/healthy"
says out "20 nodes: A; B"
says out "No node is out, of 20."
is_empty err

nodes odd 20 7
expect 1 "one that is slow" fleet "$folder"/odd/*.json
says out "Out: node7 (gemm 20% less)"
expect 1 "as JSON" fleet "$folder/odd" --format=json
says out '"node7"'
expect 1 "as Markdown" fleet "$folder/odd" --format=markdown
says out "**Out: node7 (gemm 20% less)**"

expect 3 "one machine" fleet "$folder/healthy/doctor-0.json"
says out "too few to tell which is slow"
says out "Too few to tell: among 1 node"
expect 3 "four machines" fleet "$folder"/healthy/doctor-[0-3].json
says out "Too few to tell: among 4 nodes"
says_not out "No node is out"
expect 0 "how much would show" fleet "$folder/healthy" --format=json
says out '"smallest"'

# Devices of a node have their numbers, device 0 too.
mkdir "$folder/gpus"
for device in 0 1 2 3 4 5 6 7; do
    rate=100
    [ "$device" != 0 ] || rate=50
    printf '{"context": {"host_name": "h", "device_name": "A", "device_index": "%s"}, "checks": [{"name": "gemm", "status": "ok", "number": %s, "unit": "FLOP/s"}]}' \
        "$device" "$rate" >"$folder/gpus/doctor-$device.json"
done
expect 1 "device 0 of eight" fleet "$folder/gpus"
says out "Out: h device 0 (gemm 50% less)"

: >"$folder/odd/empty.json"
printf '{"benchmarks": []}' >"$folder/odd/other.json"
expect 2 "broken files" fleet "$folder/odd"
says out "Out: node7"
says out "other.json has no checks"
says err "2 of 22 files were skipped"
is_one_line err
expect 2 "nothing but broken files" fleet "$folder/odd/empty.json"
says err "none of the 1 files could be read: "
says err "give files of chokepoint doctor --format=json"
says_not err "benchmark_out"
expect 2 "a file that is not there" fleet "$folder/nowhere.json"
says err "No such file or directory"
mkdir "$folder/none"
expect 2 "an empty folder" fleet "$folder/none"
says err "has no file that ends in .json"
expect 2 "no file" fleet
says err "give the files"
if [ "$(id -u)" -ne 0 ]; then
    mkdir -m 0 "$folder/closed"
    expect 2 "a closed folder" fleet "$folder/closed"
    says err "Permission denied"
fi

nodes many 10000 4711
# shellcheck disable=SC3045 # dash has ulimit -v
expect 1 "ten thousand machines in 500 MB" sh -c "ulimit -v 500000; exec '$program' fleet '$folder/many'"
says out "Out: node4711 (gemm 20% less)"

finish
