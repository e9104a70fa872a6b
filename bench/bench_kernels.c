/* Each kernel of each tier beside what the machine can do. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "cases.h"
#include "ceiling.h"
#include "kernel_case.h"
#include "kernels/dispatch.h"
#include "measure/clock.h"

/* A sample is long enough for the clock's 25 ns not to show, where calls can be repeated. */
static const double sample_s = 20e-6;

struct kernel_case {
    const struct bench_kernel *kernel;
    const struct headwise_kernels *table;
    struct bench_sizes sizes;
};

static struct bench_kernel_data data;
static headwise_context *contexts[HEADWISE_ISA_NEON + 1]; /* one thread of each usable tier */

static double elements(struct bench_sizes s) {
    return (double)s.m * (double)s.n * (double)s.k;
}

static double bytes_of(const struct kernel_case *c) {
    double m = (double)c->sizes.m, n = (double)c->sizes.n, k = (double)c->sizes.k;
    const int *bytes = c->kernel->bytes;
    return bytes[0] * m * n + bytes[1] * m * k + bytes[2] * n * k + bytes[3] * m;
}

/* Calls per sample: one where the input is restored in between. */
static int calls_per_sample(const struct kernel_case *c) {
    int calls = 1;
    double s = 0;
    while (!c->kernel->restores && s < sample_s && calls < 1 << 20) {
        calls *= 2;
        double begin_s = seconds_now();
        for (int i = 0; i < calls; i++)
            c->kernel->call(c->table, &data, c->sizes);
        s = seconds_now() - begin_s;
    }
    return calls;
}

/* What reading the clock twice takes. */
static double clock_cost(void) {
    double best_s = 1;
    for (int i = 0; i < 1000; i++) {
        double begin_s = seconds_now();
        double s = seconds_now() - begin_s;
        best_s = s < best_s ? s : best_s;
    }
    return best_s;
}

static void set_counters(bench_run *run, const struct kernel_case *c, double best_s) {
    headwise_context *context = contexts[c->table->isa];
    double gbps = bytes_of(c) / best_s / 1e9;
    double read = bench_ceiling_read(context, bytes_of(c));
    bench_set(run, "min_ns", best_s * 1e9);
    bench_set(run, "ns_per_element", best_s * 1e9 / elements(c->sizes));
    bench_set(run, "GBps", gbps);
    bench_set(run, "read_GBps", read);
    bench_set(run, "of_read", gbps / read);
    if (c->kernel->flops > 0) {
        double gflops = c->kernel->flops * elements(c->sizes) / best_s / 1e9;
        double peak = bench_ceiling_fma(context);
        bench_set(run, "GFLOPs", gflops);
        bench_set(run, "peak_GFLOPs", peak);
        bench_set(run, "of_peak", gflops / peak);
    }
}

static void run_kernel(bench_run *run, const void *arg) {
    const struct kernel_case *c = arg;
    double best_s = 0, clock_s = clock_cost();
    memcpy(data.c, data.fresh, BENCH_KERNEL_ELEMENTS * sizeof(float));
    int calls = calls_per_sample(c);
    while (bench_next(run)) {
        if (c->kernel->restores)
            memcpy(data.c, data.fresh,
                   (size_t)c->sizes.m * BENCH_ROW_STRIDE * sizeof(float) +
                       (size_t)c->sizes.n * sizeof(float));
        double begin_s = seconds_now();
        for (int i = 0; i < calls; i++)
            c->kernel->call(c->table, &data, c->sizes);
        double s = (seconds_now() - begin_s - clock_s) / calls;
        if (best_s == 0 || s < best_s)
            best_s = s;
    }
    set_counters(run, c, best_s);
}

/* The ceilings as cases of their own, on all numbers of threads. */
struct ceiling_case {
    enum headwise_isa isa;
    int n_threads;
    double read_bytes; /* 0: multiply-adds */
};

