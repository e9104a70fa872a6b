/* What biases and masks do to scores. */
#ifndef HEADWISE_MASK_H
#define HEADWISE_MASK_H

#include "attention/call.h"
#include "kernels/kernels.h"

/* Whose scores a row holds. buffer: HEADWISE_KEY_BLOCK floats. */
struct headwise_score_row {
    const struct headwise_call *call;
    const struct headwise_kernels *kernels;
    int64_t batch, head, query;
    float *buffer;
};

/* Applies everything between the softcap and the softmax to the scores s of a row for keys
 * first ... first+n-1, which lie in one key block: adds biases and a float mask, makes the scores
 * of hidden keys -inf. */
void headwise_mask_row(const struct headwise_score_row *row, float *s, int64_t first, int64_t n);

#endif
