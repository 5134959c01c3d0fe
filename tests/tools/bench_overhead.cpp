/* Not a test, since it asserts times: what an iteration costs in this project's harness and in
 * Google Benchmark, on the same bodies. Both take turns, in random order, five repetitions each; a
 * round gives the ratio of their medians, and the median of the rounds' ratios is what counts. Exit
 * code 1: an iteration costs more than 2% more here, or of the bodies that do something, 2% less.
 *
 * usage: [chrt -f 10] bench_overhead */
#include "tests/tools/bench_overhead_body.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

namespace
{

constexpr int rounds = 15;
constexpr double agreement = 0.02;
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

void empty_body(benchmark::State &state)
{
    uint64_t value = 1;

    for (auto iteration : state) {
        (void)iteration;
        bench_overhead_body(&value, 0);
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
    benchmark::RegisterBenchmark("body", steps > 0 ? body : empty_body)
        ->Arg(steps)
        ->MinTime(min_seconds)
        ->Repetitions(5);
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
    std::mt19937 random(1);
    bool agree = true;
    for (const auto &row : bodies) {
        std::vector<double> a, b, ratios;
        for (int i = 0; i < rounds; i++) {
            bool first = random() % 2 != 0;
            double ours = first ? bench_overhead_ours(row.steps, min_seconds) : 0;
            b.push_back(theirs(row.steps));
            a.push_back(first ? ours : bench_overhead_ours(row.steps, min_seconds));
            ratios.push_back(a.back() / b.back());
        }
        double ratio = median(ratios);
        bool agrees = ratio <= 1 + agreement && (row.steps == 0 || ratio >= 1 - agreement);
        agree = agree && agrees;
        std::printf("%-8s %10.3f  %20.3f  %13.4f%s\n", row.name, median(a), median(b), ratio,
                    agrees ? "" : "  off");
    }
    return agree ? 0 : 1;
}