static void run_ceiling(bench_run *run, const void *arg) {
    const struct ceiling_case *c = arg;
    double best = 0;
    struct headwise_context_options options = {
        .size = sizeof options, .isa = c->isa, .n_threads = c->n_threads};
    headwise_context *context;
    if (headwise_context_create(&context, &options) != HEADWISE_OK) {
        bench_fail(run, headwise_last_error());
        return;
    }
    while (bench_next(run)) {
        double rate = c->read_bytes > 0 ? bench_ceiling_read(context, c->read_bytes)
                                        : bench_ceiling_fma(context);
        best = rate > best ? rate : best;
    }
    bench_set(run, c->read_bytes > 0 ? "GBps" : "GFLOPs", best);
    headwise_context_destroy(context);
}

/* Exits where memory runs out. Cases are kept for good: Google Benchmark refers to them. */
static void *check(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "bench_kernels: out of memory\n");
        exit(1);
    }
    return memory;
}

static void add_ceilings(enum headwise_isa isa, int n_threads) {
    static const double sizes[] = {0, 32e3, 1e6, 32e6, 256e6};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char name[96], bytes[32] = "fma";
        if (sizes[i] > 0)
            snprintf(bytes, sizeof bytes, "read/bytes:%.0f", sizes[i]);
        snprintf(name, sizeof name, "ceiling/%s/threads:%d/isa:%s", bytes, n_threads,
                 headwise_isa_name(isa));
        struct ceiling_case *c = check(malloc(sizeof *c));
        *c = (struct ceiling_case){isa, n_threads, sizes[i]};
        bench_add(name, run_ceiling, c);
    }
}

static void add_kernels(const struct headwise_kernels *table) {
    for (int i = 0; i < bench_n_kernels; i++) {
        const struct bench_kernel *kernel = &bench_kernel_list[i];
        struct kernel_case *c = check(malloc(sizeof *c));
        *c = (struct kernel_case){kernel, table, kernel->sizes};
        if (c->sizes.n <= 0)
            c->sizes.n = c->sizes.n == 0 ? table->nr : table->nr_min;
        char name[96];
        snprintf(name, sizeof name, "kernel/%s/m:%td/n:%td/k:%td/isa:%s", kernel->name, c->sizes.m,
                 c->sizes.n, c->sizes.k, headwise_isa_name(table->isa));
        bench_add(name, run_kernel, c);
    }
}

static void open_data(void) {
    int64_t n = BENCH_KERNEL_ELEMENTS;
    float **floats[] = {&data.c,     &data.a,    &data.b,   &data.fresh,
                        &data.alpha, &data.beta, &data.max, &data.sum};
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        *floats[i] = check(bench_buffer(n, HEADWISE_F32, 1.0f));
    data.half = check(bench_buffer(n, HEADWISE_F16, 1.0f));
    data.visible = check(bench_buffer(n, HEADWISE_BOOL, 1.0f));
}

static void close_data(void) {
    void *all[] = {data.c,    data.a,   data.b,   data.fresh, data.alpha,
                   data.beta, data.max, data.sum, data.half,  data.visible};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

int main(int argc, char **argv) {
    enum headwise_isa tiers[BENCH_MAX_TIERS];
    int threads[BENCH_MAX_THREADS];
    int n_tiers = bench_tiers(tiers), n_counts = bench_threads(threads);
    open_data();
    for (int i = 0; i < n_tiers; i++) {
        struct headwise_context_options options = {
            .size = sizeof options, .isa = tiers[i], .n_threads = 1};
        if (headwise_context_create(&contexts[tiers[i]], &options) != HEADWISE_OK) {
            fprintf(stderr, "bench_kernels: %s\n", headwise_last_error());
            return 1;
        }
        for (int t = 0; t < n_counts; t++)
            add_ceilings(tiers[i], threads[t]);
        add_kernels(headwise_kernels_get(tiers[i]));
    }
    int status = bench_main(argc, argv);
    for (int i = 0; i < n_tiers; i++)
        headwise_context_destroy(contexts[tiers[i]]);
    bench_ceiling_release();
    close_data();
    return status;
}
