/* What a compiler may make of the scalar tier: 16-byte vectors, multiplied, then added. */
enum { LANES = 4 };
typedef float vec __attribute__((vector_size(16)));
typedef float loose_vec __attribute__((vector_size(16), aligned(4), may_alias));

static inline vec broadcast(float x) {
    return (vec){x, x, x, x};
}

static inline vec load(const float *p) {
    return *(const loose_vec *)p;
}

static inline void store(float *p, vec x) {
    *(loose_vec *)p = x;
}

static inline vec add(vec a, vec b) {
    return a + b;
}

static inline vec multiply_add(vec a, vec b, vec c) {
    return a * b + c;
}

#include "ceiling_body.h"
