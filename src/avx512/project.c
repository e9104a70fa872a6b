#include "avx512/gemm.h"

#define headwise_project_simd headwise_project_avx512
#define headwise_project_f16_simd headwise_project_f16_avx512
#define headwise_project_bf16_simd headwise_project_bf16_avx512
#define headwise_project_i8_simd headwise_project_i8_avx512
#include "x86/project.h"
