#include "vec.h"

#define headwise_merge_simd headwise_merge_avx2
#define headwise_finish_simd headwise_finish_avx2
#define headwise_factors_simd headwise_factors_avx2
#define headwise_normalize_simd headwise_normalize_avx2
#include "simd/merge.h"
