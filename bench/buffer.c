/* Memory of the benchmarks, filled with numbers of the type that is measured. */
#include "buffer.h"

#include <stdlib.h>

static uint32_t next_random(uint64_t *state) {
    /* Knuth's MMIX generator; the upper bits are the good ones. */
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 32);
}

/* A random sign and mantissa, and one of seven exponents that end with the one of 0.5. */
static uint16_t narrow_random(uint32_t random, int mantissa_bits, uint32_t exponent_of_half) {
    uint32_t exponent = exponent_of_half - (random >> 16) % 7;
    uint32_t mantissa = random & ((1u << mantissa_bits) - 1);
    return (uint16_t)((random & 0x8000u) | exponent << mantissa_bits | mantissa);
}

void *bench_buffer(int64_t n, enum headwise_dtype dtype, float scale) {
    size_t bytes = (size_t)n * headwise_dtype_size(dtype);
    void *buffer = aligned_alloc(64, (bytes + 127) / 64 * 64);
    uint64_t state = 20240613;
    for (int64_t i = 0; buffer != NULL && i < n; i++) {
        uint32_t random = next_random(&state);
        if (dtype == HEADWISE_F32)
            ((float *)buffer)[i] = (float)((int32_t)random >> 8) * 0x1p-23f * scale;
        else if (dtype == HEADWISE_F16)
            ((uint16_t *)buffer)[i] = narrow_random(random, 10, 14);
        else if (dtype == HEADWISE_BF16)
            ((uint16_t *)buffer)[i] = narrow_random(random, 7, 126);
        else
            ((uint8_t *)buffer)[i] = (uint8_t)(random >> 31);
    }
    return buffer;
}
