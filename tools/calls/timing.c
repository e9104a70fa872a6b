/* Times a forward on the usable tiers and prints a line for each. */
#define _POSIX_C_SOURCE 199309L
#include "calls/timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/context.h"
#include "common/message.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static int measure(double *seconds, int64_t n_repeats, headwise_context *context,
                   const headwise_mha *mha, const struct headwise_attention_call *call) {
    for (int64_t i = -1; i < n_repeats; i++) {
        double start = now();
        if (headwise_mha_forward(context, mha, call) != HEADWISE_OK)
            return fail("%s", headwise_last_error());
        if (i >= 0)
            seconds[i] = now() - start;
    }
    qsort(seconds, (size_t)n_repeats, sizeof *seconds, compare);
    return EXIT_GOOD;
}

static int time_tier(double *seconds, int64_t n_repeats, enum headwise_isa isa,
                     struct option_integer threads, const struct layer_input *layer,
                     const struct headwise_attention_call *call) {
    headwise_context *context = NULL;
    headwise_mha *mha = NULL;
    int code = context_open_tier(&context, isa, threads);
    if (!code && headwise_mha_create(&mha, context, &layer->config) != HEADWISE_OK)
        code = fail("%s", headwise_last_error());
    if (!code)
        code = measure(seconds, n_repeats, context, mha, call);
    headwise_mha_destroy(mha);
    headwise_context_destroy(context);
    return code;
}

int timing_print(const struct layer_input *layer, const struct headwise_attention_call *call,
                 enum headwise_isa used, bool only_used, struct option_integer threads,
                 int64_t n_repeats, struct arena *arena) {
    static const enum headwise_isa tiers[] = {HEADWISE_ISA_SCALAR, HEADWISE_ISA_AVX2,
                                              HEADWISE_ISA_AVX512, HEADWISE_ISA_NEON};
    struct headwise_attention_call plain = *call;
    int64_t n = layer->batch * layer->n_queries * layer->config.d_out;
    double *seconds = arena_take(arena, n_repeats, sizeof *seconds);
    float *data = arena_take(arena, n, sizeof *data);
    if (!seconds || !data)
        return EXIT_UNUSABLE;
    struct headwise_tensor y = headwise_tensor_brhc(data, HEADWISE_F32, layer->batch,
                                                    layer->n_queries, 1, layer->config.d_out);
    plain.y = &y;
    printf("\ntime of a forward (%lld runs)    least      median\n", (long long)n_repeats);
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        if (!headwise_isa_usable(tiers[i]) || (only_used && tiers[i] != used))
            continue;
        int code = time_tier(seconds, n_repeats, tiers[i], threads, layer, &plain);
        if (code)
            return code;
        printf("  %-22s %10.1f us %10.1f us%s\n", headwise_isa_name(tiers[i]), 1e6 * seconds[0],
               1e6 * seconds[n_repeats / 2], tiers[i] == used ? "  (used)" : "");
    }
    return EXIT_GOOD;
}
