#include "vec.h"

#define headwise_norm_rms_simd headwise_norm_rms_avx2
#define headwise_norm_layer_simd headwise_norm_layer_avx2
#include "simd/norm.h"
