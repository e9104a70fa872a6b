#include "vec.h"

#define headwise_softmax_simd headwise_softmax_avx512
#include "x86/exponentiate.h"
#include "simd/softmax.h"
