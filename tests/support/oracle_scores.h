/* The stages of one score, each in float64 with a bound: a stage changes *score and *bound, which
 * the stage before it has left. */
#ifndef TESTS_ORACLE_SCORES_H
#define TESTS_ORACLE_SCORES_H

#include "oracle.h"

/* Stage 0, from a row of queries and one of keys. */
void oracle_scaled_score(const struct oracle_problem *p, int64_t q_row, int64_t k_row,
                         double *score, double *bound);

/* Stage 1; cap 0: none. */
void oracle_capped_score(double cap, double *score, double *bound);

/* Stage 2, of query i and key j. */
void oracle_masked_score(const struct oracle_problem *p, int64_t b, int64_t h, int64_t i, int64_t j,
                         double *score, double *bound);

/* As the softmax gets it. */
void oracle_rounded_score(enum headwise_dtype softmax_precision, double *score, double *bound);

#endif
