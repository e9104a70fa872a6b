/* The proposal of an order in which to prune heads: checks, then heads/propose.c. */
#include "heads/propose.h"

#include <math.h>

#include "base/error.h"
#include "base/float_mode.h"
#include "base/options.h"

static enum headwise_status check_limits(const struct headwise_twin_limits *limits,
                                         const double *correlation) {
    const double values[] = {limits->cosine, limits->correlation};
    for (int i = 0; i < 2; i++) {
        if (!(values[i] >= 0 && values[i] <= 1))
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "propose_pruning: the limit of the %s is %g, expected 0 to 1",
                                 i == 0 ? "cosine" : "correlation", values[i]);
    }
    if (limits->correlation > 0 && !correlation)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "propose_pruning: correlation is NULL, but its limit is %g",
                             limits->correlation);
    return HEADWISE_OK;
}

static enum headwise_status check_gram(const int64_t *order, const double *gram, int64_t n_heads) {
    if (n_heads < 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "propose_pruning: n_heads is %lld, expected 0 or more",
                             (long long)n_heads);
    if (n_heads > 0 && (!order || !gram))
        return headwise_fail(HEADWISE_ERR_INVALID, "propose_pruning: %s is NULL",
                             !order ? "order" : "gram");
    for (int64_t i = 0; i < n_heads * n_heads; i++) {
        if (!isfinite(gram[i]))
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "propose_pruning: gram[%lld][%lld] is %g, expected a number",
                                 (long long)(i / n_heads), (long long)(i % n_heads), gram[i]);
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_propose_pruning(int64_t *order, double *change, int64_t *twin,
                                              const double *gram, const double *correlation,
                                              int64_t n_heads,
                                              const struct headwise_twin_limits *limits) {
    HEADWISE_FLOAT_SCOPE();
    struct headwise_twin_limits given;
    enum headwise_status status = HEADWISE_COPY_OPTIONS(&given, limits, "propose_pruning: limits");
    if (status == HEADWISE_OK)
        status = check_limits(&given, correlation);
    if (status == HEADWISE_OK)
        status = check_gram(order, gram, n_heads);
    if (status == HEADWISE_OK)
        headwise_propose(order, change, twin, gram, correlation, n_heads, &given);
    return status;
}
