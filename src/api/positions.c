/* Calls for positions: rotary tables, rotations, ALiBi slopes, biases of T5. */
#include <math.h>

#include "api/check.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/options.h"
#include "headwise/positions.h"
#include "positions/rotary.h"
#include "positions/rotate.h"
#include "positions/tables.h"
#include "tensors/tensor.h"

/* A number that must be finite and above least; 0 stands for its default. */
static enum headwise_status check_number(const char *name, double *x, double least,
                                         double default_value) {
    if (*x == 0)
        *x = default_value;
    if (!isfinite(*x) || *x <= least)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "rotary: %s is %g, expected a finite number above %g", name, *x,
                             least);
    return HEADWISE_OK;
}

static enum headwise_status check_table_size(const struct headwise_rotary_config *config) {
    int64_t floats;
    if (config->rotary_dim < 2 || config->rotary_dim % 2 != 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "rotary: rotary_dim is %lld, expected an even number above 0",
                             (long long)config->rotary_dim);
    if (config->n_positions < 1)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "rotary: n_positions is %lld, expected 1 or more",
                             (long long)config->n_positions);
    if (!headwise_mul(&floats, config->n_positions, config->rotary_dim) ||
        floats > (int64_t)(PTRDIFF_MAX / 8))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "rotary: the table of %lld positions x %lld overflows",
                             (long long)config->n_positions, (long long)config->rotary_dim);
    if ((unsigned)config->pairs > HEADWISE_PAIRS_INTERLEAVED)
        return headwise_fail(HEADWISE_ERR_INVALID, "rotary: pairs is %d, no headwise_pairs",
                             (int)config->pairs);
    if ((unsigned)config->scaling > HEADWISE_SCALING_LONGROPE)
        return headwise_fail(HEADWISE_ERR_INVALID, "rotary: scaling is %d, no headwise_scaling",
                             (int)config->scaling);
    return HEADWISE_OK;
}

static enum headwise_status check_longrope(const struct headwise_rotary_config *config) {
    bool is_long = config->n_positions > config->original_positions;
    const char *name = is_long ? "long_factors" : "short_factors";
    const double *factors = is_long ? config->long_factors : config->short_factors;
    if (!factors)
        return headwise_fail(HEADWISE_ERR_INVALID, "rotary: %s is NULL, needed for %lld positions",
                             name, (long long)config->n_positions);
    for (int64_t j = 0; j < config->rotary_dim / 2; j++) {
        if (!isfinite(factors[j]) || factors[j] <= 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "rotary: %s[%lld] is %g, expected a finite number above 0", name,
                                 (long long)j, factors[j]);
    }
    return HEADWISE_OK;
}

/* Checks what the scaling reads, and fills in defaults. */
static enum headwise_status check_scaling(struct headwise_rotary_config *config) {
    enum headwise_scaling scaling = config->scaling;
    enum headwise_status status = HEADWISE_OK;
    bool needs_factor = scaling != HEADWISE_SCALING_NONE &&
                        !(scaling == HEADWISE_SCALING_LONGROPE && config->attention_factor != 0);
    if (needs_factor)
        status = check_number("factor", &config->factor, 0, 0);
    if (status == HEADWISE_OK && scaling >= HEADWISE_SCALING_LLAMA3 &&
        config->original_positions < 2)
        status = headwise_fail(HEADWISE_ERR_INVALID,
                               "rotary: original_positions is %lld, expected 2 or more",
                               (long long)config->original_positions);
    if (status != HEADWISE_OK)
        return status;
    if (scaling == HEADWISE_SCALING_LLAMA3) {
        status = check_number("low_freq_factor", &config->low_freq_factor, 0, 1);
        if (status == HEADWISE_OK)
            status = check_number("high_freq_factor", &config->high_freq_factor,
                                  config->low_freq_factor, 4);
    }
    if (scaling == HEADWISE_SCALING_YARN) {
        status = check_number("beta_fast", &config->beta_fast, 0, 32);
        if (status == HEADWISE_OK)
            status = check_number("beta_slow", &config->beta_slow, 0, 1);
    }
    if (scaling == HEADWISE_SCALING_LONGROPE)
        status = check_longrope(config);
    return status;
}

enum headwise_status headwise_rotary_create(headwise_rotary **rotary, headwise_context *context,
                                            const struct headwise_rotary_config *config) {
    struct headwise_rotary_config all;
    if (!rotary || !context || !config)
        return headwise_fail(HEADWISE_ERR_INVALID, "rotary: %s is NULL",
                             !rotary    ? "the place for it"
                             : !context ? "context"
                                        : "config");
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&all, config, "rotary: config");
    if (status == HEADWISE_OK)
        status = check_table_size(&all);
    if (status == HEADWISE_OK)
        status =
            check_number("base", &all.base, all.scaling == HEADWISE_SCALING_YARN ? 1 : 0, 10000);
    if (status == HEADWISE_OK)
        status = check_scaling(&all);
    if (status == HEADWISE_OK && all.attention_factor != 0)
        status = check_number("attention_factor", &all.attention_factor, 0, 0);
    if (status != HEADWISE_OK)
        return status;
    return headwise_rotary_build(rotary, context, &all);
}

