/* Converts 16-bit types by integer arithmetic: the reference for the kernels. */
#include "half.h"

#include <math.h>
#include <stdbool.h>

struct format {
    int fraction_bits;
    int exponent_bits;
};

static struct format format_of(enum headwise_dtype dtype) {
    return dtype == HEADWISE_F16 ? (struct format){10, 5} : (struct format){7, 8};
}

double half_to_double(enum headwise_dtype dtype, uint16_t bits) {
    struct format f = format_of(dtype);
    int bias = (1 << (f.exponent_bits - 1)) - 1;
    int exponent = (bits >> f.fraction_bits) & ((1 << f.exponent_bits) - 1);
    int fraction = bits & ((1 << f.fraction_bits) - 1);
    double sign = bits >> 15 ? -1.0 : 1.0;
    if (exponent == (1 << f.exponent_bits) - 1)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - bias - f.fraction_bits);
    return sign * ldexp(fraction + (1 << f.fraction_bits), exponent - bias - f.fraction_bits);
}

uint16_t half_from_double(enum headwise_dtype dtype, double x) {
    struct format f = format_of(dtype);
    int bias = (1 << (f.exponent_bits - 1)) - 1;
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    uint16_t infinity = (uint16_t)(((1 << f.exponent_bits) - 1) << f.fraction_bits);
    int exponent;
    if (isnan(x))
        return (uint16_t)(sign | infinity | 1 << (f.fraction_bits - 1));
    if (isinf(x) || x == 0)
        return (uint16_t)(sign | (x == 0 ? 0 : infinity));
    frexp(fabs(x), &exponent); /* |x| in [2^(exponent-1), 2^exponent) */
    int lowest = 1 - bias;     /* exponent of the smallest normal number */
    int unit = (exponent - 1 > lowest ? exponent - 1 : lowest) - f.fraction_bits;
    double steps = ldexp(fabs(x), -unit); /* exact; below 2^(fraction_bits + 1) */
    double floor_steps = floor(steps);
    double rest = steps - floor_steps;
    bool up = rest > 0.5 || (rest == 0.5 && fmod(floor_steps, 2) == 1);
    /* The fields are one integer: a carry out of the fraction raises the exponent, up to infinity.
     */
    int64_t code =
        (int64_t)floor_steps + up + ((int64_t)(unit + f.fraction_bits - lowest) << f.fraction_bits);
    return (uint16_t)(sign | (code < infinity ? (uint16_t)code : infinity));
}

double half_load(enum headwise_dtype dtype, const void *data, int64_t i) {
    switch (dtype) {
    case HEADWISE_F32:
        return ((const float *)data)[i];
    case HEADWISE_F16:
    case HEADWISE_BF16:
        return half_to_double(dtype, ((const uint16_t *)data)[i]);
    case HEADWISE_BOOL:
        return ((const uint8_t *)data)[i] != 0;
    default:
        return (double)NAN;
    }
}

void half_store(enum headwise_dtype dtype, void *data, int64_t i, double x) {
    switch (dtype) {
    case HEADWISE_F32:
        ((float *)data)[i] = (float)x;
        break;
    case HEADWISE_F16:
    case HEADWISE_BF16:
        ((uint16_t *)data)[i] = half_from_double(dtype, x);
        break;
    default:
        ((uint8_t *)data)[i] = x != 0;
        break;
    }
}
