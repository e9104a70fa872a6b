/* Activations in float64, and how far those of f32 may be from them. */
#ifndef TESTS_ACTIVATION_H
#define TESTS_ACTIVATION_H

#include "headwise/rows.h"

/* The steepest slope of any activation is that of gelu, 1.129. */
#define ACTIVATION_SLOPE 1.13

const char *activation_name(enum headwise_activation activation);

double activation_exact(enum headwise_activation activation, double x);

/* The largest error of the activation of one f32, derived from the formula in kernels/activate.h.
 */
double activation_bound(enum headwise_activation activation, float x);

#endif
