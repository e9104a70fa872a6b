/* Rounding errors: of a chain in f32, and of one rounding to a file's type. */
#include "calls/rounding.h"

#include <math.h>

#define U 0x1p-24 /* relative error of one f32 operation */

double rounding_gamma(double n) {
    return n * U / (1 - n * U);
}

double rounding_of(enum headwise_file_dtype dtype, double value) {
    value = fabs(value);
    switch (dtype) {
    case HEADWISE_FILE_F16:
        return fmax(value * 0x1p-11, 0x1p-25);
    case HEADWISE_FILE_BF16:
        return fmax(value * 0x1p-8, 0x1p-134);
    case HEADWISE_FILE_F64:
        return value * 0x1p-53;
    default:
        return fmax(value * 0x1p-24, 0x1p-150);
    }
}
