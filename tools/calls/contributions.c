/* Checks that the heads' contributions sum to the layer's output. */
#include "calls/contributions.h"

#include <math.h>
#include <stdio.h>

#include "calls/rounding.h"
#include "common/message.h"

/* A row of y: b and i say which. */
struct row {
    const struct layer_input *layer;
    const float *head_outputs, *contributions;
    int64_t b, i;
};

static double weight(const struct layer_input *layer, int64_t input, int64_t output) {
    const struct headwise_mha_config *config = &layer->config;
    int64_t n_inputs = config->n_heads * config->value_dim;
    return layer->w_o[config->layout == HEADWISE_IN_OUT ? input * config->d_out + output
                                                        : output * n_inputs + input];
}

/* What rounding to bytes may add to each input of the row: half a step, which is 1/255 of where the
 * row reaches. */
static double rounding(const struct row *row) {
    const struct headwise_mha_config *config = &row->layer->config;
    double low = 0, high = 0;
    for (int64_t h = 0; config->dynamic_int8 && h < config->n_heads; h++) {
        int64_t at = (row->b * config->n_heads + h) * row->layer->n_queries + row->i;
        for (int64_t t = 0; t < config->value_dim; t++) {
            double value = row->head_outputs[at * config->value_dim + t];
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    return (high - low) / 510;
}

/* The sum of a column's contributions, and of the sizes of its products. */
static double add_heads(const struct row *row, int64_t column, double *sizes) {
    const struct headwise_mha_config *config = &row->layer->config;
    double sum = 0, more = rounding(row);
    *sizes = 0;
    for (int64_t h = 0; h < config->n_heads; h++) {
        int64_t at = (row->b * config->n_heads + h) * row->layer->n_queries + row->i;
        sum += row->contributions[at * config->d_out + column];
        for (int64_t t = 0; t < config->value_dim; t++)
            *sizes += (fabs(row->head_outputs[at * config->value_dim + t]) + more) *
                      fabs(weight(row->layer, h * config->value_dim + t, column));
    }
    return sum;
}

static double bound_difference(const struct layer_input *layer,
                               const struct headwise_file_tensor *y, double sizes, double bias,
                               double value) {
    const struct headwise_mha_config *config = &layer->config;
    double n = (double)(config->n_heads * config->value_dim);
    double scaling = config->packed_dtype == HEADWISE_I8 ? 1 : 0; /* a rounding of each sum */
    double bound =
        (rounding_gamma(n + 1 + scaling) + rounding_gamma((double)config->value_dim + scaling)) *
            sizes +
        0x1p-24 * fabs(bias) + rounding_of(y->dtype, value);
    return bound + n * 0x1p-149; /* products that underflow */
}

int contributions_check(const struct layer_input *layer, const struct headwise_file_tensor *y,
                        const float *head_outputs, const float *contributions,
                        struct arena *arena) {
    const struct headwise_mha_config *config = &layer->config;
    float *values = arena_take(arena, (int64_t)y->n_elements, sizeof *values);
    double largest = 0, worst_ratio = 0;
    if (!values)
        return EXIT_UNUSABLE;
    if (y->dtype == HEADWISE_FILE_F16)
        headwise_f32_from_f16(values, y->data, y->n_elements);
    else if (y->dtype == HEADWISE_FILE_BF16)
        headwise_f32_from_bf16(values, y->data, y->n_elements);
    for (int64_t n = 0; n < (int64_t)y->n_elements; n++) {
        int64_t column = n % config->d_out, i = n / config->d_out;
        struct row row = {layer, head_outputs, contributions, i / layer->n_queries,
                          i % layer->n_queries};
        double sizes, bias = config->b_o ? config->b_o[column] : 0;
        double sum = add_heads(&row, column, &sizes) + bias;
        double value = y->dtype == HEADWISE_FILE_F32 ? ((const float *)y->data)[n] : values[n];
        double difference = fabs(value - sum);
        double ratio = difference / bound_difference(layer, y, sizes, bias, value);
        if (isnan(difference))
            ratio = difference = isnan(value) && isnan(sum) ? 0 : INFINITY;
        largest = fmax(largest, difference);
        worst_ratio = fmax(worst_ratio, ratio);
    }
    printf("\ncontributions of %lld heads sum to y: largest difference %.3g, at most %.3g of its "
           "bound\n",
           (long long)config->n_heads, largest, worst_ratio);
    if (worst_ratio > 1)
        return fail_with(
            EXIT_CHECK_FAILED,
            "contributions do not sum to y: a difference of %.3g is %.3g times its bound", largest,
            worst_ratio);
    return EXIT_GOOD;
}
