/* Rows rounded to bytes, from the text of mha.h. */
#include "rounded.h"

#include <math.h>

static float multiply_add(const struct rounded_row *row, float a, float b, float c) {
    volatile float product = a * b;
    return row->isa == HEADWISE_ISA_SCALAR ? product + c : fmaf(a, b, c);
}

struct rounded_row rounded_make(enum headwise_isa isa, const float *x, int64_t n) {
    float low = 0, high = 0;
    for (int64_t t = 0; t < n; t++) {
        low = fminf(low, x[t]);
        high = fmaxf(high, x[t]);
    }
    struct rounded_row row = {.isa = isa};
    row.scale = fmaxf(high / 255.0f - low / 255.0f, 0x1p-126f);
    row.inverse = 1.0f / row.scale;
    row.zero = nearbyintf(0.0f - low * row.inverse);
    return row;
}

int64_t rounded_integer(const struct rounded_row *row, float x) {
    float u = nearbyintf(multiply_add(row, x, row->inverse, row->zero));
    return (int64_t)(fminf(fmaxf(u, 0), 255) - row->zero);
}

float rounded_output(const struct rounded_row *row, int64_t sum, float scale, float bias) {
    volatile float scaled = (float)sum * scale;
    return multiply_add(row, scaled, row->scale, bias);
}
