#include "vec.h"

#define headwise_merge_simd headwise_merge_neon
#define headwise_finish_simd headwise_finish_neon
#define headwise_factors_simd headwise_factors_neon
#define headwise_normalize_simd headwise_normalize_neon
#include "simd/merge.h"