/* Where the tables come from, as the options say. */
static enum headwise_status find_tables(struct headwise_rotate_job *rotation, int64_t *n_rows,
                                        const struct headwise_rotate_options *options) {
    const headwise_rotary *rotary = options->rotary;
    int64_t columns = rotation->x.size[3];
    if (rotary && (options->cos || options->sin))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "rotate: both rotary and tables are given, expected one of them");
    if (!rotary && (!options->cos || !options->sin))
        return headwise_fail(HEADWISE_ERR_INVALID, "rotate: %s is NULL",
                             options->cos ? "sin" : "cos");
    rotation->cos = rotary ? rotary->cos : options->cos;
    rotation->sin = rotary ? rotary->sin : options->sin;
    rotation->pairs = rotary ? rotary->pairs : options->pairs;
    rotation->rotary_dim = rotary ? rotary->rotary_dim : options->rotary_dim;
    if (!rotary && rotation->rotary_dim == 0)
        rotation->rotary_dim = columns;
    *n_rows = rotary ? rotary->n_positions : options->n_rows;
    if (rotation->rotary_dim < 2 || rotation->rotary_dim > columns || rotation->rotary_dim % 2 != 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "rotate: rotary_dim is %lld, expected an even number from 2 to %lld",
                             (long long)rotation->rotary_dim, (long long)columns);
    if ((unsigned)rotation->pairs > HEADWISE_PAIRS_INTERLEAVED)
        return headwise_fail(HEADWISE_ERR_INVALID, "rotate: pairs is %d, no headwise_pairs",
                             (int)rotation->pairs);
    if (*n_rows < 0)
        return headwise_fail(HEADWISE_ERR_INVALID, "rotate: n_rows is %lld, expected 0 or more",
                             (long long)*n_rows);
    return HEADWISE_OK;
}

static enum headwise_status check_same_view(const struct headwise_tensor *y,
                                            const struct headwise_tensor *x) {
    bool same = y->dtype == x->dtype;
    for (int axis = 0; axis < 4; axis++)
        same &= y->size[axis] <= 1 || y->stride[axis] == x->stride[axis];
    if (y->data == x->data && !same)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "rotate: y is x's memory in another type or with other strides");
    return HEADWISE_OK;
}

enum headwise_status headwise_rotate(headwise_context *context, const struct headwise_tensor *y,
                                     const struct headwise_tensor *x,
                                     const struct headwise_rotate_options *options) {
    static const char where[] = "rotate";
    struct headwise_rotate_options all;
    if (!context || !options)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where,
                             !context ? "context" : "options");
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&all, options, "rotate: options");
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "x", x, false, -1, -1, -1, -1);
    if (status == HEADWISE_OK)
        status = headwise_check_tensor(where, "y", y, true, x->size[0], x->size[1], x->size[2],
                                       x->size[3]);
    if (status != HEADWISE_OK)
        return status;
    struct headwise_rotate_job rotation = {.y = *y, .x = *x, .positions = all.positions};
    int64_t n_rows = 0, batch = x->size[0], rows = x->size[2], count;
    status = find_tables(&rotation, &n_rows, &all);
    if (status != HEADWISE_OK || headwise_tensor_empty(x))
        return status;
    if (!headwise_mul(&count, batch, rows))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the number of rows overflows", where);
    if (all.positions || all.rotary)
        status = headwise_check_positions(where, all.positions, batch, rows, 0, n_rows);
    else
        status = headwise_check_positions(where, NULL, 1, count, 0, n_rows);
    if (status == HEADWISE_OK)
        status = check_same_view(y, x);
    if (status != HEADWISE_OK)
        return status;
    rotation.batch_rows = all.rotary ? 0 : rows;
    return headwise_rotate_run(context, &rotation);
}

enum headwise_status headwise_alibi_slopes(float *slopes, int64_t n_heads) {
    if (!slopes || n_heads < 0)
        return headwise_fail(HEADWISE_ERR_INVALID, "alibi_slopes: %s",
                             slopes ? "n_heads is negative" : "slopes is NULL");
    headwise_fill_alibi_slopes(slopes, n_heads);
    return HEADWISE_OK;
}

enum headwise_status headwise_t5_bias(float *bias, const float *table, int64_t n_buckets,
                                      int64_t n_heads, bool bidirectional, int64_t max_distance) {
    int64_t least = bidirectional ? 4 : 2, n_exact = n_buckets / least, size;
    if (!bias || !table)
        return headwise_fail(HEADWISE_ERR_INVALID, "t5_bias: %s is NULL", bias ? "table" : "bias");
    if (n_buckets < least || (bidirectional && n_buckets % 2 != 0))
        return headwise_fail(HEADWISE_ERR_INVALID, "t5_bias: n_buckets is %lld, expected %s",
                             (long long)n_buckets,
                             bidirectional ? "an even number from 4 on" : "2 or more");
    if (max_distance <= n_exact)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "t5_bias: max_distance is %lld, expected more than the %lld distances "
                             "that have a bucket of their own",
                             (long long)max_distance, (long long)n_exact);
    if (n_heads < 0 || !headwise_mul(&size, max_distance, 2) || !headwise_sum(&size, size, 1) ||
        !headwise_mul(&size, size, headwise_max(n_heads, 1)) || size > (int64_t)(PTRDIFF_MAX / 4))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "t5_bias: n_heads is %lld, max_distance %lld: no array of that size",
                             (long long)n_heads, (long long)max_distance);
    headwise_fill_t5_bias(bias, table, n_buckets, n_heads, bidirectional, max_distance);
    return HEADWISE_OK;
}

enum headwise_status headwise_sinusoidal_table(float *table, int64_t n, int64_t d) {
    int64_t size;
    if (!table)
        return headwise_fail(HEADWISE_ERR_INVALID, "sinusoidal_table: table is NULL");
    if (n < 0 || d < 0 || !headwise_mul(&size, n, d) || size > (int64_t)(PTRDIFF_MAX / 4))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "sinusoidal_table: %lld x %lld is no size of a table", (long long)n,
                             (long long)d);
    headwise_fill_sinusoids(table, n, d);
    return HEADWISE_OK;
}
