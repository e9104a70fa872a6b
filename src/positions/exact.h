/* Functions of float64 whose bits are the same on every machine: SLEEF's scalar forms without FMA,
 * at most 1 ULP off. The C library's differ between machines and versions. */
#ifndef HEADWISE_EXACT_H
#define HEADWISE_EXACT_H

#include <sleef.h>

static inline double headwise_exact_pow(double x, double y) {
    return Sleef_cinz_powd1_u10purec(x, y);
}

static inline double headwise_exact_log(double x) {
    return Sleef_cinz_logd1_u10purec(x);
}

static inline void headwise_exact_sincos(double x, double *sine, double *cosine) {
    Sleef_double_2 both = Sleef_cinz_sincosd1_u10purec(x);
    *sine = both.x;
    *cosine = both.y;
}

#endif
