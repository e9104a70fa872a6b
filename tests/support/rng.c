/* Draws random numbers that depend on the seed alone, on every machine. */
#include "rng.h"

#include <stdlib.h>

static uint64_t mix(uint64_t x) {
    /* The output function of SplitMix64 (Steele, Lea, Flood 2014). */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t test_seed(void) {
    const char *text = getenv("HEADWISE_SEED");
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 0) : 20240613u;
}

struct test_rng test_rng_make(uint64_t stream) {
    return (struct test_rng){mix(test_seed() + 0x9e3779b97f4a7c15u * (stream + 1))};
}

struct test_rng test_rng_fixed(uint64_t stream) {
    return (struct test_rng){mix(0x9e3779b97f4a7c15u * (stream + 1))};
}

uint64_t test_rng_next(struct test_rng *rng) {
    rng->state += 0x9e3779b97f4a7c15u;
    return mix(rng->state);
}

int64_t test_rng_below(struct test_rng *rng, int64_t n) {
    return (int64_t)(test_rng_next(rng) % (uint64_t)n);
}

float test_rng_float(struct test_rng *rng) {
    int32_t i = (int32_t)(test_rng_next(rng) >> 40) - (1 << 23);
    return (float)i * 0x1p-23f;
}

void test_rng_fill(struct test_rng *rng, float *x, size_t n, float scale) {
    for (size_t i = 0; i < n; i++)
        x[i] = test_rng_float(rng) * scale;
}
