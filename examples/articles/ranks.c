/* Article 004: one head of 64 has scores of rank 12 (the number of tokens), each of eight heads of
 * 8 only 8. And what a low rank keeps of a map that points somewhere. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/layer.h"
#include "support/report.h"
#include "support/svd.h"

enum { TOKENS = 12 };

static struct layer layer;
static struct seen seen;

struct ranks {
    int64_t scores, weights, outputs; /* of every head the same, or -1 */
    int64_t result;
};

static void agree(int64_t *rank, int64_t found, bool is_first) {
    *rank = is_first || *rank == found ? found : -1;
}

static struct ranks measure(headwise_context *context, int64_t heads) {
    struct ranks ranks = {0, 0, 0, 0};
    layer_of_004(&layer, heads);
    layer_see(context, &layer, &seen);
    for (int64_t h = 0; h < heads; h++) {
        const float *outputs = seen.head_outputs + h * TOKENS * layer.dim;
        int64_t map = h * TOKENS * TOKENS;
        agree(&ranks.scores, numerical_rank(seen.scores + map, TOKENS, TOKENS), h == 0);
        agree(&ranks.weights, numerical_rank(seen.weights + map, TOKENS, TOKENS), h == 0);
        agree(&ranks.outputs, numerical_rank(outputs, TOKENS, layer.dim), h == 0);
    }
    ranks.result = numerical_rank(seen.y, TOKENS, layer.width);
    printf("%5d %10d %10d %10d %14d %10d\n", (int)heads, (int)layer.dim, (int)ranks.scores,
           (int)ranks.weights, (int)ranks.outputs, (int)ranks.result);
    return ranks;
}

/* Rows of a [12][12] matrix that are largest at their target, three back; a tie does not count. */
static double accuracy(const double a[TOKENS][TOKENS]) {
    int right = 0;
    for (int i = 0; i < TOKENS; i++) {
        int target = (i + 9) % TOKENS, larger = 0;
        for (int j = 0; j < TOKENS; j++)
            larger += j != target && a[i][j] > a[i][target] - 1e-9;
        right += larger == 0;
    }
    return right / (double)TOKENS;
}

/* The permutation "three back" has twelve singular values 1, so that any orthonormal basis gives a
 * best approximation of rank k. Of unit vectors k rows survive; of waves of the k lowest
 * frequencies (sines and cosines; for even k the constant is left out) something of every row. */
static void truncate(double a[TOKENS][TOKENS], int k, bool waves) {
    double turn = 2 * acos(-1) / TOKENS;
    memset(a, 0, sizeof(double[TOKENS][TOKENS]));
    for (int i = 0; i < TOKENS; i++) {
        int target = (i + 9) % TOKENS;
        if (!waves && i < k)
            a[i][target] = 1;
        for (int j = 0; waves && j < TOKENS; j++) {
            for (int f = 1; f <= k / 2; f++)
                a[i][j] += 2.0 / TOKENS * cos(turn * f * (target - j));
        }
    }
}

static double error_of(const double a[TOKENS][TOKENS]) {
    double square = 0;
    for (int i = 0; i < TOKENS * TOKENS; i++) {
        int row = i / TOKENS, column = i % TOKENS;
        square += pow((column == (row + 9) % TOKENS) - a[row][column], 2);
    }
    return sqrt(square / TOKENS);
}

int main(void) {
    static const double printed[] = {.17, .33, .67};
    double a[TOKENS][TOKENS], unit[3], wave[3];
    headwise_context *context = open_context();
    printf("%5s %10s %10s %10s %14s %10s\n", "heads", "head size", "scores", "weights",
           "head outputs", "output");
    struct ranks one = measure(context, 1), eight = measure(context, 8);
    headwise_context_destroy(context);
    printf("\n\"three back\" of 12 tokens, best approximations of rank k\n%4s %8s %16s %16s\n", "k",
           "error", "rows, unit basis", "rows, waves");
    for (int i = 0; i < 3; i++) {
        int k = 2 << i;
        truncate(a, k, false);
        unit[i] = accuracy(a);
        double error = error_of(a);
        truncate(a, k, true);
        wave[i] = accuracy(a);
        printf("%4d %8.4f %16.2f %16.2f%s\n", k, error, unit[i], wave[i],
               fabs(error - error_of(a)) < 1e-12 ? "  same error" : "");
    }
    claim("rank of scores, one head", "12", text("%d", (int)one.scores), one.scores == 12);
    claim("rank of scores, each of eight heads", "8", text("%d", (int)eight.scores),
          eight.scores == 8);
    claim("rank of the output, one and eight heads", "12, 12",
          text("%d, %d", (int)one.result, (int)eight.result),
          one.result == 12 && eight.result == 12);
    for (int i = 0; i < 3; i++)
        claim(text("rank %d keeps k/n of the rows (unit basis)", 2 << i), text("%.2f", printed[i]),
              text("%.2f", unit[i]), prints_as(unit[i], printed[i], 2));
    claim("rank 2, 4, 8 can keep every row", "1.00 (optimised)",
          text("%.2f %.2f %.2f (waves)", wave[0], wave[1], wave[2]),
          fmin(wave[0], fmin(wave[1], wave[2])) == 1);
    printf("\nk/n belongs to the basis that a solver returns, not to the rank: all twelve singular "
           "values\nare 1, and waves approximate as well as unit vectors do.\n");
    return 0;
}
