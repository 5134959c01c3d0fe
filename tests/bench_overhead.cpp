/* Not a test: what an iteration costs in this project's harness and in Google Benchmark, on the same
 * bodies. Both take turns, five repetitions each, for some rounds; printed are the medians of rounds. */
#include "tests/bench_overhead_body.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace
{

constexpr int rounds = 7;
constexpr double min_seconds = 0.02;

void body(benchmark::State &state)
{
    const long steps = static_cast<long>(state.range(0));
    uint64_t value = 1;

    for (auto iteration : state) {
        (void)iteration;
        bench_overhead_body(&value, steps);
    }
}

class MedianReporter : public benchmark::BenchmarkReporter
{
  public:
    double ns = -1;

    bool ReportContext(const Context &) override
    {
        return true;
    }
    void ReportRuns(const std::vector<Run> &runs) override
    {
        for (const Run &run : runs)
            if (run.aggregate_name == "median")
                ns = run.GetAdjustedRealTime();
    }
};

double theirs(long steps)
{
    MedianReporter reporter;

    benchmark::ClearRegisteredBenchmarks();
    benchmark::RegisterBenchmark("body", body)->Arg(steps)->MinTime(min_seconds)->Repetitions(5);
    benchmark::RunSpecifiedBenchmarks(&reporter);
    return reporter.ns;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

} // namespace

int main()
{
    struct {
        const char *name;
        long steps;
    } const bodies[] = { { "empty", 0 }, { "100 ns", 64 }, { "1 us", 640 }, { "1 ms", 640000 } };

    if (bench_overhead_open() != 0)
        return 1;
    std::printf("body       ours, ns  Google Benchmark, ns  ours / theirs\n");
    for (const auto &row : bodies) {
        std::vector<double> a, b;
        for (int i = 0; i < rounds; i++) {
            a.push_back(bench_overhead_ours(row.steps, min_seconds));
            b.push_back(theirs(row.steps));
        }
        std::printf("%-8s %10.3f  %20.3f  %13.4f\n", row.name, median(a), median(b),
                    median(a) / median(b));
    }
    return 0;
}
