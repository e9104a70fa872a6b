/* What roundings cost. */
#ifndef HEADWISE_TOOLS_ROUNDING_H
#define HEADWISE_TOOLS_ROUNDING_H

#include "headwise-io/safetensors.h"

/* n rounding errors of f32 in a row: n u / (1 - n u), u = 2^-24. Source: N. J. Higham, Accuracy and
 * Stability of Numerical Algorithms, section 3.1. */
double rounding_gamma(double n);

/* Half a unit in the last place of a value of this type (what one rounding to it costs). */
double rounding_of(enum headwise_file_dtype dtype, double value);

#endif
