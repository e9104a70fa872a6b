/* Proposes an order in which to prune heads, and twins to merge them into. */
#include "heads/propose.h"

#include <math.h>

#include "headwise/heads.h"

/* By how much the square of the change grows when head h joins the n that are gone. */
static double growth(const double *gram, int64_t n_heads, const int64_t *gone, int64_t n,
                     int64_t h) {
    double sum = gram[h * n_heads + h];
    for (int64_t i = 0; i < n; i++)
        sum += 2 * gram[h * n_heads + gone[i]];
    return sum;
}

/* order holds the heads that are gone, then all others: the next one comes to place n, and those
 * between keep their sequence, so that equals go by number. */
static void choose(int64_t *order, const double *gram, int64_t n_heads, int64_t n) {
    int64_t best = n;
    double least = growth(gram, n_heads, order, n, order[n]);
    for (int64_t i = n + 1; i < n_heads; i++) {
        double more = growth(gram, n_heads, order, n, order[i]);
        if (more < least) {
            least = more;
            best = i;
        }
    }
    int64_t head = order[best];
    for (int64_t i = best; i > n; i--)
        order[i] = order[i - 1];
    order[n] = head;
}

/* How alike two heads are, or -2 outside the limits. */
static double likeness(const double *gram, const double *correlation, int64_t n_heads,
                       const struct headwise_twin_limits *limits, int64_t g, int64_t h) {
    double norms = sqrt(gram[g * n_heads + g]) * sqrt(gram[h * n_heads + h]);
    double cosine = norms > 0 ? gram[g * n_heads + h] / norms : 0;
    double r = limits->correlation > 0 ? correlation[g * n_heads + h] : 1;
    bool none = limits->cosine == 0 && limits->correlation == 0;
    bool too_low = limits->cosine > 0 && cosine < limits->cosine;
    if (none || too_low || !(r >= limits->correlation))
        return -2;
    return limits->correlation > 0 ? r : cosine;
}

static void find_twins(int64_t *twin, const int64_t *order, const double *gram,
                       const double *correlation, int64_t n_heads,
                       const struct headwise_twin_limits *limits) {
    for (int64_t i = 0; i < n_heads; i++) {
        double most = -2;
        twin[order[i]] = -1;
        for (int64_t j = i + 1; j < n_heads; j++) {
            double alike = likeness(gram, correlation, n_heads, limits, order[i], order[j]);
            if (alike > most) {
                most = alike;
                twin[order[i]] = order[j];
            }
        }
    }
}

void headwise_propose(int64_t *order, double *change, int64_t *twin, const double *gram,
                      const double *correlation, int64_t n_heads,
                      const struct headwise_twin_limits *limits) {
    for (int64_t h = 0; h < n_heads; h++)
        order[h] = h;
    for (int64_t n = 0; n + 1 < n_heads; n++)
        choose(order, gram, n_heads, n);
    double all = headwise_gram_change(gram, n_heads, order, n_heads);
    for (int64_t n = 0; change && n < n_heads; n++)
        change[n] = all > 0 ? headwise_gram_change(gram, n_heads, order, n + 1) / all : 0;
    if (twin)
        find_twins(twin, order, gram, correlation, n_heads, limits);
}
