/* Norm and rotation of a head's components in float64, with bounds carried through. */
#ifndef TESTS_ORACLE_HEADS_H
#define TESTS_ORACLE_HEADS_H

#include "headwise/mha.h"

/* Of one head: components of the row, and bounds on the error that they already have; both are
 * replaced. Does nothing where the layer has no such norm. */
void oracle_norm_head(const struct headwise_mha_config *config, const float *weight,
                      const float *bias, double *value, double *bound, int64_t dim);

/* The angles are those of the table, which are tested on their own. Does nothing without rotary. */
void oracle_rotate_head(const struct headwise_mha_config *config, int64_t position, double *value,
                        double *bound);

#endif
