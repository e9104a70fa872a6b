/* Builds rotary tables, with the scalings that models use. */
#include "positions/rotary.h"

#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/float_mode.h"
#include "context/context.h"
#include "context/parallel.h"
#include "positions/exact.h"

#define PI 3.14159265358979323846

/* Positions per task. */
enum { TASK_POSITIONS = 256 };

static double llama3_frequency(const struct headwise_rotary_config *config, double frequency) {
    double turns = (double)config->original_positions * frequency / (2 * PI);
    double low = config->low_freq_factor, high = config->high_freq_factor;
    if (turns > high)
        return frequency;
    if (turns < low)
        return frequency / config->factor;
    double t = (turns - low) / (high - low);
    return (1 - t) * (frequency / config->factor) + t * frequency;
}

/* The pair (a fraction) that turns n times within the original positions. */
static double yarn_pair(const struct headwise_rotary_config *config, double n) {
    double longest = (double)config->original_positions / (2 * PI * n);
    return (double)config->rotary_dim * headwise_exact_log(longest) /
           (2 * headwise_exact_log(config->base));
}

static double yarn_frequency(const struct headwise_rotary_config *config, double frequency,
                             int64_t j) {
    double low = yarn_pair(config, config->beta_fast), high = yarn_pair(config, config->beta_slow);
    if (!config->keep_fractions) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)(config->rotary_dim - 1));
    if (low == high)
        high += 0.001;
    double t = fmin(fmax(((double)j - low) / (high - low), 0), 1);
    return t * (frequency / config->factor) + (1 - t) * frequency;
}

static double scaled_frequency(const struct headwise_rotary_config *config, int64_t j) {
    double exponent = -2 * (double)j / (double)config->rotary_dim;
    double frequency = headwise_exact_pow(config->base, exponent);
    switch (config->scaling) {
    case HEADWISE_SCALING_NONE:
        return frequency;
    case HEADWISE_SCALING_LINEAR:
        return frequency / config->factor;
    case HEADWISE_SCALING_LLAMA3:
        return llama3_frequency(config, frequency);
    case HEADWISE_SCALING_YARN:
        return yarn_frequency(config, frequency, j);
    case HEADWISE_SCALING_LONGROPE:
        return frequency / (config->n_positions > config->original_positions
                                ? config->long_factors[j]
                                : config->short_factors[j]);
    }
    return frequency;
}

static double attention_factor(const struct headwise_rotary_config *config) {
    if (config->attention_factor > 0 || config->scaling < HEADWISE_SCALING_YARN)
        return config->attention_factor > 0 ? config->attention_factor : 1;
    if (config->factor <= 1)
        return 1;
    double growth = headwise_exact_log(config->factor);
    if (config->scaling == HEADWISE_SCALING_YARN)
        return 0.1 * growth + 1;
    return sqrt(1 + growth / headwise_exact_log((double)config->original_positions));
}

struct fill {
    headwise_rotary *rotary;
    const double *frequencies;
};

static void fill_task(void *arg, int64_t index, int worker) {
    const struct fill *fill = arg;
    headwise_rotary *rotary = fill->rotary;
    int64_t pairs = rotary->rotary_dim / 2;
    int64_t last = headwise_min((index + 1) * TASK_POSITIONS, rotary->n_positions);
    (void)worker;
    for (int64_t p = index * TASK_POSITIONS; p < last; p++) {
        for (int64_t j = 0; j < pairs; j++) {
            double sine, cosine;
            headwise_exact_sincos((double)p * fill->frequencies[j], &sine, &cosine);
            rotary->cos[p * pairs + j] = (float)(cosine * rotary->attention_factor);
            rotary->sin[p * pairs + j] = (float)(sine * rotary->attention_factor);
        }
    }
}

static enum headwise_status fill_tables(headwise_rotary *rotary, headwise_context *context,
                                        const struct headwise_rotary_config *config) {
    int64_t pairs = rotary->rotary_dim / 2;
    size_t bytes = (size_t)pairs * sizeof(double);
    double *frequencies = headwise_alloc(&context->allocator, bytes);
    if (!frequencies)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "rotary: out of memory");
    for (int64_t j = 0; j < pairs; j++)
        frequencies[j] = scaled_frequency(config, j);
    struct fill fill = {rotary, frequencies};
    struct headwise_phase phase = {headwise_ceil_div(rotary->n_positions, TASK_POSITIONS),
                                   fill_task, &fill};
    enum headwise_status status = headwise_parallel_run(context, &phase, 1, false);
    headwise_release(&context->allocator, frequencies, bytes);
    return status;
}

enum headwise_status headwise_rotary_build(headwise_rotary **rotary, headwise_context *context,
                                           const struct headwise_rotary_config *config) {
    HEADWISE_FLOAT_SCOPE();
    headwise_rotary *created = headwise_alloc(&context->allocator, sizeof *created);
    if (!created)
        return headwise_fail(HEADWISE_ERR_NO_MEMORY, "rotary: out of memory");
    *created = (headwise_rotary){
        .rotary_dim = config->rotary_dim,
        .n_positions = config->n_positions,
        .pairs = config->pairs,
        .attention_factor = attention_factor(config),
        .table_bytes =
            headwise_bytes(config->n_positions * (config->rotary_dim / 2), sizeof(float)),
        .allocator = context->allocator,
    };
    created->cos = headwise_alloc(&created->allocator, created->table_bytes);
    created->sin = headwise_alloc(&created->allocator, created->table_bytes);
    enum headwise_status status = HEADWISE_OK;
    if (!created->cos || !created->sin)
        status = headwise_fail(HEADWISE_ERR_NO_MEMORY,
                               "rotary: no memory for a table of %lld positions x %lld",
                               (long long)config->n_positions, (long long)config->rotary_dim);
    if (status == HEADWISE_OK)
        status = fill_tables(created, context, config);
    if (status != HEADWISE_OK) {
        headwise_rotary_destroy(created);
        return status;
    }
    created->info = (struct headwise_rotary_info){
        .size = sizeof created->info,
        .n_positions = created->n_positions,
        .rotary_dim = created->rotary_dim,
        .pairs = created->pairs,
        .attention_factor = created->attention_factor,
        .cos = created->cos,
        .sin = created->sin,
    };
    *rotary = created;
    return HEADWISE_OK;
}

void headwise_rotary_destroy(headwise_rotary *rotary) {
    if (!rotary)
        return;
    struct headwise_allocator allocator = rotary->allocator;
    headwise_release(&allocator, rotary->cos, rotary->table_bytes);
    headwise_release(&allocator, rotary->sin, rotary->table_bytes);
    headwise_release(&allocator, rotary, sizeof *rotary);
}

const struct headwise_rotary_info *headwise_rotary_describe(const headwise_rotary *rotary) {
    return &rotary->info;
}
