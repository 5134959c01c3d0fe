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

expect 1 "as a page" fleet "$folder/odd" -o "$folder/page.html"
says out "page in"
grep -q 'id="document"' "$folder/page.html" || fail "the page has no document"
expect 2 "as a page in a format" fleet "$folder/odd" -o "$folder/page.html" --format=json
says err "has no --format"

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
says out "Out: h GPU 0 (gemm 50% less)"
says out "1 node, 8 GPUs: A"

# Green means measured: a figure that is missing, null, 0 or there twice, half of the machines, and a way between GPUs.
nodes missing 16
sed -i 's/"gemm"/"another"/' "$folder/missing/doctor-5.json"
expect 3 "a figure that is not there" fleet "$folder/missing"
says out "Not measured: node5 (gemm)"
says_not out "No node is out"
for number in 0 null -1; do
    nodes broken 16
    sed -i "s/\"number\": [0-9]*/\"number\": $number/" "$folder/broken/doctor-5.json"
    expect 3 "a figure that is $number" fleet "$folder/broken"
    says out "Not measured: node5 (gemm"
done
nodes twice 16
sed -i 's/\("checks": \[\)\({[^}]*}\)/\1\2, \2/' "$folder/twice/doctor-5.json"
expect 3 "a figure that is there twice" fleet "$folder/twice"
says out "Not measured: node5 (gemm is there twice)"
nodes half 16
for node in 0 1 2 3 4 5 6 7; do
    sed -i 's/"number": [0-9]*/"number": 50000000000/' "$folder/half/doctor-$node.json"
done
expect 3 "half of the machines at half of the speed" fleet "$folder/half"
says out "Two groups: gemm is 50% less on 8 of 16: node0, node1"
nodes failing 16
for node in 0 1 2 3 4 5 6 7; do
    sed -i 's/"checks": \[/&{"name": "links", "status": "fail", "value": "bad"}, /' "$folder/failing/doctor-$node.json"
done
expect 3 "a row that fails on half of the machines" fleet "$folder/failing"
says out "Fails on half or more: links on 8 of 16: node0, node1"
says_not out "No node is out"
sed -i 's/"status": "ok"/"status": "fail"/' "$folder"/failing/*.json
expect 3 "a row that fails on all" fleet "$folder/failing"
says out "Fails on half or more: gemm on 16 of 16: node0, node1"
nodes ways 16
for node in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do
    rate=300
    [ "$node" != 9 ] || rate=150
    sed -i "s/]}\$/], \"between\": [{\"from\": 0, \"to\": 1, \"bytes_per_second\": $rate, \"copy_ns\": 9000}]}/" \
        "$folder/ways/doctor-$node.json"
done
expect 1 "a slow way between two GPUs" fleet "$folder/ways"
says out "Out: node9 (gpu 0 to 1 50% less)"
sed -i 's/"bytes_per_second": 150/"bytes_per_second": null/' "$folder/ways/doctor-9.json"
expect 3 "a way that could not be measured" fleet "$folder/ways"
says out "Not measured: node9 (gpu 0 to 1)"

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

# Made inputs after public reports, where they are stored beside the checkout.
cases=${CHOKEPOINT_FLEET_CASES:-$(dirname -- "$0")/../../../../shared/cases-2/fleet}
if [ -d "$cases" ]; then
    expect 0 "healthy machines" fleet "$cases/healthy"
    says out "No node is out, of 16."
    expect 3 "a figure that is missing" fleet "$cases/figure_missing"
    says out "Not measured: node05 (copy_h2d)"
    expect 3 "a figure that is zero" fleet "$cases/figure_zero"
    says out "Not measured: node05 (gemm_bf16 is 0)"
    expect 3 "half of the machines" fleet "$cases/half_slow"
    says out "Two groups: copy_h2d is 50% less on 8 of 16: node00"
else
    echo "the made inputs after public reports are not tried: there is no folder $cases"
fi

nodes many 10000 4711
# shellcheck disable=SC3045 # dash has ulimit -v
expect 1 "ten thousand machines in 500 MB" sh -c "ulimit -v 500000; exec '$program' fleet '$folder/many'"
says out "Out: node4711 (gemm 20% less)"

finish
