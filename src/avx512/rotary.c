#include "vec.h"

static inline vec multiply_subtract(vec a, vec b, vec c) {
    return _mm512_fmsub_ps(a, b, c);
}

/* From elements 0 ... 15 and 16 ... 31 to the even ones and the odd ones. */
static inline void deinterleave(vec *low, vec *high) {
    __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    __m512i odds = _mm512_add_epi32(evens, _mm512_set1_epi32(1));
    vec even = _mm512_permutex2var_ps(*low, evens, *high);
    *high = _mm512_permutex2var_ps(*low, odds, *high);
    *low = even;
}

static inline void interleave(vec *even, vec *odd) {
    __m512i lower = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    __m512i upper = _mm512_add_epi32(lower, _mm512_set1_epi32(8));
    vec low = _mm512_permutex2var_ps(*even, lower, *odd);
    *odd = _mm512_permutex2var_ps(*even, upper, *odd);
    *even = low;
}

/* (a, b) turned: a = a * cos - b * sin, b = b * cos + a * sin. */
static inline void turn(vec *a, vec *b, vec cos, vec sin) {
    vec turned = multiply_subtract(*a, cos, multiply(*b, sin));
    *b = multiply_add(*b, cos, multiply(*a, sin));
    *a = turned;
}

void headwise_rotate_half_avx512(float *y, ptrdiff_t y_stride, const float *x, ptrdiff_t x_stride,
                                 const float *restrict cos, const float *restrict sin, ptrdiff_t m,
                                 ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec cosine = load_first(cos + j, n - j);
        vec sine = load_first(sin + j, n - j);
        for (ptrdiff_t i = 0; i < m; i++) {
            vec a = load_first(x + i * x_stride + j, n - j);
            vec b = load_first(x + i * x_stride + n + j, n - j);
            turn(&a, &b, cosine, sine);
            store_first(y + i * y_stride + j, a, n - j);
            store_first(y + i * y_stride + n + j, b, n - j);
        }
    }
}

void headwise_rotate_interleaved_avx512(float *y, ptrdiff_t y_stride, const float *x,
                                        ptrdiff_t x_stride, const float *restrict cos,
                                        const float *restrict sin, ptrdiff_t m, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec cosine = load_first(cos + j, n - j);
        vec sine = load_first(sin + j, n - j);
        ptrdiff_t left = 2 * (n - j), second = left > LANES ? LANES : 0;
        for (ptrdiff_t i = 0; i < m; i++) {
            const float *from = x + i * x_stride + 2 * j;
            float *to = y + i * y_stride + 2 * j;
            vec a = load_first(from, left);
            vec b = load_first(from + second, left - LANES);
            deinterleave(&a, &b);
            turn(&a, &b, cosine, sine);
            interleave(&a, &b);
            store_first(to, a, left);
            store_first(to + second, b, left - LANES);
        }
    }
}
