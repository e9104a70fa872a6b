/* Article 004, after its part 9: on sinusoids a shift of position is a rotation of each frequency
 * pair, so that a head can look any number of places back. Head h looks h back. */
#include <math.h>
#include <stdio.h>

#include "support/layer.h"
#include "support/random.h"
#include "support/report.h"

enum { HEADS = 8, DIM = 8, WIDTH = 64, ROWS = 12, PAIRS = DIM / 2 };

static struct layer layer = {
    .rows = ROWS, .width = WIDTH, .heads = HEADS, .kv_heads = HEADS, .dim = DIM};
static struct seen seen;

static double frequency(int pair) {
    return pow(10000, -2.0 * pair / WIDTH);
}

/* Every head reads the first four pairs (sine, cosine) of x. Turning a query's pair by -h times its
 * frequency makes it the sinusoid h places earlier; the scores become 10 times the sum of
 * cos(frequency * (i - h - j)). */
static void build(void) {
    float strength = (float)sqrt(10 * sqrt(DIM));
    must(headwise_sinusoidal_table(layer.x, ROWS, WIDTH));
    for (int h = 0; h < HEADS; h++) {
        for (int p = 0; p < PAIRS; p++) {
            int sine = 2 * p, cosine = 2 * p + 1;
            double angle = h * frequency(p);
            float c = strength * (float)cos(angle), s = strength * (float)sin(angle);
            layer.w_q[sine * WIDTH + h * DIM + sine] = c;
            layer.w_q[cosine * WIDTH + h * DIM + sine] = -s;
            layer.w_q[sine * WIDTH + h * DIM + cosine] = s;
            layer.w_q[cosine * WIDTH + h * DIM + cosine] = c;
            layer.w_k[sine * WIDTH + h * DIM + sine] = strength;
            layer.w_k[cosine * WIDTH + h * DIM + cosine] = strength;
        }
    }
    struct default_rng rng;
    default_seed(&rng, 12);
    default_fill(&rng, layer.w_v, WIDTH * WIDTH, 0.2);
    default_fill(&rng, layer.w_o, WIDTH * WIDTH, 0.2);
}

int main(void) {
    headwise_context *context = open_context();
    int right = 0, rows = 0;
    double worst = 0;
    build();
    layer_see(context, &layer, &seen);
    printf("the key with the largest weight\nquery ");
    for (int h = 0; h < HEADS; h++)
        printf("  head %d", h);
    for (int i = 0; i < ROWS; i++) {
        printf("\n%5d ", i);
        for (int h = 0; h < HEADS; h++) {
            int64_t j = strongest_key(seen.weights + h * ROWS * ROWS, i, ROWS, false);
            printf("%8d", (int)j);
            rows += i >= h;
            right += i >= h && j == i - h;
        }
    }
    printf("\n");
    for (int i = 0; i < HEADS * ROWS * ROWS; i++) {
        int h = i / (ROWS * ROWS), query = i / ROWS % ROWS, key = i % ROWS;
        double score = 0;
        for (int p = 0; p < PAIRS; p++)
            score += 10 * cos(frequency(p) * (query - h - key));
        worst = fmax(worst, fabs(score - (double)seen.scores[i]));
    }
    claim("head h points h places back", "every row", text("%d of %d rows", right, rows),
          right == rows);
    claim("scores = 10 sum cos(f (i - h - j))", "exact", rounding(worst, 1e-4), worst < 1e-4);
    headwise_context_destroy(context);
    return 0;
}
