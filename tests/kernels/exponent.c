/* Compares exp2((s - base) * log2(e)) * factor of the kernels with float64. */
#include "exponent.h"

#include <math.h>
#include <stdio.h>

#include "bounds.h"
#include "cmocka_headers.h"
#include "compare.h"

/* s - base, the constant log2(e) and their product are rounded once each, so the argument of exp2
 * has a relative error of gamma(3), which is an absolute error of gamma(3) |s - base| in the
 * exponent of e. exp2 adds 1 ulp, the factor one rounding. A numerator below the normal range may
 * be flushed to 0. */
static double bound_of(double x, double want) {
    double relative = exp(bound_gamma(3) * fabs(x)) * (1 + BOUND_U10) * (1 + BOUND_U) - 1;
    return fabs(want) * relative + (fabs(want) < 0x1p-120 ? BOUND_NORMAL : 0);
}

void exponent_expect(float got, float s, float max, float factor, const char *format, ...) {
    char what[128];
    va_list args;
    double x = (double)s - (max == -INFINITY ? 0.0 : (double)max);
    double want = exp(x) * (double)factor;
    double bound = isfinite(x) ? bound_of(x, want) : 0;
    if (compare_close((double)got, want, bound))
        return;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    compare_expect((double)got, want, bound, "%s: exp(%g - %g) * %g", what, (double)s, (double)max,
                   (double)factor);
}
