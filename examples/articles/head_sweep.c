/* Articles 000 and 004: the same four matrices read as 1, 2, 4 ... 64 heads. The parameters stay,
 * the function changes, the rank of each head falls, the exponentials grow. For times on this
 * machine see "headwise sweep". */
#include <math.h>
#include <stdio.h>

#include "support/layer.h"
#include "support/report.h"
#include "support/svd.h"

static struct layer layer;
static struct seen seen, first;

/* The least and the greatest rank among the heads. */
struct range {
    int64_t least, most;
};

static struct range ranks_of(const float *a, int64_t rows, int64_t columns) {
    struct range range = {rows, 0};
    for (int64_t h = 0; h < layer.heads; h++) {
        int64_t rank = numerical_rank(a + h * rows * columns, rows, columns);
        range.least = rank < range.least ? rank : range.least;
        range.most = rank > range.most ? rank : range.most;
    }
    return range;
}

static const char *span(struct range r) {
    return r.least == r.most ? text("%d", (int)r.least)
                             : text("%d to %d", (int)r.least, (int)r.most);
}

/* Whether every head has the rank that its size allows. */
static bool sweep(headwise_context *context) {
    bool full = true;
    printf("%5s %10s %11s %13s %12s %13s %18s\n", "heads", "head size", "parameters",
           "exponentials", "score ranks", "output ranks", "change of output");
    for (int64_t heads = 1; heads <= 64; heads *= 2) {
        layer_of_004(&layer, heads);
        layer_see(context, &layer, &seen);
        if (heads == 1)
            first = seen;
        struct range scores = ranks_of(seen.scores, layer.rows, layer.rows);
        struct range outputs = ranks_of(seen.head_outputs, layer.rows, layer.dim);
        int64_t allowed = layer.dim < layer.rows ? layer.dim : layer.rows;
        full = full && scores.least == allowed && scores.most == allowed;
        full = full && outputs.least == allowed && outputs.most == allowed;
        printf("%5d %10d %11d %13d %12s %13s %18.3f\n", (int)heads, (int)layer.dim,
               (int)(4 * layer.width * layer.width), (int)(heads * layer.rows * layer.rows),
               span(scores), span(outputs),
               relative_error(seen.y, first.y, layer.rows * layer.width));
    }
    return full;
}

/* Article 000 prints a curve of performance by head count, and the formula, with offsets for noise,
 * that should make it. Nothing was measured there, nor is it here. */
static int curve(double *worst) {
    static const int heads[] = {1, 2, 4, 8, 16, 32};
    static const double printed[] = {.74, .80, .847, .888, .895, .885};
    static const double noise[] = {0, .01, .015, .02, .018, .005};
    int same = 0;
    *worst = 0;
    printf("\n%5s %20s %34s\n", "heads", "article's curve", "0.74 + 0.18 (1 - e^(-h/6)) + noise");
    for (int i = 0; i < 6; i++) {
        double formula = 0.74 + 0.18 * (1 - exp(-heads[i] / 6.0)) + noise[i];
        printf("%5d %20.3f %34.3f\n", heads[i], printed[i], formula);
        same += prints_as(formula, printed[i], 3);
        *worst = fmax(*worst, fabs(formula - printed[i]));
    }
    return same;
}

int main(void) {
    headwise_context *context = open_context();
    double worst;
    bool full = sweep(context);
    int same = curve(&worst);
    claim("004: parameters, however it is cut", "16384", "16384", layer.width == 64);
    claim("004: each head has its full rank", "12 (H=1), 8 (H=8)",
          full ? "min(12, head size)" : "less", full);
    claim("000: performance by head count", "a formula", text("%d of 6 values", same), same == 6);
    headwise_context_destroy(context);
    return 0;
}
