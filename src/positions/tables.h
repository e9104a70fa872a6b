/* Tables that models add or multiply by position. Arguments are checked. */
#ifndef HEADWISE_SRC_POSITIONS_H
#define HEADWISE_SRC_POSITIONS_H

#include <stdbool.h>
#include <stdint.h>

void headwise_fill_alibi_slopes(float *slopes, int64_t n_heads);

void headwise_fill_t5_bias(float *bias, const float *table, int64_t n_buckets, int64_t n_heads,
                           bool bidirectional, int64_t max_distance);

void headwise_fill_sinusoids(float *table, int64_t n, int64_t d);

#endif
