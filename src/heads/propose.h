/* An order in which to prune heads. */
#ifndef HEADWISE_PROPOSE_H
#define HEADWISE_PROPOSE_H

#include "headwise/heads.h"

/* What headwise_propose_pruning() does once its arguments were checked. */
void headwise_propose(int64_t *order, double *change, int64_t *twin, const double *gram,
                      const double *correlation, int64_t n_heads,
                      const struct headwise_twin_limits *limits);

#endif
