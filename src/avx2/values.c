#include "avx2/gemm.h"

#define headwise_values_simd headwise_values_avx2
#define headwise_values_f16_simd headwise_values_f16_avx2
#define headwise_values_bf16_simd headwise_values_bf16_avx2
#define headwise_values_i8_simd headwise_values_i8_avx2
#include "x86/values.h"
