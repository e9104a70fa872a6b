#include "vec.h"

#define headwise_merge_simd headwise_merge_avx512
#define headwise_finish_simd headwise_finish_avx512
#define headwise_factors_simd headwise_factors_avx512
#define headwise_normalize_simd headwise_normalize_avx512
#include "simd/merge.h"
