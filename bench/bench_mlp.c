/* MLPs with their residual and norm: encoders' shapes, gated ones, weights of each type. */
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"
#include "cases.h"
#include "ceiling.h"
#include "measure/clock.h"
#include "measure/shares.h"
#include "shim.h"

struct mlp_case {
    int64_t rows, d_model, d_hidden;
    enum headwise_activation activation;
    bool gated;
    enum headwise_dtype packed_dtype;
    bool dynamic;
    enum headwise_isa isa;
    int n_threads;
};

static const struct mlp_case shapes[] = {
    {16, 384, 1536, HEADWISE_ACTIVATION_GELU, .gated = false}, /* MiniLM */
    {128, 384, 1536, HEADWISE_ACTIVATION_GELU, .gated = false},
    {4096, 384, 1536, HEADWISE_ACTIVATION_GELU, .gated = false},
    {4096, 384, 1536, HEADWISE_ACTIVATION_NONE, .gated = false}, /* its products alone */
    {128, 768, 3072, HEADWISE_ACTIVATION_GELU, .gated = false},  /* BERT-base */
    {4096, 768, 3072, HEADWISE_ACTIVATION_GELU, .gated = false},
    {1, 576, 1536, HEADWISE_ACTIVATION_SILU, .gated = true}, /* SmolLM2 */
    {128, 576, 1536, HEADWISE_ACTIVATION_SILU, .gated = true},
    {128, 384, 1536, HEADWISE_ACTIVATION_GELU, .packed_dtype = HEADWISE_BF16},
    {16, 384, 1536, HEADWISE_ACTIVATION_GELU, .packed_dtype = HEADWISE_I8, .dynamic = true},
    {128, 384, 1536, HEADWISE_ACTIVATION_GELU, .packed_dtype = HEADWISE_I8, .dynamic = true},
    {4096, 384, 1536, HEADWISE_ACTIVATION_GELU, .packed_dtype = HEADWISE_I8, .dynamic = true},
};

/* A case made ready. */
struct mlp_work {
    headwise_context *context;
    headwise_mlp *mlp;
    float *up, *gate, *down, *x, *y, *weights;
    struct headwise_row_norm norm;
    struct headwise_mlp_call call;
};

static void close_work(struct mlp_work *work) {
    headwise_mlp_destroy(work->mlp);
    headwise_context_destroy(work->context);
    float *buffers[] = {work->up, work->gate, work->down, work->x, work->y, work->weights};
    for (int i = 0; i < 6; i++)
        free(buffers[i]);
    *work = (struct mlp_work){0};
}

static bool make_buffers(struct mlp_work *work, const struct mlp_case *c) {
    int64_t weights = c->d_model * c->d_hidden;
    work->up = bench_buffer(weights, HEADWISE_F32, 0.05f);
    work->gate = bench_buffer(weights, HEADWISE_F32, 0.05f);
    work->down = bench_buffer(weights, HEADWISE_F32, 0.05f);
    work->x = bench_buffer(c->rows * c->d_model, HEADWISE_F32, 1);
    work->y = bench_buffer(c->rows * c->d_model, HEADWISE_F32, 1);
    work->weights = bench_buffer(c->d_hidden, HEADWISE_F32, 1);
    return work->up && work->gate && work->down && work->x && work->y && work->weights;
}

static bool open_work(struct mlp_work *work, const struct mlp_case *c) {
    const struct headwise_context_options options = {
        .size = sizeof options, .isa = c->isa, .n_threads = c->n_threads};
    if (!make_buffers(work, c) || headwise_context_create(&work->context, &options) != HEADWISE_OK)
        return false;
    const struct headwise_mlp_config config = {.size = sizeof config,
                                               .d_model = c->d_model,
                                               .d_hidden = c->d_hidden,
                                               .activation = c->activation,
                                               .w_up = work->up,
                                               .w_gate = c->gated ? work->gate : NULL,
                                               .w_down = work->down,
                                               .b_up = work->weights,
                                               .b_down = work->weights,
                                               .packed_dtype = c->packed_dtype,
                                               .dynamic_int8 = c->dynamic};
    work->norm = (struct headwise_row_norm){.size = sizeof work->norm,
                                            .norm = HEADWISE_NORM_LAYER,
                                            .weights = work->weights,
                                            .bias = work->weights};
    work->call = (struct headwise_mlp_call){.size = sizeof work->call,
                                            .n_rows = c->rows,
                                            .x = work->x,
                                            .y = work->y,
                                            .residual = work->x,
                                            .output_norm = &work->norm};
    return headwise_mlp_create(&work->mlp, work->context, &config) == HEADWISE_OK;
}

