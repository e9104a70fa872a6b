/* The avx512 tier's vocabulary. */
#ifndef HEADWISE_AVX512_VEC_H
#define HEADWISE_AVX512_VEC_H

#include <immintrin.h>
#include <math.h>
#include <sleef.h>

#include "avx512/local.h"

#define LOG2E 1.44269504088896340736f

/* Before a loop whose count is a constant: arrays it indexes can then be registers. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

typedef __m512 vec;

enum { LANES = 16, MR = 12, NR = 32, NR_MIN = 16, SUM_VECS = HEADWISE_SUM_LANES / LANES };

/* Whether multiply_broadcast_to is one instruction. */
enum { BROADCASTS_IN_PLACE = 1 };

/* Mask of the lanes below n; any n. */
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

/* Fetches the cache line of p, which need not be valid, to L1 or to L2. Always inlined: gcc 12
 * takes a function of hints alone for one without effects and drops what calls of it are left after
 * the first inlining. */
static inline __attribute__((always_inline)) void prefetch(const void *p) {
    _mm_prefetch(p, _MM_HINT_T0);
}

static inline __attribute__((always_inline)) void prefetch_to_l2(const void *p) {
    _mm_prefetch(p, _MM_HINT_T1);
}

/* Stops the compiler from loading x again at every use: one register, one load. */
static inline void keep_in_register(vec *x) {
    __asm__("" : "+v"(*x));
}

/* Lanes from n up are 0, and their memory is not touched. */
static inline vec load_first(const float *p, ptrdiff_t n) {
    return _mm512_maskz_loadu_ps(first_lanes(n), p);
}

static inline void store_first(float *p, vec x, ptrdiff_t n) {
    _mm512_mask_storeu_ps(p, first_lanes(n), x);
}

/* Lanes below n from x, the others from y. */
static inline vec select_first(ptrdiff_t n, vec x, vec y) {
    return _mm512_mask_blend_ps(first_lanes(n), y, x);
}

/* Lanes where a == b from x, the others from y. */
static inline vec select_equal(vec a, vec b, vec x, vec y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ), y, x);
}

static inline vec select_nan(vec a, vec x, vec y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), y, x);
}

/* Lanes where p[l] != 0 from x, the others from y; bytes from n up are not read. */
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

/* |x|. */
static inline vec absolute(vec x) {
    return _mm512_abs_ps(x);
}

static inline vec multiply_add(vec a, vec b, vec c) {
    return _mm512_fmadd_ps(a, b, c);
}

/* acc = fma(a, b, acc), in place: gcc 12 would sometimes put the sum over a factor and move it. */
static inline void multiply_add_to(vec *acc, vec a, vec b) {
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*acc) : "v"(a), "v"(b));
}

/* acc = fma(*x, b, acc) as one instruction. */
static inline void multiply_broadcast_to(vec *acc, const float *x, vec b) {
    __asm__("vfmadd231ps %2%{1to16%}, %1, %0" : "+v"(*acc) : "v"(b), "m"(*x));
}

/* maxps is the select itself: a > b ? a : b. */
static inline vec select_max(vec a, vec b) {
    return _mm512_max_ps(a, b);
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

static inline __m256 upper_half(vec x) {
    return _mm512_extractf32x8_ps(x, 1);
}

/* The contract's tree over 16 lanes: l with l+8, then l+4, l+2, l+1. */
static inline float fold_sum(const vec lane[SUM_VECS]) {
    __m256 x8 = _mm256_add_ps(_mm512_castps512_ps256(lane[0]), upper_half(lane[0]));
    __m128 x4 = _mm_add_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
    __m128 x2 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehdup_ps(x2)));
}

static inline float fold_max(const vec lane[SUM_VECS]) {
    __m256 x8 = _mm256_max_ps(upper_half(lane[0]), _mm512_castps512_ps256(lane[0]));
    __m128 x4 = _mm_max_ps(_mm256_extractf128_ps(x8, 1), _mm256_castps256_ps128(x8));
    __m128 x2 = _mm_max_ps(_mm_movehl_ps(x4, x4), x4);
    return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(x2), x2));
}

/* The larger of |x| and magnitude by their bits: infinity is above all numbers, NaN above it. */
static inline vec select_magnitude(vec x, vec magnitude) {
    __m512i absolute = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff));
    return _mm512_castsi512_ps(_mm512_max_epu32(absolute, _mm512_castps_si512(magnitude)));
}

static inline bool is_finite(vec magnitude) {
    vec infinity = broadcast(INFINITY);
    return _mm512_cmp_ps_mask(magnitude, infinity, _CMP_NLT_UQ) == 0;
}

/* Element j of row i becomes element i of row j. */
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

/* What is subtracted from a score: a row that sees no key must not compute inf - inf. */
static inline float base_of(float max) {
    return max == -INFINITY ? 0.0f : max;
}

#endif
