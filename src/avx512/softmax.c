#include "vec.h"

#define headwise_softmax_simd headwise_softmax_avx512
#include "body/exponentiate.h"
#include "body/softmax.h"
