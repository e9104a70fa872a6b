/* The scalar tier's vocabulary. */
#ifndef HEADWISE_SCALAR_VEC_H
#define HEADWISE_SCALAR_VEC_H

#include <math.h>
#include <sleef.h>
#include <string.h>

#define TIER(name) name##_scalar

#include "simd/table.h"
#include "simd/words.h"

#define ISA HEADWISE_ISA_SCALAR
enum { MR = 4, ROW_PANEL = 1, NR = 16, NR_MIN = 8 };

/* struct headwise_block_sizes */
enum { TILE_ROWS = 768, MIN_TILE_ROWS = 48 };
enum { FEW_ROWS = 24, PASS_ROWS = 96, WIDE_PASS_ROWS = 192, WIDE_HEAD = 1024 };
enum { PROJECT_ROWS = 288, PROJECT_INPUTS = 256, PROJECT_SLICE = 1024 };

/* Multiplies, then adds: processors without FMA are what this tier is for. */
static inline float multiply_add(float a, float b, float c) {
    return a * b + c;
}

static inline float select_max(float a, float b) {
    return a > b ? a : b;
}

static inline float select_min(float a, float b) {
    return a < b ? a : b;
}

static inline float power_of_two(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits << 23) + (UINT32_C(127) << 23);
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* cinz: SLEEF's scalar form that needs no FMA. */
static inline float exp2_f32(float x) {
    return Sleef_cinz_exp2f1_u10purec(x);
}

/* The contract's tree over 16 lanes: l with l+8, then l+4, l+2, l+1. */
static inline float fold_lanes(float lane[HEADWISE_SUM_LANES]) {
    for (int width = HEADWISE_SUM_LANES / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; l++)
            lane[l] += lane[l + width];
    }
    return lane[0];
}

#endif
