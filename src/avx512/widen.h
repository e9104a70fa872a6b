/* Narrow numbers as f32. */
#ifndef HEADWISE_AVX512_WIDEN_H
#define HEADWISE_AVX512_WIDEN_H

#include "vec.h"

typedef __m256i halves;

static inline halves load_halves(const uint16_t *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

/* Quiets NaN, keeps its payload; infinity, zero's sign and subnormals come out exactly. */
static inline vec widen_f16(halves x) {
    return _mm512_cvtph_ps(x);
}

static inline vec widen_bf16(halves x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

/* LANES integers as floats. */
static inline vec load_integers(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

#endif
