#include "vec.h"

#define headwise_norm_rms_simd headwise_norm_rms_avx512
#define headwise_norm_layer_simd headwise_norm_layer_avx512
#include "simd/norm.h"
