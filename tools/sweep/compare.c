/* Compares a head count's outputs with the first one's, and finds the ranks of its heads. */
#include <math.h>

#include "calls/rank.h"
#include "common/message.h"
#include "sweep/sweep.h"

static double relative_change(const float *y, const float *first, int64_t n) {
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < n; i++) {
        double d = (double)y[i] - (double)first[i];
        difference += d * d;
        norm += (double)first[i] * (double)first[i];
    }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

static int find_ranks(struct sweep_row *row, const float *head_outputs, int64_t value_dim) {
    for (int64_t h = 0; h < row->n_heads; h++) {
        int64_t rank = matrix_rank(head_outputs + h * row->length * value_dim, row->length,
                                   value_dim, value_dim);
        if (rank < 0)
            return fail("rank of the output of head %lld of %lld: %s", (long long)h,
                        (long long)row->n_heads, rank_failure_text(rank));
        row->rank[0] = h == 0 || rank < row->rank[0] ? rank : row->rank[0];
        row->rank[1] = h == 0 || rank > row->rank[1] ? rank : row->rank[1];
    }
    return EXIT_GOOD;
}

int sweep_compare(struct sweep_row *row, struct arena *arena, headwise_context *context,
                  const headwise_mha *mha, const struct headwise_tensor *x, float *y,
                  const float *first, const struct headwise_attention_options *options) {
    struct headwise_probe probe = {.size = sizeof probe};
    int64_t value_dim = headwise_mha_describe(mha)->value_dim,
            d_out = headwise_mha_describe(mha)->d_out;
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, row->length, 1, d_out);
    probe.head_outputs =
        arena_take(arena, row->n_heads * row->length * value_dim, sizeof *probe.head_outputs);
    if (!probe.head_outputs)
        return EXIT_UNUSABLE;
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &out, .x = x, .options = options, .probe = &probe};
    if (headwise_mha_forward(context, mha, &call) != HEADWISE_OK)
        return fail("%s", headwise_last_error());
    row->is_compared = true;
    row->change = relative_change(y, first, row->length * d_out);
    return find_ranks(row, probe.head_outputs, value_dim);
}
