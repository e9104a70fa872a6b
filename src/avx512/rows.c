#include "vec.h"

#define headwise_softcap_simd headwise_softcap_avx512
#define headwise_alibi_simd headwise_alibi_avx512
#define headwise_add_mask_simd headwise_add_mask_avx512
#define headwise_hide_simd headwise_hide_avx512
#define headwise_add_simd headwise_add_avx512
#include "simd/rows.h"
