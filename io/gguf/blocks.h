/* Blocks of 256 elements, widened one at a time. */
#ifndef HEADWISE_IO_GGUF_BLOCKS_H
#define HEADWISE_IO_GGUF_BLOCKS_H

#include "headwise-io/safetensors.h"
#include <string.h>

/* One block at src to its values at dst. */
typedef void headwise_gguf_widen_fn(float *dst, const unsigned char *src);

headwise_gguf_widen_fn headwise_gguf_widen_q2_k;
headwise_gguf_widen_fn headwise_gguf_widen_q3_k;
headwise_gguf_widen_fn headwise_gguf_widen_q4_k;
headwise_gguf_widen_fn headwise_gguf_widen_q5_k;
headwise_gguf_widen_fn headwise_gguf_widen_q6_k;

/* An f16 at src, which is aligned to nothing. */
static inline float headwise_gguf_scale(const unsigned char *src) {
    uint16_t half;
    float scale;
    memcpy(&half, src, sizeof half);
    headwise_f32_from_f16(&scale, &half, 1);
    return scale;
}

#endif
