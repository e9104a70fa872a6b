/* The avx2 tier's vocabulary. */
#ifndef HEADWISE_AVX2_VEC_H
#define HEADWISE_AVX2_VEC_H

#include <immintrin.h>
#include <math.h>
#include <sleef.h>
#include <string.h>

#include "avx2/local.h"

#define LOG2E 1.44269504088896340736f

/* Before a loop whose count is a constant: arrays it indexes can then be registers. */
#ifdef __clang__
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 32")
#endif

typedef __m256 vec;

enum { LANES = 8, MR = 6, NR = 16, NR_MIN = 8, SUM_VECS = HEADWISE_SUM_LANES / LANES };

/* Whether multiply_broadcast_to is one instruction. */
enum { BROADCASTS_IN_PLACE = 0 };

/* Mask of the lanes below n; any n. */
static inline __m256i first_lanes(ptrdiff_t n) {
    int count = n >= LANES ? LANES : (int)(n <= 0 ? 0 : n);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

static inline vec broadcast(float x) {
    return _mm256_set1_ps(x);
}

static inline vec load(const float *p) {
    return _mm256_loadu_ps(p);
}

static inline void store(float *p, vec x) {
    _mm256_storeu_ps(p, x);
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
    __asm__("" : "+x"(*x));
}

/* Lanes from n up are 0, and their memory is not touched. */
static inline vec load_first(const float *p, ptrdiff_t n) {
    return n >= LANES ? load(p) : _mm256_maskload_ps(p, first_lanes(n));
}

static inline void store_first(float *p, vec x, ptrdiff_t n) {
    if (n >= LANES)
        store(p, x);
    else
        _mm256_maskstore_ps(p, first_lanes(n), x);
}

/* Lanes below n from x, the others from y. */
static inline vec select_first(ptrdiff_t n, vec x, vec y) {
    return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(first_lanes(n)));
}

/* Lanes where a == b from x, the others from y. */
static inline vec select_equal(vec a, vec b, vec x, vec y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}

static inline vec select_nan(vec a, vec x, vec y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

/* Lanes where p[l] != 0 from x, the others from y; bytes from n up are not read. */
static inline vec select_bytes(const uint8_t *p, ptrdiff_t n, vec x, vec y) {
    uint64_t bytes = 0;
    memcpy(&bytes, p, n >= LANES ? LANES : (size_t)n);
    __m256i hidden = _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(_mm_cvtsi64_si128((int64_t)bytes)),
                                        _mm256_setzero_si256());
    return _mm256_blendv_ps(x, y, _mm256_castsi256_ps(hidden));
}

static inline vec add(vec a, vec b) {
    return _mm256_add_ps(a, b);
}

static inline vec subtract(vec a, vec b) {
    return _mm256_sub_ps(a, b);
}

static inline vec multiply(vec a, vec b) {
    return _mm256_mul_ps(a, b);
}

static inline vec divide(vec a, vec b) {
    return _mm256_div_ps(a, b);
}

/* |x|. */
static inline vec absolute(vec x) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
}

static inline vec multiply_add(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}

/* acc = fma(a, b, acc), in place: gcc 12 would sometimes put the sum over a factor and move it, or
 * even spill it. */
static inline void multiply_add_to(vec *acc, vec a, vec b) {
    __asm__("vfmadd231ps %2, %1, %0" : "+x"(*acc) : "x"(a), "x"(b));
}

/* acc = fma(*x, b, acc) */
static inline void multiply_broadcast_to(vec *acc, const float *x, vec b) {
    *acc = multiply_add(broadcast(*x), b, *acc);
}

/* maxps is the select itself: a > b ? a : b. */
static inline vec select_max(vec a, vec b) {
    return _mm256_max_ps(a, b);
}

static inline vec exp2_vec(vec x) {
    return Sleef_finz_exp2f8_u10avx2(x);
}

static inline vec log_vec(vec x) {
    return Sleef_finz_logf8_u10avx2(x);
}

static inline vec tanh_vec(vec x) {
    return Sleef_finz_tanhf8_u10avx2(x);
}

/* The contract's tree over 16 lanes: l with l+8, then l+4, l+2, l+1. */
static inline float fold_sum(const vec lane[SUM_VECS]) {
    __m256 x8 = _mm256_add_ps(lane[0], lane[1]);
    __m128 x4 = _mm_add_ps(_mm256_castps256_ps128(x8), _mm256_extractf128_ps(x8, 1));
    __m128 x2 = _mm_add_ps(x4, _mm_movehl_ps(x4, x4));
    return _mm_cvtss_f32(_mm_add_ss(x2, _mm_movehdup_ps(x2)));
}

static inline float fold_max(const vec lane[SUM_VECS]) {
    __m256 x8 = _mm256_max_ps(lane[1], lane[0]);
    __m128 x4 = _mm_max_ps(_mm256_extractf128_ps(x8, 1), _mm256_castps256_ps128(x8));
    __m128 x2 = _mm_max_ps(_mm_movehl_ps(x4, x4), x4);
    return _mm_cvtss_f32(_mm_max_ss(_mm_movehdup_ps(x2), x2));
}

/* The larger of |x| and magnitude by their bits: infinity is above all numbers, NaN above it. */
static inline vec select_magnitude(vec x, vec magnitude) {
    __m256i absolute = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
    return _mm256_castsi256_ps(_mm256_max_epu32(absolute, _mm256_castps_si256(magnitude)));
}

static inline bool is_finite(vec magnitude) {
    vec infinity = broadcast(INFINITY);
    return _mm256_movemask_ps(_mm256_cmp_ps(magnitude, infinity, _CMP_NLT_UQ)) == 0;
}

/* Element j of row i becomes element i of row j. */
static inline void transpose(vec row[LANES]) {
    vec t[LANES];
    for (int i = 0; i < LANES; i += 2) {
        t[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    for (int i = 0; i < LANES; i += 4) {
        for (int j = 0; j < 2; j++) {
            __m256d lower = _mm256_castps_pd(t[i + j]);
            __m256d upper = _mm256_castps_pd(t[i + j + 2]);
            row[i + 2 * j] = _mm256_castpd_ps(_mm256_unpacklo_pd(lower, upper));
            row[i + 2 * j + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(lower, upper));
        }
    }
    /* row[4*h + j] now holds columns j and j+4 of rows 4*h ... 4*h+3: 2x2 of halves. */
    for (int j = 0; j < 4; j++) {
        vec upper = row[j];
        vec lower = row[4 + j];
        row[j] = _mm256_permute2f128_ps(upper, lower, 0x20);
        row[4 + j] = _mm256_permute2f128_ps(upper, lower, 0x31);
    }
}

/* What is subtracted from a score: a row that sees no key must not compute inf - inf. */
static inline float base_of(float max) {
    return max == -INFINITY ? 0.0f : max;
}

#endif
