#include <float.h>

#include "vec.h"

#define headwise_row_stats_simd headwise_row_stats_avx512
#include "simd/stats.h"
