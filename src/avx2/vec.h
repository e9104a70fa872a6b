/* The avx2 tier's words: simd/words.h says what each of them means. */
#ifndef HEADWISE_AVX2_VEC_H
#define HEADWISE_AVX2_VEC_H

#include <immintrin.h>
#include <math.h>
#include <sleef.h>
#include <string.h>

#define TIER(name) name##_avx2

#include "simd/table.h"
#include "simd/words.h"

#define ISA HEADWISE_ISA_AVX2

enum {
    LANES = 8,
    MR = 6,
    ROW_PANEL = MR,
    NR = 16,
    NR_MIN = 8,
    BYTE_OFFSET = 0,
    SUM_VECS = HEADWISE_SUM_LANES / LANES
};

/* struct headwise_block_sizes */
enum { TILE_ROWS = 768, MIN_TILE_ROWS = 48 };
enum { FEW_ROWS = 24, PASS_ROWS = 96, WIDE_PASS_ROWS = 192, WIDE_HEAD = 1024 };
enum { PROJECT_ROWS = 288, PROJECT_INPUTS = 256, PROJECT_SLICE = 1024 };

typedef __m256 vec;
typedef __m128i halves;
typedef __m256i ints;

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

static inline vec load_first(const float *p, ptrdiff_t n) {
    return n >= LANES ? load(p) : _mm256_maskload_ps(p, first_lanes(n));
}

static inline void store_first(float *p, vec x, ptrdiff_t n) {
    if (n >= LANES)
        store(p, x);
    else
        _mm256_maskstore_ps(p, first_lanes(n), x);
}

static inline vec select_first(ptrdiff_t n, vec x, vec y) {
    return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(first_lanes(n)));
}

static inline vec select_equal(vec a, vec b, vec x, vec y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_EQ_OQ));
}

static inline vec select_nan(vec a, vec x, vec y) {
    return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}

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

static inline vec absolute(vec x) {
    return _mm256_and_ps(x, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fffffff)));
}

static inline vec multiply_add(vec a, vec b, vec c) {
    return _mm256_fmadd_ps(a, b, c);
}

static inline vec multiply_subtract(vec a, vec b, vec c) {
    return _mm256_fmsub_ps(a, b, c);
}

/* maxps is the select itself: a > b ? a : b. */
static inline vec select_max(vec a, vec b) {
    return _mm256_max_ps(a, b);
}

static inline vec select_min(vec a, vec b) {
    return _mm256_min_ps(a, b);
}

static inline vec power_of_two(vec x) {
    __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(x), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(exponent, _mm256_set1_epi32(127 << 23)));
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

static inline vec select_magnitude(vec x, vec magnitude) {
    __m256i absolute = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
    return _mm256_castsi256_ps(_mm256_max_epu32(absolute, _mm256_castps_si256(magnitude)));
}

static inline bool is_finite(vec magnitude) {
    vec infinity = broadcast(INFINITY);
    return _mm256_movemask_ps(_mm256_cmp_ps(magnitude, infinity, _CMP_NLT_UQ)) == 0;
}

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

static inline void deinterleave(vec *low, vec *high) {
    vec even = _mm256_shuffle_ps(*low, *high, 0x88); /* by halves: 0 2 8 10, 4 6 12 14 */
    vec odd = _mm256_shuffle_ps(*low, *high, 0xdd);
    *low = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even), 0xd8));
    *high = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(odd), 0xd8));
}

static inline void interleave(vec *even, vec *odd) {
    vec low = _mm256_unpacklo_ps(*even, *odd); /* pairs 0 1, 4 5 */
    vec high = _mm256_unpackhi_ps(*even, *odd);
    *even = _mm256_permute2f128_ps(low, high, 0x20);
    *odd = _mm256_permute2f128_ps(low, high, 0x31);
}

static inline halves load_halves(const uint16_t *p) {
    return _mm_loadu_si128((const __m128i *)p);
}

static inline halves load_first_halves(const uint16_t *p, ptrdiff_t n) {
    halves x = _mm_setzero_si128();
    memcpy(&x, p, (size_t)(n >= LANES ? LANES : n) * sizeof *p);
    return x;
}

static inline void store_first_halves(uint16_t *p, halves x, ptrdiff_t n) {
    memcpy(p, &x, (size_t)(n >= LANES ? LANES : n) * sizeof *p);
}

static inline vec widen_f16(halves x) {
    return _mm256_cvtph_ps(x);
}

static inline vec widen_bf16(halves x) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16));
}

static inline halves narrow_f16(vec x) {
    return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

static inline halves narrow_bf16(vec x) {
    __m256i bits = _mm256_castps_si256(x);
    __m256i kept = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(kept, _mm256_set1_epi32(1));
    __m256i half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, half), 16);
    __m256i quiet = _mm256_or_si256(kept, _mm256_set1_epi32(0x40));
    __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    __m256i narrow = _mm256_blendv_epi8(rounded, quiet, is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(narrow), _mm256_extracti128_si256(narrow, 1));
}

static inline vec load_integers(const int8_t *p) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)));
}

static inline void store_integers(int8_t *p, vec x, ptrdiff_t n) {
    vec rounded = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i wide = _mm256_cvttps_epi32(rounded);
    __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    __m128i bytes = _mm_packs_epi16(words, words);
    memcpy(p, &bytes, (size_t)(n >= LANES ? LANES : n));
}

static inline void store_bytes(uint8_t *p, vec x) {
    vec rounded = _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i wide = _mm256_cvttps_epi32(rounded);
    __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packus_epi16(words, words));
}

static inline ints load_ints(const void *p) {
    return _mm256_loadu_si256(p);
}

static inline void store_ints(void *p, ints x) {
    _mm256_storeu_si256(p, x);
}

static inline ints broadcast_int(int32_t x) {
    return _mm256_set1_epi32(x);
}

static inline ints add_ints(ints a, ints b) {
    return _mm256_add_epi32(a, b);
}

static inline ints subtract_ints(ints a, ints b) {
    return _mm256_sub_epi32(a, b);
}

static inline ints multiply_ints(ints a, ints b) {
    return _mm256_mullo_epi32(a, b);
}

static inline vec floats_of(ints x) {
    return _mm256_cvtepi32_ps(x);
}

#endif
