/* The avx512 tier's words: simd/words.h says what each of them means. */
#ifndef HEADWISE_AVX512_VEC_H
#define HEADWISE_AVX512_VEC_H

#include <immintrin.h>
#include <math.h>
#include <sleef.h>
#include <string.h>

#define TIER(name) name##_avx512

#include "simd/table.h"
#include "simd/words.h"

#define ISA HEADWISE_ISA_AVX512

enum {
    LANES = 16,
    MR = 12,
    ROW_PANEL = MR,
    NR = 32,
    NR_MIN = 16,
    BYTE_OFFSET = 0,
    SUM_VECS = HEADWISE_SUM_LANES / LANES
};

/* struct headwise_block_sizes */
enum { TILE_ROWS = 768, MIN_TILE_ROWS = 48 };
enum { FEW_ROWS = 24, PASS_ROWS = 96, WIDE_PASS_ROWS = 192, WIDE_HEAD = 1024 };
enum { PROJECT_ROWS = 288, PROJECT_INPUTS = 256, PROJECT_SLICE = 1024 };

typedef __m512 vec;
typedef __m256i halves;
typedef __m512i ints;

static inline __mmask16 first_lanes(ptrdiff_t n) {
    if (n >= LANES)
        return 0xffff;
    return n <= 0 ? 0 : (__mmask16)((1u << n) - 1);
}

static inline vec broadcast(float x) {
    return _mm512_set1_ps(x);
}

static inline vec load(const float *p) {
    return _mm512_loadu_ps(p);
}

static inline void store(float *p, vec x) {
    _mm512_storeu_ps(p, x);
}

static inline vec load_first(const float *p, ptrdiff_t n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}

static inline void store_first(float *p, vec x, ptrdiff_t n) {
    _mm512_mask_storeu_ps(p, first_lanes(n), x);
}

static inline vec select_first(ptrdiff_t n, vec x, vec y) {
    return _mm512_mask_blend_ps(first_lanes(n), y, x);
}

static inline vec select_equal(vec a, vec b, vec x, vec y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), y, x);
}

static inline vec select_nan(vec a, vec x, vec y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), y, x);
}

static inline vec select_bytes(const uint8_t *p, ptrdiff_t n, vec x, vec y) {
    __m128i bytes = _mm_maskz_loadu_epi8(first_lanes(n), p);
    return _mm512_mask_blend_ps(_mm_test_epi8_mask(bytes, bytes), y, x);
}

static inline vec add(vec a, vec b) {
    return _mm512_add_ps(a, b);
}

static inline vec subtract(vec a, vec b) {
    return _mm512_sub_ps(a, b);
}

static inline vec multiply(vec a, vec b) {
    return _mm512_mul_ps(a, b);
}

static inline vec divide(vec a, vec b) {
    return _mm512_div_ps(a, b);
}

static inline vec absolute(vec x) {
    return _mm512_abs_ps(x);
}

static inline vec multiply_add(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}

static inline vec multiply_subtract(vec a, vec b, vec c) {
    return _mm512_fmsub_ps(a, b, c);
}

/* maxps is the select itself: a > b ? a : b. */
static inline vec select_max(vec a, vec b) {
    return _mm512_max_ps(a, b);
}

static inline vec select_min(vec a, vec b) {
    return _mm512_min_ps(a, b);
}

static inline vec power_of_two(vec x) {
    __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(x), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_set1_epi32(127 << 23)));
}

static inline vec exp2_vec(vec x) {
    return Sleef_finz_exp2f16_u10avx512f(x);
}

static inline vec log_vec(vec x) {
    return Sleef_finz_logf16_u10avx512f(x);
}

static inline vec tanh_vec(vec x) {
    return Sleef_finz_tanhf16_u10avx512f(x);
}

static inline float fold_sum(const vec lane[SUM_VECS]) {
    __m256 x8 = _mm256_add_ps(_mm512_castps512_ps256(lane[0]), _mm512_extractf32x8_ps(lane[0], 1));
    __m128 x4 = _mm_add_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
    __m128 x2 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehdup_ps(x2)));
}

static inline float fold_max(const vec lane[SUM_VECS]) {
    __m256 x8 = _mm256_max_ps(_mm512_extractf32x8_ps(lane[0], 1), _mm512_castps512_ps256(lane[0]));
    __m128 x4 = _mm_max_ps(_mm256_extractf128_ps(x8, 1), _mm256_castps256_ps128(x8));
    __m128 x2 = _mm_max_ps(_mm_movehl_ps(x4, x4), x4);
    return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(x2), x2));
}

