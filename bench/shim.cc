/* Offers Google Benchmark's C++ interface to C programs. */
#include "shim.h"

#include <algorithm>
#include <vector>

#include <benchmark/benchmark.h>

namespace {

benchmark::State *state_of(bench_run *run) {
    return reinterpret_cast<benchmark::State *>(run);
}

double smallest(const std::vector<double> &v) {
    return *std::min_element(v.begin(), v.end());
}

double largest(const std::vector<double> &v) {
    return *std::max_element(v.begin(), v.end());
}

} // namespace

// Not UseRealTime(): it would append "/real_time" to the names. Rates come from the cases' own
// clock; Google Benchmark's only decides how often a case is repeated.
void bench_add(const char *name, bench_fn *fn, const void *arg) {
    auto body = [fn, arg](benchmark::State &state) {
        fn(reinterpret_cast<bench_run *>(&state), arg);
    };
    benchmark::RegisterBenchmark(name, body)
        ->Unit(benchmark::kMicrosecond)
        ->ComputeStatistics("min", smallest)
        ->ComputeStatistics("max", largest);
}

void bench_note(const char *key, const char *value) {
    benchmark::AddCustomContext(key, value);
}

bool bench_next(bench_run *run) {
    return state_of(run)->KeepRunning();
}

void bench_set(bench_run *run, const char *counter, double value) {
    state_of(run)->counters[counter] = value;
}

void bench_fail(bench_run *run, const char *why) {
    state_of(run)->SkipWithError(why);
}

int bench_main(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
        return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
