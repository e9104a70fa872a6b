/* NumPy's generator and its normal numbers, from their published algorithms. */
#include "random.h"

#include <math.h>

enum { LENGTH = 624, SHIFTED = 397, STRIPS = 256 };

void legacy_seed(struct legacy_rng *rng, uint32_t seed) {
    rng->state[0] = seed;
    for (uint32_t i = 1; i < LENGTH; i++)
        rng->state[i] = 1812433253u * (rng->state[i - 1] ^ (rng->state[i - 1] >> 30)) + i;
    rng->at = LENGTH;
    rng->has_next = 0;
}

static uint32_t legacy_word(struct legacy_rng *rng) {
    if (rng->at == LENGTH) {
        for (int i = 0; i < LENGTH; i++) {
            uint32_t y =
                (rng->state[i] & 0x80000000u) | (rng->state[(i + 1) % LENGTH] & 0x7fffffffu);
            rng->state[i] =
                rng->state[(i + SHIFTED) % LENGTH] ^ (y >> 1) ^ (y % 2 ? 0x9908b0dfu : 0);
        }
        rng->at = 0;
    }
    uint32_t y = rng->state[rng->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* 53 bits in [0, 1). */
static double legacy_uniform(struct legacy_rng *rng) {
    uint32_t high = legacy_word(rng) >> 5, low = legacy_word(rng) >> 6;
    return (high * 0x1p26 + low) * 0x1p-53;
}

double legacy_normal(struct legacy_rng *rng) {
    double x, y, square;
    if (rng->has_next) {
        rng->has_next = 0;
        return rng->next;
    }
    do {
        x = 2 * legacy_uniform(rng) - 1;
        y = 2 * legacy_uniform(rng) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    double factor = sqrt(-2 * log(square) / square);
    rng->has_next = 1;
    rng->next = factor * x;
    return factor * y;
}

/* SeedSequence: four words of entropy, mixed, then drawn from as often as asked. */
static uint32_t hash_word(uint32_t word, uint32_t *constant, uint32_t factor) {
    word ^= *constant;
    *constant *= factor;
    word *= *constant;
    return word ^ word >> 16;
}

static void seed_words(uint32_t words[8], uint32_t seed) {
    uint32_t pool[4], constant = 0x43b0d7e5u;
    for (int i = 0; i < 4; i++)
        pool[i] = hash_word(i == 0 ? seed : 0, &constant, 0x931e8875u);
    for (int from = 0; from < 4; from++) {
        for (int to = 0; to < 4; to++) {
            if (from == to)
                continue;
            uint32_t mixed = 0xca01f9ddu * pool[to] -
                             0x4973f715u * hash_word(pool[from], &constant, 0x931e8875u);
            pool[to] = mixed ^ mixed >> 16;
        }
    }
    constant = 0x8b51f9ddu;
    for (int i = 0; i < 8; i++)
        words[i] = hash_word(pool[i % 4], &constant, 0x58f38dedu);
}

/* Numbers of 128 bits, lower half first: x += y. */
static void add(uint64_t x[2], const uint64_t y[2]) {
    x[0] += y[0];
    x[1] += y[1] + (x[0] < y[0]);
}

/* The upper half of a * b. */
static uint64_t multiply_high(uint64_t a, uint64_t b) {
    uint64_t low_a = (uint32_t)a, high_a = a >> 32, low_b = (uint32_t)b, high_b = b >> 32;
    uint64_t low = low_a * low_b, cross = high_a * low_b + (low >> 32);
    uint64_t middle = low_a * high_b + (uint32_t)cross;
    return high_a * high_b + (cross >> 32) + (middle >> 32);
}

/* state = state * factor + step, modulo 2^128 */
static void advance(struct default_rng *rng) {
    const uint64_t factor[2] = {0x4385df649fccf645u, 0x2360ed051fc65da4u};
    uint64_t *state = rng->state;
    state[1] = multiply_high(state[0], factor[0]) + state[0] * factor[1] + state[1] * factor[0];
    state[0] *= factor[0];
    add(state, rng->step);
}

void default_seed(struct default_rng *rng, uint32_t seed) {
    uint32_t words[8];
    uint64_t pairs[4];
    seed_words(words, seed);
    for (int i = 0; i < 4; i++)
        pairs[i] = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
    *rng = (struct default_rng){{0, 0}, {pairs[3] << 1 | 1, pairs[2] << 1 | pairs[3] >> 63}};
    advance(rng);
    add(rng->state, (const uint64_t[]){pairs[1], pairs[0]});
    advance(rng);
}

static uint64_t default_word(struct default_rng *rng) {
    advance(rng);
    uint64_t folded = rng->state[0] ^ rng->state[1];
    unsigned turn = (unsigned)(rng->state[1] >> 58);
    return folded >> turn | folded << (-turn & 63);
}

static double default_uniform(struct default_rng *rng) {
    return (double)(default_word(rng) >> 11) * 0x1p-53;
}

/* The strips: all of the same area, the lowest one with the tail beyond EDGE. edge[i] is where
 * strip i ends, inside[i] what part of it is below the curve for sure. */
static const double EDGE = 3.6541528853610088;

struct strips {
    double edge[STRIPS], height[STRIPS];
    uint64_t inside[STRIPS]; /* of 2^52 */
};

static void make_strips(struct strips *s) {
    double low = exp(-0.5 * EDGE * EDGE), last = EDGE;
    double area = EDGE * low + sqrt(0.5 * acos(-1)) * erfc(EDGE * sqrt(0.5));
    s->edge[0] = area / low;
    s->inside[0] = (uint64_t)(EDGE / s->edge[0] * 0x1p52);
    s->height[0] = 1;
    s->edge[STRIPS - 1] = EDGE;
    s->height[STRIPS - 1] = low;
    for (int i = STRIPS - 2; i >= 1; i--) {
        double x = sqrt(-2 * log(area / last + exp(-0.5 * last * last)));
        s->inside[i + 1] = (uint64_t)(x / last * 0x1p52);
        s->edge[i] = last = x;
        s->height[i] = exp(-0.5 * x * x);
    }
    s->inside[1] = 0;
}

static double beyond_edge(struct default_rng *rng) {
    double x, y;
    do {
        x = -log1p(-default_uniform(rng)) / EDGE;
        y = -log1p(-default_uniform(rng));
    } while (y + y <= x * x);
    return EDGE + x;
}

double default_normal(struct default_rng *rng) {
    static struct strips strips;
    if (strips.height[0] == 0)
        make_strips(&strips);
    for (;;) {
        uint64_t word = default_word(rng), part = word >> 9 & 0xfffffffffffff;
        int i = (int)(word % STRIPS);
        double sign = word >> 8 & 1 ? -1 : 1, x = (double)part * 0x1p-52 * strips.edge[i];
        if (part < strips.inside[i])
            return sign * x;
        if (i == 0) {
            x = beyond_edge(rng); /* its sign is another bit of the word */
            return part >> 8 & 1 ? -x : x;
        }
        double y = (strips.height[i - 1] - strips.height[i]) * default_uniform(rng);
        if (y + strips.height[i] < exp(-0.5 * x * x))
            return sign * x;
    }
}

void legacy_fill(struct legacy_rng *rng, float *dst, int64_t n, double sd) {
    for (int64_t i = 0; i < n; i++)
        dst[i] = (float)(sd * legacy_normal(rng));
}

void default_fill(struct default_rng *rng, float *dst, int64_t n, double sd) {
    for (int64_t i = 0; i < n; i++)
        dst[i] = (float)(sd * default_normal(rng));
}