static enum headwise_status run_work(void *arg) {
    struct mlp_work *work = arg;
    return headwise_mlp_forward(work->context, work->mlp, &work->call);
}

static void set_counters(bench_run *run, struct mlp_work *work, const struct mlp_case *c,
                         double best_s) {
    double weights = (double)(c->d_model * c->d_hidden * (c->gated ? 3 : 2));
    double gflops = 2 * weights * (double)c->rows / best_s / 1e9;
    double peak = bench_ceiling_fma(work->context);
    struct shares shares;
    bench_set(run, "min_us", best_s * 1e6);
    bench_set(run, "GFLOPs", gflops);
    bench_set(run, "peak_GFLOPs", peak);
    bench_set(run, "of_peak", gflops / peak);
    bench_set(run, "tokens_per_s", (double)c->rows / best_s);
    if (shares_measure(&shares, work->context, run_work, work) != HEADWISE_OK)
        return;
    for (int g = 0; g < SHARE_GROUPS; g++) {
        char counter[32];
        snprintf(counter, sizeof counter, "share_%s", share_name((enum share_group)g));
        bench_set(run, counter, shares.share[g]);
    }
    bench_set(run, "share_rest", shares.rest);
}

static void measure_mlp(bench_run *run, const void *arg) {
    const struct mlp_case *c = arg;
    struct mlp_work work = {0};
    double best_s = 0;
    if (!open_work(&work, c)) {
        close_work(&work);
        bench_fail(run, "cannot be made");
        return;
    }
    while (bench_next(run)) {
        double begin_s = seconds_now();
        enum headwise_status status = run_work(&work);
        double s = seconds_now() - begin_s;
        if (status != HEADWISE_OK) {
            bench_fail(run, headwise_last_error());
            break;
        }
        best_s = best_s == 0 || s < best_s ? s : best_s;
    }
    if (best_s > 0)
        set_counters(run, &work, c, best_s);
    close_work(&work);
}

static void add_case(const struct mlp_case *c) {
    static const char *const names[] = {"none",       "relu", "gelu", "gelu_tanh",
                                        "gelu_quick", "silu", "tanh"};
    char name[160];
    struct mlp_case *kept = malloc(sizeof *kept);
    if (kept == NULL) {
        fprintf(stderr, "bench: no memory for the list of cases\n");
        exit(1);
    }
    *kept = *c;
    snprintf(name, sizeof name, "mlp/%s%s/M:%lld/D:%lld/F:%lld%s%s/threads:%d/isa:%s",
             names[c->activation], c->gated ? "_gated" : "", (long long)c->rows,
             (long long)c->d_model, (long long)c->d_hidden,
             c->packed_dtype == HEADWISE_F32 ? "" : "/weights:",
             c->packed_dtype == HEADWISE_F32 ? ""
             : c->dynamic                    ? "dynamic"
                                             : headwise_dtype_name(c->packed_dtype),
             c->n_threads, headwise_isa_name(c->isa));
    bench_add(name, measure_mlp, kept);
}

int main(int argc, char **argv) {
    enum headwise_isa tiers[BENCH_MAX_TIERS];
    int threads[BENCH_MAX_THREADS];
    int n_tiers = bench_tiers(tiers), n_counts = bench_threads(threads);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int tier = 0; tier < n_tiers; tier++)
            for (int t = 0; t < n_counts; t++) {
                struct mlp_case c = shapes[i];
                c.isa = tiers[tier];
                c.n_threads = threads[t];
                add_case(&c);
            }
    int status = bench_main(argc, argv);
    bench_ceiling_release();
    return status;
}
