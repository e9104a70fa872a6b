#include "vec.h"

#define headwise_pack_rows_simd headwise_pack_rows_avx512
#define headwise_pack_transposed_simd headwise_pack_transposed_avx512
#define headwise_pack_columns_simd headwise_pack_columns_avx512
#include "x86/pack.h"
