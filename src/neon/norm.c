#include "vec.h"

#define headwise_norm_rms_simd headwise_norm_rms_neon
#define headwise_norm_layer_simd headwise_norm_layer_neon
#include "simd/norm.h"
