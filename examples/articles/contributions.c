/* Articles 000 and 004: concatenating the heads and multiplying with W_O is the same as letting
 * each head add its own term to the output. */
#include <stdio.h>

#include "support/layer.h"
#include "support/random.h"
#include "support/report.h"

static struct layer layer;
static struct seen seen;

/* max |y - sum of the heads' contributions|. */
static double sum_error(const float *y, const float *contributions, int64_t heads, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t h = 0; h < heads; h++)
            sum += (double)contributions[h * n + i];
        double error = sum > (double)y[i] ? sum - (double)y[i] : (double)y[i] - sum;
        largest = error > largest ? error : largest;
    }
    return largest;
}

/* Article 000: four head outputs (5, 4) side by side are (5, 16), and W_O (16, 8) need not be
 * square. A window of nothing but itself and the unit matrix as W_V hand each head its columns. */
static double concatenation(headwise_context *context, int64_t *d_out) {
    enum { ROWS = 5, HEADS = 4, DIM = 4, WIDE = HEADS * DIM, OUT = 8 };
    float parts[HEADS * ROWS * DIM], x[ROWS * WIDE], unit[WIDE * WIDE], w_o[WIDE * OUT];
    float y[ROWS * OUT], contributions[HEADS * ROWS * OUT];
    struct legacy_rng rng;
    legacy_seed(&rng, 1);
    legacy_fill(&rng, parts, HEADS * ROWS * DIM, 1);
    legacy_fill(&rng, w_o, WIDE * OUT, 1);
    for (int i = 0; i < ROWS * WIDE; i++)
        x[i] = parts[(i % WIDE / DIM * ROWS + i / WIDE) * DIM + i % DIM];
    for (int i = 0; i < WIDE * WIDE; i++)
        unit[i] = i / WIDE == i % WIDE;
    const struct headwise_mha_config config = {.size = sizeof config,
                                               .d_model = WIDE,
                                               .d_out = OUT,
                                               .n_heads = HEADS,
                                               .layout = HEADWISE_IN_OUT,
                                               .w_q = unit,
                                               .w_k = unit,
                                               .w_v = unit,
                                               .w_o = w_o};
    const struct headwise_probe probe = {.size = sizeof probe, .contributions = contributions};
    const struct headwise_attention_options options = {.size = sizeof options,
                                                       .window_is_set = true};
    struct headwise_tensor in = headwise_tensor_brhc(x, HEADWISE_F32, 1, ROWS, 1, WIDE);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, ROWS, 1, OUT);
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &out, .x = &in, .options = &options, .probe = &probe};
    headwise_mha *mha = NULL;
    must(headwise_mha_create(&mha, context, &config));
    must(headwise_mha_forward(context, mha, &call));
    *d_out = headwise_mha_describe(mha)->d_out;
    headwise_mha_destroy(mha);
    printf("first row of concat W_O:   ");
    for (int c = 0; c < OUT; c++)
        printf(" %7.4f", (double)y[c]);
    for (int h = 0; h < HEADS; h++) {
        printf("\n  from head %d              ", h);
        for (int c = 0; c < OUT; c++)
            printf(" %7.4f", (double)contributions[h * ROWS * OUT + c]);
    }
    printf("\n");
    return sum_error(y, contributions, HEADS, ROWS * OUT);
}

int main(void) {
    headwise_context *context = open_context();
    int64_t d_out;
    double wide = concatenation(context, &d_out), error[2];
    for (int i = 0; i < 2; i++) {
        layer_of_004(&layer, i == 0 ? 1 : 8);
        layer_see(context, &layer, &seen);
        error[i] = sum_error(seen.y, seen.contributions, layer.heads, layer.rows * layer.width);
    }
    claim("000: (5, 16) times W_O gives", "(5, 8)", text("(5, %lld)", (long long)d_out),
          d_out == 8);
    claim("000: sum of four terms", "the same", rounding(wide, 4e-6), wide < 4e-6);
    claim("004: one head, largest difference", "(f64) 0", rounding(error[0], 1e-7),
          error[0] < 1e-7);
    claim("004: eight heads, largest difference", "(f64) 6.9e-17", rounding(error[1], 1e-7),
          error[1] < 1e-7);
    printf("\nThe article computes in double precision, the library in single: its unit of "
           "rounding is "
           "6e-08.\n");
    headwise_context_destroy(context);
    return 0;
}