static inline vec select_magnitude(vec x, vec magnitude) {
    __m512i absolute = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    return _mm512_castsi512_ps(_mm512_max_epu32(absolute, _mm512_castps_si512(magnitude)));
}

static inline bool is_finite(vec magnitude) {
    vec infinity = broadcast(INFINITY);
    return _mm512_cmp_ps_mask(magnitude, infinity, _CMP_NLT_UQ) == 0;
}

static inline void transpose(vec row[LANES]) {
    vec t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm512_unpacklo_ps(row[i], row[i + 1]);
        t[i + 1] = _mm512_unpackhi_ps(row[i], row[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        for (int j = 0; j < 2; j++) {
            __m512d lower = _mm512_castps_pd(t[i + j]);
            __m512d upper = _mm512_castps_pd(t[i + j + 2]);
            row[i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(lower, upper));
            row[i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(lower, upper));
        }
    }
    /* row[4*q + j] now holds columns j, j+4, j+8, j+12 of rows 4*q ... 4*q+3: 4x4 of quarters. */
    for (int j = 0; j < 4; j++) {
        vec even_upper = _mm512_shuffle_f32x4(row[j], row[4 + j], 0x88);
        vec odd_upper = _mm512_shuffle_f32x4(row[j], row[4 + j], 0xdd);
        vec even_lower = _mm512_shuffle_f32x4(row[8 + j], row[12 + j], 0x88);
        vec odd_lower = _mm512_shuffle_f32x4(row[8 + j], row[12 + j], 0xdd);
        row[j] = _mm512_shuffle_f32x4(even_upper, even_lower, 0x88);
        row[4 + j] = _mm512_shuffle_f32x4(odd_upper, odd_lower, 0x88);
        row[8 + j] = _mm512_shuffle_f32x4(even_upper, even_lower, 0xdd);
        row[12 + j] = _mm512_shuffle_f32x4(odd_upper, odd_lower, 0xdd);
    }
}

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

static inline halves load_halves(const uint16_t *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}

static inline halves load_first_halves(const uint16_t *p, ptrdiff_t n) {
    return _mm256_maskz_loadu_epi16(first_lanes(n), p);
}

static inline void store_first_halves(uint16_t *p, halves x, ptrdiff_t n) {
    _mm256_mask_storeu_epi16(p, first_lanes(n), x);
}

static inline vec widen_f16(halves x) {
    return _mm512_cvtph_ps(x);
}

static inline vec widen_bf16(halves x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
}

static inline halves narrow_f16(vec x) {
    return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline halves narrow_bf16(vec x) {
    __m512i bits = _mm512_castps_si512(x);
    __m512i kept = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(kept, _mm512_set1_epi32(1));
    __m512i half = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, half), 16);
    __m512i quiet = _mm512_or_si512(kept, _mm512_set1_epi32(0x40));
    __mmask16 is_nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_blend_epi32(is_nan, rounded, quiet));
}

static inline vec load_integers(const int8_t *p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)));
}

static inline void store_integers(int8_t *p, vec x, ptrdiff_t n) {
    __m512i wide = _mm512_cvt_roundps_epi32(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_mask_storeu_epi8(p, first_lanes(n), _mm512_cvtepi32_epi8(wide));
}

static inline void store_bytes(uint8_t *p, vec x) {
    __m512i wide = _mm512_cvt_roundps_epi32(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    wide = _mm512_max_epi32(wide, _mm512_setzero_si512());
    _mm_storeu_si128((__m128i *)p, _mm512_cvtusepi32_epi8(wide));
}

static inline ints load_ints(const void *p) {
    return _mm512_loadu_si512(p);
}

static inline void store_ints(void *p, ints x) {
    _mm512_storeu_si512(p, x);
}

static inline ints broadcast_int(int32_t x) {
    return _mm512_set1_epi32(x);
}

static inline ints add_ints(ints a, ints b) {
    return _mm512_add_epi32(a, b);
}

static inline ints subtract_ints(ints a, ints b) {
    return _mm512_sub_epi32(a, b);
}

static inline ints multiply_ints(ints a, ints b) {
    return _mm512_mullo_epi32(a, b);
}

static inline vec floats_of(ints x) {
    return _mm512_cvtepi32_ps(x);
}

#endif
