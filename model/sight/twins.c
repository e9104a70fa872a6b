/* How alike the maps of all heads of all layers are. */
#include <math.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "sight/sight.h"

/* The mean over the cells off the diagonal, and the root of the sum of squares about it. */
static void center(double *mean, double *size, const float *map, int64_t side) {
    double sum = 0, squares = 0, count = (double)(side * (side - 1));
    for (int64_t i = 0; i < side * side; i++)
        sum += i % (side + 1) == 0 ? 0 : (double)map[i];
    *mean = count > 0 ? sum / count : 0;
    for (int64_t i = 0; i < side * side; i++) {
        double apart = i % (side + 1) == 0 ? 0 : (double)map[i] - *mean;
        squares += apart * apart;
    }
    /* Weights that differ by rounding alone vary by less than 1e-12 of their mean square. */
    *size = squares > 1e-12 * (squares + count * *mean * *mean) ? sqrt(squares) : 0;
}

/* Sum of products of both maps off the diagonal; sixteen sums, so that they run side by side. */
static double multiply(const float *a, const float *b, int64_t side) {
    enum { LANES = 16 };
    double sums[LANES] = {0}, sum = 0;
    int64_t n = side * side, i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int64_t lane = 0; lane < LANES; lane++)
            sums[lane] += (double)a[i + lane] * (double)b[i + lane];
    for (; i < n; i++)
        sums[0] += (double)a[i] * (double)b[i];
    for (int64_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    for (int64_t d = 0; d < side; d++)
        sum -= (double)a[d * (side + 1)] * (double)b[d * (side + 1)];
    return sum;
}

/* Pearson's: (sum a b - count mean_a mean_b) / (size_a size_b). */
static void correlate(headwise_sight *sight, const double *means, const double *sizes) {
    int64_t n = sight->info.n_heads, side = sight->info.n_cells;
    double count = (double)(side * (side - 1));
    for (int64_t g = 0; g < n; g++) {
        sight->correlations[g * n + g] = 1;
        for (int64_t h = 0; h < g; h++) {
            double product =
                       multiply(sight->maps + g * side * side, sight->maps + h * side * side, side),
                   r = 0;
            if (sizes[g] > 0 && sizes[h] > 0)
                r = (product - count * means[g] * means[h]) / (sizes[g] * sizes[h]);
            r = r > 1 ? 1 : r < -1 ? -1 : r;
            sight->correlations[g * n + h] = sight->correlations[h * n + g] = (float)r;
        }
    }
}

static void choose_twins(headwise_sight *sight) {
    int64_t n = sight->info.n_heads;
    for (int64_t g = 0; g < n; g++) {
        struct headwise_sight_head *head = &sight->heads[g];
        for (int64_t h = 0; h < n; h++) {
            double r = (double)sight->correlations[g * n + h];
            if (h != g && r > head->correlation) {
                head->correlation = r;
                head->twin = h;
            }
        }
    }
}

enum headwise_status headwise_sight_correlate(headwise_sight *sight) {
    HEADWISE_FLOAT_SCOPE();
    struct headwise_sight_room room = {.memory = sight->room.memory};
    int64_t n = sight->info.n_heads, side = sight->info.n_cells;
    double *means = headwise_sight_take(&room, 2 * n, sizeof *means);
    sight->correlations = headwise_sight_take(&sight->room, n * n, sizeof *sight->correlations);
    if (means && sight->correlations) {
        for (int64_t h = 0; h < n; h++)
            center(&means[h], &means[n + h], sight->maps + h * side * side, side);
        correlate(sight, means, means + n);
        choose_twins(sight);
    }
    bool done = means && sight->correlations;
    headwise_sight_give(&room);
    return done ? HEADWISE_OK : headwise_model_no_memory("sight_create");
}
