/* Narrow numbers as f32. */
#ifndef HEADWISE_AVX2_WIDEN_H
#define HEADWISE_AVX2_WIDEN_H

#include "vec.h"

typedef __m128i halves;

static inline halves load_halves(const uint16_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

/* Quiets NaN, keeps its payload; infinity, zero's sign and subnormals come out exactly. */
static inline vec widen_f16(halves x) {
    return _mm256_cvtph_ps(x);
}

static inline vec widen_bf16(halves x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}

/* LANES integers as floats. */
static inline vec load_integers(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

#endif
