#include "vec.h"

#define headwise_softcap_simd headwise_softcap_neon
#define headwise_alibi_simd headwise_alibi_neon
#define headwise_add_mask_simd headwise_add_mask_neon
#define headwise_hide_simd headwise_hide_neon
#define headwise_add_simd headwise_add_neon
#include "simd/rows.h"
