#include "avx512/gemm.h"

#define headwise_scores_simd headwise_scores_avx512
#define headwise_scores_f16_simd headwise_scores_f16_avx512
#define headwise_scores_bf16_simd headwise_scores_bf16_avx512
#define headwise_scores_i8_simd headwise_scores_i8_avx512
#include "x86/scores.h"

#define headwise_scores_in_place_simd headwise_scores_in_place_avx512
#include "x86/keys.h"
