/* Conversions of 16-bit types by integer arithmetic: the reference for the kernels, and how tests
 * make and read such tensors. */
#ifndef TESTS_HALF_H
#define TESTS_HALF_H

#include <stdint.h>

#include "headwise/common.h"

double half_to_double(enum headwise_dtype dtype, uint16_t bits); /* exact */

/* To nearest, ties to even; infinities and overflow give infinity; NaN gives a quiet NaN. */
uint16_t half_from_double(enum headwise_dtype dtype, double x);

/* Element i of an array of any type: BOOL as 0 or 1. */
double half_load(enum headwise_dtype dtype, const void *data, int64_t i);
/* Stores x, rounded to the type. */
void half_store(enum headwise_dtype dtype, void *data, int64_t i, double x);

#endif
