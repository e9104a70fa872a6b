/* The normal numbers of the articles' NumPy programs: the same seed gives the same matrices, up to
 * the last bits of a double, so that no file is needed. */
#ifndef ARTICLES_RANDOM_H
#define ARTICLES_RANDOM_H

#include <stdint.h>

/* numpy.random.seed(seed): the Mersenne Twister MT19937 (Matsumoto, Nishimura 1998) with
 * Marsaglia's polar method, which makes two numbers at a time. */
struct legacy_rng {
    uint32_t state[624];
    int at;
    int has_next;
    double next;
};

void legacy_seed(struct legacy_rng *rng, uint32_t seed);
double legacy_normal(struct legacy_rng *rng);

/* numpy.random.default_rng(seed): PCG64 (O'Neill 2014; 128 bits of state, the XSL-RR output), whose
 * state SeedSequence makes of the seed, with the ziggurat of 256 strips (Marsaglia, Tsang 2000). */
struct default_rng {
    uint64_t state[2], step[2]; /* lower half first */
};

void default_seed(struct default_rng *rng, uint32_t seed);
double default_normal(struct default_rng *rng);

/* n numbers with standard deviation sd, rounded to f32. */
void legacy_fill(struct legacy_rng *rng, float *dst, int64_t n, double sd);
void default_fill(struct default_rng *rng, float *dst, int64_t n, double sd);

#endif
