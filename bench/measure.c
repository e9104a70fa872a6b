/* Times a case and sets what its line tells: rates, parts of the ceilings, shares. */
#include "measure.h"

#include <stdio.h>

#include "call.h"
#include "ceiling.h"
#include "measure/clock.h"
#include "measure/shares.h"

/* Google Benchmark calls a case several times over. What is expensive to make or to measure is kept
 * until another case comes. */
static struct {
    const struct bench_case *of; /* NULL: nothing is kept */
    struct bench_call call;
    struct shares shares;
    bool has_shares;
    double peak_gflops, read_gbps;
} kept;

void bench_measure_end(void) {
    if (kept.of != NULL)
        bench_call_close(&kept.call);
    kept.of = NULL;
    bench_ceiling_release();
}

static bool keep(const struct bench_case *c, const char **why) {
    if (kept.of == c)
        return true;
    if (kept.of != NULL)
        bench_call_close(&kept.call);
    kept.of = NULL;
    kept.has_shares = false;
    kept.peak_gflops = kept.read_gbps = 0;
    if (!bench_call_open(&kept.call, c, why))
        return false;
    kept.of = c;
    return true;
}

static enum headwise_status run_call(void *call) {
    return bench_call_run(call);
}

static void measure_limits(const struct bench_case *c) {
    double fma = bench_ceiling_fma(kept.call.context);
    double read = bench_ceiling_read(kept.call.context, bench_bytes(&c->shape));
    kept.peak_gflops = fma > kept.peak_gflops ? fma : kept.peak_gflops;
    kept.read_gbps = read > kept.read_gbps ? read : kept.read_gbps;
    if (!kept.has_shares)
        shares_measure(&kept.shares, kept.call.context, run_call, &kept.call);
    kept.has_shares = true;
}

static void set_rates(bench_run *run, const struct bench_shape *s, double best_s) {
    double gflops = (bench_attention_flops(s) + bench_projection_flops(s)) / best_s / 1e9;
    double gbps = bench_bytes(s) / best_s / 1e9;
    bench_set(run, "min_us", best_s * 1e6);
    bench_set(run, "GFLOPs", gflops);
    bench_set(run, "GBps", gbps);
    bench_set(run, "tokens_per_s", (double)bench_queries(s) / best_s);
    bench_set(run, "peak_GFLOPs", kept.peak_gflops);
    bench_set(run, "read_GBps", kept.read_gbps);
    bench_set(run, "of_peak", gflops / kept.peak_gflops);
    bench_set(run, "of_read", gbps / kept.read_gbps);
}

static void set_shares(bench_run *run, double best_s) {
    for (int g = 0; g < SHARE_GROUPS; g++) {
        char counter[32];
        snprintf(counter, sizeof counter, "share_%s", share_name((enum share_group)g));
        bench_set(run, counter, kept.shares.share[g]);
    }
    bench_set(run, "share_rest", kept.shares.rest);
    bench_set(run, "timed_slowdown", kept.shares.timed_s / best_s);
}

void bench_measure_call(bench_run *run, const void *arg) {
    const struct bench_case *c = arg;
    const char *why = "";
    if (!keep(c, &why)) {
        bench_fail(run, why);
        return;
    }
    double best_s = 0;
    while (bench_next(run)) {
        double begin_s = seconds_now();
        if (bench_call_run(&kept.call) != HEADWISE_OK) {
            bench_fail(run, headwise_last_error());
            return;
        }
        double s = seconds_now() - begin_s;
        if (best_s == 0 || s < best_s)
            best_s = s;
    }
    measure_limits(c);
    set_rates(run, &c->shape, best_s);
    set_shares(run, best_s);
}
