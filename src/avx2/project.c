#include "avx2/gemm.h"

#define headwise_project_simd headwise_project_avx2
#define headwise_project_f16_simd headwise_project_f16_avx2
#define headwise_project_bf16_simd headwise_project_bf16_avx2
#define headwise_project_i8_simd headwise_project_i8_avx2
#include "x86/project.h"
