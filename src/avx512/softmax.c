#include "vec.h"

#define headwise_softmax_simd headwise_softmax_avx512
#include "x86/exponentiate.h"
/* defines what the next one calls */
#include "simd/softmax.h"
