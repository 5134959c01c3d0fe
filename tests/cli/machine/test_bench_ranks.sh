#!/bin/sh
# `bench --ranks`: collectives of several processes, their figures and their file.
#
# usage: test_bench_ranks.sh PROGRAM
set -u
program=$1
# shellcheck source=tests/fixtures/command_line.sh
. "$(dirname -- "$0")/../../fixtures/command_line.sh"
needs_mpi "$program"
bench="$program bench --device=cpu"
quick="--benchmark_min_time=0.001 --benchmark_repetitions=3"

# shellcheck disable=SC2086
{
    expect 3 "one process" $bench --benchmark_filter='^coll_allreduce/4096$'
    says out "it takes several ranks: --ranks=2"

    expect 0 "the list" $bench --ranks=2 --benchmark_list_tests
    [ "$(wc -l <"$folder/out")" -eq "$(grep -c '^coll_[a-z]*/[0-9]*/ranks:2$' "$folder/out")" ] ||
        fail "rows that are no collectives"

    for ranks in 2 3; do
        expect 0 "$ranks ranks" $bench $quick --ranks=$ranks --benchmark_filter='/(4096|65536)/' \
            --benchmark_out="$folder/$ranks.json"
        says out "coll_allgather/65536/ranks:${ranks}_median"
        says out "bus_bytes_per_second="
        [ "$(grep -c '^Benchmark ' "$folder/out")" -eq 1 ] || fail "more than one rank prints"
        [ "$(grep -c 'CPU device' "$folder/err")" -eq 1 ] || fail "more than one rank names its device"
    done
    python3 - "$folder/2.json" "$folder/3.json" <<'END' || fail "the figures are wrong"
import json, sys
for ranks, path in zip((2, 3), sys.argv[1:]):
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    assert result["context"]["ranks"] == str(ranks)
    rows = [row for row in result["benchmarks"] if row["run_type"] == "iteration"]
    assert len(rows) == 3 * 2 * 3, len(rows)
    for row in rows:
        name, size, suffix = row["name"].split("/")
        factor = (2 if name == "coll_allreduce" else 1) * (ranks - 1) / ranks
        whole = int(size) // 4 // ranks * ranks * 4
        assert suffix == f"ranks:{ranks}"
        assert abs(row["bytes_per_second"] * row["real_time"] * 1e-9 / whole - 1) < 1e-6, row
        assert abs(row["bus_bytes_per_second"] / row["bytes_per_second"] / factor - 1) < 1e-6, row
        copies = float(result["context"]["roof_bytes_per_second"])
        assert abs(2 * row["bus_bytes_per_second"] / copies / row["roofline_share"] - 1) < 1e-3, row
END

    expect 0 "a second run" $bench $quick --ranks=2 --benchmark_filter='/4096/' --benchmark_out="$folder/again.json"
    expect any "compare" "$program" compare "$folder/2.json" "$folder/again.json"
    says out "coll_allreduce/4096/ranks:2"
    tool=/usr/share/benchmark/compare.py
    if [ -r "$tool" ] && /usr/bin/python3 -c 'import numpy, scipy' 2>/dev/null; then
        expect 0 "compare.py" /usr/bin/python3 "$tool" --no-color benchmarks "$folder/2.json" "$folder/again.json"
        says out "coll_allreduce/4096/ranks:2_pvalue"
    fi

    refuses "rows of one process" "the filter matches no row of several ranks" $bench --ranks=2 --benchmark_filter=gemm
    refuses "no ranks" "--ranks=0" $bench --ranks=0
    expect 3 "no launcher" env PATH=/nowhere $bench --ranks=2
    says err "install openmpi-bin"
    is_one_line err

    # The others would wait for it.
    case_name="a row that fails"
    $bench $quick --ranks=2 --device-memory=8MiB --benchmark_filter='allreduce/16777216/' >"$folder/out" \
        2>"$folder/err" && fail "it was hidden"
    says err "bench: coll_allreduce/16777216/ranks:2: "
}
finish
