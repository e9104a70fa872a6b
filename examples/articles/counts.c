/* Articles 000, 002, 004: what heads cost. Parameters and multiplications do not depend on their
 * number, exponentials do. Everything is counted on layers of the library: parameters by reading
 * them back, exponentials as the weights that a call gives out. */
#include <stdio.h>
#include <stdlib.h>

#include "support/report.h"

struct counts {
    int64_t width, heads, tokens;
    int64_t head_dim, qkv, qkvo, multiplications, exponentials;
};

/* Elements of a part that headwise_mha_weights() writes: all that are no longer the mark. */
static int64_t count_part(const headwise_mha *mha, enum headwise_mha_part part, int64_t most) {
    float *weights = take(most, sizeof *weights);
    int64_t n = 0;
    for (int64_t i = 0; i < most; i++)
        weights[i] = -1;
    must(headwise_mha_weights(mha, weights, NULL, NULL, part, HEADWISE_IN_OUT));
    for (int64_t i = 0; i < most; i++)
        n += weights[i] != -1;
    free(weights);
    return n;
}

/* Weights that a call gives out: as many as its softmax takes exponentials. */
static int64_t count_weights(headwise_context *context, const headwise_mha *mha,
                             const struct counts *c) {
    int64_t most = 2 * c->heads * c->tokens * c->tokens, n = 0;
    float *x = take(c->tokens * c->width, sizeof *x), *y = take(c->tokens * c->width, sizeof *y);
    float *weights = take(most, sizeof *weights);
    const struct headwise_probe probe = {.size = sizeof probe, .weights = weights};
    struct headwise_tensor in = headwise_tensor_brhc(x, HEADWISE_F32, 1, c->tokens, 1, c->width);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, c->tokens, 1, c->width);
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &out, .x = &in, .probe = &probe};
    must(headwise_mha_forward(context, mha, &call));
    for (int64_t i = 0; i < most; i++)
        n += weights[i] > 0; /* all scores are 0: every weight is 1 / tokens */
    free(x);
    free(y);
    free(weights);
    return n;
}

static struct counts count(headwise_context *context, int64_t width, int64_t heads,
                           int64_t tokens) {
    struct counts c = {.width = width, .heads = heads, .tokens = tokens};
    float *zeros = take(width * width, sizeof *zeros);
    const struct headwise_mha_config config = {.size = sizeof config,
                                               .d_model = width,
                                               .n_heads = heads,
                                               .layout = HEADWISE_IN_OUT,
                                               .w_q = zeros,
                                               .w_k = zeros,
                                               .w_v = zeros,
                                               .w_o = zeros};
    headwise_mha *mha = NULL;
    must(headwise_mha_create(&mha, context, &config));
    c.head_dim = headwise_mha_describe(mha)->head_dim;
    for (int part = HEADWISE_MHA_Q; part <= HEADWISE_MHA_V; part++)
        c.qkv += count_part(mha, (enum headwise_mha_part)part, 2 * width * width);
    c.qkvo = c.qkv + count_part(mha, HEADWISE_MHA_O, 2 * width * width);
    c.exponentials = count_weights(context, mha, &c);
    /* Each parameter meets each token once; each weight meets a query's and a value's components.
     */
    c.multiplications = tokens * c.qkvo + c.exponentials * 2 * c.head_dim;
    headwise_mha_destroy(mha);
    free(zeros);
    printf("%7lld %6lld %9lld %7lld %11lld %12lld %15lld %13lld\n", (long long)width,
           (long long)heads, (long long)c.head_dim, (long long)tokens, (long long)c.qkv,
           (long long)c.qkvo, (long long)c.multiplications, (long long)c.exponentials);
    return c;
}

int main(void) {
    headwise_context *context = open_context();
    printf("%7s %6s %9s %7s %11s %12s %15s %13s\n", "width", "heads", "head size", "tokens",
           "Q K V", "Q K V O", "multiplications", "exponentials");
    struct counts split = count(context, 512, 8, 12), whole = count(context, 512, 1, 12);
    struct counts one = count(context, 64, 1, 12), eight = count(context, 64, 8, 12);
    count(context, 32, 4, 11);
    count(context, 768, 12, 12);
    int64_t naive = split.heads * whole.qkv; /* every head with matrices of full width */
    claim("000: Q K V of width 512, eight heads", "786432", text("%lld", (long long)split.qkv),
          split.qkv == 786432);
    claim("000: eight heads of full width", "6291456", text("%lld", (long long)naive),
          naive == 6291456);
    claim("000: their ratio", "8.0", text("%.1f", (double)naive / (double)split.qkv),
          naive == 8 * split.qkv);
    claim("002: head size, 512 in eight heads", "64", text("%lld", (long long)split.head_dim),
          split.head_dim == 64);
    claim("004: Q K V O of width 64, one head", "16384", text("%lld", (long long)one.qkvo),
          one.qkvo == 16384);
    claim("004: the same in eight heads", "16384", text("%lld", (long long)eight.qkvo),
          eight.qkvo == 16384);
    claim("004: multiplications, one and eight heads", "equal",
          one.multiplications == eight.multiplications ? "equal" : "different",
          one.multiplications == eight.multiplications);
    claim("exponentials, eight heads against one", "(not counted)",
          text("%.0f times", (double)eight.exponentials / (double)one.exponentials),
          eight.exponentials == 8 * one.exponentials);
    headwise_context_destroy(context);
    return 0;
}
