#include <float.h>

#include "vec.h"

#define headwise_row_stats_simd headwise_row_stats_avx2
#include "simd/stats.h"
