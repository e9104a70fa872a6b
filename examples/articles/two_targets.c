/* Article 004: a token needs the values of two others, its pair and its neighbour. One head has one
 * map and can only mix them; two heads bring both. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/random.h"
#include "support/report.h"
#include "support/svd.h"

enum { SEQUENCES = 400, TOKENS = 16, DIM = 4, ROWS = SEQUENCES * TOKENS, SEEDS = 20 };

struct work {
    headwise_context *context;
    float *values, *targets, *zeros, *y;
};

/* values by default_rng(seed); the targets are those of the pair and of the neighbour. */
static void draw(struct work *w, uint32_t seed) {
    struct default_rng rng;
    default_seed(&rng, seed);
    default_fill(&rng, w->values, ROWS * DIM, 1);
    for (int i = 0; i < ROWS * DIM; i++) {
        int sequence = i / DIM / TOKENS, token = i / DIM % TOKENS, c = i % DIM;
        const float *v = w->values + sequence * TOKENS * DIM;
        w->targets[i / DIM * 2 * DIM + c] = v[(token + 8) % TOKENS * DIM + c];
        w->targets[i / DIM * 2 * DIM + DIM + c] = v[(token + 1) % TOKENS * DIM + c];
    }
}

/* What is missed of the targets by the best linear reading of heads that give pair[h] of their
 * weight to the pair and the rest to the neighbour. Queries are zero: the mask is the map, a key
 * that gets nothing has log(0) and is hidden. */
static double missed(struct work *w, const double *pair, int64_t heads) {
    float mask[2 * TOKENS * TOKENS];
    for (int64_t i = 0; i < heads * TOKENS * TOKENS; i++) {
        int64_t h = i / (TOKENS * TOKENS), row = i / TOKENS % TOKENS, key = i % TOKENS;
        mask[i] = key == (row + 8) % TOKENS   ? logf((float)pair[h])
                  : key == (row + 1) % TOKENS ? logf((float)(1 - pair[h]))
                                              : -INFINITY;
    }
    struct headwise_tensor v =
        headwise_tensor_bhrc(w->values, HEADWISE_F32, SEQUENCES, 1, TOKENS, DIM);
    struct headwise_tensor q =
        headwise_tensor_bhrc(w->zeros, HEADWISE_F32, SEQUENCES, heads, TOKENS, DIM);
    struct headwise_tensor y =
        headwise_tensor_brhc(w->y, HEADWISE_F32, SEQUENCES, TOKENS, heads, DIM);
    struct headwise_tensor map = headwise_tensor_bhrc(mask, HEADWISE_F32, 1, heads, TOKENS, TOKENS);
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &y, .q = &q, .k = &v, .v = &v, .mask = &map};
    must(headwise_attention(w->context, &call));
    return missed_part(w->y, w->targets, ROWS, heads * DIM, 2 * DIM);
}

int main(void) {
    struct work w = {.context = open_context(),
                     .values = take(ROWS * DIM, sizeof(float)),
                     .targets = take(ROWS * 2 * DIM, sizeof(float)),
                     .zeros = take(2 * ROWS * DIM, sizeof(float)),
                     .y = take(2 * ROWS * DIM, sizeof(float))};
    double best = 1, error[11];
    int worse = 0;
    draw(&w, 156);
    printf("%-34s %s\n", "weight on the pair, one head", "relative error");
    for (int i = 0; i <= 10; i++) {
        double pair = i / 10.0;
        error[i] = missed(&w, &pair, 1);
        best = fmin(best, error[i]);
        printf("%-34.1f %.4f\n", pair, error[i]);
    }
    double both = missed(&w, (const double[]){1, 0}, 2);
    printf("%-34s %.4f\n", "two heads, one each", both);
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        const double half = 0.5, whole = 1;
        draw(&w, seed);
        worse += missed(&w, &half, 1) > missed(&w, &whole, 1);
    }
    claim("one head, all on the pair", "0.7069", text("%.4f", error[10]),
          prints_as(error[10], 0.7069, 4));
    claim("one head, half and half", "0.7075", text("%.4f", error[5]),
          prints_as(error[5], 0.7075, 4));
    claim("one head, the best", "0.7069", text("%.4f", best), prints_as(best, 0.7069, 4));
    claim("two heads", "0.0000", text("%.4f", both), prints_as(both, 0, 4));
    claim("one head misses half: sqrt(1/2) = 0.7071", "0.7069", text("%.4f", best),
          fabs(best - sqrt(0.5)) < 0.001);
    claim("half and half is worse than one target", "yes", text("%d of %d seeds", worse, SEEDS),
          worse == SEEDS);
    free(w.values);
    free(w.targets);
    free(w.zeros);
    free(w.y);
    headwise_context_destroy(w.context);
    return 0;
}
