/* Which keys a query sees. */
#ifndef HEADWISE_MASK_H
#define HEADWISE_MASK_H

#include "call.h"
#include "kernels.h"

/* Keys lo ... hi-1; empty where lo >= hi. */
struct headwise_span {
    int64_t lo, hi;
};

/* Keys that lengths, causal, window and the mask's length leave to query i of batch entry b, within
 * [0, n_keys]. Both ends grow with i, so the union over queries i0 ... i1-1 reaches from the lo of
 * i0 to the hi of i1-1. What else the mask hides is for headwise_mask_row. */
struct headwise_span headwise_visible_keys(const struct headwise_call *call, int64_t b, int64_t i);

/* Applies everything between the softcap and the softmax to the scores s of query i and head h for
 * keys first ... first+n-1: adds a float mask, makes the scores of hidden keys -inf.
 * buffer holds HEADWISE_KEY_BLOCK floats; n is at most that. */
void headwise_mask_row(const struct headwise_call *call, const struct headwise_kernels *kernels,
                       float *s, int64_t b, int64_t h, int64_t i, int64_t first, int64_t n,
                       float *buffer);

#endif
