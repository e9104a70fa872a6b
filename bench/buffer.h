/* Memory with random contents. */
#ifndef BENCH_BUFFER_H
#define BENCH_BUFFER_H

#include <headwise/common.h>

/* n elements, aligned to a cache line, NULL where memory runs out. Every element is written: random
 * and the same in every run. F32: uniform in [-scale, scale). F16 and BF16: of either sign, and of
 * a magnitude between 2^-7 and 1 (scale is not used). BOOL: 0 or 1. Free with free(). */
void *bench_buffer(int64_t n, enum headwise_dtype dtype, float scale);

#endif
